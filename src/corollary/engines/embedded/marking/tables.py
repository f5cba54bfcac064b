"""The facts of a region of rules, numbered, with links that lead from any bound columns to them.

Everything is a flat array, so that one compiled loop can find, add and remove single facts. Facts with the same hash
are linked, and so are the facts that an index finds for one key. The number of a deleted fact is reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.memory import check_numbered
from corollary.planning import NormalRule
from corollary.planning.normal_form import Compare
from corollary.program import Atom, Constant, Variable, Wildcard

# -- compiled ----------------------------------------------------------------------------------------------------------

# How the loops over single facts are compiled.
#
# They allocate nothing, so arrays need no reference counting, which would take most of the time. And what they call for
# each rule instance is inlined: passing forty arrays takes longer than the work on them.

_Function = TypeVar("_Function", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}


def loop(function: _Function) -> _Function:
    return cast(_Function, njit(**_OPTIONS)(function))


def part_of_loop(function: _Function) -> _Function:
    return cast(_Function, njit(forceinline=True, **_OPTIONS)(function))


# -- rule tables -------------------------------------------------------------------------------------------------------

# Rules as numbers for compiled loops: one loop runs all rules, and nothing is compiled for a program.
#
# For each atom of each body there is a plan that starts from a fact at that position (forward), and for each rule one
# that starts from a fact of its head (backward). A plan matches its fact and then goes through levels, one for each
# other atom: those with most bound columns first.

KEY, BIND, CHECK = 0, 1, 2  # of an operation: kind, column, register
COMPARISONS = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
# Fields of a plan: ranges of levels, of operations for its fact, of tests after it, of constants; the head and its operations.
P_LEVELS, P_LEVELS_END, P_OPS, P_OPS_END, P_TESTS, P_TESTS_END, P_CONSTANTS, P_CONSTANTS_END = range(8)
P_HEAD, P_HEAD_OPS, P_HEAD_OPS_END, P_RULE = range(8, 12)
# Fields of a level: the predicate, an index (NONE if the whole fact is known) and its number for the predicate,
# operations, tests.
L_PREDICATE, L_INDEX, L_LOCAL, L_OPS, L_OPS_END, L_TESTS, L_TESTS_END = range(7)
NONE = -1


class RuleArrays(NamedTuple):
    arities: Any
    forward_first: Any  # by predicate, into forward
    forward: Any  # plans
    backward_first: Any
    backward: Any
    plans: Any
    levels: Any
    ops: Any
    tests: Any  # operator, left register, right register, negated
    constants: Any  # register, code
    index_first: Any  # by predicate, into index_columns_first
    index_columns_first: Any
    index_columns: Any


def fits(rule: NormalRule) -> bool:
    """Return whether a rule consists of atoms and comparisons only, without negation and computations."""
    body = rule.body
    return (
        all(isinstance(source, Atom) for source in body.sources)
        and len(body.sources) > 0
        and not body.negated
        and not body.computes
        and all(compare.is_simple for compare in body.compares)
    )


class RuleTables:
    """The arrays, with the numbers of predicates. `code` returns the code of a constant."""

    def __init__(self, rules: Sequence[NormalRule], code: Callable[[Constant], int]) -> None:
        atoms = [atom for rule in rules for atom in (rule.head, *rule.body.sources) if isinstance(atom, Atom)]
        self.predicates = {name: number for number, name in enumerate(dict.fromkeys(a.predicate for a in atoms))}
        self.arities = [next(a.arity for a in atoms if a.predicate == name) for name in self.predicates]
        self.heads = {rule.head.predicate for rule in rules}
        self.width = max(1, *self.arities)
        self._code = code
        self._ops: list[tuple[int, int, int]] = []
        self._tests: list[tuple[int, int, int, int]] = []
        self._levels: list[tuple[int, ...]] = []
        self._plans: list[tuple[int, ...]] = []
        self._constants: list[tuple[int, int]] = []
        self._indexes: list[dict[tuple[int, ...], int]] = [{} for _ in self.predicates]
        self._level_indexes: list[tuple[int, int]] = []  # of a level: the predicate and the local number of its index
        self.registers = self.longest = 1
        forward: list[list[int]] = [[] for _ in self.predicates]
        backward: list[list[int]] = [[] for _ in self.predicates]
        for number, rule in enumerate(rules):
            body = [atom for atom in rule.body.sources if isinstance(atom, Atom)]
            backward[self.predicates[rule.head.predicate]].append(self._plan(number, rule, rule.head, body))
            for place, atom in enumerate(body):
                others = body[:place] + body[place + 1 :]
                forward[self.predicates[atom.predicate]].append(self._plan(number, rule, atom, others))
        self.indexes = max(1, *map(len, self._indexes))
        self.frame = 3 + self.registers + self.longest
        self.arrays = self._arrays(forward, backward)

    def _plan(self, number: int, rule: NormalRule, start: Atom, others: list[Atom]) -> int:
        registers = _Registers(self._code)
        first_level = len(self._levels)
        waiting = list(rule.body.compares)
        start_ops = self._add_ops(_ops(start, registers, may_key=False))
        start_tests = self._add_tests(waiting, registers)
        others = list(others)
        while others:
            atom = max(others, key=lambda one: _bound_columns(one, registers))
            others.remove(atom)
            self._levels.append(self._level(atom, registers, waiting))
        head = [(KEY, place, registers.of(term)) for place, term in enumerate(rule.head.arguments)]
        head_ops = self._add_ops(head)
        constants = len(self._constants), len(self._constants) + len(registers.constants)
        self._constants += registers.constants
        self.registers = max(self.registers, registers.count)
        self.longest = max(self.longest, len(rule.body.sources))
        levels = first_level, len(self._levels)
        head_predicate = self.predicates[rule.head.predicate]
        self._plans.append((*levels, *start_ops, *start_tests, *constants, head_predicate, *head_ops, number))
        return len(self._plans) - 1

    def _level(self, atom: Atom, registers: _Registers, waiting: list[Compare]) -> tuple[int, ...]:
        predicate = self.predicates[atom.predicate]
        ops = _ops(atom, registers, may_key=True)
        key = tuple(column for kind, column, _ in ops if kind == KEY)
        local = NONE
        if len(key) < atom.arity:
            known = self._indexes[predicate]
            local = known.setdefault(key, len(known))
        self._level_indexes.append((predicate, local))
        return (predicate, NONE, local, *self._add_ops(ops), *self._add_tests(waiting, registers))

    def _add_ops(self, ops: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
        before = len(self._ops)
        self._ops += ops
        return before, len(self._ops)

    def _add_tests(self, waiting: list[Compare], registers: _Registers) -> tuple[int, int]:
        """Add the comparisons whose variables have values by now; return their range."""
        before = len(self._tests)
        for compare in [one for one in waiting if one.inputs <= registers.bound]:
            waiting.remove(compare)
            left, right = registers.of(compare.left), registers.of(compare.right)
            self._tests.append((COMPARISONS[compare.operator], left, right, int(compare.negated)))
        return before, len(self._tests)

    def _arrays(self, forward: list[list[int]], backward: list[list[int]]) -> RuleArrays:
        first = np.cumsum([0, *map(len, self._indexes)])
        levels = _table(self._levels, 7)
        for number, (predicate, local) in enumerate(self._level_indexes):
            if local != NONE:
                levels[number, L_INDEX] = first[predicate] + local
        columns = [key for known in self._indexes for key in known]
        return RuleArrays(
            np.array(self.arities, np.int64),
            np.cumsum([0, *map(len, forward)]),
            np.array([plan for plans in forward for plan in plans], np.int64),
            np.cumsum([0, *map(len, backward)]),
            np.array([plan for plans in backward for plan in plans], np.int64),
            _table(self._plans, 12),
            levels,
            _table(self._ops, 3),
            _table(self._tests, 4),
            _table(self._constants, 2),
            first,
            np.cumsum([0, *map(len, columns)]),
            np.array([column for key in columns for column in key], np.int64),
        )


class _Registers:
    """The registers of the variables and constants of one plan."""

    def __init__(self, code: Callable[[Constant], int]) -> None:
        self._code = code
        self._places: dict[object, int] = {}
        self.constants: list[tuple[int, int]] = []

    @property
    def count(self) -> int:
        return len(self._places)

    @property
    def bound(self) -> set[object]:
        return {key for key in self._places if isinstance(key, str)}

    def of(self, term: object) -> int:
        key = term.name if isinstance(term, Variable) else term
        if key not in self._places:
            self._places[key] = len(self._places)
            if isinstance(term, Constant):
                self.constants.append((self._places[key], self._code(term)))
        return self._places[key]

    def knows(self, term: object) -> bool:
        return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in self._places)


def _ops(atom: Atom, registers: _Registers, *, may_key: bool) -> list[tuple[int, int, int]]:
    """Return the operations on the columns of an atom; a given fact needs no key, so all its known columns are checked."""
    known = [registers.knows(term) for term in atom.arguments]
    found = []
    for column, term in enumerate(atom.arguments):
        if isinstance(term, Wildcard):
            continue
        kind = CHECK if registers.knows(term) else BIND
        if known[column] and may_key:
            kind = KEY
        found.append((kind, column, registers.of(term)))
    return found


def _bound_columns(atom: Atom, registers: _Registers) -> tuple[int, int]:
    """Return a sort key by how well an atom is known: by how few columns are free, then by how many are bound."""
    bound = sum(registers.knows(term) for term in atom.arguments)
    return -(atom.arity - bound) if bound else -1000 - atom.arity, bound


def _table(rows: list[Any], width: int) -> Any:
    return np.array(rows, np.int64).reshape(len(rows), width)


# -- fact table --------------------------------------------------------------------------------------------------------

# The flags of a fact. Capital letters are the sets of Algorithm 1.
PRESENT, EXPLICIT, MARKED = 1, 2, 4  # in I; supported from outside; affected by the next update
C, D, V, W, Y = 8, 16, 32, 64, 128  # checked, deleted, proven, waiting, delayed
QUEUED = 256  # added, but its consequences are not
COMPLETE = 512  # explicit, and every head that it helps to derive is marked
POSITIVE = 1024  # deleted, but inserted again by the next update
OF_THIS_UPDATE = C | D | V | W | Y | QUEUED

# Scalars of a table.
USED, FREE, LIVE = 0, 1, 2

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FIRST_CAPACITY = 1024


class FactTable(NamedTuple):
    """The facts; `links` and `back` have a column for each index of a predicate; `first` has a row with the starts of
    its chains."""

    arguments: Any  # uint32[capacity, widest]
    predicate: Any  # int32[capacity]
    flags: Any  # uint16[capacity]
    hash_first: Any  # int32[buckets]
    hash_next: Any  # int32[capacity]
    first: Any  # int32[indexes, buckets]
    links: Any  # int32[capacity, indexes]
    back: Any  # int32[capacity, indexes]
    scalars: Any  # int64[3]

    @property
    def capacity(self) -> int:
        return len(self.predicate)


def new_table(rules: RuleTables, capacity: int = _FIRST_CAPACITY) -> FactTable:
    buckets = 2 * capacity
    return FactTable(
        np.zeros((capacity, rules.width), np.uint32),
        np.full(capacity, NONE, np.int32),
        np.zeros(capacity, np.uint16),
        np.full(buckets, NONE, np.int32),
        np.full(capacity, NONE, np.int32),
        np.full((rules.indexes, buckets), NONE, np.int32),
        np.full((capacity, rules.indexes), NONE, np.int32),
        np.full((capacity, rules.indexes), NONE, np.int32),
        np.array([0, NONE, 0], np.int64),
    )


def grown(table: FactTable, rules: RuleTables, at_least: int) -> FactTable:
    """Return a copy with room for more facts, which keep their numbers."""
    check_numbered(at_least)
    room = table.capacity
    while room < at_least:
        room *= 2
    larger, used = new_table(rules, room), int(table.scalars[USED])
    larger.arguments[:used] = table.arguments[:used]
    larger.predicate[:used] = table.predicate[:used]
    larger.flags[:used] = table.flags[:used]
    larger.scalars[:] = table.scalars
    larger.hash_next[:used] = table.hash_next[:used]  # the list of free numbers; facts are linked again
    _link_all(larger, rules.arrays)
    return larger


@part_of_loop
def _mix(seed: Any, code: Any) -> Any:
    mixed = (seed ^ np.uint64(code)) * _MULTIPLIER
    return mixed ^ (mixed >> np.uint64(29))


@part_of_loop
def hash_of(predicate: Any, key: Any, width: Any) -> Any:
    found = _mix(np.uint64(predicate + 1), np.uint64(width))
    for place in range(width):
        found = _mix(found, np.uint64(key[place]))
    return found


@part_of_loop
def bucket_of(hashed: Any, buckets: Any) -> Any:
    return np.int64(hashed & np.uint64(buckets - 1))


@part_of_loop
def find(table: Any, predicate: Any, key: Any, width: Any) -> Any:
    """Return the number of a fact, present or not; NONE if it has none."""
    fact = np.int64(table.hash_first[bucket_of(hash_of(predicate, key, width), len(table.hash_first))])
    while fact != NONE:
        if table.predicate[fact] == predicate:
            same = True
            for place in range(width):
                if table.arguments[fact, place] != key[place]:
                    same = False
                    break
            if same:
                return fact
        fact = np.int64(table.hash_next[fact])
    return np.int64(NONE)


@part_of_loop
def has_room(table: Any) -> Any:
    return table.scalars[FREE] != NONE or table.scalars[USED] < len(table.predicate)


@loop
def add(table: Any, rules: Any, predicate: Any, key: Any, flags: Any) -> Any:
    """Return the number of a new fact; there must be room for it."""
    scalars = table.scalars
    fact = scalars[FREE]
    if fact != NONE:
        scalars[FREE] = table.hash_next[fact]
    else:
        fact = scalars[USED]
        scalars[USED] += 1
    scalars[LIVE] += 1
    table.predicate[fact] = predicate
    table.flags[fact] = flags
    width = rules.arities[predicate]
    for place in range(width):
        table.arguments[fact, place] = key[place]
    _link(table, rules, fact)
    return fact


@loop
def release(table: Any, rules: Any, fact: Any) -> None:
    """Remove a fact; its number is free."""
    predicate = table.predicate[fact]
    bucket = bucket_of(hash_of(predicate, table.arguments[fact], rules.arities[predicate]), len(table.hash_first))
    before, at = np.int64(NONE), np.int64(table.hash_first[bucket])
    while at != fact:
        before, at = at, np.int64(table.hash_next[at])
    if before == NONE:
        table.hash_first[bucket] = table.hash_next[fact]
    else:
        table.hash_next[before] = table.hash_next[fact]
    for index in range(rules.index_first[predicate], rules.index_first[predicate + 1]):
        local = index - rules.index_first[predicate]
        previous, following = table.back[fact, local], table.links[fact, local]
        if previous == NONE:
            table.first[local, _index_bucket(table, rules, index, fact)] = following
        else:
            table.links[previous, local] = following
        if following != NONE:
            table.back[following, local] = previous
    table.predicate[fact] = NONE
    table.flags[fact] = 0
    table.hash_next[fact] = table.scalars[FREE]
    table.scalars[FREE] = fact
    table.scalars[LIVE] -= 1


@loop
def _index_bucket(table: Any, rules: Any, index: Any, fact: Any) -> Any:
    hashed = np.uint64(index + 1)
    for place in range(rules.index_columns_first[index], rules.index_columns_first[index + 1]):
        hashed = _mix(hashed, np.uint64(table.arguments[fact, rules.index_columns[place]]))
    return bucket_of(hashed, len(table.hash_first))


@part_of_loop
def first_of_chain(table: Any, rules: Any, level: Any, registers: Any, base: Any) -> Any:
    """Return the first fact that may match the key of a level (see `matching`)."""
    index = rules.levels[level, 1]
    hashed = np.uint64(index + 1)
    for op in range(rules.levels[level, 3], rules.levels[level, 4]):
        if rules.ops[op, 0] == 0:
            hashed = _mix(hashed, np.uint64(registers[base + rules.ops[op, 2]]))
    return np.int64(table.first[rules.levels[level, 2], bucket_of(hashed, len(table.hash_first))])


@loop
def _link(table: Any, rules: Any, fact: Any) -> None:
    predicate = table.predicate[fact]
    bucket = bucket_of(hash_of(predicate, table.arguments[fact], rules.arities[predicate]), len(table.hash_first))
    table.hash_next[fact] = table.hash_first[bucket]
    table.hash_first[bucket] = fact
    for index in range(rules.index_first[predicate], rules.index_first[predicate + 1]):
        local = index - rules.index_first[predicate]
        start = _index_bucket(table, rules, index, fact)
        following = table.first[local, start]
        table.links[fact, local] = following
        table.back[fact, local] = NONE
        if following != NONE:
            table.back[following, local] = fact
        table.first[local, start] = fact


@loop
def _link_all(table: Any, rules: Any) -> None:
    for fact in range(table.scalars[USED]):
        if table.predicate[fact] != NONE:
            _link(table, rules, fact)
