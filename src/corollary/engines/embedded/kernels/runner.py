"""Running rule plans: pipelines in the kernel, and between them whole columns of bindings for what kernels cannot do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np

from corollary.engines.base import OverBudget
from corollary.engines.embedded.kernels import join
from corollary.engines.embedded.kernels.pipeline import Pipeline, Rows
from corollary.engines.embedded.kernels.refusals import RowsBeside, check_refusal, may_fail, terms_of, values_of
from corollary.engines.embedded.relations import memory
from corollary.engines.embedded.relations.memory import NONE, address
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.engines.embedded.values.expressions import compute_column, holds_column
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.planning import (
    Absence,
    Access,
    ByValue,
    Compare,
    Compute,
    NormalBody,
    NormalRule,
    Operation,
    RulePlan,
    Use,
    ValueOf,
    plan_rule,
)
from corollary.program import Arithmetic, Constant, Minus, Term, Variable
from corollary.reasoning.run import Run

# -- workers -----------------------------------------------------------------------------------------------------------

# Workers that run a pipeline: one at first, and one for each core when there turns out to be much to do.
#
# How much work a pipeline has is known only while it runs. So one worker starts; after as many instances as make
# threads worthwhile, the others join and take pieces of the outermost scan. All insert into the same set by atomic
# operations; each writes its new rows to an area of its own, and the areas are merged afterwards.

Array: TypeAlias = np.ndarray[Any, Any]

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
ALONE = 1 << 16  # instances, some 2 ms of one worker; starting and joining threads costs a tenth of that
_AREA = 1 << 17  # rows; small enough to be in the cache when they are merged
_PIECES, _LONGEST_PIECE = 64, 4096


class Worker:
    """The state of one thread in a pipeline: its registers, its position in each level, and the buffered heads."""

    def __init__(self, registers: Codes, head_registers: Sequence[int], arity: int, levels: int) -> None:
        self.status = join.YIELDED
        self.state = np.zeros(8, np.int64)
        self.head = np.zeros(join.HEAD_SIZE, np.int64)
        self._head_registers = np.array(head_registers, np.int64)
        self._registers = registers.copy()
        self._current, self._end = np.zeros((2, levels), np.uint64)
        self._keys = np.zeros(join.BUFFER, np.uint64)
        self._waiting = np.zeros(join.BUFFER * max(1, arity), np.uint32)

    def start(self) -> Worker:
        """Prepare for a run; registers of constants keep their values, and all others are bound before they are read."""
        self.state[:] = 0
        return self

    @property
    def size(self) -> int:
        """The position of its next row."""
        return int(self.state[join.S_SIZE])

    def take_instances(self) -> int:
        """Return the number of instances since the last call."""
        instances = int(self.state[join.S_INSTANCES])
        self.state[join.S_INSTANCES] = 0
        return instances

    def run(self, levels: Array, tests: Array, pieces: Array, level_count: int, budget: int) -> None:
        self.status = join.run_pipeline(
            levels,
            tests,
            self.head,
            self._head_registers,
            self._registers,
            self._current,
            self._end,
            self._keys,
            self._waiting,
            self.state,
            pieces,
            level_count,
            budget,
        )


def pieces_of(levels: Array) -> Array:
    """Return the outermost scan in pieces: many, so that the work is balanced, but not too short."""
    low, high = int(levels[join.L_LOW]), int(levels[join.L_HIGH])
    return np.array([low, min(max(1, (high - low) // _PIECES), _LONGEST_PIECE)], np.int64)


def are_left(pieces: Array, levels: Array) -> bool:
    return bool(levels[join.L_OP] == join.SCAN and pieces[join.P_NEXT] < levels[join.L_HIGH])


def give_areas(workers: Sequence[Worker], head: Array, size: int) -> list[int]:
    """Give each worker the address of the head and an area for rows; return where the areas start."""
    room = int(head[join.H_LIMIT]) - size
    area = room if len(workers) == 1 else min(room // len(workers), _AREA)
    for number, worker in enumerate(workers):
        worker.head[:] = head
        worker.head[join.H_SHARED] = len(workers) > 1
        worker.state[join.S_SIZE] = size + number * area
        worker.head[join.H_LIMIT] = size + (number + 1) * area
    return [worker.size for worker in workers]


def join_areas(workers: Sequence[Worker], starts: Sequence[int], rows: Codes) -> int:
    """Merge the new rows; return the number of rows afterwards."""
    size = workers[0].size
    for worker, start in zip(workers[1:], starts[1:], strict=True):
        count = worker.size - start
        rows[size : size + count] = rows[start : start + count]
        size += count
    return size


def run_all(workers: Sequence[Worker], *work: Any) -> None:
    """Run the workers to the end, the first in this thread, the others each in a thread of their own."""
    if len(workers) == 1:
        workers[0].run(*work)
        return
    others = [_pool().submit(worker.run, *work) for worker in workers[1:]]
    try:
        workers[0].run(*work)
    finally:
        _wait_for(others)
    for other in others:
        other.result()


def _wait_for(others: Sequence[Future[None]]) -> None:
    """Wait for threads, even during an interrupt: they write to memory that would be freed."""
    try:
        wait(others)
    except BaseException:
        _wait_for(others)
        raise


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, CORES - 1), "corollary")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


# -- plans -------------------------------------------------------------------------------------------------------------

_CHUNK, _LEAST_CHUNK = 1 << 20, 1 << 10  # codes of bindings that are computed together, and the least number of rows
_BUDGET = 20_000_000


_Segment: TypeAlias = tuple[int, Relation, tuple[int, ...]]


@dataclass
class Work:
    """The cost of evaluation so far, and the run that it belongs to; `facts` returns the current number of facts.

    `rounds` are those of the current hyper-node. More than one core may be used if that pays. An expression without a
    value drops its rule instance, or is an error if errors are not discarded.
    """

    instances: int = 0
    rounds: int = 0
    discards_errors: bool = True
    cores: int = 1
    run: Run = field(default_factory=Run)
    facts: Callable[[], int] = field(default=lambda: 0)
    rows: Callable[[], int] | None = None
    """Returns the number of rows, including hidden ones that rules about earlier versions read; otherwise that of facts."""
    most_instances: int = sys.maxsize
    """The number of instances at which the current attempt gives up."""
    aside: Relation | None = None
    """The relation that collects derived heads before they are compared with existing facts."""

    def check(self) -> None:
        """Raise at a limit or an interrupt of the run, or if an attempt costs too much."""
        if self.instances > self.most_instances:
            raise OverBudget
        self.run.check(self._count() if self.run.counts_facts else None)

    def _count(self) -> int:
        """Return a lower bound for the number of facts: facts derived aside may already exist."""
        facts = self.facts()
        if self.aside is None:
            return facts
        return max(facts, self.aside.size - (facts if self.rows is None else self.rows()))

    @contextmanager
    def counting(self, facts: Callable[[], int]) -> Iterator[None]:
        """Let `facts` be the number of facts inside the block, in which facts are derived beside the existing ones."""
        before, self.facts = self.facts, facts
        try:
            yield
        finally:
            self.facts = before

    @contextmanager
    def trying(self, instances: int) -> Iterator[None]:
        """Raise `OverBudget` if more than this many rule instances are tried inside the block."""
        self.most_instances = self.instances + instances
        try:
            yield
        finally:
            self.most_instances = sys.maxsize

    def begin_rounds(self) -> None:
        """Begin the rounds of a fixpoint."""
        self.rounds = 0

    @property
    def rounds_left(self) -> int | None:
        """Return how many more rounds the run allows; None for any number."""
        return None if self.run.limits.rounds is None else self.run.limits.rounds - self.rounds

    def pass_rounds(self, count: int) -> None:
        """Count this many rounds."""
        self.rounds += count
        if count:
            self.run.round(self.rounds)

    def next_round(self) -> None:
        """Begin the next round; raise if the run allows no more."""
        self.rounds += 1
        self.run.round(self.rounds)


def looked_up_by_value(universe: Universe, work: Work, is_off: bool = False) -> ByValue:
    """Return which comparisons plans may look up by value.

    If a missing value is an error, only instances of whole bodies may lack one. A universe that does not know all
    values cannot tell which of them are equal.
    """
    if not universe.is_complete or is_off:
        return ByValue.NOTHING
    return ByValue.TERMS if work.discards_errors else ByValue.VARIABLES


class PreparedPlan:
    """A plan with its registers, constants and pipelines, made once and run in every round.

    `body` is the body of the rule over the final facts: unless errors are discarded, an instance of it with a missing
    value is an error. Without `body`, a missing value never is.
    """

    def __init__(self, plan: RulePlan, rows: Rows, work: Work, body: NormalBody | None = None) -> None:
        self._plan = plan
        self._body = body if not work.discards_errors else None
        self._rows = rows
        self._work = work
        self._is_projection = _is_projection(plan)
        self._has_distinct_heads = _gives_distinct_heads(plan)
        self._constants = with_compared_constants(plan)
        self._early_tests = _early_tests(plan.operations) if work.discards_errors else {}
        compares = [one for one in plan.operations if isinstance(one, Compare) and one.is_simple]
        self._compares = bool(compares)
        self._orders = any(compare.orders for compare in compares)
        self._spare = register_count(plan, self._constants)  # a register without a variable or constant
        self._first_registers = np.zeros(self._spare + 1, np.uint32)
        for constant, register in self._constants.items():
            self._first_registers[register] = rows.universe.encode(constant.value)
        self._whole: Pipeline | None = None
        self._into = Relation(0)
        self._owner: str | None = None
        self._compares_columns = False
        self._is_first = False  # only this run has added rows to the relation

    def run(self, into: Relation, owner: str | None = None) -> None:
        """Insert every head that the plan derives into a relation; with an owner, every instance counts as a derivation
        by it."""
        self._into = into
        self._owner = owner
        self._is_first = into.size == 0
        if self._compares and self._compares_columns != self._rows.compares_columns(texts=self._orders):
            self._compares_columns, self._whole = not self._compares_columns, None
        if self._is_projection:
            self._project()
        elif self._whole is not None:
            self._whole.refresh()
            if not self._whole.impossible:
                self._into_head(self._whole)
        else:
            # An explicit stack, because the segments of a rule may be nested deeper than Python's calls.
            stack = [self._segment(0, None, ())]
            while stack:
                following = next(stack[-1], None)
                if following is None:
                    stack.pop()
                else:
                    stack.append(self._segment(*following))

    def _segment(self, position: int, buffer: Relation | None, bound: tuple[int, ...]) -> Iterator[_Segment]:
        """Run the operations from `position` on, starting from the bindings in a buffer (registers `bound`).

        Yield what is left to run, as arguments for this method, for each piece of bindings with computed columns.
        """
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
            elif isinstance(operation, ValueOf):
                pipeline.value(operation)
                now_bound.append(operation.register)
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
            following = self._on_columns(position, columns)
            if following is not None:
                yield following

    def _needs_columns(self, operation: Operation) -> bool:
        if isinstance(operation, Compare):
            return self._compares_columns or not operation.is_simple
        if isinstance(operation, ValueOf):
            return not isinstance(operation.term, Variable)
        return isinstance(operation, Compute)

    def _into_head(self, pipeline: Pipeline) -> None:
        into = self._into
        into.widen(max(into.code_bits, self._rows.universe.code_bits))  # computations may have added larger codes
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
        """Copy columns: no kernel is needed without look-ups and tests."""
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
            if self._owner is None:  # without counting, one instance is enough
                break
        into.insert(np.empty((count + scratch.size, 0), np.uint32), self._owner)

    def _bindings(self, pipeline: Pipeline, registers: tuple[int, ...]) -> Iterator[dict[int, Codes]]:
        """Yield the bindings that a pipeline finds, as columns by register, in pieces."""
        if not registers and self._owner is not None:
            registers = (self._spare,)  # bindings without variables count, too
        buffer = Relation(max(1, len(registers)))
        chunk = max(_LEAST_CHUNK, _CHUNK // buffer.arity)
        buffer.make_room(chunk)
        chosen = registers or (0,)
        for _ in self._kernel(pipeline, buffer, chosen, inserts=False, limit=chunk):
            yield _columns(buffer, registers)
            buffer.size = 0
        if buffer.size:
            yield _columns(buffer, registers)

    def _kernel(
        self, pipeline: Pipeline, into: Relation, registers: tuple[int, ...], *, inserts: bool, limit: int | None
    ) -> Iterator[None]:
        """Run a pipeline to its end; yield whenever the relation it fills must be emptied or must grow."""
        if not pipeline.workers:
            pipeline.workers.append(Worker(self._first_registers, registers, into.arity, pipeline.level_count))
        workers, instances = [pipeline.workers[0].start()], 0
        # If a set leads to row numbers, a row must be in its final position before it is inserted.
        may_share = self._work.cores > 1 and limit is None and not (inserts and into.bits == 0)
        pieces: np.ndarray[Any, Any] | None = None
        while workers:
            # The head first, because growing may move the set that a test of the pipeline reads.
            head = _head_fields(into, inserts, limit, self._owner)
            levels, tests, count = pipeline.encode(begins=pieces is None)
            if pieces is None:
                pieces = pieces_of(levels)
            starts = give_areas(workers, head, into.size)
            budget = ALONE if may_share and instances < ALONE else _BUDGET
            budget = min(budget, self._work.most_instances - self._work.instances + 1)
            run_all(workers, levels, tests, pieces, count, budget)
            instances += self._account(workers)
            (into.note_inserted if inserts else into.note_appended)(join_areas(workers, starts, into.rows))
            if any(worker.head[join.H_OVERFLOWN] for worker in workers):
                memory.check_counts(memory.MOST_COUNTED + 1)
            self._work.check()
            is_full = any(worker.status == join.FULL for worker in workers)
            workers = [worker for worker in workers if worker.status != join.DONE]
            if may_share and len(workers) == 1 and instances >= ALONE and are_left(pieces, levels):
                helpers = range(self._work.cores - 1)
                workers += [Worker(self._first_registers, registers, into.arity, pipeline.level_count) for _ in helpers]
            if is_full:
                yield

    def _account(self, workers: list[Worker]) -> int:
        instances = sum(worker.take_instances() for worker in workers)
        self._work.instances += instances
        return instances

    def _on_columns(self, position: int, columns: dict[int, Codes]) -> _Segment | None:
        """Run computations and comparisons on whole columns; return the rest of the plan, or None if it is done."""
        operations, names = self._plan.operations, self._plan.registers
        while position < len(operations) and self._needs_columns(operations[position]):
            operation = operations[position]
            by_name = {name: columns[register] for name, register in names.items() if register in columns}
            count = len(next(iter(columns.values()))) if columns else 1
            if position in self._early_tests:
                kept = _rows_to_keep(self._early_tests[position], by_name, count, self._rows.universe)
                if kept is not None:
                    if not (count := int(kept.sum())):
                        return None
                    columns = {register: column[kept] for register, column in columns.items()}
                    by_name = {name: column[kept] for name, column in by_name.items()}
            if isinstance(operation, Compute):
                self._check_values(operation, by_name, count)
                codes, keep = compute_column(operation, by_name, count, self._rows.universe)
                register = names[operation.variable]
                if register in columns:
                    keep = keep & (columns[register] == codes)
                columns = {**columns, register: codes}
            elif isinstance(operation, ValueOf):
                compute = Compute("", operation.term)
                self._check_values(compute, by_name, count)
                codes, keep = compute_column(compute, by_name, count, self._rows.universe)
                keys = self._rows.value_keys.by_code()[codes]
                keep = keep & (keys != NONE)
                columns = {**columns, operation.register: keys}
            else:
                assert isinstance(operation, Compare)
                self._check_values(operation, by_name, count)
                keep = holds_column(operation, by_name, count, self._rows.universe)
            columns = {register: column[keep] for register, column in columns.items()}
            if not keep.any():
                return None
            position += 1
        buffer = _as_buffer(columns)
        if position < len(operations):
            return position, buffer, tuple(columns)
        heads = np.empty((buffer.size, self._into.arity), np.uint32)
        for place, register in enumerate(self._plan.head_registers):
            heads[:, place] = columns.get(register, self._first_registers[register])
        self._work.instances += len(heads)
        self._into.widen(max(self._into.code_bits, self._rows.universe.code_bits))
        if self._is_first and self._has_distinct_heads and len(self._plan.head_registers) > 0:
            self._into.append_distinct(heads, self._owner)
        else:
            self._into.insert(heads, self._owner)
        return None

    def _check_values(self, operation: Compute | Compare, columns: dict[str, Codes], count: int) -> None:
        """Raise if the operation has no value in a row that is part of a rule instance, unless errors are discarded."""
        if self._body is None:
            return
        for term in filter(may_fail, terms_of(operation)):
            failed = ~values_of(term, columns, count, self._rows.universe)
            if failed.any():
                rows = {name: column[failed] for name, column in columns.items()}
                check_refusal(self._body, self._plan.name, rows, int(failed.sum()), self._rows, self._run_other)

    def _run_other(self, rule: NormalRule, rows: RowsBeside, into: Relation) -> None:
        PreparedPlan(plan_rule(rule, rows, keep_all=True), rows, self._work).run(into)  # rows may be hidden


def register_count(plan: RulePlan, constants: dict[Constant, int]) -> int:
    """Return how many registers the variables, constants and value keys of a plan have."""
    values = [one.register for one in plan.operations if isinstance(one, ValueOf)]
    return max([-1, *plan.registers.values(), *constants.values(), *values]) + 1


def with_compared_constants(plan: RulePlan) -> dict[Constant, int]:
    """Return the registers of all constants, with new ones for those that occur only in comparisons."""
    constants = {constant: register for register, constant in plan.constants}
    following = register_count(plan, constants)
    for operation in plan.operations:
        if isinstance(operation, Compare) and operation.is_simple:
            for side in (operation.left, operation.right):
                if isinstance(side, Constant) and side not in constants:
                    constants[side] = following
                    following += 1
    return constants


def _gives_distinct_heads(plan: RulePlan) -> bool:
    """Return whether two instances never have the same head, because it contains every value that an access binds."""
    head = set(plan.head_registers)
    accesses = [operation for operation in plan.operations if isinstance(operation, Access) and not operation.exists]
    columns = [column for access in accesses for column in access.columns]
    return all(
        column.use is not Use.SKIP and (column.use is not Use.BIND or column.register in head) for column in columns
    )


def _is_projection(plan: RulePlan) -> bool:
    """Return whether a plan is `p(X, 1, Y) :- q(Y, _, X)`: one relation with reordered columns, without look-ups or tests."""
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
        into.reserve(join.BUFFER)
        head[: join.H_BITS + 1] = into.set_fields
        head[join.H_LIMIT] = into.room
        if owner is not None:
            head[join.H_COUNTS] = address(into.support_of(owner))
    else:
        into.make_room(max(0, (limit or 0) - into.size))  # the kernel writes up to the limit
        head[join.H_ROWS], head[join.H_BITS] = into.rows_address, 32
        head[join.H_LIMIT] = limit or len(into.rows)
    head[join.H_ARITY], head[join.H_INSERTS] = into.arity, int(inserts)
    return head


def _early_tests(operations: Sequence[Operation]) -> dict[int, list[Compare]]:
    """Return, for computations of numbers by position, the comparisons with numbers right after them, on the expression
    itself.

    `Y = X - 1, Y < 99` computes a number for every row and keeps few of them. A code costs ten times as much as the
    number, so rows that the comparison drops are dropped before they get one. The comparison itself still runs: only
    time depends on this.
    """
    found = {}
    for place, operation in enumerate(operations):
        if (
            isinstance(operation, Compute)
            and not operation.total
            and isinstance(operation.expression, (Arithmetic, Minus))
        ):
            following = takewhile(lambda later: isinstance(later, Compare), operations[place + 1 :])
            tests = [_of_expression(later, operation) for later in following if isinstance(later, Compare)]
            if wanted := [test for test in tests if test is not None]:
                found[place] = wanted
    return found


def _of_expression(compare: Compare, compute: Compute) -> Compare | None:
    sides = (compare.left, compare.right)
    if (
        compare.negated
        or not any(map(_is_number, sides))
        or compare.inputs != {compute.variable}
        or not compare.is_simple
    ):
        return None
    left, right = (compute.expression if isinstance(side, Variable) else side for side in sides)
    return replace(compare, left=left, right=right)


def _is_number(side: Term) -> bool:
    return isinstance(side, Constant) and type(side.value) in (int, float, Decimal)


def _rows_to_keep(
    tests: Sequence[Compare], columns: dict[str, Codes], count: int, universe: Universe
) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """Return which rows to keep; None for all. Only integers and doubles are dropped early, because other numbers are slow."""
    keep: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    for test in tests:
        if all((universe.kinds[columns[name]] <= Kind.DOUBLE).all() for name in test.inputs):
            holds = holds_column(test, columns, count, universe)
            keep = holds if keep is None else keep & holds
    return None if keep is None or keep.all() else keep
