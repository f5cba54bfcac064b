"""The relations as rules of a transaction see them: before it, after it, and what changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from corollary.engines.embedded.evaluation import Store
from corollary.engines.embedded.maintenance import maintained_relation as flags
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation
from corollary.engines.embedded.maintenance.step_rules import Delta
from corollary.engines.embedded.ordering import Ordering
from corollary.engines.embedded.relation import Codes, Relation
from corollary.engines.embedded.runner import PreparedPlan, Work
from corollary.planning import AggregateSource, Column, NormalRule, RulePlan, Version, plan_rule
from corollary.planning.deltas import (
    AFTER,
    BEFORE,
    DELETED,
    INSERTED,
    KEPT,
    SETTLED,
    UNSPREAD,
    UNTOUCHED,
    version_of,
)
from corollary.program import Atom

_HIDDEN = {  # a row with one of these flags is not part of the version
    BEFORE: flags.UNBORN,
    AFTER: flags.GONE,
    KEPT: flags.UNBORN | flags.GONE,
    UNTOUCHED: flags.UNBORN | flags.REACHED,
    UNSPREAD: flags.UNBORN | flags.SPREAD,
    SETTLED: flags.GONE | flags.REACHED,
}
_HOLDS, _FAILS = Relation(0), Relation(0)
_HOLDS.size = 1


class Views:
    """Runs rules whose predicates are versions (see `planning.deltas`). Plans are kept from one transaction to the next."""

    def __init__(
        self,
        store: Store,
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
        self._deltas: dict[str, Relation] = {}
        self._plans: dict[tuple[object, ...], tuple[NormalRule, PreparedPlan]] = {}

    # -- running rules -----------------------------------------------------------------------------------------------

    def run(self, rule: NormalRule, into: Relation, owner: str | None = None) -> None:
        """Inserts the heads of a rule into a relation; with an owner, every instance counts."""
        key = (id(rule), *(_magnitude(self.size(source)) for source in rule.body.sources[1:]))
        known = self._plans.get(key)
        if known is None:
            versions = (Version.DELTA, *(Version.FULL,) * (len(rule.body.sources) - 1)) if rule.body.sources else ()
            plan = self._planned(rule, versions)
            known = self._plans[key] = (
                rule,
                PreparedPlan(plan, self, self.work),
            )  # the key holds the identity of the rule
        known[1].run(into, owner)

    def once(self, rule: NormalRule, into: Relation, owner: str | None = None) -> None:
        """The same for a rule that will not come again."""
        PreparedPlan(plan_rule(rule, self, keep_all=True), self, self.work).run(into, owner)

    def has_facts(self, delta: Delta) -> bool:
        """Whether the trigger of a rule has facts, and each of its other atoms."""
        return all(self.size(source) for source in delta.rule.body.sources)

    def _planned(self, rule: NormalRule, versions: tuple[Version, ...]) -> RulePlan:
        first = rule.body.sources[0] if rule.body.sources else None
        is_delta = isinstance(first, Atom) and version_of(first.predicate)[0] not in _HIDDEN
        return plan_rule(rule, self, versions if is_delta else None, keep_all=True)

    def set_delta(self, predicate: str, facts: Codes) -> bool:
        """What a predicate with a delta's version holds from now on; False when that is nothing."""
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
            return known if known is not None else self._change(source.predicate, predicate, source.arity)
        maintained = self._maintained(predicate)
        if maintained is None:
            return self._store.known(predicate) or self._store.relation(predicate, source.arity)
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

    def order(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
        return self.ordering.arrays()

    @property
    def compares_columns(self) -> bool:
        return self.ordering.is_costly

    # -- statistics --------------------------------------------------------------------------------------------------

    def size(self, source: Atom | AggregateSource) -> int:
        return self.relation(source).size

    def distinct(self, source: Atom | AggregateSource, column: int) -> int:
        relation = self.relation(source)
        sample = relation.facts[:: max(1, relation.size // 500), column]
        if not len(sample):
            return 1
        found = len(np.unique(sample))
        return found if found * 2 < len(sample) else max(1, found * relation.size // len(sample))


def _magnitude(size: int) -> int:
    return (size.bit_length() + 3) // 4
