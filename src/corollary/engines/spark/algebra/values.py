"""Computations that need values: arithmetic, comparisons and aggregates inside tasks, by the functions of the embedded
engine.

Each stage is a function for `mapInArrow`. It gets batches of ids, with the forms of the constants whose values it needs
in columns beside them, and returns ids. Constants that the task made are returned in the column `minted`, in the first
row of a batch: facts of other rows may use them, too, so they must be read from the stage's own output, not from what
later joins leave of it. Every batch has a universe of its own, so that the memory of a task does not grow with its
data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from corollary.diagnostics import ProgramError, catalogue
from corollary.engines.embedded.kernels.refusals import Undecided
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.aggregation import aggregate_rows
from corollary.engines.embedded.values.expressions import compute_column, evaluated, holds_column, holds_vector
from corollary.engines.embedded.values.ordering import FIRST_MOMENT, NUMBER, Ordering
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.engines.embedded.values.vectors import NotVectorisedError, Vector
from corollary.engines.spark.algebra.column_steps import NO_VALUE_ID
from corollary.engines.spark.failures import failure_of, failure_report
from corollary.engines.spark.terms.double_ids import NOT_INLINE, doubles_of_ids, inline_double_ids
from corollary.engines.spark.terms.ids import CollisionTable, Ids, Tag
from corollary.engines.spark.terms.task_universe import TERM_FIELDS, TaskUniverse
from corollary.language import print_term
from corollary.planning import Compare, Compute, NormalRule
from corollary.program import AggregateOperation, Constant, EvaluationError, Term, Variable

# -- inline operations -------------------------------------------------------------------------------------------------

# Computations and comparisons on ids of inline integers and doubles, which need no universe.

_GREATEST = 1 << 61  # integers from here on are hashed


def run_on_inline(
    operations: Sequence[Compute | Compare], columns: Mapping[str, str], ids: dict[str, Ids], count: int
) -> tuple[dict[str, Ids], int] | None:
    """Return the columns after all operations and the number of rows left; None if anything but inline numbers occurs.

    `columns` names the column of each variable, `ids` has the existing columns.
    """
    tags: dict[str, Tag] = {}
    try:
        for operation in operations:
            keep = _run(operation, columns, ids, count, tags)
            if keep is not None and not keep.all():
                ids = {name: column[keep] for name, column in ids.items()}
                count = int(keep.sum())
    except (NotVectorisedError, EvaluationError):
        return None
    return ids, count


def _ids_of(found: Vector) -> Ids:
    """Return numbers as inline ids; raise if one does not fit."""
    values = found.values
    if found.kind == Kind.INTEGER:
        if len(values) and not (int(values.min()) >= -_GREATEST and int(values.max()) < _GREATEST):
            raise NotVectorisedError
        whole: Ids = values << 2
        return whole
    if found.kind != Kind.DOUBLE:
        raise NotVectorisedError
    ids: Ids = inline_double_ids(np.ascontiguousarray(values, np.float64).view(np.int64))
    outside = ids == NOT_INLINE
    if (outside if found.valid is None else outside & found.valid).any():
        raise NotVectorisedError
    return ids


def _tag_of(column: Ids) -> Tag:
    """Return the tag that all ids of a column have."""
    found = Tag(int(column[0]) & 3) if len(column) else Tag.INTEGER
    if found not in (Tag.INTEGER, Tag.DOUBLE) or ((column & 3) != found).any():
        raise NotVectorisedError
    return found


def _run(
    operation: Compute | Compare, columns: Mapping[str, str], ids: dict[str, Ids], count: int, tags: dict[str, Tag]
) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """Return which rows stay, None for all; a computation adds its column."""

    def numbers(name: str) -> Vector:
        column = ids[columns[name]]
        if name not in tags:
            tags[name] = _tag_of(column)
        if tags[name] == Tag.DOUBLE:
            return Vector(Kind.DOUBLE, doubles_of_ids(column))
        return Vector(Kind.INTEGER, column >> 2)

    if isinstance(operation, Compare):
        holds = holds_vector(operation, numbers, count)
        return ~holds if operation.negated else holds
    if operation.total:
        raise NotVectorisedError
    column = columns[operation.variable]
    if isinstance(operation.expression, Variable):
        new: Ids = ids[columns[operation.expression.name]]
        valid = None
    else:
        found = evaluated(operation.expression, numbers, count)
        new, valid = _ids_of(found), found.valid
    if column not in ids:
        ids[column] = new
        return valid
    same: np.ndarray[Any, np.dtype[np.bool_]] = ids[column] == new
    return same if valid is None else same & valid


# -- values ------------------------------------------------------------------------------------------------------------

Array: TypeAlias = np.ndarray[Any, Any]

MINTED = "minted"
_FAILED = "[failed expression]"  # marks the message of an expression in Spark's report of a failed task

_TERM = pa.struct(list(TERM_FIELDS))
_MINTED = pa.list_(_TERM)
MINTED_SCHEMA = f"{MINTED} array<struct<id: long, common: string, canonical: string, datatype: string>>"


def form_columns(column: str) -> tuple[str, str, str]:
    """Return the names of the columns with the forms of a column's constants; they are null beside inline ids."""
    return f"{column}_common", f"{column}_canonical", f"{column}_datatype"


def _learn(task: TaskUniverse, batch: pa.RecordBatch, taught: tuple[str, ...]) -> None:
    """Teach the universe of a task the forms beside ids; different columns may have the same ids."""
    for column in taught:
        ids = batch.column(column)
        forms = [batch.column(name) for name in form_columns(column)]
        known = np.flatnonzero(~np.asarray(forms[2].is_null()))
        _, first = np.unique(ids.to_numpy()[known], return_index=True)
        rows = pa.array(known[first])
        task.learn(pa.table([one.take(rows) for one in (ids, *forms)], schema=TERM_FIELDS))


def minted_column(task: TaskUniverse, used: list[Ids], count: int) -> pa.Array:
    """Return the column of new terms: all those of a batch in its first row, if a result uses them."""
    terms = task.new_terms()
    if count and terms.num_rows:
        terms = terms.filter(pa.array(np.isin(terms["id"].to_numpy(), np.concatenate(used))))
    if not count or not terms.num_rows:
        return pa.nulls(count, _MINTED)
    structs = terms.combine_chunks().to_struct_array()
    values = structs.combine_chunks() if isinstance(structs, pa.ChunkedArray) else structs
    offsets = np.full(count + 1, len(values), np.int32)
    offsets[0] = 0
    mask = np.ones(count, np.bool_)
    mask[0] = False
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=_MINTED, mask=pa.array(mask))


@dataclass(frozen=True)
class ValueStage:
    """A chain of computations and comparisons on the bindings of a batch.

    `columns` names the column of each variable, including computed ones; `outputs` are the columns to return.
    """

    operations: tuple[Compute | Compare, ...]
    columns: Mapping[str, str]
    taught: tuple[str, ...]
    outputs: tuple[str, ...]
    collisions: CollisionTable
    stops: str | None = None
    """The rule, where an expression without a value stops the run; otherwise it discards the row."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                try:
                    yield self._of_inline(batch) or self._run(batch)
                except ProgramError as error:
                    raise ValueError(_failed(*failure_report(error))) from error

    def _of_inline(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """Return the result if every input and every result is an inline number, so that no universe is needed."""
        if self.stops is not None or self.taught:
            return None
        names = {*self.outputs, *self.columns.values()} & set(batch.schema.names)
        ids = {name: batch.column(name).to_numpy() for name in names}
        found = run_on_inline(self.operations, self.columns, ids, batch.num_rows)
        if found is None:
            return None
        columns, count = found
        arrays = [pa.array(columns[name]) for name in self.outputs]
        return pa.RecordBatch.from_arrays([*arrays, pa.nulls(count, _MINTED)], names=[*self.outputs, MINTED])

    def _run(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        task = TaskUniverse(self.collisions)
        _learn(task, batch, self.taught)
        ordering = Ordering(task.universe)
        given = set(batch.schema.names)
        ids: dict[str, Ids] = {name: batch.column(name).to_numpy() for name in self.outputs if name in given}
        needed = {name for operation in self.operations for name in operation.inputs}
        needed |= {one.variable for one in self.operations if isinstance(one, Compute)}
        codes = {
            name: task.codes(batch.column(self.columns[name]).to_numpy())
            for name in sorted(needed)
            if self.columns[name] in given
        }
        count = batch.num_rows
        made: list[str] = []
        if self.stops is not None:
            _stop_on_errors(self.stops, self.operations, codes, count, task.universe)
        for operation in self.operations:
            keep: Array
            if isinstance(operation, Compare):
                keep = _holds(operation, codes, count, task.universe, ordering)
            else:
                column = self.columns[operation.variable]
                new, valid = compute_column(replace(operation, total=False), codes, count, task.universe)
                if operation.total and column not in given:  # a missing value is a value that no fact has
                    ids[column] = np.full(count, NO_VALUE_ID, np.int64)
                    ids[column][valid] = task.ids(new[valid])
                    keep = np.ones(count, np.bool_)
                elif column in ids:  # it has a value already; ids decide identity, even for opaque constants
                    keep = valid.copy()
                    keep[valid] = task.ids(new[valid]) == ids[column][valid]
                elif operation.variable in codes:
                    keep = valid & (codes[operation.variable] == new)
                else:
                    keep = valid
                    codes[operation.variable] = new
                    made.append(operation.variable)
            if not keep.all():
                codes = {name: column[keep] for name, column in codes.items()}
                ids = {name: column[keep] for name, column in ids.items()}
                count = int(keep.sum())
        for variable in made:
            ids[self.columns[variable]] = task.ids(codes[variable])
        computed = [self.columns[one.variable] for one in self.operations if isinstance(one, Compute)]
        minted = minted_column(task, [ids[column] for column in computed] or [np.empty(0, np.int64)], count)
        arrays = [pa.array(ids[name]) for name in self.outputs]
        return pa.RecordBatch.from_arrays([*arrays, minted], names=[*self.outputs, MINTED])


def _stop_on_errors(
    rule: str, operations: Sequence[Compute | Compare], codes: dict[str, Codes], count: int, universe: Universe
) -> None:
    """Raise if a row without a value is an instance: all its atoms match, and no comparison with a value is false."""
    state = Undecided(codes, count, universe)
    for operation in operations:
        state.run(operation)
    found = state.error()
    if found is not None:
        term, why = found
        code = catalogue.FAILED_EXPRESSION.code
        raise ValueError(_failed(code, f"in rule {rule}: {print_term(term)} has no value: {why}", None))


def _failed(code: str, message: str, hint: str | None) -> str:
    return f"{_FAILED}{code}{_FAILED}{message}{_FAILED}{hint or ''}{_FAILED}"


@contextmanager
def failures_explained(rules: Iterable[NormalRule]) -> Iterator[None]:
    """Raise failures inside the block that come from an expression without a value as errors about the rule."""
    try:
        yield
    except Exception as error:
        parts = str(error).split(_FAILED)
        if len(parts) < 5:
            raise
        raise failure_of(parts[1], parts[2], parts[3] or None, rules) from error


def _holds(compare: Compare, codes: dict[str, Codes], count: int, universe: Universe, ordering: Ordering) -> Array:
    """Like `holds_column`, with ranks instead of values if both sides are plain, as in the embedded kernels."""
    if not compare.is_simple:
        return holds_column(compare, codes, count, universe)
    left, right = (_side(side, codes, count, universe) for side in (compare.left, compare.right))
    kinds, ranks = ordering.arrays(texts=compare.orders)
    holds: Array
    if compare.operator in ("=", "!="):
        by_value = (kinds[left] == kinds[right]) & ((kinds[left] == NUMBER) | (kinds[left] >= FIRST_MOMENT))
        equal = np.where(by_value, ranks[left] == ranks[right], left == right)
        holds = equal if compare.operator == "=" else ~equal
    else:
        order = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[compare.operator]
        holds = (kinds[left] == kinds[right]) & (kinds[left] != 0) & order(ranks[left], ranks[right])
    return ~holds if compare.negated else holds


def _side(side: Term, codes: dict[str, Codes], count: int, universe: Universe) -> Codes:
    if isinstance(side, Constant):
        return np.full(count, universe.encode(side.value), np.uint32)
    assert isinstance(side, Variable)
    return codes[side.name]


@dataclass(frozen=True)
class GroupStage:
    """Aggregates over batches sorted by group. One task sees every row of a group, and keeps one group and one batch in
    memory. Input rows are distinct."""

    group_by: tuple[str, ...]
    operations: tuple[AggregateOperation, ...]
    columns: Mapping[str, str]
    taught: tuple[str, ...]
    collisions: CollisionTable

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            if not batch.num_rows:
                continue
            start = self._last_group(batch, waiting)
            if start is None:
                waiting.append(batch)
                continue
            yield self._run([*waiting, batch.slice(0, start)])
            waiting = [batch.slice(start)]
        if waiting:
            yield self._run(waiting)

    def _last_group(self, batch: pa.RecordBatch, waiting: list[pa.RecordBatch]) -> int | None:
        """Return where the last group of a batch starts; None if all rows so far may belong to one group."""
        same = np.ones(batch.num_rows, np.bool_)
        continues = True
        for name in self.group_by:
            column = batch.column(self.columns[name]).to_numpy()
            same &= column == column[-1]
            if waiting:
                continues &= bool(waiting[-1].column(self.columns[name])[-1].as_py() == column[-1])
        if not same.all():
            return int(np.flatnonzero(~same)[-1]) + 1
        return None if continues else 0

    def _run(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        table = pa.Table.from_batches([batch for batch in batches if batch.num_rows]).combine_chunks()
        batch = table.to_batches()[0]
        task = TaskUniverse(self.collisions)
        _learn(task, batch, self.taught)
        arguments = [one.argument.name for one in self.operations if isinstance(one.argument, Variable)]
        names = list(dict.fromkeys([*self.group_by, *arguments]))
        rows = np.zeros((batch.num_rows, len(names)), np.uint32)
        for place, name in enumerate(names):
            rows[:, place] = task.codes(batch.column(self.columns[name]).to_numpy())
        places = {name: place for place, name in enumerate(names)}
        found = aggregate_rows(rows, places, self.group_by, self.operations, task.universe).facts
        ids = [task.ids(np.ascontiguousarray(found[:, place])) for place in range(found.shape[1])]
        results = ids[len(self.group_by) :]
        arrays = [pa.array(column) for column in ids]
        names_of_ids = [f"c{place}" for place in range(len(ids))]
        return pa.RecordBatch.from_arrays(
            [*arrays, minted_column(task, results, len(found))], names=[*names_of_ids, MINTED]
        )
