"""The state in which a step is maintained: the relations of the transaction, and the rules over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from corollary.engines.base import EXPLICIT
from corollary.engines.embedded.evaluation import RelationStore
from corollary.engines.embedded.kernels.runner import Work
from corollary.engines.embedded.maintenance.closed_predicate import ClosedPredicate
from corollary.engines.embedded.maintenance.maintained_relation import GONE, MaintainedRelation
from corollary.engines.embedded.maintenance.replacement import Replacement
from corollary.engines.embedded.maintenance.views import Views
from corollary.engines.embedded.relations.relation import Codes, Relation, relation_of
from corollary.engines.embedded.values.ordering import Ordering
from corollary.planning.steps import is_auxiliary
from corollary.reasoning.maintain.step_rules import Delta


class EmbeddedTransaction:
    """Collects changes; `commit` or `roll_back` ends it, and the next one may begin."""

    def __init__(self, store: RelationStore, work: Work, closed: dict[str, ClosedPredicate]) -> None:
        self.store = store
        self.work = work
        self.closed = closed
        self._maintained: dict[str, MaintainedRelation] = {}
        self._replaced: dict[str, Replacement] = {}
        self._opened: dict[str, ClosedPredicate] = {}
        self._enclosed: dict[str, ClosedPredicate] = {}
        self._later: Counter[str] = Counter()  # steps that are still to come, by head
        self.unsettled: dict[str, int] = {}
        """How many facts predicates had that steps still to come may take away."""
        self.is_prepared = False  # whether explicit facts and rules have changed; before that, any fact may go
        self.views = Views(store, self._known, self.difference, work, Ordering(store.universe))

    @property
    def maintained(self) -> Mapping[str, MaintainedRelation]:
        return self._maintained

    @property
    def replaced(self) -> Mapping[str, Replacement]:
        """The predicates that have been recomputed."""
        return self._replaced

    @property
    def opened(self) -> Mapping[str, ClosedPredicate]:
        """The predicates that were closed before the transaction, by a step that is no more."""
        return self._opened

    def _known(self, predicate: str) -> MaintainedRelation | None:
        """The relation of a predicate that has both versions, if it has changed at all."""
        if predicate in self._replaced:
            self.settle([predicate])
        return self._maintained.get(predicate)

    def settle(self, predicates: Iterable[str]) -> None:
        """Some recomputed predicates get relations with both versions."""
        for predicate in list(predicates):
            self._replaced.pop(predicate).settle()

    def relation(self, predicate: str, arity: int) -> MaintainedRelation:
        """The relation of a predicate, ready to change."""
        known = self._known(predicate)
        if known is None:
            relation = self.store.relation(predicate, arity)
            known = self._maintained[predicate] = MaintainedRelation(relation, EXPLICIT)
        return known

    def supported(self, predicate: str, arity: int) -> MaintainedRelation:
        """The relation in which a step supports facts; of a closed predicate, that is what its closure starts from."""
        closed = self.closed.get(predicate)
        return closed.external if closed is not None else self.relation(predicate, arity)

    def supported_by(self, owner: str, predicate: str, arity: int) -> Codes:
        """The facts that an owner supports now."""
        replaced = self._replaced.get(predicate)
        relation = replaced.after if replaced is not None else self.supported(predicate, arity).relation
        return relation.rows[np.flatnonzero(relation.support_of(owner)[: relation.size])]

    def has_changed(self, predicate: str) -> bool:
        closed = self.closed.get(predicate)
        if closed is not None:
            return closed.change is not None and closed.change.count > 0
        if predicate in self._replaced:
            return any(self._replaced[predicate].counts)
        maintained = self._maintained.get(predicate)
        return maintained is not None and maintained.is_touched

    def difference(self, predicate: str, arity: int) -> tuple[Codes, Codes]:
        """The visible facts of a predicate that went and those that came."""
        closed, maintained = self.closed.get(predicate), self._maintained.get(predicate)
        if closed is not None and closed.change is not None:
            return closed.change.deleted.rows(), closed.change.inserted.rows()
        if predicate in self._replaced:
            return self._replaced[predicate].difference
        if maintained is not None:
            return maintained.difference()
        return (np.empty((0, arity), np.uint32),) * 2

    def change_of(self, predicate: str, arity: int) -> tuple[int, int, int]:
        """How many visible facts of a predicate went and came, and how many of those that were there are left."""
        closed, replaced = self.closed.get(predicate), self._replaced.get(predicate)
        if closed is not None and closed.change is not None:
            deleted, inserted = closed.change.deleted.count, closed.change.inserted.count
            return deleted, inserted, closed.closure.count - inserted
        if replaced is not None:
            deleted, inserted = replaced.counts
            return deleted, inserted, replaced.after.size - inserted
        deleted, inserted = map(len, self.difference(predicate, arity))
        maintained = self._maintained.get(predicate)
        size = maintained.visible_count if maintained is not None else self.store.relation(predicate, arity).size
        return deleted, inserted, size - inserted

    def current(self, predicate: str, arity: int) -> Relation:
        """A relation with the facts that are visible now; the maintained one itself where it hides nothing."""
        if predicate in self._replaced:
            return self._replaced[predicate].after
        maintained = self._maintained.get(predicate)
        if maintained is None or not maintained.hidden:
            return self.store.relation(predicate, arity)
        return relation_of(maintained.rows(maintained.without(np.arange(maintained.relation.size), GONE)))

    def others(self, predicate: str, arity: int, owner: str) -> Relation:
        """The facts that others than the owner support, with their support, in a relation of its own."""
        replaced = self._replaced.get(predicate)
        relation = replaced.after if replaced is not None else self.relation(predicate, arity).relation
        owners = [other for other in relation.owners if other != owner]
        found = Relation(arity, self.store.universe.code_bits, counted=True)
        supports = [relation.support_of(other)[: relation.size] for other in owners]
        if supports:
            numbers = np.flatnonzero(np.logical_or.reduce([counts > 0 for counts in supports]))
            found.append_distinct(relation.rows[numbers])
            for other, counts in zip(owners, supports, strict=True):
                found.support_of(other)[: len(numbers)] = counts[numbers]
        return found

    # -- recomputed predicates ----------------------------------------------------------------------------------------

    def replace(self, predicate: str, replacement: Replacement) -> None:
        """From now on a predicate has other facts."""
        self._replaced[predicate] = replacement

    def set_recomputed(
        self, predicate: str, after: Relation, *, may_delete: bool = True, may_insert: bool = True
    ) -> None:
        """Replaces the facts of a predicate by those of a relation with support, what others have changed so far among them."""
        earlier = self._replaced.get(predicate)
        before = earlier.before if earlier is not None else self.relation(predicate, after.arity)
        self._replaced[predicate] = Replacement(before, after, may_delete=may_delete, may_insert=may_insert)

    def open(self, predicate: str, before: MaintainedRelation | None = None) -> None:
        """The step that closes a predicate is no more: what others support is left of it. `before` are its pairs so far."""
        if before is not None:
            self._maintained[predicate] = before
            self.store.relations[predicate] = before.relation
        before = self.relation(predicate, 2)
        closed = self._opened[predicate] = self.closed.pop(predicate)
        external = closed.external
        numbers = external.without(np.arange(external.relation.size), GONE)
        after = Relation(2, self.store.universe.code_bits, counted=True)
        after.append_distinct(external.rows(numbers))
        for owner in external.relation.owners:
            after.support_of(owner)[: len(numbers)] = external.relation.support_of(owner)[numbers]
        replacement = self._replaced[predicate] = Replacement(before, after)
        replacement.is_opening = True

    def untouched_external(self, predicate: str) -> MaintainedRelation | None:
        """The facts from which a former closure started, where nothing else has happened to the predicate since."""
        replaced = self._replaced.get(predicate)
        is_opening = replaced is not None and replaced.is_opening
        return self._opened[predicate].external if is_opening else None

    def enclose_at_commit(self, predicate: str, closed: ClosedPredicate, replacement: Replacement) -> None:
        """A step with new rules closes a predicate."""
        self._enclosed[predicate] = closed
        self._replaced[predicate] = replacement

    # -- limits ------------------------------------------------------------------------------------------------------

    def sizes(self) -> dict[str, int]:
        """How many visible facts each predicate has before the transaction."""
        found = {name: relation.size for name, relation in self.store.relations.items() if not is_auxiliary(name)}
        found.update((name, one.visible_count) for name, one in self._maintained.items() if name in found)
        return found

    def expect(self, heads: Iterable[str], sizes: Mapping[str, int]) -> None:
        """Steps are about to run, with these heads: what their predicates have may go before the last of them is done."""
        self._later = Counter(heads)
        self.unsettled = {name: sizes[name] for name in self._later if name in sizes}
        self.is_prepared = True

    def settled(self, heads: Iterable[str]) -> None:
        """A step is done."""
        for name in heads if self._later else ():
            self._later[name] -= 1
            if not self._later[name]:
                self.unsettled.pop(name, None)

    def settle_last(self, heads: Iterable[str]) -> None:
        """A step takes no fact of its heads any more; those that no later step has are settled."""
        for name in heads:
            if self._later[name] == 1:
                self.unsettled.pop(name, None)

    # -- between transactions ----------------------------------------------------------------------------------------

    def visible(self, predicate: str) -> Codes:
        """The visible facts of a predicate of two arguments, between transactions."""
        maintained = self._maintained.get(predicate)
        return maintained.facts() if maintained is not None else self.store.relation(predicate, 2).facts

    def keep_closure(self, predicate: str, closed: ClosedPredicate, written: Relation | None = None) -> None:
        """From now on a predicate is kept as a closure; `written` are its pairs, where somebody has written them out."""
        self.closed[predicate] = closed
        self._maintained.pop(predicate, None)
        self.store.relations[predicate] = written if written is not None else closed.relation()

    def keep_relation(self, predicate: str, maintained: MaintainedRelation) -> None:
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
                self.views.run(delta.rule, found[name], owner, brings=delta.brings)
        return found

    def commit(self) -> None:
        for predicate, replacement in self._replaced.items():
            replacement.freeze()
            self._maintained.pop(predicate, None)
            self.store.relations[predicate] = replacement.after
        for predicate in self._opened.keys() - self._replaced.keys():
            self.store.relations[predicate] = self._maintained[predicate].relation
        for closed in self.closed.values():
            closed.commit()
        for maintained in self._maintained.values():
            maintained.commit()
        for predicate, closed in self._enclosed.items():
            written = self._replaced[predicate].after if predicate in self._replaced else None
            self.keep_closure(predicate, closed, written)
        self._forget()

    def roll_back(self) -> None:
        self.closed.update(self._opened)
        for predicate in self._opened:
            del self._maintained[predicate]
        for predicate, closed in self.closed.items():
            closed.roll_back()
            if predicate not in self._maintained:
                self.store.relations[predicate] = closed.relation()
        for maintained in self._maintained.values():
            maintained.roll_back()
        self._forget()

    def _forget(self) -> None:
        self._replaced.clear()
        self._opened.clear()
        self._enclosed.clear()
        self._later, self.unsettled, self.is_prepared = Counter(), {}, False
        self.views.forget_deltas()
