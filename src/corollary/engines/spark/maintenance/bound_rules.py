"""Rules whose changed fact tells everything: their other atoms only ask whether one certain fact is there.

The driver has the changed facts, so it asks for all of these facts at once, of all rules, and joins nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from corollary.engines.spark.maintenance.change_rows import ChangeRows, distinct_ids, summed_ids
from corollary.engines.spark.maintenance.distinct_rows import Ids
from corollary.engines.spark.maintenance.lookup import Lookup
from corollary.engines.spark.maintenance.row_sets import contained
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.planning import NormalRule
from corollary.program import Atom, Constant, Variable

NumberOf = Callable[[Constant], int]


def asks_only(rule: NormalRule) -> bool:
    """Whether the first atom of a rule binds all of its variables, and nothing is negated, computed or compared."""
    body = rule.body
    if body.negated or body.computes or body.compares or len(body.sources) < 2:
        return False
    first, *others = body.sources
    if not isinstance(first, Atom):
        return False
    known = {argument.name for argument in first.arguments if isinstance(argument, Variable)}
    atoms = [rule.head, *others]
    return all(isinstance(atom, Atom) and _is_bound(atom, known) for atom in atoms)


def _is_bound(atom: Atom, known: set[str]) -> bool:
    return all(
        isinstance(argument, Constant) or (isinstance(argument, Variable) and argument.name in known)
        for argument in atom.arguments
    )


@dataclass
class _Question:
    facts: Ids
    place: int


@dataclass
class BoundRule:
    """One such rule over changed facts; `ask` puts its questions, `heads` reads the answers."""

    rule: NormalRule
    changed: Ids
    number_of: NumberOf
    _questions: list[_Question] = field(default_factory=list)

    def __post_init__(self) -> None:
        first = self.rule.body.sources[0]
        assert isinstance(first, Atom)
        self._values: dict[str, Ids] = {}
        chosen = np.ones(len(self.changed), np.bool_)
        for place, argument in enumerate(first.arguments):
            column = self.changed[:, place]
            if isinstance(argument, Constant):
                chosen &= column == self.number_of(argument)
            elif isinstance(argument, Variable):
                chosen &= column == self._values.setdefault(argument.name, column)
        self._values = {name: column[chosen] for name, column in self._values.items()}
        self._count = int(chosen.sum())

    def ask(self, lookup: Lookup, relation_of: Callable[[Atom], SignedRelation]) -> None:
        for atom in self.rule.body.sources[1:]:
            assert isinstance(atom, Atom)
            facts = self._facts(atom)
            keys = ChangeRows.of_ids(lookup.context, atom.arity, distinct_ids(facts, 1))
            self._questions.append(_Question(facts, lookup.ask(relation_of(atom), keys)))

    def heads(self, answers: Sequence[Ids]) -> Ids:
        """The heads of the instances, with repetitions."""
        holds = np.ones(self._count, np.bool_)
        for question in self._questions:
            there = summed_ids(answers[question.place])
            holds &= contained(question.facts, there[there[:, -1] > 0][:, :-1])
        return self._facts(self.rule.head)[holds]

    def _facts(self, atom: Atom) -> Ids:
        columns = [
            np.full(self._count, self.number_of(argument), np.int64)
            if isinstance(argument, Constant)
            else self._values[argument.name]  # type: ignore[union-attr]
            for argument in atom.arguments
        ]
        return np.column_stack(columns or [np.zeros(self._count, np.int64)])
