"""Rounds with few new rows, many of them in one compiled call.

A round of a fixpoint costs Python some hundred microseconds, whatever it derives: plans are looked up, addresses
written, workers started. With few new rows, that is nearly all of the time. So the pipelines of all rules are laid out
once, side by side, and a kernel runs them round by round: it gives each pipeline its delta, inserts heads, and adds new
rows to the indexes. It also computes and compares integers, and gives new ones their codes. If something has to grow,
if a value is not a small integer, or if a delta is worth threads, the kernel returns and the ordinary way takes over;
now and then it returns for limits to be checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numba import njit

from corollary.engines.embedded.kernels import join
from corollary.engines.embedded.kernels.pipeline import Pipeline, WordTest
from corollary.engines.embedded.kernels.runner import register_count, with_compared_constants
from corollary.engines.embedded.relations.index import ChainIndex
from corollary.engines.embedded.relations.memory import (
    EMPTY,
    NONE,
    U64,
    hash_row,
    load_u32,
    load_u64,
    slot_of,
    store_u32,
    store_u64,
)
from corollary.planning import Absence, Access, Compare, Compute, NormalRule, RulePlan, ValueOf, Version
from corollary.program import Arithmetic, Atom, Constant, Minus, Term, Variable

if TYPE_CHECKING:
    from corollary.engines.embedded.evaluation import Evaluation

Array: TypeAlias = np.ndarray[Any, Any]

FEW_ROWS = 1024  # rows of a delta; larger deltas gain from threads, and from rules that run repeatedly on their own
_LEAST_SLACK, _MOST_SLACK = 1 << 9, 1 << 19  # bounds for the new rows of one relation among many, and of all relations
SLACK = 1 << 15  # new rows of a relation, and new constants, for which one session has room
_INSTANCES = 1 << 18  # instances after which limits are checked

# Why the kernel returned: a fixpoint, limits to check, a larger delta, a pipeline to be run in the ordinary way.
FINISHED, PAUSED, LARGE, STOPPED = 0, 1, 2, 3

# A pipeline: the offsets of its parts, its levels, the predicates of its head and of its delta, its patches.
(
    P_LEVELS, P_LEVELS_END, P_TESTS, P_TESTS_END, P_REGISTERS, P_REGISTERS_END, P_HEADS, P_HEADS_END, P_STACK,
    P_STACK_END, P_HEAD, P_DELTA, P_PATCHES, P_PATCHES_END, P_RUNS, P_INSTANCES, P_NEW,
) = range(17)  # fmt: skip
P_SIZE = 17
# A patch: a field of a level, the predicate whose rows it refers to, and which end of them.
F_PLACE, F_PREDICATE, F_END = 0, 1, 2
BEFORE_DELTA, AFTER_DELTA = 0, 1
# An index: its predicate, columns, and the fields of a `ChainIndex`.
(
    I_PREDICATE, I_COLUMNS, I_COLUMNS_END, I_HEADS, I_FOLLOWING, I_HASHED, I_KEYS, I_GROUPS, I_SHIFT, I_MASK, I_COUNT,
) = range(11)  # fmt: skip
I_SIZE = 11
# Results: why it stopped, in which rule and pipeline, and after how many rounds and instances.
R_WHY, R_RULE, R_PIPELINE, R_ROUNDS, R_INSTANCES = 0, 1, 2, 3, 4
R_SIZE = 5


class NotInRounds(Exception):
    """Raised if some rule needs what only the ordinary way can do."""


# -- programs over integers --------------------------------------------------------------------------------------------

_OPERATIONS = {"+": join.ADD, "-": join.SUBTRACT, "*": join.MULTIPLY}
_COMPARISONS = {
    "=": join.COMPARE_EQ, "!=": join.COMPARE_NE, "<": join.COMPARE_LT, "<=": join.COMPARE_LE,
    ">": join.COMPARE_GT, ">=": join.COMPARE_GE,
}  # fmt: skip
_HEADER = (0, 0)  # where the program ends and where its stack begins; filled in by the layout


def _program(term: Term, registers: dict[str, int]) -> tuple[int, ...]:
    match term:
        case Variable():
            return join.PUSH_REGISTER, registers[term.name]
        case Constant(value=value) if type(value) is int and abs(value) < 1 << 61:
            return join.PUSH_NUMBER, value
        case Minus():
            return *_program(term.operand, registers), join.NEGATE, 0
        case Arithmetic() if term.operator in _OPERATIONS:
            sides = *_program(term.left, registers), *_program(term.right, registers)
            return *sides, _OPERATIONS[term.operator], 0
        case _:
            raise NotInRounds


def _computed(compute: Compute, registers: dict[str, int], checks: bool) -> WordTest:
    program = _program(compute.expression, registers)
    cells = (*_HEADER, registers[compute.variable], int(checks), *program)
    return WordTest(join.COMPUTE, cells, len(program) // 2)


def _compared(compare: Compare, registers: dict[str, int], constants: dict[Constant, int]) -> WordTest:
    if compare.operator in ("=", "!=") and compare.is_simple:
        sides = [
            constants[side] if isinstance(side, Constant) else registers[side.name]  # type: ignore[union-attr]
            for side in (compare.left, compare.right)
        ]
        return WordTest(join.SAME, tuple(sides), 0, negated=compare.negated != (compare.operator == "!="))
    program = *_program(compare.left, registers), *_program(compare.right, registers)
    operation = join.ORDER + _COMPARISONS[compare.operator]
    return WordTest(operation, (*_HEADER, 0, 0, *program), len(program) // 2, negated=compare.negated)


# -- a session ---------------------------------------------------------------------------------------------------------


@dataclass
class _Prepared:
    """One rule with one of its atoms as the delta."""

    plan: RulePlan
    position: int
    delta: int
    pipeline: Pipeline
    registers: Array
    heads: tuple[int, ...]


class Rounds:
    """The rules of a hyper-node, laid out for the kernel, with room for `SLACK` new rows of each relation (fewer if
    there are many relations) and as many new constants."""

    def __init__(self, evaluation: Evaluation, rules: Sequence[NormalRule], heads: Sequence[str]) -> None:
        self._evaluation = evaluation
        self._universe = evaluation.universe
        self._numbers = {name: number for number, name in enumerate(heads)}
        self._relations = [evaluation.store.relations[name] for name in heads]
        if any(relation.arity == 0 for relation in self._relations):
            raise NotInRounds
        self._fields = np.zeros(join.UNIVERSE_SIZE, np.int64)
        self._codes = evaluation.store.make_room(SLACK)
        self._slack = slack = min(SLACK, max(_LEAST_SLACK, _MOST_SLACK // len(self._relations)))
        self._limits = [relation.size + slack for relation in self._relations]
        for relation in self._relations:
            relation.reserve(slack)
        self._indexes: dict[tuple[int, tuple[int, ...]], ChainIndex] = {}
        self._by_rule = [self._prepare(rule) for rule in rules]
        self._pipelines = [one for some in self._by_rule for one in some]
        self._lay_out()

    def _prepare(self, rule: NormalRule) -> list[_Prepared]:
        found = []
        for position, source in enumerate(rule.body.sources):
            if isinstance(source, Atom) and source.predicate in self._numbers:
                plan = self._evaluation.plan_in_rounds(rule, position)
                found.append(self._prepared(plan, position, self._numbers[source.predicate]))
        return found

    def _prepared(self, plan: RulePlan, position: int, delta: int) -> _Prepared:
        constants = with_compared_constants(plan)
        if not self._universe.is_complete and any(isinstance(one, (Compare, Compute)) for one in plan.operations):
            raise NotInRounds  # codes belong to another owner, or have no values yet
        pipeline = Pipeline(self._evaluation, plan.registers, constants)
        pipeline.codes = self._codes
        bound: set[int] = set()
        for operation in plan.operations:
            match operation:
                case Access():
                    if operation.value is not None or not isinstance(operation.source, Atom):
                        raise NotInRounds
                    grows = operation.source.predicate in self._numbers
                    if operation.exists and ((not operation.key_columns and grows) or len(operation.key_columns) > 2):
                        raise NotInRounds
                    pipeline.access(operation)
                    bound |= {column.register for column in operation.columns}
                case Absence():
                    if 2 < len(operation.key_columns) < len(operation.columns):
                        raise NotInRounds  # a projection, which does not know the constants that rounds add
                    pipeline.absence(operation)
                case Compute():
                    target = plan.registers[operation.variable]
                    pipeline.words(_computed(operation, plan.registers, target in bound), self._fields)
                    bound.add(target)
                case Compare():
                    pipeline.words(_compared(operation, plan.registers, constants), self._fields)
                case ValueOf():
                    raise NotInRounds
        registers = np.zeros(register_count(plan, constants) + 1, np.uint32)
        for constant, register in constants.items():
            registers[register] = self._universe.encode(constant.value)
        return _Prepared(plan, position, delta, pipeline, registers, plan.head_registers)

    def _lay_out(self) -> None:
        table = np.zeros((max(1, len(self._pipelines)), P_SIZE), np.int64)
        levels: list[Array] = []
        tests: list[Array] = []
        patches: list[tuple[int, int, int]] = []
        ends = dict.fromkeys(("levels", "tests", "registers", "heads", "stack"), 0)

        def take(name: str, length: int) -> tuple[int, int]:
            start = ends[name]
            ends[name] += length
            return start, ends[name]

        for one in self._pipelines:
            self._note_indexes(one.pipeline)  # its arrays must not move from here on
        for row, one in zip(table, self._pipelines, strict=False):
            pipeline = one.pipeline
            level_fields, test_fields, count = pipeline.encode()
            if pipeline.is_impossible_for_good(self._numbers):
                count = 0  # the kernel skips it
            levels.append(level_fields)
            tests.append(test_fields)
            row[P_LEVELS], row[P_LEVELS_END] = take("levels", len(level_fields))
            row[P_TESTS], row[P_TESTS_END] = take("tests", len(test_fields))
            row[P_REGISTERS], row[P_REGISTERS_END] = take("registers", len(one.registers))
            row[P_HEADS], row[P_HEADS_END] = take("heads", len(one.heads))
            row[P_STACK], row[P_STACK_END] = take("stack", count)
            row[P_HEAD], row[P_DELTA] = self._numbers[one.plan.head_predicate], one.delta
            row[P_PATCHES] = len(patches)
            for access, at in pipeline.places():
                assert isinstance(access.source, Atom)
                predicate = self._numbers.get(access.source.predicate)
                if predicate is None:
                    continue
                if access.version is Version.DELTA:
                    patches.append((at + join.L_LOW, predicate, BEFORE_DELTA))
                end = BEFORE_DELTA if access.version is Version.OLD else AFTER_DELTA
                patches.append((at + join.L_HIGH, predicate, end))
            row[P_PATCHES_END] = len(patches)
        self._table = table
        self._levels, self._tests = np.concatenate([*levels, _NOTHING]), np.concatenate([*tests, _NOTHING])
        self._patches = np.array(patches or [(0, 0, 0)], np.int64)
        self._registers = np.concatenate([one.registers for one in self._pipelines] or [np.zeros(1, np.uint32)])
        self._heads = np.array([register for one in self._pipelines for register in one.heads] or [0], np.int64)
        self._stack = np.zeros((2, max(1, ends["stack"])), np.uint64)
        self._waiting = np.zeros(join.BUFFER * max(relation.arity for relation in self._relations), np.uint32)
        self._rules = np.cumsum([0, *map(len, self._by_rule)])

    def _note_indexes(self, pipeline: Pipeline) -> None:
        for access in (*(access for access, _ in pipeline.places()), *pipeline.tested()):
            if not isinstance(access.source, Atom) or access.source.predicate not in self._numbers:
                continue
            keys = access.key_columns
            is_scan = not keys or (isinstance(access, Access) and access.version is Version.DELTA)
            if is_scan or len(keys) == len(access.columns):
                continue
            predicate = self._numbers[access.source.predicate]
            index = self._relations[predicate].chain_index(keys, self._codes)
            index.make_room(self._slack)
            self._indexes[predicate, keys] = index

    # -- running -----------------------------------------------------------------------------------------------------

    def run(self, seen: Sequence[dict[str, int]], rounds: int) -> tuple[Array, Array]:
        """Run rounds; return the results and, by predicate, where the deltas at the end begin and end."""
        heads = self._head_fields()
        indexes, columns = self._index_fields()
        universe = self._universe
        self._fields[:] = (*universe.table_fields, universe.size, self._codes, 0)
        uses = np.array([self._numbers[name] for some in seen for name in some] or [0], np.int64)
        used = np.cumsum([0, *map(len, seen)])  # by rule: where its predicates begin
        seen_rows = np.array([size for some in seen for size in some.values()] or [0], np.int64)
        sizes = np.array([relation.size for relation in self._relations], np.int64)
        spans = np.zeros((2, len(sizes)), np.int64)
        results = np.zeros(R_SIZE, np.int64)
        _run_rounds(
            self._rules, self._table, self._levels, self._tests, self._registers, self._heads, self._stack[0], self._stack[1],
            self._patches, heads, indexes, columns, uses, used, seen_rows, sizes, spans,
            self._fields, np.zeros(join.BUFFER, np.uint64), self._waiting,
            np.zeros(8, np.int64), np.zeros(2, np.int64), results, rounds,
        )  # fmt: skip
        universe.size = int(self._fields[join.U_SIZE])
        for relation, size in zip(self._relations, sizes.tolist(), strict=True):
            relation.note_inserted(size)
        for ((predicate, _), index), row in zip(self._indexes.items(), indexes, strict=False):
            index.note_linked(int(sizes[predicate]), int(row[I_COUNT]))
        after = iter(seen_rows.tolist())
        for some in seen:
            some.update(zip(some, after, strict=False))
        return results, spans

    def _head_fields(self) -> Array:
        fields = np.zeros((len(self._relations), join.HEAD_SIZE), np.int64)
        for row, relation, limit in zip(fields, self._relations, self._limits, strict=True):
            row[: join.H_BITS + 1] = relation.set_fields
            row[join.H_LIMIT] = min(relation.room, limit)
            row[join.H_ARITY], row[join.H_INSERTS] = relation.arity, 1
        return fields

    def _index_fields(self) -> tuple[Array, Array]:
        fields = np.zeros((max(1, len(self._indexes)), I_SIZE), np.int64)
        fields[:, I_PREDICATE] = -1
        columns: list[int] = []
        for row, ((predicate, keys), index) in zip(fields, self._indexes.items(), strict=False):
            row[I_PREDICATE], row[I_COLUMNS] = predicate, len(columns)
            columns += keys
            row[I_COLUMNS_END] = len(columns)
            row[I_HEADS : I_MASK + 1] = index.fields[1:]
            row[I_COUNT] = index.keys.count
        return fields, np.array(columns or [0], np.int64)

    def note(self, report: Any) -> None:
        """Add the work of the pipelines to a report, plan by plan."""
        for one, row in zip(self._pipelines, self._table, strict=False):
            measured = report.of_plan(one.plan)
            measured.runs += int(row[P_RUNS])
            measured.instances += int(row[P_INSTANCES])
            measured.new_facts += int(row[P_NEW])
            row[P_RUNS] = row[P_INSTANCES] = row[P_NEW] = 0

    def position(self, pipeline: int) -> int:
        """Return the position, in its rule, of the atom that is the delta of a pipeline."""
        return self._pipelines[pipeline].position

    def positions_from(self, rule: int, pipeline: int) -> list[int]:
        """Return the positions of a rule's atoms whose deltas have not been run, from a pipeline on."""
        return [one.position for one in self._pipelines[pipeline : int(self._rules[rule + 1])]]


_NOTHING = np.zeros(1, np.int64)


@njit(cache=True, nogil=True)
def _link(row: Any, rows: Any, arity: Any, columns: Any, old: int, new: int) -> None:
    """Add new rows to an index, which must have room for them."""
    heads, following = U64(row[I_HEADS]), U64(row[I_FOLLOWING])
    first, last = row[I_COLUMNS], row[I_COLUMNS_END]
    for number in range(old, new):
        at = U64(number) * arity
        if row[I_HASHED] == 0:
            entry = U64(load_u32(rows, at + U64(columns[first])))
        else:
            if last - first == 1:
                key = U64(load_u32(rows, at + U64(columns[first])))
            elif last - first == 2:
                key = U64(load_u32(rows, at + U64(columns[first]))) << U64(32)
                key |= U64(load_u32(rows, at + U64(columns[first + 1])))
            else:
                key = U64(0)
                for c in range(first, last):
                    key = hash_row(key, U64(load_u32(rows, at + U64(columns[c]))))
                key = key & U64(0x7FFFFFFFFFFFFFFF)
            keys, groups, mask = U64(row[I_KEYS]), U64(row[I_GROUPS]), U64(row[I_MASK])
            slot = slot_of(key, U64(row[I_SHIFT]))
            while True:
                found = load_u64(keys, slot)
                if found == key:
                    break
                if found == EMPTY:
                    store_u64(keys, slot, key)
                    store_u32(groups, slot, np.uint32(row[I_COUNT]))
                    store_u32(heads, U64(row[I_COUNT]), NONE)
                    row[I_COUNT] += 1
                    break
                slot = (slot + U64(1)) & mask
            entry = U64(load_u32(groups, slot))
        store_u32(following, U64(number), load_u32(heads, entry))
        store_u32(heads, entry, np.uint32(number))


@njit(cache=True, nogil=True)
def _run_rounds(
    rules: Any, table: Any, levels: Any, tests: Any, registers: Any, heads: Any, current: Any, end: Any, patches: Any,
    head_fields: Any, indexes: Any, columns: Any, uses: Any, used: Any, seen: Any, sizes: Any, spans: Any,
    universe: Any, keys: Any, waiting: Any, state: Any, pieces: Any, results: Any, most_rounds: int,
) -> None:  # fmt: skip
    rounds, instances = 0, 0
    why = PAUSED
    while why == PAUSED and rounds < most_rounds and instances < _INSTANCES:
        has_run = False
        for rule in range(len(rules) - 1):
            changed = False
            for use in range(used[rule], used[rule + 1]):
                p = uses[use]
                spans[0, p], spans[1, p] = seen[use], sizes[p]
            for number in range(rules[rule], rules[rule + 1]):
                p = table[number, P_DELTA]
                changed |= spans[0, p] < spans[1, p]
                if spans[1, p] - spans[0, p] > FEW_ROWS:
                    why = LARGE
            if why != PAUSED:
                break
            for use in range(used[rule], used[rule + 1]):
                seen[use] = sizes[uses[use]]
            if not changed:
                continue
            if not has_run:
                has_run = True
                rounds += 1
            for number in range(rules[rule], rules[rule + 1]):
                row = table[number]
                delta, head = row[P_DELTA], row[P_HEAD]
                if spans[0, delta] == spans[1, delta] or row[P_STACK] == row[P_STACK_END]:
                    continue
                for patch in range(row[P_PATCHES], row[P_PATCHES_END]):
                    levels[row[P_LEVELS] + patches[patch, F_PLACE]] = spans[
                        patches[patch, F_END], patches[patch, F_PREDICATE]
                    ]
                state[:] = 0
                state[join.S_SIZE] = sizes[head]
                pieces[join.P_NEXT] = levels[row[P_LEVELS] + join.L_LOW]
                pieces[join.P_LENGTH] = 1 << 40
                status = join.run_pipeline(
                    levels[row[P_LEVELS] : row[P_LEVELS_END]],
                    tests[row[P_TESTS] : row[P_TESTS_END]],
                    head_fields[head],
                    heads[row[P_HEADS] : row[P_HEADS_END]],
                    registers[row[P_REGISTERS] : row[P_REGISTERS_END]],
                    current[row[P_STACK] : row[P_STACK_END]],
                    end[row[P_STACK] : row[P_STACK_END]],
                    keys,
                    waiting,
                    state,
                    pieces,
                    row[P_STACK_END] - row[P_STACK],
                    _INSTANCES,
                )
                new = state[join.S_SIZE]
                for index in range(len(indexes)):
                    if indexes[index, I_PREDICATE] == head:
                        rows, arity = U64(head_fields[head, join.H_ROWS]), U64(head_fields[head, join.H_ARITY])
                        _link(indexes[index], rows, arity, columns, sizes[head], new)
                row[P_RUNS] += 1
                row[P_INSTANCES] += state[join.S_INSTANCES]
                row[P_NEW] += new - sizes[head]
                instances += state[join.S_INSTANCES]
                sizes[head] = new
                if status != join.DONE or universe[join.U_STOP] != 0:
                    why = STOPPED
                    results[R_RULE], results[R_PIPELINE] = rule, number
                    break
            if why != PAUSED:
                break
        if why == PAUSED and not has_run:
            why = FINISHED
    results[R_WHY], results[R_ROUNDS], results[R_INSTANCES] = why, rounds, instances
