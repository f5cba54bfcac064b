"""A region of rules with its facts, which follows updates one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.engines.embedded.kernels.runner import Work as EvaluationWork
from corollary.engines.embedded.marking import backward_forward as bf
from corollary.engines.embedded.marking import changes, delete_rederive, fact_table
from corollary.engines.embedded.marking.rule_tables import RuleTables
from corollary.engines.embedded.marking.statistics import MarkingStatistics
from corollary.engines.embedded.marking.work import (
    BUDGET,
    LEFT,
    LIST_OUT,
    LIST_STARTS,
    N_BACKWARD,
    N_DELETIONS,
    N_EXPLICIT,
    N_FORWARD,
    N_IMPLICIT,
    N_INSERTIONS,
    NEEDS_FRAMES,
    NEEDS_INSTANCES,
    NEEDS_ROOM,
    PAUSED,
    SEEN,
    new_work,
    with_capacity,
    with_more_frames,
    with_more_instances,
)
from corollary.engines.embedded.relations.relation import Codes
from corollary.planning import NormalRule
from corollary.program import Constant

Order = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
FactsByPredicate = Mapping[str, Codes]


Phase = Callable[[Any, Any, Any, int, Order], int]
"""A loop over a table of facts, rules and lists that says whether it is done, or what it needs before it can go on."""


@dataclass(frozen=True)
class Method:
    """An algorithm that follows updates fact by fact: the phases of a deletion and of an insertion, and the bits of `mode`, which
    say what marks they make and how they use them."""

    name: str
    mode: int
    deleting: tuple[Phase, ...] = (bf.delete_phase,)
    inserting: tuple[Phase, ...] = (bf.insert_phase,)

    @property
    def marks(self) -> bool:
        return self.mode != bf.UNMARKED


_DELETE_AND_REDERIVE = (delete_rederive.overdelete_phase, delete_rederive.rederive_phase)
METHODS = {
    method.name: method
    for method in (
        Method("dred", bf.UNMARKED, _DELETE_AND_REDERIVE),
        Method("dred-marking", bf.MARKING | bf.PASSING_ON, _DELETE_AND_REDERIVE),
        Method("bf", bf.UNMARKED),
        Method("bf-marking", bf.MARKING | bf.COMPLETING),
    )
}


@dataclass
class Upcoming:
    """The known part of the next update: the explicit facts that it deletes, and those that it inserts."""

    delete: FactsByPredicate = field(default_factory=dict)
    insert: FactsByPredicate = field(default_factory=dict)


@dataclass
class RegionChange:
    """The facts that the rules do not support any more, and those that nothing but the rules supports, among what changed."""

    lost: dict[str, Codes]
    gained: dict[str, Codes]


class Region:
    """The facts that positive rules use and derive. `order` gives kinds and ranks of constants, for comparisons."""

    def __init__(
        self,
        rules: Sequence[NormalRule],
        method: Method,
        code: Callable[[Constant], int],
        order: Callable[[], Order],
        evaluation: EvaluationWork | None = None,
    ) -> None:
        self.tables = RuleTables(rules, code)
        self._method = method
        self._order = order
        self._has_tests = len(self.tables.arrays.tests) > 0
        self._evaluation = evaluation or EvaluationWork()
        self._names = list(self.tables.predicates)
        self._table = fact_table.new_table(self.tables)
        self._work = new_work(self.tables, self._table.capacity)
        self.statistics = MarkingStatistics()

    @property
    def size(self) -> int:
        return int(self._table.scalars[fact_table.LIVE])

    def load(self, predicate: str, rows: Codes, is_explicit: np.ndarray[Any, Any]) -> None:
        """Distinct facts that are there, and whether something outside supports each."""
        self._reserve(len(rows))
        flags = np.where(is_explicit, fact_table.PRESENT | fact_table.EXPLICIT, fact_table.PRESENT).astype(np.uint16)
        number = self.tables.predicates[predicate]
        changes.load_facts(self._table, self.tables.arrays, self._work, number, np.ascontiguousarray(rows), flags)

    # -- updates -----------------------------------------------------------------------------------------------------

    def update(
        self, deleted: FactsByPredicate, inserted: FactsByPredicate, look: Callable[[], Upcoming | None] = lambda: None
    ) -> RegionChange:
        """Apply changes from outside; return what changed inside. Calls `look` for the next update at most twice, and no more
        once it has returned one."""
        self.delete(deleted, look)
        self.insert(inserted, look)
        return self.finish()

    def delete(self, deleted: FactsByPredicate, look: Callable[[], Upcoming | None] = lambda: None) -> None:
        """The first phase; facts that are deleted are still there, with the flag D."""
        self._upcoming: Upcoming | None = None
        self._unmarked: dict[str, Codes] = {}  # what the next update deletes, as far as it is not marked yet
        self._waiting: dict[str, Codes] = {}
        self._work.scalars[N_DELETIONS : N_IMPLICIT + 1] = 0
        self._work.scalars[SEEN] = 0
        self._current_order = self._order() if self._has_tests else _NO_ORDER
        self._ask(look)
        for name, facts in deleted.items():
            rows, number, is_derived = (
                np.ascontiguousarray(facts),
                self.tables.predicates[name],
                name in self.tables.heads,
            )
            later = self._unmarked.pop(name, rows[:0])
            arrays = self.tables.arrays
            if changes.take_deleted(self._table, arrays, self._work, number, rows, is_derived, later):
                self._waiting[name] = later
        self._mark_all()
        for phase in self._method.deleting:
            self._run(phase)

    def insert(self, inserted: FactsByPredicate, look: Callable[[], Upcoming | None] = lambda: None) -> None:
        """The second phase."""
        changes.remove_deleted(self._table, self._work)
        self._reserve(sum(map(len, inserted.values())))
        self._ask(look)
        for name, facts in inserted.items():
            rows, number = np.ascontiguousarray(facts), self.tables.predicates[name]
            later = self._unmarked.pop(name, rows[:0])
            if changes.take_inserted(self._table, self.tables.arrays, self._work, number, rows, later):
                self._waiting[name] = later
        self._mark_all()
        if self._brings_back:
            delete_rederive.bring_back(self._table, self._work)
        for phase in self._method.inserting:
            self._run(phase)

    def finish(self) -> RegionChange:
        gone, end = changes.collect(self._table, self.tables.arrays, self._work)
        out = self._work.lists[LIST_OUT]
        found = RegionChange(self._rows(out[:gone]), self._rows(out[gone:end]))
        self.statistics = self.statistics_so_far()
        changes.prepare_next(self._table, self.tables.arrays, self._work)
        return found

    def _ask(self, look: Callable[[], Upcoming | None]) -> None:
        """Asks for the next update. Facts of predicates with rules may stay although it deletes them: no mark."""
        if self._upcoming is not None or not self._method.marks:
            return
        self._upcoming = look()
        if self._upcoming is not None:
            tables = self.tables
            self._unmarked = {
                name: np.ascontiguousarray(rows)
                for name, rows in self._upcoming.delete.items()
                if name in tables.predicates and name not in tables.heads
            }

    def _mark_all(self) -> None:
        """Marks explicit facts; those that are not there yet wait for their turn."""
        for name, rows in self._unmarked.items():
            number = self.tables.predicates[name]
            if changes.mark_explicit(self._table, self.tables.arrays, self._work, number, rows):
                self._waiting[name] = rows
        self._unmarked, self._waiting = self._waiting, {}
        if self._brings_back and self._upcoming is not None:
            for name, rows in self._upcoming.insert.items():
                if name in self.tables.predicates:
                    number = self.tables.predicates[name]
                    changes.mark_returning(self._table, self.tables.arrays, self._work, number, rows)

    @property
    def _brings_back(self) -> bool:
        """Whether facts that go and come back with the next update have kept their rule instances."""
        return self._method.mode & bf.PASSING_ON != 0

    def _run(self, phase: Phase) -> None:
        """Runs a phase to its end, with more room where it needs some."""
        while status := self._part_of(phase):
            if status == PAUSED:
                self._evaluation.check()
            elif status == NEEDS_ROOM:
                self._reserve(1, self._table.capacity)
            elif status == NEEDS_FRAMES:
                self._work = with_more_frames(self._work)
            elif status == NEEDS_INSTANCES:
                self._work = with_more_instances(self._work)

    def _part_of(self, phase: Phase) -> int:
        self._work.scalars[LEFT] = BUDGET
        return phase(self._table, self.tables.arrays, self._work, self._method.mode, self._current_order)

    def _reserve(self, facts: int, more: int = 0) -> None:
        needed = int(self._table.scalars[fact_table.USED]) + facts + more
        if needed > self._table.capacity:
            self._table = fact_table.grown(self._table, self.tables, needed)
            self._work = with_capacity(self._work, self._table.capacity)

    def _rows(self, facts: np.ndarray[Any, Any]) -> dict[str, Codes]:
        """Facts by predicate, as rows of codes; predicates without rules are left out."""
        predicates = self._table.predicate[facts]
        found = {}
        for number in np.flatnonzero(np.bincount(predicates)).tolist():
            name = self._names[number]
            if name in self.tables.heads:
                of_predicate = facts[predicates == number]
                found[name] = self._table.arguments[of_predicate, : self.tables.arities[number]]
        return found

    def statistics_so_far(self) -> MarkingStatistics:
        """Of the update that is in progress."""
        fields = (N_DELETIONS, N_BACKWARD, N_FORWARD, N_INSERTIONS, N_EXPLICIT, N_IMPLICIT, SEEN)
        return MarkingStatistics(*self._work.scalars[list(fields)].tolist())

    # -- looking in --------------------------------------------------------------------------------------------------

    def having(self, flag: int) -> set[tuple[str, tuple[int, ...]]]:
        """The facts with a flag, for tests and explanations."""
        return self._facts(np.flatnonzero((self._table.flags & flag) != 0).tolist())

    def waiting_facts(self) -> set[tuple[str, tuple[int, ...]]]:
        """Between two updates: the facts that the next one starts with, since they are marked."""
        return self._facts(self._work.lists[LIST_STARTS, : self._work.scalars[LIST_STARTS]].tolist())

    def _facts(self, numbers: list[int]) -> set[tuple[str, tuple[int, ...]]]:
        found = set()
        for fact in numbers:
            number = int(self._table.predicate[fact])
            row = self._table.arguments[fact, : self.tables.arities[number]].tolist()
            found.add((self._names[number], tuple(row)))
        return found


_NO_ORDER: Order = (np.zeros(1, np.uint8), np.zeros(1, np.float64))
