"""The facts of a knowledge base on Spark with their support: what to save is here, and what to restore.

`explicit` facts, what each owner derives (with counts where it counts), and what is visible. A predicate is visible where some
owner supports it; explicit facts are the owner `EXPLICIT`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from corollary.engines.base import EXPLICIT
from corollary.engines.spark.maintenance.change_rows import ChangeRows
from corollary.engines.spark.maintenance.counters import Known
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.engines.spark.relations import COUNT, Frame, FrameStore, LazyFrame

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context


@dataclass(frozen=True, eq=False)
class Supported:
    """One predicate."""

    arity: int
    visible: SignedRelation
    owners: Mapping[str, SignedRelation] = field(default_factory=dict)

    def changed(
        self, name: str, support: Mapping[str, ChangeRows], visible: ChangeRows, counted: Mapping[str, bool]
    ) -> Supported:
        """After changes of support by owner, which changed these visible facts; `counted` tells of owners that are new."""
        owners = dict(self.owners)
        context = self.visible.context
        for owner, change in support.items():
            before = owners.get(owner) or SignedRelation(context, self.arity, counted=counted.get(owner, False))
            owners[owner] = before.changed(change, name)
        return replace(self, visible=self.visible.changed(visible, name), owners=owners)

    def handed_over(self, owners: Collection[str], heir: str, relation: SignedRelation) -> Supported:
        """With an heir in the place of some owners."""
        others = {name: known for name, known in self.owners.items() if name not in owners}
        return replace(self, owners={**others, heir: relation})

    def without(self, owner: str) -> Supported:
        """After an owner went, whose support is all taken back."""
        return replace(self, owners={name: relation for name, relation in self.owners.items() if name != owner})


class MaintainedStore(FrameStore):
    """A store whose relations change. Predicates that are not maintained have the frames that were derived at first."""

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
        """A predicate with its owners; what was never heard of has no facts."""
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
        """Makes the relations and the counters of a transaction those of the store, all at once."""
        explicit = dict(self.explicit)
        for predicate, supported in changed.items():
            self.arities.setdefault(predicate, supported.arity)
            if EXPLICIT in supported.owners:
                explicit[predicate] = _frame_of(supported.owners[EXPLICIT])
        self._supported = {**self._supported, **changed}
        self.counters = counters
        self.explicit = explicit

    def owners(self, predicate: str) -> dict[str, Frame]:
        """All that each owner supports, with a column `n`."""
        supported = self.supported(predicate, self.arities[predicate])
        return {owner: relation.supported() for owner, relation in supported.owners.items()}


def _frame_of(relation: SignedRelation) -> Frame:
    """The visible facts of a relation, as a frame that is built on demand."""
    return LazyFrame(lambda: relation.visible().df, relation.arity, relation.rows)
