"""Exactly what a transaction changes in the support of facts, owner by owner: what a store has to keep of it.

Of a closed predicate the closing hyper-node counts as the owner of the pairs that nobody else supports, as it does where the
predicate is kept fact by fact. Both ways to keep a predicate have one form in a store, and going from one to the other is a
change that nobody sees: it is carried along until the next transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from corollary.engines.base import EXPLICIT
from corollary.engines.embedded.maintenance.closed_predicate import ClosedPredicate
from corollary.engines.embedded.maintenance.maintained_relation import GONE, UNBORN, MaintainedRelation, Numbers
from corollary.engines.embedded.relations.relation import Codes, Counts, Relation
from corollary.reasoning.maintain.report import Outcome

SupportOfOwner: TypeAlias = tuple[str, str, Codes, Counts]
"""A predicate, an owner, the facts that it supports, and how often."""
Signed = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class SupportChange:
    """How much more often an owner supports some facts; `visible` is 1 where the fact came into sight, -1 where it went."""

    predicate: str
    owner: str
    facts: Codes
    change: Signed
    visible: Signed


@dataclass(frozen=True)
class ChangedSupport:
    """The effect of a computed transaction on the support of facts.

    `changes` returns the changes, `after` the support of all facts afterwards. Where a large part of all facts changes
    (`is_large`), ask only for `after`: writing it costs less than adding changes to what was there before.
    """

    is_large: bool
    changes: Callable[[], Sequence[SupportChange]]
    after: Callable[[], Iterable[SupportOfOwner]]
    outcome: Outcome


_LEAST_LARGE = 50_000  # facts; fewer changes cost little in any form
_LARGE_SHARE = 8


def is_large_change(changed: int, after: int) -> bool:
    """Whether so many visible facts have changed that it is best to write down all that are there afterwards."""
    return changed >= _LEAST_LARGE and changed * _LARGE_SHARE > after


def changes_of_relation(predicate: str, maintained: MaintainedRelation) -> list[SupportChange]:
    """The changes of a relation in the transaction that runs."""
    seen = maintained.touched()
    state = maintained.flags[seen] & (GONE | UNBORN)
    turned = seen[(state == GONE) | (state == UNBORN)]
    order = np.argsort(turned)
    turned = turned[order]
    sign = np.where((maintained.flags[turned] & GONE) != 0, -1, 1)
    reported = np.zeros(len(turned), np.bool_)
    found = []
    for owner, (numbers, before) in counts_before(maintained).items():
        change = maintained.support(owner, numbers) - before
        visible = np.zeros(len(numbers), np.int64)
        if len(turned):
            places = np.minimum(np.searchsorted(turned, numbers), len(turned) - 1)
            tells = (turned[places] == numbers) & ~reported[places] & (change != 0)
            visible[tells] = sign[places[tells]]
            reported[places[tells]] = True
        kept = change != 0
        if kept.any():
            facts = maintained.rows(numbers[kept])
            found.append(SupportChange(predicate, owner, facts, change[kept], visible[kept]))
    return found


def counts_before(maintained: MaintainedRelation) -> dict[str, tuple[Numbers, Signed]]:
    """For each owner the rows whose support it changed, and how much it was before the transaction."""
    logged: dict[str, list[tuple[Numbers, Signed]]] = {}
    for owner, numbers, before in maintained.counts_before:
        logged.setdefault(owner, []).append((numbers, before))
    found = {}
    for owner, parts in logged.items():
        numbers, first = np.unique(np.concatenate([part[0] for part in parts]), return_index=True)
        found[owner] = numbers, np.concatenate([part[1] for part in parts])[first]
    return found


def changes_of_closure(closed: ClosedPredicate) -> list[SupportChange]:
    """The changes of what a closure starts from, and those of its owner: the pairs of the closure without these."""
    predicate, owner = closed.predicate, closed.owner
    found = [
        SupportChange(predicate, change.owner, change.facts, change.change, np.zeros_like(change.change))
        for change in changes_of_relation(predicate, closed.external)
    ]
    gone, new = closed.external.difference()
    pairs = [(gone, 1, 0), (new, -1, 0)]
    if closed.change is not None:
        pairs += [(closed.change.deleted.rows(), -1, -1), (closed.change.inserted.rows(), 1, 1)]
    facts = np.concatenate([rows for rows, _, _ in pairs])
    if len(facts):
        change, visible = (np.concatenate([np.full(len(one[0]), one[place]) for one in pairs]) for place in (1, 2))
        found.append(_summed(predicate, owner, np.ascontiguousarray(facts), change, visible))
    return [change for change in found if len(change.facts)]


def _summed(predicate: str, owner: str, pairs: Codes, change: Signed, visible: Signed) -> SupportChange:
    _, first, place = np.unique(pairs.view(np.uint64).reshape(-1), return_index=True, return_inverse=True)
    sums = [np.bincount(place, weights=signs, minlength=len(first)).astype(np.int64) for signs in (change, visible)]
    kept = (sums[0] != 0) | (sums[1] != 0)
    return SupportChange(predicate, owner, pairs[first[kept]], sums[0][kept], sums[1][kept])


def changes_by_closing(predicate: str, owner: str, maintained: MaintainedRelation) -> list[SupportChange]:
    """A predicate that was kept fact by fact is about to be kept as a closure: its owner has what nobody else supports."""
    numbers = np.flatnonzero(maintained.flags[: maintained.relation.size] == 0)
    wanted = (maintained.external_support(owner, numbers) == 0).astype(np.int64)
    change = wanted - maintained.support(owner, numbers)
    kept = change != 0
    if not kept.any():
        return []
    facts = maintained.rows(numbers[kept])
    return [SupportChange(predicate, owner, facts, change[kept], np.zeros(len(facts), np.int64))]


def changes_between(before: Iterable[SupportOfOwner], after: Iterable[SupportOfOwner]) -> list[SupportChange]:
    """Return the changes from the support before to the support after, which was derived without a look at the former."""
    both: dict[str, dict[str, list[tuple[int, Codes, Counts]]]] = {}
    for sign, supports in ((-1, before), (1, after)):
        for predicate, owner, facts, counts in supports:
            both.setdefault(predicate, {}).setdefault(owner, []).append((sign, facts, counts))
    return [change for predicate, owners in both.items() for change in _changes_of_owners(predicate, owners)]


def _changes_of_owners(predicate: str, owners: dict[str, list[tuple[int, Codes, Counts]]]) -> Iterator[SupportChange]:
    if all(len(sides) == 2 and all(map(np.array_equal, sides[0][1:], sides[1][1:])) for sides in owners.values()):
        return  # nobody has touched it: the rows are where they were
    arity = next(iter(owners.values()))[0][1].shape[1]
    known = Relation(arity, counted=True)
    placed = {
        owner: [(sign, known.place(facts), counts.astype(np.int64)) for sign, facts, counts in sides]
        for owner, sides in owners.items()
    }
    was, now = np.zeros(known.size, np.bool_), np.zeros(known.size, np.bool_)
    changes = {}
    for owner, sides in placed.items():
        change = changes[owner] = np.zeros(known.size, np.int64)
        for sign, numbers, counts in sides:
            change[numbers] += sign * counts
            (now if sign > 0 else was)[numbers] = True
    visible = now.astype(np.int64) - was
    for owner, change in changes.items():
        numbers = np.flatnonzero(change)
        if len(numbers):
            facts = known.rows[numbers] if arity else np.empty((len(numbers), 0), np.uint32)
            yield SupportChange(predicate, owner, facts, change[numbers], visible[numbers])
            visible[numbers] = 0  # the first owner reports it


# -- everything --------------------------------------------------------------------------------------------------------


def supports_of(predicate: str, relation: Relation, maintained: MaintainedRelation | None) -> Iterator[SupportOfOwner]:
    """The support of the facts of a relation, owner by owner; in a transaction, what it has come to."""
    if not relation.size:
        return
    if not relation.owners:
        facts = relation.facts if relation.arity else np.empty((relation.size, 0), np.uint32)
        yield predicate, EXPLICIT, facts, np.ones(relation.size, np.uint32)
        return
    hidden = maintained is not None and maintained.hidden > 0
    for owner in relation.owners:
        counts = relation.support_of(owner)[: relation.size]
        if hidden or not counts.all():
            numbers = np.flatnonzero(counts)
            facts = relation.rows[numbers] if relation.arity else np.empty((len(numbers), 0), np.uint32)
            counts = counts[numbers]
        else:
            facts = relation.facts if relation.arity else np.empty((relation.size, 0), np.uint32)
        if len(counts):
            yield predicate, owner, facts, counts


def supports_of_closure(closed: ClosedPredicate) -> Iterator[SupportOfOwner]:
    """The support by other owners, and by the closing owner of the pairs of the closure that no other supports."""
    external = closed.external
    if external.relation.size:
        yield from supports_of(closed.predicate, external.relation, external)
    known = Relation(2, counted=True)
    known.append_distinct(external.facts())
    pairs = np.ascontiguousarray(closed.closure.rows())
    own = pairs[known.locate(pairs) < 0] if known.size else pairs
    if len(own):
        yield closed.predicate, closed.owner, own, np.ones(len(own), np.uint32)
