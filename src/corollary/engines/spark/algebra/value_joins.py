"""Joins by equal values: if `X = Y` is all that two atoms have in common, not all pairs need to be compared.

Constants that are equal by value have equal keys: the key of a number is the nearest double, that of everything else
its id. Different constants may share a key, so the comparison itself still runs, on the few pairs that are left.
Constants whose key cannot be computed from the id (numbers with many digits, moments) are still compared with
everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.algebra.classes import decided_by_ids
from corollary.engines.spark.algebra.column_terms import ColumnTerms, Known, NotAColumnError
from corollary.engines.spark.algebra.profiles import (
    BOOLEANS,
    DECIMALS,
    HASHED,
    INLINE_DOUBLES,
    INTEGERS,
    VALUED,
    is_in_sql,
)
from corollary.engines.spark.terms.double_ids import double_sql
from corollary.engines.spark.terms.ids import IS_BOOLEAN, Tag
from corollary.planning import Compare
from corollary.planning.algebra import Algebra, AntiJoin, Extend, Filter, Join, Project, Select
from corollary.program import Arithmetic, Constant, Term, Variable, variables_of


@dataclass(frozen=True)
class SideKey:
    """Columns with equal values for equal constants, except in rows that are `unsure`."""

    columns: tuple[str, ...]
    unsure: str | None = None


@dataclass(frozen=True)
class ValueJoin:
    """A condition on pairs of rows, by keys that Spark joins on, and the pairs that must be compared besides."""

    condition: str
    unsure: str | None


def value_joins(
    chain: Sequence[Filter | Extend], below: Algebra, known: Mapping[str, Known], *, discards_errors: bool
) -> Iterator[ValueJoin]:
    """Yield the equalities of a chain between the two sides of a product of relations."""
    for one in chain:
        if not isinstance(one, Filter) or one.compare.operator != "=" or one.compare.negated:
            continue
        sides = (one.compare.left, one.compare.right)
        if not _is_between(below, *(frozenset(variable.name for variable in variables_of(side)) for side in sides)):
            continue
        if not discards_errors and not one.compare.is_simple:
            continue  # a missing value stops the run, but only in rows that exist
        try:
            yield _join(one.compare, known)
        except NotAColumnError:
            continue


def window(
    chain: Sequence[Filter | Extend], below: Algebra, known: Mapping[str, Known], *, discards_errors: bool
) -> tuple[str, str] | None:
    """Return two conditions, one of which holds for each pair of integers whose difference a chain bounds on both
    sides.

    Integers are put into bins as wide as the window, so that partners are in the same bin or in neighbouring ones, and
    Spark joins on bins. The comparisons themselves still run.
    """
    ends: dict[
        tuple[str, str], tuple[list[int], list[int]]
    ] = {}  # by pair of variables: the bounds of their difference
    for one in chain:
        if not isinstance(one, Filter) or one.compare.negated or one.compare.operator not in _ENDS:
            continue
        if not discards_errors and not one.compare.is_simple:
            continue
        (left, first), (right, second) = _moved(one.compare.left), _moved(one.compare.right)
        if left is None or right is None or left == right:
            continue
        is_lower, excluded = _ENDS[one.compare.operator]
        ends.setdefault((left, right), ([], []))[0 if is_lower else 1].append(second - first + excluded)
        ends.setdefault((right, left), ([], []))[1 if is_lower else 0].append(first - second - excluded)
    for (left, right), (lower, upper) in ends.items():
        if not lower or not upper or not _is_between(below, frozenset({left}), frozenset({right})):
            continue
        low, width = max(lower), min(upper) - max(lower) + 1
        columns = known[left], known[right]
        if max(abs(low), abs(width)) >= _WIDEST or any(one.classes & ~INTEGERS for one in columns):
            continue
        if width <= 0:
            return "FALSE", "FALSE"
        bins = [
            f"(({value} - pmod({value}, {width}L)) div {width}L)"
            for value in (f"(shiftright({columns[0].column}, 2) - ({low}L))", f"shiftright({columns[1].column}, 2)")
        ]
        return f"{bins[0]} = {bins[1]}", f"{bins[0]} = {bins[1]} + 1L"
    return None


_ENDS = {">": (True, 1), ">=": (True, 0), "<": (False, -1), "<=": (False, 0)}
"""Which end of a difference an operator bounds, and the distance of that end from the number in the comparison."""
_WIDEST = 1 << 60


def _moved(side: Term) -> tuple[str | None, int]:
    """Return the variable of a term that adds an integer to it, and that integer."""
    match side:
        case Variable():
            return side.name, 0
        case Arithmetic(operator="+" | "-", left=Variable() as one, right=Constant(value=value)) if type(value) is int:
            return one.name, value if side.operator == "+" else -value
        case Arithmetic(operator="+", left=Constant(value=value), right=Variable() as one) if type(value) is int:
            return one.name, value
        case _:
            return None, 0


def _is_between(node: Algebra, left: frozenset[str], right: frozenset[str]) -> bool:
    """Return whether the two columns come from different sides of a product."""
    if not left or not right:
        return False
    while True:
        match node:
            case Filter() | Extend() | Select():
                node = node.input
            case Project() if all(
                source in (name, None) or isinstance(source, Constant) for name, source in node.outputs
            ):
                node = node.input
            case AntiJoin():
                node = node.left
            case Join() if left | right <= set(node.left.columns):
                node = node.left
            case Join() if not node.semi and not node.on:
                first, second = set(node.left.columns), set(node.right.columns)
                return (left <= first and right <= second) or (left <= second and right <= first)
            case _:
                return False


def _join(compare: Compare, known: Mapping[str, Known]) -> ValueJoin:
    left, right = compare.left, compare.right
    if isinstance(left, Variable) and isinstance(right, Variable):
        one, other = known[left.name], known[right.name]
        if decided_by_ids(compare, one.classes, other.classes):
            return ValueJoin(f"{one.column} = {other.column}", None)
    keys = [_key(side, known) for side in (left, right)]
    condition = " AND ".join(f"{a} = {b}" for a, b in zip(keys[0].columns, keys[1].columns, strict=True))
    unsure = [key.unsure for key in keys if key.unsure is not None]
    return ValueJoin(condition, f"({' OR '.join(unsure)})" if unsure else None)


def _key(side: Term, known: Mapping[str, Known]) -> SideKey:
    if isinstance(side, Variable):
        return key_of_column(known[side.name].column, known[side.name].classes)
    found = ColumnTerms(known).of(side)
    if found.kind not in (Kind.INTEGER, Kind.DOUBLE) or found.texts:
        raise NotAColumnError
    conditions = [one.sql for one in found.exact]
    if any(one.texts for one in found.exact):
        raise NotAColumnError
    unsure = f"coalesce(NOT ({' AND '.join(conditions)}), TRUE)" if conditions else None
    return SideKey((f"CAST({found.sql} AS DOUBLE)", "0L"), unsure)


def key_of_column(column: str, classes: int) -> SideKey:
    """Return the key of a column of ids of some classes.

    >>> key_of_column("v0", INTEGERS).columns
    ('CASE WHEN v0 & 3 = 0 THEN CAST(shiftright(v0, 2) AS DOUBLE) ELSE 0D END', '0L')
    """
    numbers = []
    if classes & INTEGERS:
        numbers.append(f"WHEN {column} & 3 = {int(Tag.INTEGER)} THEN CAST(shiftright({column}, 2) AS DOUBLE)")
    if classes & INLINE_DOUBLES:
        numbers.append(f"WHEN {column} & 3 = {int(Tag.DOUBLE)} THEN {double_sql(column)}")
    if classes & DECIMALS & ~HASHED:
        text = f"concat(CAST(shiftright({column}, 8) AS STRING), 'E-', CAST(shiftright({column}, 2) & 63 AS STRING))"
        is_decimal = f"{column} & 3 = {int(Tag.DECIMAL)} AND {column} & {IS_BOOLEAN[0]} <> {IS_BOOLEAN[1]}"
        numbers.append(f"WHEN {is_decimal} THEN CAST({text} AS DOUBLE)")
    number = f"CASE {' '.join(numbers)} ELSE 0D END" if numbers else "0D"
    others = classes & (HASHED | BOOLEANS)
    is_other = f"{column} & 3 = {int(Tag.HASHED)} OR {column} & {IS_BOOLEAN[0]} = {IS_BOOLEAN[1]}"
    other = f"IF({is_other}, {column}, 0L)" if others else "0L"
    unsure = classes & HASHED & VALUED
    return SideKey((number, other), is_in_sql(column, unsure) if unsure else None)
