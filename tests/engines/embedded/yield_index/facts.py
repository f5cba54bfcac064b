"""A Yield index over facts with values, and what it must look like inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from benchmarks.yield_index.inspection import listed, row_of
from corollary.engines.embedded.values.ordering import Ordering
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.embedded.yield_index.index import YieldIndex
from corollary.engines.embedded.yield_index.plan import Side
from corollary.engines.embedded.yield_index.shape import ORDERED
from corollary.language import parse_program
from corollary.planning import normalise
from corollary.program import Atom, Comparison, Constant, EvaluationError, Negation, Program, Rule, Variable, compare
from tests.oracle import Fact

Row = tuple[Any, ...]
Heads = Counter[Row]


def fact_of(row: Row) -> Fact:
    """1 and 1.0 are two constants, whatever Python says."""
    return tuple(map(Constant, row))


class IndexedFacts:
    """Facts by predicate, in the order in which they came; numbers are never used twice."""

    def __init__(self, program: str | Program, **options: Any) -> None:
        self.program = parse_program(program) if isinstance(program, str) else program
        self.universe = Universe()
        ordering = Ordering(self.universe)
        self.index = YieldIndex(
            [normalise(rule) for rule in self.program.rules],
            lambda constant: self.universe.encode(constant.value),
            lambda: ordering.arrays(texts=True),
            **options,
        )
        self.numbers: dict[str, dict[Fact, int]] = {name: {} for name in self.index.predicates}
        self._next = 0

    def load(self, facts: dict[str, Iterable[Row]]) -> IndexedFacts:
        for predicate, rows in facts.items():
            self.index.load(predicate, *self._new(predicate, list(rows)))
        return self

    def insert(self, predicate: str, *rows: Row) -> dict[str, tuple[Heads, Heads]]:
        self.index.insert(predicate, *self._new(predicate, list(rows)))
        return self.yielded()

    def delete(self, predicate: str, *rows: Row) -> dict[str, tuple[Heads, Heads]]:
        numbers = [self.numbers[predicate].pop(fact_of(row)) for row in rows]
        self.index.delete(predicate, np.array(numbers, np.int64))
        return self.yielded()

    def yielded(self) -> dict[str, tuple[Heads, Heads]]:
        """The heads that each rule gained and lost, with repetitions."""
        found = {rule.name: self.index.take(rule.name) for rule in self.index.rules}
        return {name: (self.decoded(gained), self.decoded(lost)) for name, (gained, lost) in found.items()}

    def decoded(self, rows: np.ndarray[Any, Any]) -> Heads:
        return Counter(tuple(self.universe.value(int(code)) for code in row) for row in rows)

    def instances(self, rule: str, place: int | None = None) -> Heads:
        return self.decoded(self.index.activate(rule, place))

    def _new(self, predicate: str, rows: list[Row]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        codes = np.array([[self.universe.encode(value) for value in row] for row in rows], np.uint32)
        numbers = np.arange(self._next, self._next + len(rows))
        self._next += len(rows)
        for row, number in zip(rows, numbers.tolist(), strict=True):
            assert fact_of(row) not in self.numbers[predicate]
            self.numbers[predicate][fact_of(row)] = number
        return codes.reshape(len(rows), -1), numbers


# -- what an index must say, by trying everything ----------------------------------------------------------------------


def expected_instances(rule: Rule, facts: dict[str, Iterable[Row]]) -> Heads:
    """The heads of all instances, by trying every combination of facts."""
    atoms = [one for one in rule.body if isinstance(one, Atom)]
    negated = [one.element for one in rule.body if isinstance(one, Negation) and isinstance(one.element, Atom)]
    comparisons = [one for one in rule.body if isinstance(one, Comparison)]
    found: Heads = Counter()
    for rows in product(*(facts.get(atom.predicate, ()) for atom in atoms)):
        binding = _bound(atoms, rows)
        if binding is None or any(not _holds(one, binding) for one in comparisons):
            continue
        if any(_is_there(atom, binding, facts) for atom in negated):
            continue
        found[tuple(_value(term, binding) for term in rule.head.arguments)] += 1
    return found


def _bound(atoms: list[Atom], rows: tuple[Row, ...]) -> dict[str, Any] | None:
    binding: dict[str, Any] = {}
    for atom, row in zip(atoms, rows, strict=True):
        for term, value in zip(atom.arguments, row, strict=True):
            if isinstance(term, Variable):
                if Constant(binding.setdefault(term.name, value)) != Constant(value):
                    return None
            elif isinstance(term, Constant) and term != Constant(value):
                return None
    return binding


def _value(term: object, binding: dict[str, Any]) -> Any:
    return binding[term.name] if isinstance(term, Variable) else term.value  # type: ignore[attr-defined]


def _holds(one: Comparison, binding: dict[str, Any]) -> bool:
    return _compare(one.operator, _value(one.left, binding), _value(one.right, binding))


def _compare(operator: str, left: Any, right: Any) -> bool:
    try:
        return compare(operator, left, right)
    except EvaluationError:
        return False


def _is_there(atom: Atom, binding: dict[str, Any], facts: dict[str, Iterable[Row]]) -> bool:
    wanted = tuple(Constant(_value(term, binding)) for term in atom.arguments)
    return any(tuple(map(Constant, row)) == wanted for row in facts.get(atom.predicate, ()))


def check_entries(facts: IndexedFacts) -> None:
    """Every fact is listed once on every side of each post that admits it, at the key where its partner is or would arrive: as a
    match where everything behind it can be completed, as a dummy where something is missing."""
    index = facts.index
    by_post: dict[tuple[int, int], set[Row]] = {}
    for side in index.plan.sides:
        listed_rows = Counter(row_of(index, side, block) for _, block in listed(index, side))
        assert not listed_rows or max(listed_rows.values()) == 1
        known = by_post.setdefault((side.post.rule, side.post.place), set(listed_rows))
        assert known == set(listed_rows), "a fact is on all sides of a post or on none"
    for side in index.plan.sides:
        for fires, block in listed(index, side):
            row = row_of(index, side, block)
            others = [other for other in side.post.sides if other is not side]
            expected = side.post.is_negated or all(_has_partner(facts, by_post, other, row) for other in others)
            assert fires == expected, (index.shapes[side.post.rule].name, side.post.place, facts.decoded([row]))


def _has_partner(facts: IndexedFacts, by_post: dict[tuple[int, int], set[Row]], side: Side, row: Row) -> bool:
    """Whether some fact at the other end of a side fits this one and can itself be completed, away from here."""
    partner = side.partner
    assert partner is not None
    there = by_post.get((partner.post.rule, partner.post.place), set())
    fitting = [other for other in there if _fit(facts, side, row, other)]
    if partner.post.is_negated:
        return not fitting
    beyond = [other for other in partner.post.sides if other is not partner]
    return any(all(_has_partner(facts, by_post, other, one) for other in beyond) for one in fitting)


def _fit(facts: IndexedFacts, side: Side, row: Row, other: Row) -> bool:
    link = side.link
    columns, others = link.columns, link.other_columns
    if not side.is_first:
        columns, others = others, columns
    value = facts.universe.value
    if link.kind == ORDERED:
        return _compare(side.operator, value(row[columns[0]]), value(other[others[0]]))
    return all(row[one] == other[two] for one, two in zip(columns, others, strict=True))
