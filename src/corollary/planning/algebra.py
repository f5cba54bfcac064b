"""Rules as relational algebra (paper 001, section 2.4.2), for engines that evaluate whole relations at a time.

The tree is left-deep, in the join order that `plan_rule` finds from real cardinalities. Negation is an anti-join
against the negated atom projected to the variables that it shares with the rest; the paper's `!=` in a join condition
is wrong. The columns of a relation are `$0 … $n-1`; everywhere else a column has the name of its variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from corollary.planning.join_order import plan_rule
from corollary.planning.normal_form import AggregateSource, Compare, Compute, NormalRule, Source
from corollary.planning.rule_plan import Absence, Access, Column, NoStatistics, RulePlan, Statistics, Use, Version
from corollary.program import AggregateOperation, Atom, Constant, Variable


def positional(arity: int) -> tuple[str, ...]:
    """Return the column names of a relation; no variable has such a name."""
    return tuple(f"${position}" for position in range(arity))


@dataclass(frozen=True)
class Unit:
    """The relation with one row and no columns, from which a body without atoms starts."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Scan:
    predicate: str
    arity: int
    version: Version = Version.FULL

    @property
    def columns(self) -> tuple[str, ...]:
        return positional(self.arity)


@dataclass(frozen=True)
class Select:
    """The rows in which certain columns are identical with other columns or with constants."""

    input: Algebra
    equalities: tuple[tuple[str, str | Constant], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


@dataclass(frozen=True)
class Project:
    """Renamed columns, and constants. Rows may repeat unless `distinct`."""

    input: Algebra
    outputs: tuple[tuple[str, str | Constant], ...]
    distinct: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)


@dataclass(frozen=True)
class Join:
    """A natural join on the columns `on`; a Cartesian product if there are none.

    A `semi` join returns each row of the left side that has a partner, once.
    """

    left: Algebra
    right: Algebra
    on: tuple[str, ...]
    semi: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        if self.semi:
            return self.left.columns
        return (*self.left.columns, *(name for name in self.right.columns if name not in self.on))


@dataclass(frozen=True)
class AntiJoin:
    """The rows of the left side without a partner; if the sides share no column, all of them if the right side is empty."""

    left: Algebra
    right: Algebra
    on: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns


@dataclass(frozen=True)
class Filter:
    input: Algebra
    compare: Compare

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


@dataclass(frozen=True)
class Extend:
    """A column with the value of an expression; if the column exists already, rows with another value are dropped."""

    input: Algebra
    compute: Compute

    @property
    def checks(self) -> bool:
        return self.compute.variable in self.input.columns

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns if self.checks else (*self.input.columns, self.compute.variable)


@dataclass(frozen=True)
class Aggregate:
    """Groups and results over an input without repeated rows; a group in which a result has no value is left out."""

    input: Algebra
    group_by: tuple[str, ...]
    operations: tuple[AggregateOperation, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return positional(len(self.group_by) + len(self.operations))


@dataclass(frozen=True)
class Union:
    """All rows of relations with the same columns; rows may repeat."""

    inputs: tuple[Algebra, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.inputs[0].columns


Algebra: TypeAlias = Unit | Scan | Select | Project | Join | AntiJoin | Filter | Extend | Aggregate | Union


def algebra_of(
    rule: NormalRule,
    statistics: Statistics | None = None,
    versions: tuple[Version, ...] | None = None,
    *,
    keep_all: bool = False,
    values_last: bool = False,
) -> Project:
    """Return the heads of a rule as relational algebra; rows may repeat, with `keep_all` once for each rule instance.

    With `values_last`, no expression is computed before all atoms have matched, unless an atom needs its value.
    """
    known = statistics or NoStatistics()
    plan = plan_rule(rule, known, versions, keep_all=keep_all, values_last=values_last)
    return _translate(plan, known, prune=True, values_last=values_last)


def delta_versions(rule: NormalRule, delta: int | None, growing: Iterable[str]) -> tuple[Version, ...]:
    """Return the versions for a semi-naive round: old rows before the delta atom, all rows after it, so no instance is
    tried twice."""
    grows = set(growing)
    versions = []
    for position, source in enumerate(rule.body.sources):
        if delta is None or position > delta or not (isinstance(source, Atom) and source.predicate in grows):
            versions.append(Version.FULL)
        else:
            versions.append(Version.DELTA if position == delta else Version.OLD)
    return tuple(versions)


def inputs_of(node: Algebra) -> tuple[Algebra, ...]:
    match node:
        case Unit() | Scan():
            return ()
        case Join() | AntiJoin():
            return node.left, node.right
        case Union():
            return node.inputs
        case _:
            return (node.input,)


def walk(node: Algebra) -> Iterator[Algebra]:
    yield node
    for child in inputs_of(node):
        yield from walk(child)


# -- from plans --------------------------------------------------------------------------------------------------------


def _translate(plan: RulePlan, statistics: Statistics, *, prune: bool, values_last: bool = False) -> Project:
    names: dict[int, str | Constant] = {register: name for name, register in plan.registers.items()}
    names |= dict(plan.constants)
    needed = _needed_after(plan, names)
    tree: Algebra = Unit()
    for operation, later in zip(plan.operations, needed, strict=True):
        match operation:
            case Access():
                tree = _join(tree, operation, names, statistics, values_last=values_last)
                kept = tuple(name for name in tree.columns if name in later)
                if prune and len(kept) < len(tree.columns):
                    tree = Project(tree, tuple((name, name) for name in kept))
            case Absence():
                right, on = _relation(operation.source, operation.columns, Version.FULL, names, statistics, keep=False)
                tree = AntiJoin(tree, right, on)
            case Compute():
                tree = Extend(tree, operation)
            case Compare():
                tree = Filter(tree, operation)
    outputs = zip(positional(len(plan.head_registers)), plan.head_registers, strict=True)
    return Project(tree, tuple((column, names[register]) for column, register in outputs))


def _needed_after(plan: RulePlan, names: dict[int, str | Constant]) -> list[set[str]]:
    """Return, for each operation, the variables that are used after it."""
    needed = {name for register in plan.head_registers if isinstance(name := names[register], str)}
    later: list[set[str]] = []
    for operation in reversed(plan.operations):
        later.append(set(needed))
        if isinstance(operation, (Access, Absence)):
            registers = [column.register for column in operation.columns if column.use is Use.KEY]
            needed |= {name for register in registers if isinstance(name := names[register], str)}
        else:
            needed |= operation.inputs
            if isinstance(operation, Compute):
                needed.add(operation.variable)
    return later[::-1]


def _join(
    tree: Algebra,
    access: Access,
    names: dict[int, str | Constant],
    statistics: Statistics,
    *,
    values_last: bool = False,
) -> Algebra:
    binds = any(column.use is Use.BIND for column in access.columns) and not access.exists
    right, on = _relation(
        access.source, access.columns, access.version, names, statistics, keep=binds, values_last=values_last
    )
    if isinstance(tree, Unit):
        return right
    return Join(tree, right, on, semi=not binds)


def _relation(
    source: Source, columns: tuple[Column, ...], version: Version, names: dict[int, str | Constant],
    statistics: Statistics, *, keep: bool, values_last: bool = False,
) -> tuple[Algebra, tuple[str, ...]]:  # fmt: skip
    """Return the rows of a source that match its constants and repeated variables, and the names of variables bound
    before.

    Without `keep` only columns of the latter remain: the other variables are existential.
    """
    if isinstance(source, AggregateSource):
        base = _aggregate(source, statistics, values_last=values_last)
    else:
        base = _scan(source, version)
    equalities: list[tuple[str, str | Constant]] = []
    first: dict[str, str] = {}
    on: list[str] = []
    for place, column in zip(base.columns, columns, strict=True):
        if column.use is Use.SKIP:
            continue
        name = names[column.register]
        if isinstance(name, Constant):
            equalities.append((place, name))
        elif name in first:
            equalities.append((place, first[name]))
        else:
            first[name] = place
            if column.use is Use.KEY:
                on.append(name)
    selected = Select(base, tuple(equalities)) if equalities else base
    outputs = tuple((name, place) for name, place in first.items() if keep or name in on)
    return Project(selected, outputs), tuple(on)


def _scan(atom: Atom, version: Version) -> Algebra:
    return Scan(atom.predicate, atom.arity, version)


def _aggregate(source: AggregateSource, statistics: Statistics, *, values_last: bool) -> Algebra:
    """Return an aggregation over the distinct bindings of all named variables of the body, none of which is dropped before."""
    names = source.ranged
    rule = NormalRule("aggregate", Atom("", tuple(Variable(name) for name in names)), source.body)
    plan = plan_rule(rule, statistics, keep_all=True, values_last=values_last)
    bindings = _translate(plan, statistics, prune=False, values_last=values_last)
    renamed = tuple((name, place) for (_, place), name in zip(bindings.outputs, names, strict=True))
    return Aggregate(Project(bindings.input, renamed, distinct=True), source.group_by, source.operations)


def has_distinct_rows(node: Algebra) -> bool:
    """Return whether no row can repeat; rows can repeat if a dropped column is not determined by those that are kept."""
    match node:
        case Unit() | Scan() | Aggregate():
            return True
        case Select() | Filter() | Extend():
            return has_distinct_rows(node.input)
        case AntiJoin():
            return has_distinct_rows(node.left)
        case Join():
            return has_distinct_rows(node.left) and (node.semi or has_distinct_rows(node.right))
        case Project():
            if node.distinct:
                return True
            kept = {source for _, source in node.outputs if isinstance(source, str)}
            return has_distinct_rows(node.input) and set(node.input.columns) <= _determined(node.input, kept)
        case Union():
            return False


def _determined(node: Algebra, kept: set[str]) -> set[str]:
    """Return the columns of a node that depend only on the kept ones: computed columns, and those equal to other columns."""
    match node:
        case Filter():
            return _determined(node.input, kept)
        case AntiJoin():
            return _determined(node.left, kept)
        case Select():
            found = _determined(node.input, kept)
            found |= {column for column, other in node.equalities if isinstance(other, Constant) or other in found}
            return found
        case Extend():
            found = _determined(node.input, kept)
            return found | {node.compute.variable} if node.compute.inputs <= found else found
        case _:
            return set(kept)
