"""Rules as numbers for compiled loops: one loop runs all rules, nothing is compiled for a program.

For each atom of each body there is a plan that starts from a fact at that place (forward), and for each rule one that starts
from a fact of its head (backward). A plan matches its fact and then goes through levels, one for each other atom: those with
most columns bound first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from corollary.planning import NormalRule
from corollary.planning.normal_form import Compare
from corollary.program import Atom, Constant, Variable, Wildcard

KEY, BIND, CHECK = 0, 1, 2  # of an op: kind, column, register
COMPARISONS = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
# Fields of a plan: ranges of levels, of ops for its fact, of tests after it, of constants; the head and the ops that make it.
P_LEVELS, P_LEVELS_END, P_OPS, P_OPS_END, P_TESTS, P_TESTS_END, P_CONSTANTS, P_CONSTANTS_END = range(8)
P_HEAD, P_HEAD_OPS, P_HEAD_OPS_END, P_RULE = range(8, 12)
# Fields of a level: the predicate, an index (NONE where the whole fact is known) and its place among the predicate's, ops, tests.
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
    """Whether a rule speaks of single facts only, without negation and computations."""
    body = rule.body
    return (
        all(isinstance(source, Atom) for source in body.sources)
        and len(body.sources) > 0
        and not body.negated
        and not body.computes
        and all(compare.is_simple for compare in body.compares)
    )


class RuleTables:
    """The arrays, with the numbers of predicates. `code` gives the code of a constant."""

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
        """The comparisons whose variables have values by now."""
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
    """Where the variables and constants of one plan are kept."""

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
    """How well an atom is known: by how few columns are free, then by how many are bound."""
    bound = sum(registers.knows(term) for term in atom.arguments)
    return -(atom.arity - bound) if bound else -1000 - atom.arity, bound


def _table(rows: list[Any], width: int) -> Any:
    return np.array(rows, np.int64).reshape(len(rows), width)
