"""What the maintenance of one step works with: the relations of the transaction, and the rules over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from corollary.engines.embedded.evaluation import Store
from corollary.engines.embedded.maintenance.closed_predicate import ClosedPredicate
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation
from corollary.engines.embedded.maintenance.step_rules import Delta
from corollary.engines.embedded.maintenance.views import Views
from corollary.engines.embedded.ordering import Ordering
from corollary.engines.embedded.relation import Codes, Relation
from corollary.engines.embedded.runner import Work

EXPLICIT = "explicit"


@dataclass
class StepReport:
    """What maintaining a hyper-node took: which strategy ran and why, rounds, rule instances, and time.

    `overdeleted` are facts that were taken back for now, `rederived` those of them that were found or proved to follow all the
    same, `deleted` and `inserted` the visible facts that went and came.
    """

    owner: str
    strategy: str
    reason: str = ""
    rounds: int = 0
    instances: int = 0
    overdeleted: int = 0
    rederived: int = 0
    deleted: int = 0
    inserted: int = 0
    seconds: float = 0.0


class Transaction:
    """Collects changes; `commit` or `roll_back` ends it, and the next one may begin."""

    def __init__(self, store: Store, work: Work, closed: dict[str, ClosedPredicate], *, orders_texts: bool) -> None:
        self.store = store
        self.work = work
        self.closed = closed
        self._maintained: dict[str, MaintainedRelation] = {}
        self.orders_texts = orders_texts
        ordering = Ordering(store.universe, texts=orders_texts)
        self.views = Views(store, self._maintained, self.difference, work, ordering)

    def order_texts(self) -> None:
        """From now on texts have ranks as well: some rule or query compares them."""
        if not self.orders_texts:
            self.orders_texts = True
            self.views.ordering = Ordering(self.store.universe, texts=True)

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

    def supported(self, predicate: str, arity: int) -> MaintainedRelation:
        """The relation in which a step supports facts; of a closed predicate, that is what its closure starts from."""
        closed = self.closed.get(predicate)
        return closed.external if closed is not None else self.relation(predicate, arity)

    def has_changed(self, predicate: str) -> bool:
        closed = self.closed.get(predicate)
        if closed is not None:
            return closed.change is not None and closed.change.count > 0
        maintained = self._maintained.get(predicate)
        return maintained is not None and maintained.is_touched

    def difference(self, predicate: str, arity: int) -> tuple[Codes, Codes]:
        """The visible facts of a predicate that went and those that came."""
        closed, maintained = self.closed.get(predicate), self._maintained.get(predicate)
        if closed is not None and closed.change is not None:
            return closed.change.deleted.rows(), closed.change.inserted.rows()
        if maintained is not None:
            return maintained.difference()
        return (np.empty((0, arity), np.uint32),) * 2

    def change_of(self, predicate: str, arity: int) -> tuple[int, int]:
        """How many visible facts of a predicate went, and how many of those that were there are left."""
        closed = self.closed.get(predicate)
        if closed is not None and closed.change is not None:
            return closed.change.deleted.count, closed.closure.count - closed.change.inserted.count
        gone, new = map(len, self.difference(predicate, arity))
        return gone, self.relation(predicate, arity).visible_count - new

    def visible(self, predicate: str) -> Codes:
        """The visible facts of a predicate of two arguments, between transactions."""
        maintained = self._maintained.get(predicate)
        return maintained.facts() if maintained is not None else self.store.relation(predicate, 2).facts

    def enclose(self, predicate: str, closed: ClosedPredicate) -> None:
        """From now on a predicate is kept as a closure."""
        self.closed[predicate] = closed
        self._maintained.pop(predicate, None)
        self.store.relations[predicate] = closed.relation()

    def disclose(self, predicate: str, maintained: MaintainedRelation) -> None:
        """From now on a predicate is kept fact by fact."""
        del self.closed[predicate]
        self._maintained[predicate] = maintained
        self.store.relations[predicate] = maintained.relation

    def derive(
        self, deltas: Iterable[Delta], heads: Mapping[str, int], owner: str | None = None
    ) -> dict[str, Relation]:
        """The heads of the rules whose trigger has facts, by predicate, each fact once; an owner counts the instances."""
        found: dict[str, Relation] = {}
        for delta in deltas:
            if self.views.has_facts(delta):
                name = delta.rule.head.predicate
                if name not in found:
                    found[name] = Relation(heads[name], counted=True)
                self.views.run(delta.rule, found[name], owner)
        return found

    def commit(self) -> None:
        for closed in self.closed.values():
            closed.commit()
        for maintained in self._maintained.values():
            maintained.commit()
        self.views.forget_deltas()

    def roll_back(self) -> None:
        for predicate, closed in self.closed.items():
            closed.roll_back()
            if predicate not in self._maintained:
                self.store.relations[predicate] = closed.relation()
        for maintained in self._maintained.values():
            maintained.roll_back()
        self.views.forget_deltas()


def facts_of(relation: Relation) -> Codes:
    """The facts of a relation of its own, also of one without arguments."""
    return relation.facts if relation.arity else np.empty((relation.size, 0), np.uint32)
