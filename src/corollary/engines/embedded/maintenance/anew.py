"""Changes where nobody expected any: explicit facts change, everything is derived anew, and the two are compared."""

from __future__ import annotations

import numpy as np

from corollary.engines.embedded.evaluation import Store
from corollary.engines.embedded.maintenance.outcome import FactChange, Outcome, Written
from corollary.engines.embedded.maintenance.transaction import facts_of
from corollary.engines.embedded.relation import Codes, Relation
from corollary.planning.steps import is_auxiliary


def changed_explicit(explicit: Store, change: FactChange, outcome: Outcome) -> Store:
    """The explicit facts after a change, in a store of its own; relations that do not change are shared."""
    store = Store()
    store.universe = explicit.universe
    store.relations = dict(explicit.relations)
    for predicate in change.delete.keys() | change.insert.keys():
        rows = change.delete.get(predicate, change.insert.get(predicate))
        assert rows is not None
        known = explicit.relations.get(predicate)
        before = facts_of(known) if known is not None else rows[:0]
        gone, new = Relation(rows.shape[1]), Relation(rows.shape[1])
        gone.insert(change.delete.get(predicate, rows[:0]))
        kept = before[~gone.contains(before)] if len(before) else before
        changed = Relation(rows.shape[1], store.universe.code_bits)
        changed.insert(kept)
        outcome.explicit_deleted += len(before) - len(kept)
        new.insert(change.insert.get(predicate, rows[:0]))
        outcome.explicit_inserted += changed.insert(facts_of(new))
        store.relations[predicate] = changed
    return store


def compare(before: Store, after: Store, outcome: Outcome) -> None:
    """The visible facts that went and those that came."""
    for predicate in before.relations.keys() | after.relations.keys():
        old, new = before.relations.get(predicate), after.relations.get(predicate)
        if old is not new and not is_auxiliary(predicate):
            outcome.add(predicate, Written(_missing(old, new)), Written(_missing(new, old)))


def _missing(one: Relation | None, other: Relation | None) -> Codes:
    """The facts of one relation that the other has not."""
    if one is None:
        return np.empty((0, 0), np.uint32)
    facts = facts_of(one)
    return facts if other is None else facts[~other.contains(facts)]
