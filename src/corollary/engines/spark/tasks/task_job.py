"""Hyper-nodes inside one Spark task: ids stream in, the embedded kernels run, facts go to files.

A job is pickled with the function of a `mapInArrow` stage. Its input is one stream of rows `relation, c0, c1, …`: the
number of a predicate in `inputs`, and ids. Rows with the number `TERMS` contain the forms of constants whose values are
needed. A task that derives too much stops, reports so, and returns what it has: all of it is true, so another strategy
can continue from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from corollary.analysis import Module
from corollary.diagnostics import ProgramError
from corollary.engines.embedded.evaluation import Evaluation, RelationStore, Report
from corollary.engines.embedded.kernels.runner import Work
from corollary.engines.embedded.relations.relation import Codes, Counts, Relation
from corollary.engines.spark.failures import failure_report
from corollary.engines.spark.relations import COUNT, column_names
from corollary.engines.spark.tasks.task_files import PIECE, NodeRecord, TaskManifest, WrittenFile, write_file
from corollary.engines.spark.terms.ids import CollisionTable
from corollary.engines.spark.terms.task_universe import TERM_FIELDS, TaskUniverse
from corollary.planning import NormalRule
from corollary.planning.normal_form import alternates
from corollary.planning.steps import is_auxiliary
from corollary.program import Constant
from corollary.reasoning.run import Run
from corollary.settings import Limits

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

TERMS = -1
RELATION = "relation"
FORMS = ("common", "canonical", "datatype")
_CHECK_EVERY = 0.02


@dataclass(frozen=True)
class Caps:
    """When a task stops: the facts it has derived, the bytes it holds, the pairs of one closure that it would write alone."""

    facts: int
    memory: int
    pairs: int


@dataclass(frozen=True)
class TaskLimits:
    """The limits of the operation that a task is part of; `facts_beside` counts facts of predicates that are not in its
    input.

    Limits of time are checked by the driver, which ends the task.
    """

    limits: Limits
    facts_beside: int = 0


@dataclass(frozen=True)
class TaskNode:
    """A hyper-node as sent to a task: rules without spans, and the names of the program's predicates."""

    name: str
    rules: tuple[NormalRule, ...]
    modules: tuple[Module, ...]
    recursive: bool
    counts: bool = False

    @property
    def heads(self) -> dict[str, int]:
        return {rule.head.predicate: rule.head.arity for rule in self.rules}

    @property
    def may_be_replaced(self) -> bool:
        """Whether a closure may rewrite the relation in another order."""
        return len(self.modules) == 1 and self.modules[0].predicate is not None


class CapReached(Exception):
    """Raised when the task must stop; the text is the reason."""


@dataclass(frozen=True)
class TaskJob:
    """The function of a `mapInArrow` stage; it returns one row, the manifest."""

    inputs: tuple[tuple[str, int], ...]
    nodes: tuple[TaskNode, ...]
    directory: str
    caps: Caps
    collisions: CollisionTable
    discards_errors: bool = True
    without: frozenset[str] = frozenset()
    limits: TaskLimits = field(default_factory=lambda: TaskLimits(Limits(rounds=None)))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        run = _Run(self)
        for batch in batches:
            run.take(batch)
        run.evaluate()
        yield run.manifest.batch()


class _TaskRun(Run):
    """A run inside a task, stopped by limits and caps; the driver can also end the whole task."""

    def __init__(self, limits: Limits, check_caps: Callable[[], None]) -> None:
        super().__init__(limits)
        self._check_caps = check_caps

    def check(self, facts: int | None = None) -> None:
        super().check(facts)
        self._check_caps()


class _Run:
    def __init__(self, job: TaskJob) -> None:
        self._job = job
        self._terms = TaskUniverse(job.collisions)
        self._store = RelationStore(counted=any(node.counts for node in job.nodes))
        self._store.universe = self._terms.universe
        self._loaded = 0
        self._checked = 0.0
        self.manifest = TaskManifest()

    # -- facts in ----------------------------------------------------------------------------------------------------

    def take(self, batch: pa.RecordBatch) -> None:
        """Add distinct rows of any relations."""
        numbers = batch.column(RELATION).to_numpy()
        for number in np.unique(numbers).tolist():
            chosen = numbers == number
            part = batch if chosen.all() else batch.filter(pa.array(chosen))
            if number == TERMS:
                self._learn(part)
            elif number >= 0:  # other rows only make sure that the task exists
                predicate, arity = self._job.inputs[number]
                self._insert(predicate, arity, part)

    def _learn(self, batch: pa.RecordBatch) -> None:
        self._terms.learn(pa.table([batch.column(name) for name in ("c0", *FORMS)], schema=TERM_FIELDS))

    def _insert(self, predicate: str, arity: int, batch: pa.RecordBatch) -> None:
        rows = np.empty((batch.num_rows, arity), np.uint32)
        for place in range(arity):
            rows[:, place] = self._terms.codes(batch.column(f"c{place}").to_numpy())
        relation = self._store.relation(predicate, arity)
        if arity:
            relation.append_distinct(rows)
        else:
            relation.insert(rows)

    # -- rules -------------------------------------------------------------------------------------------------------

    def evaluate(self) -> None:
        job = self._job
        self._loaded = self._store.size
        run = _TaskRun(job.limits.limits, self._check)
        work = Work(discards_errors=job.discards_errors, run=run, facts=self._facts)
        evaluation = Evaluation(self._store, work, without=job.without)
        for predicate, arity in job.inputs:
            self._store.relation(predicate, arity)
        for number, node in enumerate(job.nodes):
            record = NodeRecord(number)
            self.manifest.nodes.append(record)
            try:
                self._evaluate(evaluation, work, node, record)
            except ProgramError as error:
                self.manifest.failure = failure_report(error)
                return
            if record.unfinished:
                break
        terms = self._terms.new_terms()
        if terms.num_rows:
            self.manifest.terms, _ = write_file(job.directory, "terms", terms.to_batches())

    def _evaluate(self, evaluation: Evaluation, work: Work, node: TaskNode, record: NodeRecord) -> None:
        started, instances = time.perf_counter(), work.instances
        before = {
            name: _Before(self._store.relation(name, arity), node.may_be_replaced) for name, arity in node.heads.items()
        }
        try:
            found = evaluation.evaluate(node.rules, node.modules, recursive=node.recursive, owner=node.name)
        except CapReached as reached:
            found = Report("stopped")
            record.unfinished = str(reached)
        record.detail, record.rounds, record.instances = found.strategy, found.rounds, work.instances - instances
        pairs = sum(self._store.relations[name].size - known.size for name, known in before.items())
        if found.rounds == 0 and not record.unfinished and pairs > self._job.caps.pairs:
            record.unfinished = f"its closure has {pairs:,} pairs"
        if record.unfinished and alternates(node.rules):
            return  # possible facts of an unfinished turn may turn out false, so none of them can be used
        if found.rounds or not record.unfinished or found.strategy == "stopped":
            for name, known in before.items():
                if node.counts:
                    self._write_counted(
                        record.node, name, known.size, self._store.relations[name].support_of(node.name)
                    )
                else:
                    self._write(record.node, name, known)
        record.seconds = time.perf_counter() - started

    def _facts(self) -> int:
        """Return the current number of facts, here and elsewhere."""
        mine = (relation.size for name, relation in self._store.relations.items() if not is_auxiliary(name))
        return self._job.limits.facts_beside + sum(mine)

    def _check(self) -> None:
        now = time.monotonic()
        if now - self._checked < _CHECK_EVERY:
            return
        self._checked = now
        caps, derived = self._job.caps, self._store.size - self._loaded
        if derived > caps.facts:
            raise CapReached(f"it has derived {derived:,} facts")
        held = sum(relation.nbytes for relation in self._store.relations.values()) + self._store.universe.nbytes
        if held > caps.memory:
            raise CapReached(f"it holds {held >> 20:,} MB")

    # -- facts out ---------------------------------------------------------------------------------------------------

    def _write(self, node: int, predicate: str, known: _Before) -> None:
        relation = self._store.relations[predicate]
        if relation.size == known.size:
            return
        batches = self._batches(known.new_rows(relation), relation.arity)
        path, rows = write_file(self._job.directory, f"node{node}", batches)
        if rows:
            self.manifest.files.append(WrittenFile(node, predicate, path, rows))

    def _write_counted(self, node: int, predicate: str, known: int, counts: Counts) -> None:
        """Write the facts that a hyper-node derives, with counts; and the new facts, if those differ."""
        relation = self._store.relations[predicate]
        rows = relation.facts if relation.arity else np.empty((relation.size, 0), np.uint32)
        counts = counts[: relation.size]
        files = ((0, False, True), (known, True, False)) if known else ((0, True, True),)
        for start, is_new, is_counted in files:
            chosen = start + np.flatnonzero(counts[start:])
            if len(chosen):
                batches = self._counted_batches(rows, chosen, counts if is_counted else None)
                path, written = write_file(self._job.directory, f"node{node}", batches)
                self.manifest.files.append(WrittenFile(node, predicate, path, written, is_new, is_counted))

    def _counted_batches(self, rows: Codes, chosen: Numbers, counts: Counts | None) -> Iterator[pa.RecordBatch]:
        arity = rows.shape[1]
        for start in range(0, len(chosen), PIECE):
            part = chosen[start : start + PIECE]
            columns = [self._terms.ids(np.ascontiguousarray(rows[part, place])) for place in range(arity)]
            columns = columns or [np.zeros(len(part), np.int64)]
            names = column_names(arity)
            if counts is not None:
                columns, names = [*columns, counts[part].astype(np.int64)], [*names, COUNT]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=names)

    def _batches(self, pieces: Iterator[Codes], arity: int) -> Iterator[pa.RecordBatch]:
        names = column_names(arity)
        for piece in pieces:
            if arity:
                columns = [self._terms.ids(np.ascontiguousarray(piece[:, place])) for place in range(arity)]
            else:
                columns = [np.zeros(1, np.int64)]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=names)


class _Before:
    """A relation before a hyper-node ran: new facts are appended, unless a closure has replaced the rows."""

    def __init__(self, relation: Relation, may_be_replaced: bool) -> None:
        self.size = relation.size
        self._facts = relation.facts.copy() if may_be_replaced else None

    def new_rows(self, relation: Relation) -> Iterator[Codes]:
        if relation.arity == 0:
            yield relation.facts
            return
        if self._facts is None or np.array_equal(relation.facts[: self.size], self._facts):
            for start in range(self.size, relation.size, PIECE):
                yield relation.facts[start : start + PIECE]
            return
        known = Relation(relation.arity)
        known.append_distinct(self._facts)
        for start in range(0, relation.size, PIECE):
            piece = relation.facts[start : start + PIECE]
            yield piece[~known.contains(piece)]


# Rules as sent to tasks: without spans, which would include the whole program text.


T = TypeVar("T")


def without_spans(part: T) -> T:
    """Return a copy of a part of a rule without any spans."""
    plain: Any = _plain(part)
    return plain  # type: ignore[no-any-return]


def _plain(part: Any) -> Any:
    if isinstance(part, Constant):
        return Constant(part.value)
    if isinstance(part, tuple):
        return tuple(_plain(one) for one in part)
    if is_dataclass(part) and not isinstance(part, type):
        changed = {one.name: None if one.name == "span" else _plain(getattr(part, one.name)) for one in fields(part)}
        return replace(part, **changed)
    return part


def constants_of(rule: NormalRule) -> list[Constant]:
    """Return every constant that a rule writes, in the order of its parts."""
    return list(dict.fromkeys(_constants(rule)))


def _constants(part: Any) -> Iterator[Constant]:
    if isinstance(part, Constant):
        yield part
    elif isinstance(part, tuple):
        for one in part:
            yield from _constants(one)
    elif is_dataclass(part) and not isinstance(part, type):
        for one in fields(part):
            yield from _constants(getattr(part, one.name))
