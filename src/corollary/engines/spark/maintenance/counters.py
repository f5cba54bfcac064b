"""How often a recursive hyper-node derives each fact: its local recursive counters (paper 002), beside what it supports.

They are filled when a deletion first reaches the hyper-node, by one job over its facts before, and kept from then on. Whatever
changes its facts without counting (recomputing, other rules) drops them: the next deletion fills them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from corollary.engines.spark.maintenance.change_rows import ChangeRows, summed
from corollary.engines.spark.maintenance.signed_relation import SignedRelation

Relations = Mapping[str, SignedRelation]  # by predicate, those of one owner
Known = Mapping[str, Relations]  # by owner


@dataclass
class Counters:
    """The counters as a transaction sees them; `known` are those before it, which it never changes."""

    known: Known
    _filled: dict[str, Relations] = field(default_factory=dict)
    _changes: dict[str, dict[str, list[ChangeRows]]] = field(default_factory=dict)
    _forgotten: set[str] = field(default_factory=set)

    def has(self, owner: str) -> bool:
        return owner in self._filled or (owner in self.known and owner not in self._forgotten)

    def fill(self, owner: str, relations: Relations) -> None:
        """The counters of an owner before the transaction, where they were not known."""
        self._filled[owner] = relations
        self._changes.pop(owner, None)

    def change(self, owner: str, predicate: str, change: ChangeRows) -> None:
        """An owner has gained and lost derivations."""
        if change.rows:
            self._changes.setdefault(owner, {}).setdefault(predicate, []).append(change)

    def forget(self, owner: str) -> None:
        self._forgotten.add(owner)
        self._filled.pop(owner, None)
        self._changes.pop(owner, None)

    def now(self, owner: str, predicate: str, more: Iterable[ChangeRows] = ()) -> SignedRelation:
        """The counters of a predicate as far as the transaction has come, with pending changes."""
        relation = self._before(owner)[predicate]
        changes = (*self._changes.get(owner, {}).get(predicate, ()), *more)
        return replace(relation, segments=(*relation.segments, *changes))

    def after(self) -> dict[str, Relations]:
        """All counters after the transaction."""
        owners = [owner for owner in {**self.known, **self._filled} if self.has(owner)]
        return {owner: self._after(owner) for owner in owners}

    def _before(self, owner: str) -> Relations:
        return self._filled[owner] if owner in self._filled else self.known[owner]

    def _after(self, owner: str) -> Relations:
        relations = dict(self._before(owner))
        for predicate, changes in self._changes.get(owner, {}).items():
            relations[predicate] = relations[predicate].changed(summed(changes), predicate)
        return relations
