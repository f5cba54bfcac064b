"""A predicate that was recomputed: its facts before the transaction and those after it, in relations of their own.

Where most facts of a predicate change, following each of them costs more than deriving all. The new relation takes the place of
the old one when the transaction ends; what has changed is found when somebody wants to see it. A rule that has to look at both
versions at once makes the replacement settle: then the old relation follows fact by fact after all.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from corollary.engines.embedded.closures import PairDifference
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation, Numbers
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.reasoning.maintain.report import Outcome


class Replacement:
    """`after` takes the place of `before`. Where facts can only go, or only come, they are counted without a look at them."""

    def __init__(
        self, before: MaintainedRelation, after: Relation, *, may_delete: bool = True, may_insert: bool = True
    ) -> None:
        self.before = before
        self.after = after
        self.may_delete = may_delete
        self.may_insert = may_insert
        self.is_opening = False  # the facts that are left of a predicate which is not closed any more, and nothing else

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many facts went and how many came."""
        before, after = self.before.count_before, self.after.size
        if self.may_delete and self.may_insert:
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
        *,
        may_delete: bool,
        may_insert: bool,
    ) -> None:
        super().__init__(before, after, may_delete=may_delete, may_insert=may_insert)
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
