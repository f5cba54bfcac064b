"""The state in which a step is maintained: the relations of the transaction, and the rules over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

from corollary.engines.base import EXPLICIT, Signed
from corollary.engines.embedded.evaluation import RelationStore
from corollary.engines.embedded.kernels.runner import PreparedPlan, Work, looked_up_by_value
from corollary.engines.embedded.maintenance import maintained_relation as flags
from corollary.engines.embedded.maintenance.closed_predicate import ClosedPredicate
from corollary.engines.embedded.maintenance.journal import SupportOfOwner, supports_of, supports_of_closure
from corollary.engines.embedded.maintenance.maintained_relation import GONE, MaintainedRelation, Replacement
from corollary.engines.embedded.relations.relation import Codes, Relation, facts_of, relation_of
from corollary.engines.embedded.values.aggregation import aggregate_rows
from corollary.engines.embedded.values.ordering import Ordering, ValueKeys, value_keys_of
from corollary.planning import AggregateSource, Column, NormalRule, RulePlan, Version, plan_rule
from corollary.planning.deltas import DELETED, INSERTED, LEFT_OUT, VersionPart, body_after, version_of
from corollary.planning.steps import is_auxiliary
from corollary.program import Atom, Variable
from corollary.reasoning.maintain.recompute import BOTH, Direction
from corollary.reasoning.maintain.step_rules import Delta

# -- views -------------------------------------------------------------------------------------------------------------

# The relations as rules of a transaction see them: before it, after it, and what changed.

_FLAGS = {
    VersionPart.NEW: flags.UNBORN,
    VersionPart.GONE: flags.GONE,
    VersionPart.REACHED: flags.REACHED,
    VersionPart.SPREAD: flags.SPREAD,
    VersionPart.LAST: flags.REACHED,  # once a deletion is over, it marks what an insertion reaches
}
_HIDDEN = {version: sum(_FLAGS[part] for part in parts) for version, parts in LEFT_OUT.items()}
"""A row with one of these flags is not part of the version."""
_HOLDS, _FAILS = Relation(0), Relation(0)
_HOLDS.size = 1


class Views:
    """Runs rules whose predicates are versions (see `planning.deltas`). Plans are kept from one transaction to the next."""

    def __init__(
        self,
        store: RelationStore,
        maintained: Callable[[str], MaintainedRelation | None],
        difference: Callable[[str, int], tuple[Codes, Codes]],
        work: Work,
        ordering: Ordering,
    ) -> None:
        self.universe = store.universe
        self.work = work
        self._store = store
        self._maintained = maintained
        self._difference = difference
        self.ordering = ordering
        self._by_value = looked_up_by_value(store.universe, work)
        self._deltas: dict[str, Relation] = {}
        self._distinct: dict[tuple[str, int, int], int] = {}
        self._plans: dict[int, tuple[NormalRule, bool, dict[tuple[object, ...], PreparedPlan]]] = {}
        self._bindings: dict[int, tuple[AggregateSource, NormalRule, dict[str, int]]] = {}

    # -- running rules -----------------------------------------------------------------------------------------------

    def run(self, rule: NormalRule, into: Relation, owner: str | None = None, *, brings: bool = False) -> None:
        """Inserts the heads of a rule into a relation; with an owner, every instance counts.

        A rule that `brings` instances tells all that are new after the transaction: one whose expressions have no value stops
        it, where errors are not discarded. Others tell of instances from before it, which had values, or of some that are
        neither before nor after it.
        """
        known = self._plans.get(id(rule))
        if known is None:  # the rule stays with its identity
            known = self._plans[id(rule)] = rule, is_auxiliary(rule.head.predicate), {}
        _, is_for_itself, plans = known
        key = (brings, *(_magnitude(self.size(source)) for source in rule.body.sources[1:]))
        prepared = plans.get(key)
        if prepared is None:
            versions = (Version.DELTA, *(Version.FULL,) * (len(rule.body.sources) - 1)) if rule.body.sources else ()
            plan = self._planned(rule, versions)
            stops = brings and not self.work.discards_errors
            prepared = plans[key] = PreparedPlan(plan, self, self.work, body_after(rule) if stops else None)
        self.work.aside = None if is_for_itself else into
        try:
            prepared.run(into, owner)
        finally:
            self.work.aside = None

    def once(self, rule: NormalRule, into: Relation, owner: str | None = None) -> None:
        """Like `run`, for a rule that will not come again."""
        plan = plan_rule(rule, self, keep_all=True, by_value=self._by_value, by_order=self._by_value)
        PreparedPlan(plan, self, self.work).run(into, owner)

    def aggregated(self, source: AggregateSource) -> Relation:
        """The rows of an aggregation over the bindings of its body."""
        known = self._bindings.get(id(source))
        if known is None:  # the source stays with its identity
            columns = {name: place for place, name in enumerate(source.ranged)}
            known = self._bindings[id(source)] = source, _bindings_of(source), columns
        _, rule, columns = known
        bindings = Relation(len(columns), counted=True)
        self.run(rule, bindings)
        return aggregate_rows(facts_of(bindings), columns, source.group_by, source.operations, self.universe)

    def forget_plans(self, rules: Iterable[NormalRule]) -> None:
        """Give up the plans of rules that will not run again."""
        for rule in rules:
            self._plans.pop(id(rule), None)
            for source in rule.body.sources:
                if (known := self._bindings.pop(id(source), None)) is not None:
                    self._plans.pop(id(known[1]), None)

    def has_facts(self, delta: Delta | Signed) -> bool:
        """Whether the trigger of a rule has facts, and each of its other atoms."""
        return all(self.size(source) for source in delta.rule.body.sources)

    def _planned(self, rule: NormalRule, versions: tuple[Version, ...]) -> RulePlan:
        first = rule.body.sources[0] if rule.body.sources else None
        is_delta = isinstance(first, Atom) and version_of(first.predicate)[0] not in _HIDDEN
        return plan_rule(
            rule, self, versions if is_delta else None, keep_all=True, by_value=self._by_value, by_order=self._by_value
        )

    def set_delta(self, predicate: str, facts: Codes) -> bool:
        """Set the facts of a predicate with a delta's version; return False where there are none."""
        relation = Relation(facts.shape[1])
        if facts.shape[1]:
            relation.append_distinct(facts)
        else:
            relation.size = min(1, len(facts))
        self._deltas[predicate] = relation
        return relation.size > 0

    def extend_delta(self, predicate: str, facts: Codes) -> None:
        """Adds new facts to what a predicate with a delta's version holds."""
        relation = self._deltas[predicate]
        if relation.arity:
            relation.append_distinct(facts)
        else:
            relation.size = max(relation.size, min(1, len(facts)))

    def forget_deltas(self) -> None:
        self._deltas.clear()

    # -- what pipelines ask ------------------------------------------------------------------------------------------

    def relation(self, source: Atom | AggregateSource) -> Relation:
        assert isinstance(source, Atom)
        version, predicate = version_of(source.predicate)
        if version not in _HIDDEN:
            known = self._deltas.get(source.predicate)
            return known if known is not None else self._change(source.predicate, predicate, len(source.arguments))
        maintained = self._maintained(predicate)
        if maintained is None:
            return self._store.known(predicate) or self._store.relation(predicate, len(source.arguments))
        if maintained.arity == 0:
            return _HOLDS if maintained.is_visible(_HIDDEN[version]) else _FAILS
        return maintained.relation

    def _change(self, name: str, predicate: str, arity: int) -> Relation:
        deleted, inserted = self._difference(predicate, arity)
        self.set_delta(DELETED + predicate, deleted)
        self.set_delta(INSERTED + predicate, inserted)
        return self._deltas[name]

    def visibility(self, source: Atom | AggregateSource) -> tuple[np.ndarray[Any, Any], int] | None:
        """The flags of the rows and those of them that hide a row; None where every row is visible."""
        assert isinstance(source, Atom)
        version, predicate = version_of(source.predicate)
        maintained = self._maintained(predicate)
        if version not in _HIDDEN or maintained is None or maintained.arity == 0:
            return None
        return maintained.flags, _HIDDEN[version]

    def row_range(self, source: Atom | AggregateSource, version: Version) -> tuple[int, int]:
        return 0, self.relation(source).size

    def is_growing(self, source: Atom | AggregateSource) -> bool:
        """Everything may grow: indexes have to follow."""
        return True

    def projection(self, source: Atom, columns: tuple[Column, ...]) -> Relation:
        raise AssertionError("negated atoms of steps are about whole facts")

    def order(self, *, texts: bool) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        return self.ordering.arrays(texts=texts)

    @property
    def value_keys(self) -> ValueKeys:
        return value_keys_of(self.universe)

    def compares_columns(self, *, texts: bool) -> bool:
        return self.ordering.is_costly(texts=texts)

    # -- statistics --------------------------------------------------------------------------------------------------

    def size(self, source: Atom | AggregateSource) -> int:
        return self.relation(source).size

    def distinct(self, source: Atom | AggregateSource, column: int) -> int:
        relation = self.relation(source)
        assert isinstance(source, Atom)
        key = (source.predicate, column, _magnitude(relation.size))
        if key not in self._distinct:
            self._distinct[key] = _distinct_in(relation, column)
        return self._distinct[key]


def _bindings_of(source: AggregateSource) -> NormalRule:
    return NormalRule("", Atom("", tuple(Variable(name) for name in source.ranged)), source.body)


def _distinct_in(relation: Relation, column: int) -> int:
    sample = relation.facts[:: max(1, relation.size // 500), column]
    if not len(sample):
        return 1
    found = len(np.unique(sample))
    return found if found * 2 < len(sample) else max(1, found * relation.size // len(sample))


def _magnitude(size: int) -> int:
    return (size.bit_length() + 3) // 4


# -- transaction -------------------------------------------------------------------------------------------------------


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
            numbers = np.flatnonzero(reduce(np.logical_or, (counts > 0 for counts in supports)))
            found.append_distinct(relation.rows[numbers])
            for other, counts in zip(owners, supports, strict=True):
                found.support_of(other)[: len(numbers)] = counts[numbers]
        return found

    # -- recomputed predicates ----------------------------------------------------------------------------------------

    def replace(self, predicate: str, replacement: Replacement) -> None:
        """From now on a predicate has other facts."""
        self._replaced[predicate] = replacement

    def set_recomputed(self, predicate: str, after: Relation, direction: Direction = BOTH) -> None:
        """Replaces the facts of a predicate by those of a relation with support, what others have changed so far among them."""
        earlier = self._replaced.get(predicate)
        before = earlier.before if earlier is not None else self.relation(predicate, after.arity)
        self._replaced[predicate] = Replacement(before, after, direction)

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

    def is_only_opened(self, predicate: str) -> bool:
        """Whether a predicate has what its closure started from, and nothing else has happened to it."""
        replaced = self._replaced.get(predicate)
        return replaced is not None and replaced.is_opening

    def external(self, predicate: str, owner: str) -> MaintainedRelation | None:
        """Return what others than the owner support of a recomputed predicate, where that is in a relation of its own."""
        replaced = self._replaced.get(predicate)
        if replaced is None:
            return None
        if replaced.is_opening:
            return self._opened[predicate].external
        after = replaced.after
        return MaintainedRelation(after, owner) if after.owners and owner not in after.owners else None

    def enclose_at_commit(self, predicate: str, closed: ClosedPredicate, replacement: Replacement) -> None:
        """A step with new rules closes a predicate."""
        self._enclosed[predicate] = closed
        self._replaced[predicate] = replacement

    # -- the transaction as a whole ----------------------------------------------------------------------------------

    def extent(self) -> tuple[int, int]:
        """Return how many visible facts have changed, and how many there are now."""
        changed = now = 0
        for predicate, relation in self.store.relations.items():
            deleted, inserted, kept = self.change_of(predicate, relation.arity)
            changed, now = changed + deleted + inserted, now + kept + inserted
        return changed, now

    def supports(self) -> Iterator[SupportOfOwner]:
        """The support of all facts as it is now."""
        for predicate, relation in self.store.relations.items():
            closed = self._enclosed.get(predicate) or self.closed.get(predicate)
            replaced = self._replaced.get(predicate)
            if closed is not None:
                yield from supports_of_closure(closed)
            elif replaced is not None:
                yield from supports_of(predicate, replaced.after, None)
            else:
                yield from supports_of(predicate, relation, self._maintained.get(predicate))

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
