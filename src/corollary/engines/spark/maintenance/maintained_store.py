"""The facts of a knowledge base on Spark with their support: everything to save, and everything to restore.

These are the explicit facts, what each owner derives (with counts if it counts), and the visible facts. A fact is
visible while some owner supports it; explicit facts have the owner `EXPLICIT`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from corollary.engines.base import EXPLICIT
from corollary.engines.spark.maintenance.change_rows import ChangeRows, summed
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.engines.spark.relations import COUNT, Frame, FrameStore, LazyFrame

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context

# -- counters ----------------------------------------------------------------------------------------------------------

# How often a recursive hyper-node derives each fact: its local recursive counters (paper 002), separate from its support.
#
# They are filled when a deletion first reaches the hyper-node, by one job over its facts before, and kept from then on.
# Whatever changes its facts without counting (recomputing, other rules) drops them: the next deletion fills them again.

Relations = Mapping[str, SignedRelation]  # by predicate: those of one owner
Known = Mapping[str, Relations]  # by owner


@dataclass
class Counters:
    """The counters as a transaction sees them; `known` are those before it, which never change."""

    known: Known
    _filled: dict[str, Relations] = field(default_factory=dict)
    _changes: dict[str, dict[str, list[ChangeRows]]] = field(default_factory=dict)
    _forgotten: set[str] = field(default_factory=set)

    def has(self, owner: str) -> bool:
        return owner in self._filled or (owner in self.known and owner not in self._forgotten)

    def fill(self, owner: str, relations: Relations) -> None:
        """Set the counters of an owner before the transaction, if they were not known."""
        self._filled[owner] = relations
        self._changes.pop(owner, None)

    def change(self, owner: str, predicate: str, change: ChangeRows) -> None:
        """Change the counters of an owner by gained and lost derivations."""
        if change.rows:
            self._changes.setdefault(owner, {}).setdefault(predicate, []).append(change)

    def forget(self, owner: str) -> None:
        self._forgotten.add(owner)
        self._filled.pop(owner, None)
        self._changes.pop(owner, None)

    def now(self, owner: str, predicate: str, more: Iterable[ChangeRows] = ()) -> SignedRelation:
        """Return the counters of a predicate at this point of the transaction, with pending changes."""
        relation = self._before(owner)[predicate]
        changes = (*self._changes.get(owner, {}).get(predicate, ()), *more)
        return replace(relation, segments=(*relation.segments, *changes))

    def after(self) -> dict[str, Relations]:
        """Return all counters after the transaction."""
        owners = [owner for owner in {**self.known, **self._filled} if self.has(owner)]
        return {owner: self._after(owner) for owner in owners}

    def _before(self, owner: str) -> Relations:
        return self._filled[owner] if owner in self._filled else self.known[owner]

    def _after(self, owner: str) -> Relations:
        relations = dict(self._before(owner))
        for predicate, changes in self._changes.get(owner, {}).items():
            relations[predicate] = relations[predicate].changed(summed(changes), predicate)
        return relations


# -- maintained store --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Supported:
    """One predicate with its support."""

    arity: int
    visible: SignedRelation
    owners: Mapping[str, SignedRelation] = field(default_factory=dict)

    def changed(
        self, name: str, support: Mapping[str, ChangeRows], visible: ChangeRows, counted: Mapping[str, bool]
    ) -> Supported:
        """Return the predicate after changes of support by owner and of visible facts; `counted` tells whether new
        owners count."""
        owners = dict(self.owners)
        context = self.visible.context
        for owner, change in support.items():
            before = owners.get(owner) or SignedRelation(context, self.arity, counted=counted.get(owner, False))
            owners[owner] = before.changed(change, name)
        return replace(self, visible=self.visible.changed(visible, name), owners=owners)

    def handed_over(self, owners: Collection[str], heir: str, relation: SignedRelation) -> Supported:
        """Return the predicate with an heir in place of some owners."""
        others = {name: known for name, known in self.owners.items() if name not in owners}
        return replace(self, owners={**others, heir: relation})

    def without(self, owner: str) -> Supported:
        """Return the predicate without an owner whose support was withdrawn."""
        return replace(self, owners={name: relation for name, relation in self.owners.items() if name != owner})


class MaintainedStore(FrameStore):
    """A store whose relations change. Predicates that are not maintained keep the frames of the materialisation."""

    def __init__(self, context: Context, arities: Mapping[str, int] | None = None) -> None:
        super().__init__(context.spark, arities)
        self.context = context
        self._supported: dict[str, Supported] = {}
        self.counters: Known = {}

    def forget(self) -> None:
        super().forget()
        self._supported = {}
        self.counters = {}

    def frames(self, predicate: str) -> list[Frame]:
        known = self._supported.get(predicate)
        return super().frames(predicate) if known is None else [known.visible.visible()]

    def rows(self, predicate: str) -> int | None:
        known = self._supported.get(predicate)
        return super().rows(predicate) if known is None else known.visible.rows

    def supported(self, predicate: str, arity: int) -> Supported:
        """Return a predicate with its owners; an unknown one has no facts."""
        known = self._supported.get(predicate)
        if known is not None:
            return known
        explicit = self.explicit.get(predicate)
        owners = {EXPLICIT: SignedRelation(self.context, arity, (explicit,))} if explicit is not None else {}
        for owner, frame in self.owned.get(predicate, {}).items():
            owners[owner] = SignedRelation(self.context, arity, (frame,), counted=COUNT in frame.df.columns)
        found = Supported(arity, SignedRelation(self.context, arity, tuple(FrameStore.frames(self, predicate))), owners)
        self._supported[predicate] = found
        return found

    def replace(self, changed: Mapping[str, Supported], counters: Known) -> None:
        """Replace the relations and the counters by those of a transaction, all at once."""
        explicit = dict(self.explicit)
        for predicate, supported in changed.items():
            self.arities.setdefault(predicate, supported.arity)
            if EXPLICIT in supported.owners:
                explicit[predicate] = _frame_of(supported.owners[EXPLICIT])
        self._supported = {**self._supported, **changed}
        self.counters = counters
        self.explicit = explicit

    def owners(self, predicate: str) -> dict[str, Frame]:
        """Return everything that each owner supports, with a column `n`."""
        supported = self.supported(predicate, self.arities[predicate])
        return {owner: relation.supported() for owner, relation in supported.owners.items()}


def _frame_of(relation: SignedRelation) -> Frame:
    """Return the visible facts of a relation, as a frame that is built on demand."""
    return LazyFrame(lambda: relation.visible().df, relation.arity, relation.rows)
