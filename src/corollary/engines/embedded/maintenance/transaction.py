"""What the maintenance of one step works with: the relations of the transaction, and the rules over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corollary.engines.embedded.evaluation import Store
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation
from corollary.engines.embedded.maintenance.step_rules import Delta
from corollary.engines.embedded.maintenance.views import Views
from corollary.engines.embedded.ordering import Ordering
from corollary.engines.embedded.relation import Codes, Relation
from corollary.engines.embedded.runner import Work

EXPLICIT = "explicit"


@dataclass
class StepReport:
    """What maintaining a step took: facts taken back for now, of those found again, rule instances, rounds, time."""

    owner: str
    strategy: str
    rounds: int = 0
    instances: int = 0
    overdeleted: int = 0
    rederived: int = 0
    deleted: int = 0
    inserted: int = 0
    seconds: float = 0.0


class Transaction:
    """Collects changes; `commit` or `roll_back` ends it, and the next one may begin."""

    def __init__(self, store: Store, work: Work, ordering: Ordering) -> None:
        self.store = store
        self.work = work
        self._maintained: dict[str, MaintainedRelation] = {}
        self.views = Views(store, self._maintained, work, ordering)

    @property
    def maintained(self) -> Mapping[str, MaintainedRelation]:
        return self._maintained

    def relation(self, predicate: str, arity: int) -> MaintainedRelation:
        """The relation of a predicate, ready to change."""
        known = self._maintained.get(predicate)
        if known is None:
            relation = self.store.relation(predicate, arity)
            known = self._maintained[predicate] = MaintainedRelation(relation, EXPLICIT)
        return known

    def has_changed(self, predicate: str) -> bool:
        maintained = self._maintained.get(predicate)
        return maintained is not None and maintained.is_touched

    def derive(self, deltas: tuple[Delta, ...], heads: dict[str, int]) -> dict[str, Relation]:
        """The heads of the rules whose trigger has facts, by predicate, each fact once."""
        found = {predicate: Relation(arity, counted=True) for predicate, arity in heads.items()}
        for delta in deltas:
            if self.views.size(delta.rule.body.sources[0]):
                self.views.run(delta.rule, found[delta.rule.head.predicate])
        return found

    def commit(self) -> None:
        for maintained in self._maintained.values():
            maintained.commit()
        self.views.forget_deltas()

    def roll_back(self) -> None:
        for maintained in self._maintained.values():
            maintained.roll_back()
        self.views.forget_deltas()


def facts_of(relation: Relation) -> Codes:
    """The facts of a relation of its own, also of one without arguments."""
    return relation.facts if relation.arity else np.empty((relation.size, 0), np.uint32)
