"""A relation inside a transaction: who supports each row, and which rows the transaction hides or brings.

Nothing is moved or removed while a transaction runs. A fact that goes is hidden, a new one is appended, and the flags of a row
tell both versions apart: rules can look at the facts before the transaction and at those after it in the same relation.
Giving up a transaction puts flags and counts back; committing it makes the version after it the only one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from corollary.engines.embedded.closures import PairDifference
from corollary.engines.embedded.relations import memory
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.reasoning.maintain.recompute import BOTH, Direction
from corollary.reasoning.maintain.report import Outcome

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Found: TypeAlias = dict[str, Numbers]
"""Numbers of rows by predicate."""
CountsBefore: TypeAlias = tuple[str, Numbers, np.ndarray[Any, Any]]
"""An owner, rows, and how often it supported each of them."""

GONE = 1  # the fact is not visible after the transaction
UNBORN = 2  # the fact was not visible before it
# Marks, for the time in which one step is maintained:
REACHED = 4  # a deletion has taken the fact back for now, or an insertion has just brought it
SPREAD = 8  # a deletion has gone on from the fact
CHECKED = 16  # somebody asked whether the fact follows from what is left
KNOWN = 32  # it does

_STATE = GONE | UNBORN

_NOBODY = np.empty(0, np.int64)
_COMPACT_FROM = 1000
_PIECE = 1 << 16


@dataclass(frozen=True)
class _Renamed:
    """The whole support of one owner has become that of another, who had none."""

    owner: str
    successor: str


class MaintainedRelation:
    """`relation` with the flags of its rows; a fact is visible while some owner supports it."""

    def __init__(self, relation: Relation, owner: str) -> None:
        """All rows are visible; where nobody is known to support them, `owner` does."""
        self.relation = relation
        relation.number_rows()
        if not relation.owners:
            relation.mark(owner, 0)
        self.flags = np.zeros(max(1, len(relation.rows)), np.uint8)
        self.hidden = 0
        self.compactions = 0  # how often rows have got other numbers
        self._touched: list[Numbers] = []
        self._log: list[CountsBefore | _Renamed] = []  # what happened to support in this transaction, in order
        self.lost: list[Numbers] = []  # rows that an owner has stopped supporting in this transaction
        self._marked: list[Numbers] = []
        self._difference: tuple[int, Codes, Codes] | None = None

    # -- facts -------------------------------------------------------------------------------------------------------

    @property
    def arity(self) -> int:
        return self.relation.arity

    def facts(self) -> Codes:
        """The facts that are visible now."""
        if not self.arity:
            return np.empty((self.visible_count, 0), np.uint32)
        if not self.hidden:
            return self.relation.facts
        visible: Codes = self.relation.facts[(self.flags[: self.relation.size] & GONE) == 0]
        return visible

    @property
    def visible_count(self) -> int:
        return self.relation.size - self.hidden

    @property
    def count_before(self) -> int:
        """How many facts were visible before the transaction."""
        if not self._touched:
            return self.visible_count
        return int(np.count_nonzero(self.was_visible()))

    def was_visible(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """For each row whether it was visible before the transaction."""
        found: np.ndarray[Any, np.dtype[np.bool_]] = (self.flags[: self.relation.size] & UNBORN) == 0
        return found

    def is_visible(self, version: int) -> bool:
        """Whether a predicate without arguments holds in that version."""
        return self.relation.size > 0 and not self.flags[0] & version

    def place(self, facts: Codes) -> Numbers:
        """The numbers of distinct facts; those that were never there get one and stay hidden until somebody supports them."""
        before = self.relation.size
        if self.arity:
            self.relation.reserve(len(facts))
        if len(self.flags) < len(self.relation.rows):  # before there are rows without flags: memory may be used up
            grown = np.zeros(len(self.relation.rows), np.uint8)
            grown[: len(self.flags)] = self.flags
            self.flags = grown
        numbers = self.relation.place(facts)
        if self.relation.size > before:
            self.flags[before : self.relation.size] = GONE | UNBORN
            self.hidden += self.relation.size - before
        return numbers

    def locate(self, facts: Codes) -> Numbers:
        """The numbers of those facts that were ever there."""
        numbers = self.relation.locate(facts)
        return numbers[numbers >= 0]

    def rows(self, numbers: Numbers) -> Codes:
        return self.relation.rows[numbers] if self.arity else np.empty((len(numbers), 0), np.uint32)

    # -- support -----------------------------------------------------------------------------------------------------

    def support(self, owner: str, numbers: Numbers) -> np.ndarray[Any, np.dtype[np.int64]]:
        return self.relation.support_of(owner)[numbers].astype(np.int64)

    def external_support(self, owner: str, numbers: Numbers) -> np.ndarray[Any, np.dtype[np.int64]]:
        """How often others than the owner support the rows."""
        total = np.zeros(len(numbers), np.int64)
        for other in self.relation.owners:
            if other != owner:
                total += self.relation.support_of(other)[numbers]
        return total

    def change_support(self, owner: str, numbers: Numbers, change: np.ndarray[Any, Any] | int) -> Numbers:
        """Adds to the support of distinct rows; gives the rows that are not visible any more because of it."""
        if not len(numbers):
            return _NOBODY
        counts = self.relation.support_of(owner)
        before = counts[numbers].astype(np.int64)
        after = before + change
        assert after.min() >= 0, f"support of {owner} below zero"
        memory.check_counts(int(after.max()))
        self._log.append((owner, numbers, before))
        counts[numbers] = after
        is_hidden = after == 0
        was_hidden = (self.flags[numbers] & GONE) != 0
        if is_hidden.any():
            lost = numbers[is_hidden & (before > 0)]
            if len(lost):
                self.lost.append(lost)
            is_hidden &= self.external_support(owner, numbers) == 0
        changed = numbers[was_hidden != is_hidden]
        if len(changed):
            self.flags[changed] ^= GONE
            self.hidden += int(np.count_nonzero(is_hidden)) - int(np.count_nonzero(was_hidden))
            self._touched.append(changed)
        found: Numbers = numbers[~was_hidden & is_hidden]
        return found

    def withdraw(self, owner: str) -> None:
        """The owner supports nothing any more."""
        if owner in self.relation.owners:
            counts = self.relation.support_of(owner)[: self.relation.size]
            numbers = np.flatnonzero(counts)
            self.change_support(owner, numbers, -counts[numbers].astype(np.int64))

    def transfer(self, owner: str, successor: str, *, counts: bool) -> None:
        """Transfer the support by one owner to another: as often, or once where the successor does not count.

        No fact loses support by that, so the successor has no reason to look at it.
        """
        if owner == successor or owner not in self.relation.owners:
            return
        column = self.relation.support_of(owner)[: self.relation.size]
        if successor not in self.relation.owners and (counts or int(column.max(initial=0)) <= 1):
            self.relation.rename_owner(owner, successor)
            self._log.append(_Renamed(owner, successor))
            return
        numbers = np.flatnonzero(column)
        if not len(numbers):
            return
        given, had = self.support(owner, numbers), self.support(successor, numbers)
        self._log += [(owner, numbers, given), (successor, numbers, had)]
        self.relation.support_of(successor)[numbers] = had + given if counts else np.maximum(had, 1)
        self.relation.support_of(owner)[numbers] = 0

    def supported_by_others(self, owner: str, version: int) -> Numbers:
        """The rows that others than the owner support and that no flag of `version` hides."""
        rows = np.arange(self.relation.size)
        found: Numbers = rows[(self.external_support(owner, rows) > 0) & ((self.flags[: len(rows)] & version) == 0)]
        return found

    def set_support(self, owner: str, numbers: Numbers, counts: np.ndarray[Any, Any] | int) -> Numbers:
        """The owner supports exactly these distinct rows, so often each; gives the rows that are not visible any more."""
        wanted = np.zeros(max(1, self.relation.size), np.int64)
        wanted[numbers] = counts
        change = wanted - self.relation.support_of(owner)[: len(wanted)]
        changed = np.flatnonzero(change)
        return self.change_support(owner, changed, change[changed])

    # -- marks -------------------------------------------------------------------------------------------------------

    def mark(self, numbers: Numbers, mark: int) -> None:
        if len(numbers):
            self.flags[numbers] |= mark
            self._marked.append(numbers)

    def unmark(self, numbers: Numbers, mark: int) -> None:
        self.flags[numbers] &= ~np.uint8(mark)

    def without(self, numbers: Numbers, flags: int) -> Numbers:
        """Those of the rows that have none of the flags."""
        found: Numbers = numbers[(self.flags[numbers] & flags) == 0]
        return found

    def having(self, numbers: Numbers, flag: int) -> Numbers:
        found: Numbers = numbers[(self.flags[numbers] & flag) != 0]
        return found

    def clear_marks(self) -> None:
        for numbers in _pieces(self._marked):
            self.flags[numbers] &= _STATE
        self._marked.clear()

    # -- transactions ------------------------------------------------------------------------------------------------

    @property
    def is_touched(self) -> bool:
        return len(self._touched) > 0

    def touched(self) -> Numbers:
        """The rows whose visibility changed at some time in this transaction."""
        return _union(self._touched)

    @property
    def has_lost(self) -> bool:
        """Whether an owner has stopped supporting some row."""
        return len(self.lost) > 0

    def lost_rows(self) -> Numbers:
        return _union(self.lost)

    def born(self) -> Numbers:
        """The rows that are visible and were not before the transaction."""
        touched = self.touched()
        found: Numbers = touched[(self.flags[touched] & _STATE) == UNBORN]
        return found

    def flips(self) -> int:
        """A point in the transaction, for `changed_since`."""
        return len(self._touched)

    def changed_since(self, point: int) -> tuple[int, int]:
        """How many facts have disappeared and appeared since that point."""
        parts = self._touched[point:]
        numbers = parts[0] if parts else _NOBODY
        if len(parts) > 1:
            numbers, times = np.unique(np.concatenate(parts), return_counts=True)
            numbers = numbers[times % 2 == 1]
        gone = int(np.count_nonzero(self.flags[numbers] & GONE))
        return gone, len(numbers) - gone

    def difference(self) -> tuple[Codes, Codes]:
        """The facts that were visible and are not, and those that are and were not."""
        if self._difference is None or self._difference[0] != len(self._touched):
            touched = self.touched()
            versions = self.flags[touched] & _STATE
            gone, born = touched[versions == GONE], touched[versions == UNBORN]
            self._difference = len(self._touched), self.rows(gone), self.rows(born)
        return self._difference[1:]

    @property
    def counts_before(self) -> list[CountsBefore]:
        """Owners, rows and what their support was, for each time that it changed in this transaction, in order."""
        if any(isinstance(entry, _Renamed) for entry in self._log):
            self._write_out_renames()
        return self._log  # type: ignore[return-value]

    def _write_out_renames(self) -> None:
        """Replace each renamed column in the log by what its rows lost with one owner and got with the other."""
        columns = {
            owner: self.relation.support_of(owner)[: self.relation.size].copy() for owner in self.relation.owners
        }
        written: list[CountsBefore | _Renamed] = []
        for entry in reversed(self._log):
            if isinstance(entry, _Renamed):
                column = columns.pop(entry.successor)
                numbers = np.flatnonzero(column)
                given = column[numbers].astype(np.int64)
                written += [(entry.successor, numbers, np.zeros_like(given)), (entry.owner, numbers, given)]
                columns[entry.owner] = column
            else:
                owner, rows, before = entry
                columns[owner][rows] = before
                written.append(entry)
        self._log = written[::-1]

    def commit(self) -> None:
        if not self._log and not self._marked:
            return
        for touched in self._touched:  # a row may be in several of them
            self.flags[touched] = (self.flags[touched] & GONE) * np.uint8(GONE | UNBORN)
        self._forget()
        if self.hidden > _COMPACT_FROM and self.hidden * 2 > self.relation.size:
            self.compact()

    def roll_back(self) -> None:
        """Piece by piece, since this has to work where memory is used up; a row may be in several of them."""
        self.clear_marks()
        for entry in reversed(self._log):
            if isinstance(entry, _Renamed):
                self.relation.rename_owner(entry.successor, entry.owner)
            else:
                owner, numbers, counts = entry
                self.relation.support_of(owner)[numbers] = counts
        for numbers in _pieces(self._touched):
            flags = self.flags[numbers]
            before = np.where(flags & UNBORN, np.uint8(GONE | UNBORN), np.uint8(0))
            self.flags[numbers] = before
            self.hidden += int(np.count_nonzero(before & GONE)) - int(np.count_nonzero(flags & GONE))
        self._forget()

    def _forget(self) -> None:
        self._touched.clear()
        self._difference = None
        self._log.clear()
        self.lost.clear()
        self.clear_marks()

    def compact(self) -> None:
        """Removes the hidden rows. When they are more than the others, a deletion pays for moving one fact on the average."""
        if self.arity:
            self.relation.keep(self.flags[: self.relation.size] == 0)
            self.flags = np.zeros(max(1, len(self.relation.rows)), np.uint8)
        else:
            self.relation.size = self.visible_count
        self.hidden = 0
        self.compactions += 1


def _pieces(parts: list[Numbers]) -> Iterator[Numbers]:
    """The rows, few at a time."""
    for part in parts:
        for start in range(0, len(part), _PIECE):
            yield part[start : start + _PIECE]


def _union(parts: list[Numbers]) -> Numbers:
    if not parts:
        return _NOBODY
    return distinct(np.concatenate(parts)) if len(parts) > 1 else parts[0]


def distinct(numbers: Numbers) -> Numbers:
    """The numbers in order, each once; numpy's own function hashes, which takes ten times as long for many."""
    if (numbers[1:] > numbers[:-1]).all():
        return numbers
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


# -- predicates that were recomputed -----------------------------------------------------------------------------------

# A predicate that was recomputed: its facts before the transaction and those after it, in relations of their own.
#
# Where most facts of a predicate change, following each of them costs more than deriving all. The new relation takes the place of
# the old one when the transaction ends; what has changed is found when somebody wants to see it. A rule that has to look at both
# versions at once makes the replacement settle: then the old relation follows fact by fact after all.


class Replacement:
    """`after` takes the place of `before`. Where facts can only go, or only come, they are counted without a look at them."""

    def __init__(self, before: MaintainedRelation, after: Relation, direction: Direction = BOTH) -> None:
        self.before = before
        self.after = after
        self.direction = direction
        self.is_opening = False  # the facts that are left of a predicate which is not closed any more, and nothing else

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many facts went and how many came."""
        before, after = self.before.count_before, self.after.size
        if self.direction == BOTH:
            kept = int(np.count_nonzero(self._kept >= 0))
            return before - kept, after - kept
        return max(0, before - after), max(0, after - before)

    @cached_property
    def difference(self) -> tuple[Codes, Codes]:
        """The facts that went and those that came."""
        deleted, inserted = self.counts
        facts, numbers = self._facts, self._kept if deleted or inserted else self._kept[:0]
        stays = np.zeros(self.before.relation.size, np.bool_)
        stays[numbers[numbers >= 0]] = True
        gone = np.flatnonzero(~stays & self.before.was_visible()) if deleted else numbers[:0]
        return self.before.rows(gone), facts[numbers < 0] if inserted else facts[:0]

    @cached_property
    def _facts(self) -> Codes:
        return self.after.facts

    @cached_property
    def _kept(self) -> Numbers:
        """For each fact the number that it had before, -1 where it is new."""
        numbers = self.before.relation.locate(self._facts)
        if not self.before.relation.size:
            return numbers
        numbers[~self.before.was_visible()[numbers]] = -1  # the last row stands for -1, and -1 is what is written
        return numbers

    def freeze(self) -> None:
        """The relation after is about to live on: what it holds now is what the difference is about."""
        self._facts  # noqa: B018

    def settle(self) -> None:
        """Lets the relation before hold both versions, as if it had followed the changes one by one."""
        before, after = self.before, self.after
        numbers = before.place(after.facts)
        for owner in {*before.relation.owners, *after.owners}:
            counts = after.support_of(owner)[: after.size] if owner in after.owners else 0
            before.set_support(owner, numbers, counts)


class ReplacedByClosure(Replacement):
    """A closed predicate most of whose pairs have changed; the closure knows exactly which."""

    def __init__(self, before: MaintainedRelation, after: Relation, change: PairDifference) -> None:
        super().__init__(before, after)
        self._change = change

    @cached_property
    def counts(self) -> tuple[int, int]:
        return self._change.deleted.count, self._change.inserted.count

    @cached_property
    def difference(self) -> tuple[Codes, Codes]:
        return self._change.deleted.rows(), self._change.inserted.rows()

    def freeze(self) -> None:
        """The closure takes care of its difference."""

    def settle(self) -> None:
        owner = self.before.relation.owners[0]
        deleted, inserted = self.difference
        self.before.change_support(owner, self.before.locate(deleted), -1)
        self.before.change_support(owner, self.before.place(inserted), 1)


class Enclosed(Replacement):
    """A predicate that a step with new rules closes; whatever nobody else supports, the step does.

    `external` is what others support, where the relation before does not tell: it was another closure.
    """

    def __init__(
        self,
        before: MaintainedRelation,
        after: Relation,
        owner: str,
        external: Relation | None,
        direction: Direction,
    ) -> None:
        super().__init__(before, after, direction)
        self._owner = owner
        self._external = external

    def settle(self) -> None:
        before, external = self.before, self._external
        if external is not None:
            known = before.place(external.facts)
            for other in {*before.relation.owners, *external.owners} - {self._owner}:
                counts = external.support_of(other)[: external.size] if other in external.owners else 0
                before.set_support(other, known, counts)
        numbers = before.place(self.after.facts)
        own = numbers[before.external_support(self._owner, numbers) == 0]
        before.set_support(self._owner, own, 1)


# -- the facts that went, and those that came --------------------------------------------------------------------------


class LazyRows(Protocol):
    """Facts that are counted, and written out when somebody wants to see them."""

    count: int

    def rows(self) -> Codes: ...


class Written:
    """Facts that are written out already."""

    def __init__(self, rows: Codes) -> None:
        self._rows = rows
        self.count = len(rows)

    def rows(self) -> Codes:
        return self._rows


class OneSide:
    """The pairs that a closure's difference deleted or inserted. A difference must live as long as one of its sides: the closure
    tells it when to take a copy of what it needs."""

    def __init__(self, difference: PairDifference, rows: LazyRows) -> None:
        self._difference = difference
        self._rows = rows
        self.count = rows.count

    def rows(self) -> Codes:
        return self._rows.rows()


class ReplacedSide:
    """The facts deleted or inserted where a predicate was recomputed."""

    def __init__(self, replacement: Replacement, side: int) -> None:
        self._replacement = replacement
        self._side = side
        self.count = replacement.counts[side]

    def rows(self) -> Codes:
        return self._replacement.difference[self._side]


def sides_of(replacement: Replacement) -> tuple[ReplacedSide, ReplacedSide]:
    return ReplacedSide(replacement, 0), ReplacedSide(replacement, 1)


def add_sides(outcome: Outcome, predicate: str, deleted: LazyRows, inserted: LazyRows) -> None:
    """Enter the facts of a predicate that went and came, as far as there are any."""
    if deleted.count:
        outcome.deleted[predicate] = deleted
    if inserted.count:
        outcome.inserted[predicate] = inserted
