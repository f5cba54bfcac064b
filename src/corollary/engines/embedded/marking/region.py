"""A region of rules with its facts, which follows updates one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.engines.embedded.kernels.runner import Work as EvaluationWork
from corollary.engines.embedded.marking import backward_forward as bf
from corollary.engines.embedded.marking import delete_rederive, tables
from corollary.engines.embedded.marking.statistics import MarkingStatistics
from corollary.engines.embedded.marking.tables import (
    COMPLETE,
    EXPLICIT,
    MARKED,
    NONE,
    OF_THIS_UPDATE,
    POSITIVE,
    PRESENT,
    QUEUED,
    D,
    RuleTables,
    add,
    find,
    loop,
    release,
)
from corollary.engines.embedded.marking.work import (
    BUDGET,
    CHECKED_DONE,
    IS_SEARCHING,
    KEPT,
    KEPT_BEFORE,
    LEFT,
    LIST_C,
    LIST_COMPLETE,
    LIST_D,
    LIST_EXPLICIT,
    LIST_GHOSTS,
    LIST_MARKED,
    LIST_OUT,
    LIST_QUEUE,
    LIST_STARTS,
    LIST_V,
    LIST_W,
    LIST_Y,
    LISTS,
    MARKED_STARTS,
    N_BACKWARD,
    N_DELETIONS,
    N_EXPLICIT,
    N_FORWARD,
    N_IMPLICIT,
    N_INSERTIONS,
    NEEDS_FRAMES,
    NEEDS_INSTANCES,
    NEEDS_ROOM,
    OPEN_FRAMES,
    PAUSED,
    SEEN,
    STAGE,
    TAKEN,
    new_work,
    push,
    with_capacity,
    with_more_frames,
    with_more_instances,
)
from corollary.engines.embedded.relations.relation import Codes
from corollary.planning import NormalRule
from corollary.program import Constant

# -- changes -----------------------------------------------------------------------------------------------------------

# The beginning and the end of an update: changes outside are applied, changes inside are returned.


@loop
def _key(rows: Any, row: Any, key: Any) -> Any:
    for place in range(rows.shape[1]):
        key[place] = rows[row, place]
    return rows.shape[1]


@loop
def load_facts(table: Any, rules: Any, work: Any, predicate: Any, rows: Any, flags: Any) -> None:
    """Add distinct facts that existed before; there must be room for them."""
    for row in range(len(rows)):
        _key(rows, row, work.key)
        add(table, rules, predicate, work.key, flags[row])


@loop
def mark_explicit(table: Any, rules: Any, work: Any, predicate: Any, rows: Any) -> Any:
    """Mark those of the facts that exist. If one is new, all its consequences will be marked, since they are still to
    come.

    Return the number of those that do not exist.
    """
    missing = 0
    for row in range(len(rows)):
        fact = find(table, predicate, work.key, _key(rows, row, work.key))
        if fact == NONE or (table.flags[fact] & (PRESENT | EXPLICIT | MARKED | D)) != PRESENT | EXPLICIT:
            missing += fact == NONE or not table.flags[fact] & PRESENT
            continue
        table.flags[fact] |= MARKED
        if table.flags[fact] & QUEUED:
            table.flags[fact] |= COMPLETE
        push(work, LIST_EXPLICIT, fact)
        work.scalars[N_EXPLICIT] += 1
    return missing


@loop
def take_deleted(table: Any, rules: Any, work: Any, predicate: Any, rows: Any, is_derived: Any, next_rows: Any) -> Any:
    """Take in facts that have lost their support from outside. Those that the rules may derive are checked; others are
    deleted.

    `next_rows` are facts of the same predicate that the next update deletes; return what `mark_explicit` does for them.
    A small update takes less time than one more call from Python.
    """
    for row in range(len(rows)):
        fact = find(table, predicate, work.key, _key(rows, row, work.key))
        if fact == NONE or not table.flags[fact] & PRESENT:
            continue
        if not is_derived:
            table.flags[fact] |= D
            push(work, LIST_D, fact)
        elif table.flags[fact] & EXPLICIT:
            push(work, LIST_STARTS, fact)
        table.flags[fact] &= ~np.uint16(EXPLICIT)
    return mark_explicit(table, rules, work, predicate, next_rows)


@loop
def take_inserted(table: Any, rules: Any, work: Any, predicate: Any, rows: Any, next_rows: Any) -> Any:
    """Take in facts that are supported from outside from now on; there must be room for them. `next_rows` as in
    `take_deleted`."""
    for row in range(len(rows)):
        fact = find(table, predicate, work.key, _key(rows, row, work.key))
        if fact == NONE:
            fact = add(table, rules, predicate, work.key, 0)
        table.flags[fact] |= EXPLICIT
        if not table.flags[fact] & PRESENT:
            table.flags[fact] |= PRESENT | QUEUED
            push(work, LIST_QUEUE, fact)
    return mark_explicit(table, rules, work, predicate, next_rows)


@loop
def mark_returning(table: Any, rules: Any, work: Any, predicate: Any, rows: Any) -> None:
    """Mark those of the facts that are deleted now and inserted again by the next update."""
    for row in range(len(rows)):
        fact = find(table, predicate, work.key, _key(rows, row, work.key))
        if fact != NONE and (table.flags[fact] & (PRESENT | D | POSITIVE)) == PRESENT | D:
            table.flags[fact] |= POSITIVE
            work.scalars[N_EXPLICIT] += 1


@loop
def remove_deleted(table: Any, work: Any) -> None:
    """e) Remove deleted facts; their numbers are kept until the end."""
    for place in range(work.scalars[LIST_D]):
        fact = work.lists[LIST_D, place]
        if table.flags[fact] & D:
            table.flags[fact] &= ~np.uint16(PRESENT)


@loop
def collect(table: Any, rules: Any, work: Any) -> Any:
    """List the facts that the rules no longer support, then those that only the rules support; return both numbers."""
    scalars, flags = work.scalars, table.flags
    scalars[LIST_OUT] = 0
    for place in range(scalars[LIST_D]):
        fact = work.lists[LIST_D, place]
        if (flags[fact] & (D | PRESENT)) == D:
            push(work, LIST_OUT, fact)
    gone = scalars[LIST_OUT]
    for number in (LIST_QUEUE, LIST_STARTS):
        # A fact that waited only because of a mark was derived before: if it still exists, nothing has changed.
        for place in range(scalars[MARKED_STARTS] if number == LIST_STARTS else 0, scalars[number]):
            fact = work.lists[number, place]
            if (flags[fact] & (PRESENT | EXPLICIT)) == PRESENT and not flags[fact] & COMPLETE:
                flags[fact] |= COMPLETE  # list each once
                push(work, LIST_OUT, fact)
    for place in range(gone, scalars[LIST_OUT]):
        flags[work.lists[LIST_OUT, place]] &= ~np.uint16(COMPLETE)
    return gone, scalars[LIST_OUT]


@loop
def prepare_next(table: Any, rules: Any, work: Any) -> None:
    """g) Empty the lists; the next update starts with the marked facts."""
    scalars, flags, lists = work.scalars, table.flags, work.lists
    _keep_instances(table, work)
    for place in range(scalars[LIST_GHOSTS]):
        fact = lists[LIST_GHOSTS, place]
        flags[fact] &= ~np.uint16(POSITIVE)
        if not flags[fact] & PRESENT:
            release(table, rules, fact)
    for place in range(scalars[LIST_COMPLETE]):
        flags[lists[LIST_COMPLETE, place]] &= ~np.uint16(COMPLETE)
    scalars[LIST_GHOSTS] = scalars[LIST_COMPLETE] = scalars[LIST_STARTS] = 0
    for place in range(scalars[LIST_MARKED]):
        fact = lists[LIST_MARKED, place]
        flags[fact] &= ~np.uint16(MARKED)
        if (flags[fact] & (PRESENT | EXPLICIT)) == PRESENT:
            push(work, LIST_STARTS, fact)
    for place in range(scalars[LIST_EXPLICIT]):
        fact = lists[LIST_EXPLICIT, place]
        flags[fact] &= ~np.uint16(MARKED)
        if flags[fact] & COMPLETE:
            push(work, LIST_COMPLETE, fact)
    for number in (LIST_W, LIST_C, LIST_V, LIST_Y, LIST_QUEUE):
        for place in range(scalars[number]):
            flags[lists[number, place]] &= ~np.uint16(OF_THIS_UPDATE & ~D)
    for place in range(scalars[LIST_D]):
        fact = lists[LIST_D, place]
        if (flags[fact] & (D | PRESENT)) != D:
            flags[fact] &= ~np.uint16(OF_THIS_UPDATE | POSITIVE)
        elif flags[fact] & POSITIVE:
            flags[fact] &= ~np.uint16(OF_THIS_UPDATE)
            push(work, LIST_GHOSTS, fact)
        else:
            release(table, rules, fact)
    for number in range(LISTS):
        if number != LIST_STARTS and number != LIST_GHOSTS and number != LIST_COMPLETE:
            scalars[number] = 0
        scalars[TAKEN + number] = 0
    scalars[CHECKED_DONE] = scalars[OPEN_FRAMES] = scalars[IS_SEARCHING] = scalars[STAGE] = 0
    scalars[MARKED_STARTS] = scalars[LIST_STARTS]


@loop
def _keep_instances(table: Any, work: Any) -> None:
    """Keep the instances of this update that the next one may need: the head is deleted, and each fact exists or returns."""
    scalars, kept = work.scalars, 0
    for number in range(scalars[KEPT_BEFORE], scalars[KEPT]):
        row = work.instances[number]
        wanted = not table.flags[row[0]] & PRESENT
        for place in range(1, len(row)):
            if row[place] != NONE and not table.flags[row[place]] & (PRESENT | POSITIVE):
                wanted = False
        if wanted:
            for place in range(len(row)):
                work.instances[kept, place] = row[place]
            kept += 1
        elif not table.flags[row[0]] & PRESENT:
            table.flags[row[0]] &= ~np.uint16(POSITIVE)
    scalars[KEPT] = scalars[KEPT_BEFORE] = kept


# -- region ------------------------------------------------------------------------------------------------------------

Order = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
FactsByPredicate = Mapping[str, Codes]


Phase = Callable[[Any, Any, Any, int, Order], int]
"""A loop over a table of facts, rules and lists; returns whether it is done, or what it needs to continue."""


@dataclass(frozen=True)
class Method:
    """An algorithm that follows updates fact by fact: the phases of a deletion and of an insertion, and the bits of
    `mode`, which tell how marks are made and used."""

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
    """The changed facts that the rules no longer support, and those that only the rules support."""

    lost: dict[str, Codes]
    gained: dict[str, Codes]


class Region:
    """The facts that positive rules read and derive. `order` returns kinds and ranks of constants, for comparisons."""

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
        self._table = tables.new_table(self.tables)
        self._work = new_work(self.tables, self._table.capacity)
        self.statistics = MarkingStatistics()

    @property
    def size(self) -> int:
        return int(self._table.scalars[tables.LIVE])

    def load(self, predicate: str, rows: Codes, is_explicit: np.ndarray[Any, Any]) -> None:
        """Load distinct existing facts, with whether each has support from outside."""
        self._reserve(len(rows))
        flags = np.where(is_explicit, tables.PRESENT | tables.EXPLICIT, tables.PRESENT).astype(np.uint16)
        number = self.tables.predicates[predicate]
        load_facts(self._table, self.tables.arrays, self._work, number, np.ascontiguousarray(rows), flags)

    # -- updates -----------------------------------------------------------------------------------------------------

    def update(
        self, deleted: FactsByPredicate, inserted: FactsByPredicate, look: Callable[[], Upcoming | None] = lambda: None
    ) -> RegionChange:
        """Apply changes from outside; return what changed inside. `look` is called for the next update at most twice,
        and not again after it has returned one."""
        self.delete(deleted, look)
        self.insert(inserted, look)
        return self.finish()

    def delete(self, deleted: FactsByPredicate, look: Callable[[], Upcoming | None] = lambda: None) -> None:
        """Run the first phase; deleted facts still exist, with the flag D."""
        self._upcoming: Upcoming | None = None
        self._unmarked: dict[str, Codes] = {}  # facts that the next update deletes and that are not marked yet
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
            if take_deleted(self._table, arrays, self._work, number, rows, is_derived, later):
                self._waiting[name] = later
        self._mark_all()
        for phase in self._method.deleting:
            self._run(phase)

    def insert(self, inserted: FactsByPredicate, look: Callable[[], Upcoming | None] = lambda: None) -> None:
        """Run the second phase."""
        remove_deleted(self._table, self._work)
        self._reserve(sum(map(len, inserted.values())))
        self._ask(look)
        for name, facts in inserted.items():
            rows, number = np.ascontiguousarray(facts), self.tables.predicates[name]
            later = self._unmarked.pop(name, rows[:0])
            if take_inserted(self._table, self.tables.arrays, self._work, number, rows, later):
                self._waiting[name] = later
        self._mark_all()
        if self._brings_back:
            delete_rederive.bring_back(self._table, self._work)
        for phase in self._method.inserting:
            self._run(phase)

    def finish(self) -> RegionChange:
        gone, end = collect(self._table, self.tables.arrays, self._work)
        out = self._work.lists[LIST_OUT]
        found = RegionChange(self._rows(out[:gone]), self._rows(out[gone:end]))
        self.statistics = self.statistics_so_far()
        prepare_next(self._table, self.tables.arrays, self._work)
        return found

    def _ask(self, look: Callable[[], Upcoming | None]) -> None:
        """Ask for the next update. Facts of predicates with rules may survive their deletion, so they get no mark."""
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
        """Mark explicit facts; those that do not exist yet are marked later."""
        for name, rows in self._unmarked.items():
            number = self.tables.predicates[name]
            if mark_explicit(self._table, self.tables.arrays, self._work, number, rows):
                self._waiting[name] = rows
        self._unmarked, self._waiting = self._waiting, {}
        if self._brings_back and self._upcoming is not None:
            for name, rows in self._upcoming.insert.items():
                if name in self.tables.predicates:
                    number = self.tables.predicates[name]
                    mark_returning(self._table, self.tables.arrays, self._work, number, rows)

    @property
    def _brings_back(self) -> bool:
        """Whether facts that are deleted now and inserted by the next update have kept their rule instances."""
        return self._method.mode & bf.PASSING_ON != 0

    def _run(self, phase: Phase) -> None:
        """Run a phase to its end, enlarging arrays when needed."""
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
        needed = int(self._table.scalars[tables.USED]) + facts + more
        if needed > self._table.capacity:
            self._table = tables.grown(self._table, self.tables, needed)
            self._work = with_capacity(self._work, self._table.capacity)

    def _rows(self, facts: np.ndarray[Any, Any]) -> dict[str, Codes]:
        """Return facts by predicate, as rows of codes; predicates without rules are left out."""
        predicates = self._table.predicate[facts]
        found = {}
        for number in np.flatnonzero(np.bincount(predicates)).tolist():
            name = self._names[number]
            if name in self.tables.heads:
                of_predicate = facts[predicates == number]
                found[name] = self._table.arguments[of_predicate, : self.tables.arities[number]]
        return found

    def statistics_so_far(self) -> MarkingStatistics:
        """Return the statistics of the update in progress."""
        fields = (N_DELETIONS, N_BACKWARD, N_FORWARD, N_INSERTIONS, N_EXPLICIT, N_IMPLICIT, SEEN)
        return MarkingStatistics(*self._work.scalars[list(fields)].tolist())

    # -- inspection --------------------------------------------------------------------------------------------------

    def having(self, flag: int) -> set[tuple[str, tuple[int, ...]]]:
        """Return the facts with a flag, for tests and explanations."""
        return self._facts(np.flatnonzero((self._table.flags & flag) != 0).tolist())

    def waiting_facts(self) -> set[tuple[str, tuple[int, ...]]]:
        """Return, between two updates, the marked facts with which the next one starts."""
        return self._facts(self._work.lists[LIST_STARTS, : self._work.scalars[LIST_STARTS]].tolist())

    def _facts(self, numbers: list[int]) -> set[tuple[str, tuple[int, ...]]]:
        found = set()
        for fact in numbers:
            number = int(self._table.predicate[fact])
            row = self._table.arguments[fact, : self.tables.arities[number]].tolist()
            found.add((self._names[number], tuple(row)))
        return found


_NO_ORDER: Order = (np.zeros(1, np.uint8), np.zeros(1, np.float64))
