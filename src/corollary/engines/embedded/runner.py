"""Runs rule plans: pipelines in the kernel, and between them whole columns of bindings for what kernels cannot do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.embedded import join, threads
from corollary.engines.embedded.expressions import compute_column, first_error, holds_column
from corollary.engines.embedded.foreseen import foreseen_tests, rows_to_keep
from corollary.engines.embedded.memory import address
from corollary.engines.embedded.pipeline import Pipeline, Rows
from corollary.engines.embedded.relation import Codes, Relation
from corollary.engines.embedded.threads import Worker
from corollary.language import print_term
from corollary.planning import Absence, Access, Compare, Compute, Operation, RulePlan, Use
from corollary.program import Constant, Part, Term, subterms

_CHUNK = 1 << 18
_BUDGET = 20_000_000
_SPARE = join.REGISTERS - 1  # no rule has that many variables


@dataclass
class Work:
    """What evaluation has cost so far; `check` is called now and then and may stop it by raising.

    `rounds` are those of the hyper-node at work. More than one core may be used where that pays.
    An expression without a value discards its rule instance, or stops everything where errors are not discarded.
    """

    instances: int = 0
    rounds: int = 0
    discards_errors: bool = True
    cores: int = 1
    check: Callable[[], None] = field(default=lambda: None)


class PreparedPlan:
    """A plan with its registers, constants and pipelines, made once and run in every round."""

    def __init__(self, plan: RulePlan, rows: Rows, work: Work) -> None:
        self._plan = plan
        self._rows = rows
        self._work = work
        self._is_projection = _is_projection(plan)
        self._has_distinct_heads = _gives_distinct_heads(plan)
        self._constants = _with_compared_constants(plan)
        self._foreseen = foreseen_tests(plan.operations) if work.discards_errors else {}
        self._compares = any(isinstance(one, Compare) and one.is_simple for one in plan.operations)
        self._first_registers = np.zeros(join.REGISTERS, np.uint32)
        for constant, register in self._constants.items():
            self._first_registers[register] = rows.universe.encode(constant.value)
        self._whole: Pipeline | None = None
        self._into = Relation(0)
        self._owner: str | None = None
        self._compares_columns = False
        self._is_first = False  # nothing but this run has put anything into the relation

    def run(self, into: Relation, owner: str | None = None) -> None:
        """Inserts every head that the plan derives into a relation; with an owner, every instance is counted as its."""
        self._into = into
        self._owner = owner
        self._is_first = into.size == 0
        if self._compares and self._compares_columns != self._rows.compares_columns:
            self._compares_columns, self._whole = not self._compares_columns, None
        if self._is_projection:
            self._project()
        elif self._whole is not None:
            self._whole.refresh()
            if not self._whole.impossible:
                self._into_head(self._whole)
        else:
            self.segment(0, None, ())

    def segment(self, position: int, buffer: Relation | None, bound: tuple[int, ...]) -> None:
        """Runs the operations from `position` on, starting from the bindings in a buffer (registers `bound`)."""
        pipeline = Pipeline(self._rows, self._plan.registers, self._constants)
        if buffer is not None:
            pipeline.scan(buffer, bound)
        operations = self._plan.operations
        now_bound = list(bound)
        while position < len(operations) and not self._needs_columns(operations[position]):
            operation = operations[position]
            if isinstance(operation, Access):
                pipeline.access(operation)
                now_bound += [column.register for column in operation.columns if column.use is Use.BIND]
            elif isinstance(operation, Absence):
                pipeline.absence(operation)
            elif isinstance(operation, Compare):
                pipeline.compare(operation)
            position += 1
        pipeline.refresh()
        if position == len(operations):
            if buffer is None:
                self._whole = pipeline
            if not pipeline.impossible:
                self._into_head(pipeline)
            return
        if pipeline.impossible:
            return
        for columns in self._bindings(pipeline, tuple(now_bound)):
            self._on_columns(position, columns)

    def _needs_columns(self, operation: Operation) -> bool:
        if isinstance(operation, Compare):
            return self._compares_columns or not operation.is_simple
        return isinstance(operation, Compute)

    def _into_head(self, pipeline: Pipeline) -> None:
        into = self._into
        into.widen(self._rows.universe.code_bits)  # computations may have brought larger codes
        if into.arity == 0:
            self._into_proposition(pipeline)
            return
        if into.size == 0 and self._has_distinct_heads:
            for _ in self._kernel(pipeline, into, self._plan.head_registers, inserts=False, limit=None):
                into.make_room(into.size)
            if self._owner is not None:
                into.mark(self._owner, 0)
            return
        for _ in self._kernel(pipeline, into, self._plan.head_registers, inserts=True, limit=None):
            into.reserve(join.BUFFER * 4)

    def _project(self) -> None:
        """Copies columns: no kernel is needed where nothing is looked up or tested."""
        (access,) = self._plan.operations
        assert isinstance(access, Access)
        into, universe = self._into, self._rows.universe
        low, high = self._rows.row_range(access.source, access.version)
        source = self._rows.relation(access.source).rows[low:high]
        visibility = self._rows.visibility(access.source)
        if visibility is not None:
            flags, hidden = visibility
            source = source[(flags[low:high] & hidden) == 0]
        places = {column.register: place for place, column in enumerate(access.columns) if column.use is Use.BIND}
        heads = np.empty((len(source), into.arity), np.uint32)
        for place, register in enumerate(self._plan.head_registers):
            heads[:, place] = source[:, places[register]] if register in places else self._first_registers[register]
        self._work.instances += len(heads)
        if into.arity == 1 and len(heads) > 1000 and self._owner is None:
            heads = _distinct_codes(heads[:, 0], universe.size)
        if into.size == 0 and self._has_distinct_heads:
            into.append_distinct(heads, self._owner)
        else:
            into.insert(heads, self._owner)
        self._work.check()

    def _into_proposition(self, pipeline: Pipeline) -> None:
        into, scratch, count = self._into, Relation(1), 0
        for _ in self._kernel(pipeline, scratch, (0,), inserts=False, limit=join.BUFFER):
            count += scratch.size
            scratch.size = 0
            if self._owner is None:  # one instance is enough when nobody counts
                break
        into.insert(np.empty((count + scratch.size, 0), np.uint32), self._owner)

    def _bindings(self, pipeline: Pipeline, registers: tuple[int, ...]) -> Iterator[dict[int, Codes]]:
        """The bindings that a pipeline finds, as columns by register, in pieces."""
        if not registers and self._owner is not None:
            registers = (_SPARE,)  # bindings without a value count all the same
        buffer = Relation(max(1, len(registers)))
        buffer.make_room(_CHUNK)
        chosen = registers or (0,)
        for _ in self._kernel(pipeline, buffer, chosen, inserts=False, limit=_CHUNK):
            yield _columns(buffer, registers)
            buffer.size = 0
        if buffer.size:
            yield _columns(buffer, registers)

    def _kernel(
        self, pipeline: Pipeline, into: Relation, registers: tuple[int, ...], *, inserts: bool, limit: int | None
    ) -> Iterator[None]:
        """Runs a pipeline to its end; yields whenever the relation it fills has to be emptied or has to grow."""
        if not pipeline.workers:
            pipeline.workers.append(Worker(self._first_registers, registers, into.arity))
        workers, instances = [pipeline.workers[0].start()], 0
        # Where a set leads to the numbers of rows, a row has to be in its place before the set knows it.
        may_share = self._work.cores > 1 and limit is None and not (inserts and into.bits == 0)
        pieces: np.ndarray[Any, Any] | None = None
        while workers:
            # The head first: it may grow the set that a test of the pipeline looks into.
            head = _head_fields(into, inserts, limit, self._owner)
            levels, tests, count = pipeline.encode()
            if pieces is None:
                pieces = threads.pieces_of(levels)
            starts = threads.give_areas(workers, head, into.size)
            budget = threads.ALONE if may_share and instances < threads.ALONE else _BUDGET
            threads.run_all(workers, levels, tests, pieces, count, budget)
            instances += self._account(workers)
            (into.note_inserted if inserts else into.note_appended)(threads.join_areas(workers, starts, into.rows))
            self._work.check()
            is_full = any(worker.status == join.FULL for worker in workers)
            workers = [worker for worker in workers if worker.status != join.DONE]
            if may_share and len(workers) == 1 and instances >= threads.ALONE and threads.are_left(pieces, levels):
                helpers = range(self._work.cores - 1)
                workers += [Worker(self._first_registers, registers, into.arity) for _ in helpers]
            if is_full:
                yield

    def _account(self, workers: list[Worker]) -> int:
        instances = sum(worker.take_instances() for worker in workers)
        self._work.instances += instances
        return instances

    def _on_columns(self, position: int, columns: dict[int, Codes]) -> None:
        """Runs computations and comparisons on whole columns, then the rest of the plan."""
        operations, names = self._plan.operations, self._plan.registers
        while position < len(operations) and self._needs_columns(operations[position]):
            operation = operations[position]
            by_name = {name: columns[register] for name, register in names.items() if register in columns}
            count = len(next(iter(columns.values()))) if columns else 1
            if position in self._foreseen:
                kept = rows_to_keep(self._foreseen[position], by_name, count, self._rows.universe)
                if kept is not None:
                    if not (count := int(kept.sum())):
                        return
                    columns = {register: column[kept] for register, column in columns.items()}
                    by_name = {name: column[kept] for name, column in by_name.items()}
            if isinstance(operation, Compute):
                self._stop_on_errors((operation.expression,), by_name, count)
                codes, keep = compute_column(operation, by_name, count, self._rows.universe)
                register = names[operation.variable]
                if register in columns:
                    keep = keep & (columns[register] == codes)
                columns = {**columns, register: codes}
            else:
                assert isinstance(operation, Compare)
                self._stop_on_errors((operation.left, operation.right), by_name, count)
                keep = holds_column(operation, by_name, count, self._rows.universe)
            columns = {register: column[keep] for register, column in columns.items()}
            if not keep.any():
                return
            position += 1
        buffer = _as_buffer(columns)
        if position < len(operations):
            self.segment(position, buffer, tuple(columns))
            return
        heads = np.empty((buffer.size, self._into.arity), np.uint32)
        for place, register in enumerate(self._plan.head_registers):
            heads[:, place] = columns.get(register, self._first_registers[register])
        self._work.instances += len(heads)
        self._into.widen(self._rows.universe.code_bits)
        if self._is_first and self._has_distinct_heads and len(self._plan.head_registers) > 0:
            self._into.append_distinct(heads, self._owner)
        else:
            self._into.insert(heads, self._owner)

    def _stop_on_errors(self, terms: tuple[Term, ...], columns: dict[str, Codes], count: int) -> None:
        """Raises where one of the terms has no value in some row, if that is to stop the evaluation."""
        if self._work.discards_errors:
            return
        for term in terms:
            if any(isinstance(part, Part) for part in subterms(term)):
                continue  # a constant of another form is no mistake
            error = first_error(term, columns, count, self._rows.universe)
            if error is not None:
                message = f"in rule {self._plan.name}: {print_term(term)} has no value: {error}"
                raise ProgramError([Diagnostic(catalogue.FAILED_EXPRESSION, message, term.span)])


def _with_compared_constants(plan: RulePlan) -> dict[Constant, int]:
    """Registers of all constants, with new ones for those that occur in comparisons only."""
    constants = {constant: register for register, constant in plan.constants}
    following = max([-1, *plan.registers.values(), *constants.values()]) + 1
    for operation in plan.operations:
        if isinstance(operation, Compare) and operation.is_simple:
            for side in (operation.left, operation.right):
                if isinstance(side, Constant) and side not in constants:
                    constants[side] = following
                    following += 1
    return constants


def _gives_distinct_heads(plan: RulePlan) -> bool:
    """Whether two instances never have the same head: every value that an access brings is in it."""
    head = set(plan.head_registers)
    accesses = [operation for operation in plan.operations if isinstance(operation, Access) and not operation.exists]
    columns = [column for access in accesses for column in access.columns]
    return all(
        column.use is not Use.SKIP and (column.use is not Use.BIND or column.register in head) for column in columns
    )


def _is_projection(plan: RulePlan) -> bool:
    """`p(X, 1, Y) :- q(Y, _, X)`: one relation, its columns in another order, nothing to look up or to test."""
    match plan.operations:
        case (Access() as access,):
            return len(plan.head_registers) > 0 and all(column.use in (Use.BIND, Use.SKIP) for column in access.columns)
        case _:
            return False


def _distinct_codes(column: Codes, universe: int) -> Codes:
    seen = np.zeros(universe, np.bool_)
    seen[column] = True
    return np.flatnonzero(seen).astype(np.uint32)[:, None]


def _columns(buffer: Relation, registers: tuple[int, ...]) -> dict[int, Codes]:
    return {register: buffer.facts[:, place].copy() for place, register in enumerate(registers)}


def _as_buffer(columns: dict[int, Codes]) -> Relation:
    count = len(next(iter(columns.values()))) if columns else 1
    buffer = Relation(len(columns))
    rows = np.empty((count, len(columns)), np.uint32)
    for place, column in enumerate(columns.values()):
        rows[:, place] = column
    buffer.rows, buffer.size = rows, count
    return buffer


def _head_fields(into: Relation, inserts: bool, limit: int | None, owner: str | None) -> np.ndarray[Any, Any]:
    head = np.zeros(join.HEAD_SIZE, np.int64)
    if inserts:
        into.ensure_set(into.size + join.BUFFER)
        head[: join.H_BITS + 1] = into.set_fields
        head[join.H_LIMIT] = into.room
        if owner is not None:
            head[join.H_COUNTS] = address(into.support_of(owner))
    else:
        head[join.H_ROWS], head[join.H_BITS] = into.rows_address, 32
        head[join.H_LIMIT] = limit or len(into.rows)
    head[join.H_ARITY], head[join.H_INSERTS] = into.arity, int(inserts)
    return head
