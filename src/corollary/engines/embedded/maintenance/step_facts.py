"""The facts of a recursive step as numbers of rows, with marks in the flags of the rows; see `engines.base.StepFacts`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np

from corollary.engines.base import Mark
from corollary.engines.embedded.maintenance.maintained_relation import (
    CHECKED,
    GONE,
    KNOWN,
    REACHED,
    SPREAD,
    UNBORN,
    Found,
    MaintainedRelation,
    Numbers,
)
from corollary.engines.embedded.maintenance.transaction import EmbeddedTransaction
from corollary.engines.embedded.relations.relation import Codes, Relation, facts_of
from corollary.planning import NormalRule
from corollary.planning.deltas import CHANGING, PROVED
from corollary.reasoning.maintain.step_rules import Delta, whole_before
from corollary.reasoning.maintain.transaction import Task

_COUNT = "count"
_NOBODY = np.empty(0, np.int64)
_FLAGS = {Mark.CHECKED: CHECKED, Mark.KNOWN: KNOWN}


class EmbeddedStepFacts:
    """`counts` tells whether the step counts the instances that derive a fact, or only supports what nobody else did.

    A deletion that needs more than `most` rule instances raises `OverBudget`.
    """

    def __init__(
        self, task: Task, transaction: EmbeddedTransaction, *, counts: bool = False, most: int | None = None
    ) -> None:
        self._task = task
        self._counts = counts
        self._most = sys.maxsize if most is None else most
        self._owner = task.rules.step.owner
        self._heads = task.rules.heads
        self._transaction = transaction
        self._relations: dict[str, MaintainedRelation] = {
            name: transaction.relation(name, arity) for name, arity in self._heads.items()
        }
        self._changing: Mapping[str, Numbers] = {}
        self._reached: list[Mapping[str, Numbers]] = []

    # -- rules -------------------------------------------------------------------------------------------------------

    def derive(self, deltas: Iterable[Delta], new: Iterable[NormalRule] = ()) -> dict[str, Relation]:
        found = self._transaction.derive(deltas, self._heads, self._counter)
        for rule in new:
            self._transaction.views.run(rule, self._into(found, rule), self._counter, brings=True)
        return found

    @property
    def _counter(self) -> str | None:
        return _COUNT if self._counts else None

    def _into(self, found: dict[str, Relation], rule: NormalRule) -> Relation:
        name = rule.head.predicate
        return found.setdefault(name, Relation(self._heads[name], counted=True))

    def rows(self, heads: Mapping[str, Relation]) -> Found:
        found = {name: self._relations[name].locate(facts_of(one)) for name, one in heads.items() if one.size}
        return _nonempty(found)

    def arrays(self, facts: Mapping[str, Numbers]) -> dict[str, Codes]:
        return {name: self._relations[name].rows(numbers) for name, numbers in facts.items()}

    def heads(self, arrays: Mapping[str, Codes]) -> dict[str, Relation]:
        found = {}
        for name, rows in arrays.items():
            found[name] = Relation(self._heads[name], self._transaction.store.universe.code_bits, counted=True)
            found[name].insert(np.ascontiguousarray(rows))
        return found

    def _instances(self, found: Relation) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """How many instances have derived each of the facts, in a step that counts."""
        return found.support_of(_COUNT)[: max(1, found.size)].astype(np.int64)

    # -- rounds ------------------------------------------------------------------------------------------------------

    def trying(self) -> AbstractContextManager[None]:
        return self._transaction.work.trying(self._most)

    def begin_rounds(self, *, grows: bool = False) -> None:
        self._transaction.work.begin_rounds()
        if grows:
            self._transaction.settle_last(self._heads)

    def next_round(self) -> None:
        self._transaction.work.next_round()
        self.check()

    def check(self) -> None:
        self._transaction.work.check()

    @property
    def visible_size(self) -> int:
        return sum(maintained.visible_count for maintained in self._relations.values())

    # -- sets --------------------------------------------------------------------------------------------------------

    def size(self, facts: Mapping[str, Numbers]) -> int:
        return sum(map(len, facts.values()))

    def union(self, facts: Mapping[str, Numbers], others: Mapping[str, Numbers]) -> Found:
        found = dict(facts)
        for name, numbers in others.items():
            found[name] = np.union1d(found[name], numbers) if name in found else numbers
        return found

    def disjoint_union(self, parts: Sequence[Mapping[str, Numbers]]) -> Found:
        found: dict[str, list[Numbers]] = {}
        for part in parts:
            for name, numbers in part.items():
                found.setdefault(name, []).append(numbers)
        return {name: np.concatenate(some) if len(some) > 1 else some[0] for name, some in found.items()}

    def difference(self, facts: Mapping[str, Numbers], others: Mapping[str, Numbers]) -> Found:
        found = {
            name: np.setdiff1d(numbers, others.get(name, _NOBODY), assume_unique=True)
            for name, numbers in facts.items()
        }
        return _nonempty(found)

    def mark(self, facts: Mapping[str, Numbers], mark: Mark) -> None:
        self._mark(facts, _FLAGS[mark])

    def unmark(self, facts: Mapping[str, Numbers], mark: Mark) -> None:
        self._unmark(facts, _FLAGS[mark])

    def having(self, facts: Mapping[str, Numbers], mark: Mark) -> Found:
        return self._having(facts, _FLAGS[mark])

    def without(self, facts: Mapping[str, Numbers], *marks: Mark) -> Found:
        return self._without(facts, sum(_FLAGS[mark] for mark in marks))

    def visible(self, facts: Mapping[str, Numbers]) -> Found:
        return self._without(facts, GONE)

    def _mark(self, facts: Mapping[str, Numbers], flag: int) -> None:
        for name, numbers in facts.items():
            self._relations[name].mark(numbers, flag)

    def _unmark(self, facts: Mapping[str, Numbers], flag: int) -> None:
        for name, numbers in facts.items():
            self._relations[name].unmark(numbers, flag)

    def _having(self, facts: Mapping[str, Numbers], flag: int) -> Found:
        return _nonempty({name: self._relations[name].having(numbers, flag) for name, numbers in facts.items()})

    def _without(self, facts: Mapping[str, Numbers], flags: int) -> Found:
        return _nonempty({name: self._relations[name].without(numbers, flags) for name, numbers in facts.items()})

    def ask_about(self, facts: Mapping[str, Numbers]) -> None:
        for name, numbers in facts.items():
            self._transaction.views.set_delta(CHANGING + name, self._relations[name].rows(numbers))

    # -- what is lost ------------------------------------------------------------------------------------------------

    def note_lost(self, heads: Mapping[str, Relation]) -> None:
        """Each lost instance had a head that was visible, so all of them have rows."""
        for name, found in heads.items() if self._counts else ():
            if found.size:
                maintained = self._relations[name]
                maintained.change_support(self._owner, maintained.locate(facts_of(found)), -self._instances(found))

    def remove(self, rules: Sequence[NormalRule]) -> Found:
        found: dict[str, Relation] = {}
        for rule in rules:
            self._transaction.views.once(whole_before(rule), self._into(found, rule), self._counter)
        self.note_lost(found)
        return self.rows(found)

    def given_up(self) -> Found:
        return _nonempty({name: maintained.lost_rows() for name, maintained in self._relations.items()})

    def deletable(
        self, lost: Mapping[str, Numbers], given_up: Mapping[str, Numbers], *, stops_at_support: bool = True
    ) -> Found:
        found = self._deletable(lost, stops_at_support=stops_at_support)
        return self.union(found, self._deletable(given_up, stops_at_support=True))

    def _deletable(self, facts: Mapping[str, Numbers], *, stops_at_support: bool) -> Found:
        waiting = self._without(facts, UNBORN | REACHED)
        if not stops_at_support:
            return waiting
        found = self.unsupported(waiting)
        for name, numbers in waiting.items() if not self._counts else ():
            unsupported = found.get(name, _NOBODY)
            if len(unsupported) < len(numbers):
                self._stop_supporting(name, np.setdiff1d(numbers, unsupported, assume_unique=True))
        return found

    def _stop_supporting(self, name: str, numbers: Numbers) -> None:
        maintained = self._relations[name]
        numbers = numbers[maintained.support(self._owner, numbers) > 0]
        maintained.change_support(self._owner, numbers, -maintained.support(self._owner, numbers))

    def unsupported(self, facts: Mapping[str, Numbers]) -> Found:
        return _nonempty({name: self._unsupported(name, numbers) for name, numbers in facts.items()})

    def _unsupported(self, name: str, numbers: Numbers) -> Numbers:
        maintained = self._relations[name]
        numbers = numbers[maintained.external_support(self._owner, numbers) == 0]
        if len(numbers) and self._task.earlier.of(name):
            for adopted in self._task.earlier.adopt(name, numbers).values():
                numbers = np.setdiff1d(numbers, adopted, assume_unique=True)
        return numbers

    def reach(self, facts: Mapping[str, Numbers]) -> None:
        self._reached.append(facts)
        self._mark(facts, REACHED)
        self.ask_about(facts)

    def reached(self) -> Found:
        return self.disjoint_union(self._reached)

    def spread(self, facts: Mapping[str, Numbers]) -> None:
        self._mark(facts, SPREAD)

    def withdraw(self, facts: Mapping[str, Numbers]) -> None:
        for name, numbers in facts.items():
            self._stop_supporting(name, numbers)

    def hidden(self, facts: Mapping[str, Numbers]) -> tuple[Found, Found]:
        hidden = self.unsupported(self._having(facts, GONE))
        return hidden, self.visible(facts)

    def restore(self, heads: Mapping[str, Relation]) -> Found:
        found = self.rows(heads)
        for name, numbers in found.items():
            self._relations[name].change_support(self._owner, numbers, 1)
        return found

    def restore_counted(self, facts: Mapping[str, Numbers]) -> Found:
        return self.visible(facts)

    def begin_proofs(self) -> None:
        for name, arity in self._heads.items():
            self._transaction.views.set_delta(PROVED + name, np.empty((0, arity), np.uint32))

    def prove(self, facts: Mapping[str, Numbers]) -> None:
        views = self._transaction.views
        self._mark(facts, KNOWN)
        for name, numbers in facts.items():
            maintained = self._relations[name]
            maintained.change_support(self._owner, maintained.having(numbers, GONE), 1)
            views.extend_delta(PROVED + name, maintained.rows(numbers))

    # -- what is gained ----------------------------------------------------------------------------------------------

    def born(self) -> Found:
        return _nonempty({name: maintained.born() for name, maintained in self._relations.items()})

    def set_changing(self, facts: Mapping[str, Numbers]) -> None:
        self._unmark(self._changing, REACHED)
        self._changing = facts
        self._mark(facts, REACHED)
        self.ask_about(facts)

    def add(self, heads: Mapping[str, Relation]) -> Found:
        added = {}
        for name, relation in heads.items():
            if relation.size:
                maintained = self._relations[name]
                numbers = maintained.place(facts_of(relation))
                hidden = maintained.having(numbers, GONE)
                if self._counts:
                    maintained.change_support(self._owner, numbers, self._instances(relation))
                else:
                    maintained.change_support(self._owner, hidden, 1)
                added[name] = hidden
        return _nonempty(added)

    def finish(self) -> None:
        for maintained in self._relations.values():
            maintained.clear_marks()


def _nonempty(found: Found) -> Found:
    return {name: numbers for name, numbers in found.items() if len(numbers)}
