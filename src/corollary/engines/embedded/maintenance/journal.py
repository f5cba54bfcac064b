"""Exactly what a transaction changes in the support of facts, owner by owner: what a store has to keep of it.

Of a closed predicate the closing hyper-node counts as the owner of the pairs that nobody else supports, as it does where the
predicate is kept fact by fact. Both ways to keep a predicate have one form in a store, and going from one to the other is a
change that nobody sees: it is carried along until the next transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.engines.embedded.maintenance.closed_predicate import ClosedPredicate
from corollary.engines.embedded.maintenance.maintained_relation import GONE, UNBORN, MaintainedRelation, Numbers
from corollary.engines.embedded.maintenance.transaction import EXPLICIT
from corollary.engines.embedded.relation import Codes, Counts, Relation

Signed = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class SupportChange:
    """How much more often an owner supports some facts; `visible` is 1 where the fact came into sight, -1 where it went."""

    predicate: str
    owner: str
    facts: Codes
    change: Signed
    visible: Signed


def changes_of_relation(predicate: str, maintained: MaintainedRelation) -> list[SupportChange]:
    """The changes of a relation in the transaction that runs."""
    seen = maintained.touched()
    state = maintained.flags[seen] & (GONE | UNBORN)
    turned = seen[(state == GONE) | (state == UNBORN)]
    order = np.argsort(turned)
    turned = turned[order]
    sign = np.where((maintained.flags[turned] & GONE) != 0, -1, 1)
    told = np.zeros(len(turned), np.bool_)
    found = []
    for owner, (numbers, before) in _counts_before(maintained).items():
        change = maintained.support(owner, numbers) - before
        visible = np.zeros(len(numbers), np.int64)
        if len(turned):
            places = np.minimum(np.searchsorted(turned, numbers), len(turned) - 1)
            tells = (turned[places] == numbers) & ~told[places] & (change != 0)
            visible[tells] = sign[places[tells]]
            told[places[tells]] = True
        kept = change != 0
        if kept.any():
            facts = maintained.rows(numbers[kept])
            found.append(SupportChange(predicate, owner, facts, change[kept], visible[kept]))
    return found


def _counts_before(maintained: MaintainedRelation) -> dict[str, tuple[Numbers, Signed]]:
    """For each owner the rows whose support it changed, and how much it was before the transaction."""
    logged: dict[str, list[tuple[Numbers, Signed]]] = {}
    for owner, numbers, before in maintained.counts_before:
        logged.setdefault(owner, []).append((numbers, before))
    found = {}
    for owner, parts in logged.items():
        numbers, first = np.unique(np.concatenate([part[0] for part in parts]), return_index=True)
        found[owner] = numbers, np.concatenate([part[1] for part in parts])[first]
    return found


def changes_of_closure(closed: ClosedPredicate, owner: str) -> list[SupportChange]:
    """The changes of what a closure starts from, and those of its owner: the pairs of the closure without these."""
    predicate = closed.predicate
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


def changes_by_enclosing(predicate: str, owner: str, maintained: MaintainedRelation) -> list[SupportChange]:
    """A predicate that was kept fact by fact is about to be kept as a closure: its owner has what nobody else supports."""
    numbers = np.flatnonzero(maintained.flags[: maintained.relation.size] == 0)
    wanted = (maintained.external_support(owner, numbers) == 0).astype(np.int64)
    change = wanted - maintained.support(owner, numbers)
    kept = change != 0
    if not kept.any():
        return []
    facts = maintained.rows(numbers[kept])
    return [SupportChange(predicate, owner, facts, change[kept], np.zeros(len(facts), np.int64))]


# -- everything --------------------------------------------------------------------------------------------------------


def supports_of(
    predicate: str, relation: Relation, maintained: MaintainedRelation | None
) -> Iterator[tuple[str, str, Codes, Counts]]:
    """The support of the facts of a relation, owner by owner, between transactions."""
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


def supports_of_closure(closed: ClosedPredicate, owner: str) -> Iterator[tuple[str, str, Codes, Counts]]:
    """What others support, and of the closing owner the pairs of the closure that nobody else does."""
    external = closed.external
    if external.relation.size:
        yield from supports_of(closed.predicate, external.relation, external)
    known = Relation(2, counted=True)
    known.append_distinct(external.facts())
    pairs = np.ascontiguousarray(closed.closure.rows())
    own = pairs[known.locate(pairs) < 0] if known.size else pairs
    if len(own):
        yield closed.predicate, owner, own, np.ones(len(own), np.uint32)
