"""The input stream of a task: facts of several relations, and the forms of constants whose values it needs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from corollary.engines.spark.relations import Frame, FrameStore, column_names
from corollary.engines.spark.strategies.jobs import NodeJob
from corollary.engines.spark.tasks.task_job import FORMS, RELATION, TERMS, constants_of
from corollary.engines.spark.terms.ids import Tag, id_of
from corollary.planning import AggregateSource, NormalBody, NormalRule
from corollary.program import Atom, Term, Variable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context

WHOLE_UNIVERSE = 100_000
"""A universe of at most this size is sent to the task whole: finding the constants that occur would take longer."""
_NOTHING = -2
PART = "part"


@dataclass(frozen=True)
class Distribution:
    """How facts are partitioned among tasks: by a column of a relation, or copied to all if none is named."""

    count: int
    by: Mapping[str, int] = field(default_factory=dict)


def relations_of(jobs: Sequence[NodeJob]) -> dict[str, int]:
    """Return the predicates whose facts some consecutive hyper-nodes need as input."""
    return {predicate: arity for job in jobs for predicate, arity in job.relations.items()}


def rows_of(predicates: Iterable[str], store: FrameStore) -> int:
    """Return the number of facts; relations of unknown size are counted now."""
    return sum(frame.counted().rows or 0 for predicate in predicates for frame in store.frames(predicate))


def task_input(
    jobs: Sequence[NodeJob],
    relations: Mapping[str, int],
    store: FrameStore,
    context: Context,
    parts: Distribution | None = None,
) -> DataFrame:
    """Return rows `relation, c0, …`; in one partition, or with `parts` in one for each of them."""
    width = max([1, *relations.values()])
    given = {
        predicate: store.visible(predicate)
        for predicate in relations
        if store.frames(predicate) and store.rows(predicate) != 0
    }
    terms = _terms(given, [rule for job in jobs for rule in job.rules], context)
    pieces = [_rows(context.spark.range(1).selectExpr("CAST(0 AS LONG) AS c0"), 1, _NOTHING, width, terms is not None)]
    owners: list[str | None] = [None]
    if terms is not None:
        nulls = [f"CAST(NULL AS LONG) AS c{place}" for place in range(1, width)]
        pieces.append(terms.selectExpr(f"{TERMS} AS {RELATION}", "id AS c0", *nulls, *FORMS))
        owners.append(None)
    for number, predicate in enumerate(relations):
        if predicate in given:
            frame = given[predicate]
            pieces.append(_rows(frame.df, len(column_names(frame.arity)), number, width, terms is not None))
            owners.append(predicate)
    if parts is None:
        return _union(pieces).coalesce(1)
    columns = [parts.by.get(owner) if owner is not None else None for owner in owners]
    return _dealt_out(pieces, columns, parts.count)


def dealt_input(dealt: Sequence[tuple[DataFrame, int | None]], count: int) -> DataFrame:
    """Return relations of one arity, numbered in order, each partitioned by a column or copied to all of `count` partitions."""
    pieces = [df.selectExpr(f"{number} AS {RELATION}", "*") for number, (df, _) in enumerate(dealt)]
    return _dealt_out(pieces, [column for _, column in dealt], count)


def _dealt_out(pieces: Sequence[DataFrame], columns: Sequence[int | None], count: int) -> DataFrame:
    dealt = [_dealt(piece, column, count) for piece, column in zip(pieces, columns, strict=True)]
    return _union(dealt).repartitionById(count, PART).drop(PART)


def _union(pieces: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.union(right), pieces)


def _rows(df: DataFrame, columns: int, number: int, width: int, has_forms: bool) -> DataFrame:
    ids = [f"c{place}" if place < columns else f"CAST(NULL AS LONG) AS c{place}" for place in range(width)]
    forms = [f"CAST(NULL AS STRING) AS {name}" for name in FORMS] if has_forms else []
    return df.selectExpr(f"{number} AS {RELATION}", *ids, *forms)


def _dealt(piece: DataFrame, column: int | None, count: int) -> DataFrame:
    if column is None:
        return piece.selectExpr("*", f"explode(sequence(0, {count - 1})) AS {PART}")
    return piece.selectExpr("*", f"CAST(pmod(xxhash64(c{column}), {count}) AS INT) AS {PART}")


def _terms(given: Mapping[str, Frame], rules: Sequence[NormalRule], context: Context) -> DataFrame | None:
    """Return the forms that the rules need; None if there are none.

    They include the constants of the rules, so that a task does not report constants as new that the universe has.
    """
    universe = context.universe
    columns = [(given[name].df, f"c{place}") for name, place in sorted(valued_columns(rules)) if name in given]
    constants = [id_of(one.value, universe.collisions) for rule in rules for one in constants_of(rule)]
    constants = sorted({number for number in constants if number & 3 == Tag.HASHED})
    if not (columns or constants) or universe.rows == 0:
        return None
    if universe.rows <= WHOLE_UNIVERSE:
        return universe.df
    wanted = [df.selectExpr(f"{name} AS id").where(f"id & 3 = {int(Tag.HASHED)}") for df, name in columns]
    if constants:
        wanted.append(context.spark.createDataFrame([(number,) for number in constants], "id long"))
    return universe.forms(_union(wanted))


# The columns of relations with constants whose values some rule needs.
#
# Everywhere else a constant is only its id. A value is needed where constants are compared, computed with or
# aggregated, and where a computed constant meets others: a task that makes "ab" from "a" and "b" must see that it is
# the "ab" of the data.


Column = tuple[str, int]


def valued_columns(rules: Iterable[NormalRule]) -> frozenset[Column]:
    """Return the columns, as predicates and positions, whose constants these rules need by value."""
    classes = _ColumnClasses()
    for number, rule in enumerate(rules):
        _body(classes, (number,), rule.body)
        _atom(classes, (number,), rule.head)
    return classes.valued_columns()


def _body(classes: _ColumnClasses, scope: tuple[int, ...], body: NormalBody) -> None:
    for place, source in enumerate(body.sources):
        if isinstance(source, AggregateSource):
            _aggregate(classes, scope, (*scope, place), source)
        else:
            _atom(classes, scope, source)
    for atom in body.negated:
        _atom(classes, scope, atom)
    for compute in body.computes:
        _value(classes, scope, [*compute.inputs, compute.variable])
    for compare in body.compares:
        _value(classes, scope, compare.inputs)


def _aggregate(
    classes: _ColumnClasses, outer: tuple[int, ...], inner: tuple[int, ...], source: AggregateSource
) -> None:
    _body(classes, inner, source.body)
    for name in source.group_by:
        classes.join((outer, name), (inner, name))
    for operation in source.operations:
        if operation.function != "count":
            _value(classes, outer, [operation.result.name])
            if isinstance(operation.argument, Variable):
                _value(classes, inner, [operation.argument.name])


def _atom(classes: _ColumnClasses, scope: tuple[int, ...], atom: Atom) -> None:
    for place, argument in enumerate(atom.arguments):
        _argument(classes, scope, (atom.predicate, place), argument)


def _argument(classes: _ColumnClasses, scope: tuple[int, ...], column: Column, argument: Term) -> None:
    classes.column(column)
    if isinstance(argument, Variable):
        classes.join(column, (scope, argument.name))


def _value(classes: _ColumnClasses, scope: tuple[int, ...], names: Iterable[str]) -> None:
    for name in names:
        classes.mark((scope, name))


class _ColumnClasses:
    """Columns and variables that may hold the same constants, by union-find."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, Hashable] = {}
        self._columns: set[Column] = set()
        self._marked: set[Hashable] = set()

    def column(self, column: Column) -> None:
        self._columns.add(column)

    def join(self, one: Hashable, other: Hashable) -> None:
        self._parents[self._root(one)] = self._root(other)

    def mark(self, one: Hashable) -> None:
        self._marked.add(one)

    def valued_columns(self) -> frozenset[Column]:
        roots = {self._root(one) for one in self._marked}
        return frozenset(column for column in self._columns if self._root(column) in roots)

    def _root(self, one: Hashable) -> Hashable:
        while (parent := self._parents.get(one, one)) != one:
            one = parent
        return one
