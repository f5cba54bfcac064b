"""The relations as rules of a transaction see them: before it, after it, and what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from corollary.engines.base import Signed
from corollary.engines.embedded.evaluation import RelationStore
from corollary.engines.embedded.kernels.runner import PreparedPlan, Work, looked_up_by_value
from corollary.engines.embedded.maintenance import maintained_relation as flags
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation
from corollary.engines.embedded.relations.relation import Codes, Relation, facts_of
from corollary.engines.embedded.values.aggregation import aggregate_rows
from corollary.engines.embedded.values.ordering import Ordering
from corollary.engines.embedded.values.value_keys import ValueKeys, value_keys_of
from corollary.planning import AggregateSource, Column, NormalBody, NormalRule, RulePlan, Version, plan_rule
from corollary.planning.deltas import AFTER, BEFORE, DELETED, INSERTED, KEPT, SETTLED, UNSPREAD, UNTOUCHED, version_of
from corollary.planning.steps import is_auxiliary
from corollary.program import Atom, Variable
from corollary.reasoning.maintain.step_rules import Delta

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
        self._plans: dict[int, tuple[NormalRule, dict[tuple[object, ...], PreparedPlan]]] = {}
        self._bindings: dict[int, tuple[AggregateSource, NormalRule]] = {}  # a source stays with its identity

    # -- running rules -----------------------------------------------------------------------------------------------

    def run(self, rule: NormalRule, into: Relation, owner: str | None = None, *, brings: bool = False) -> None:
        """Inserts the heads of a rule into a relation; with an owner, every instance counts.

        A rule that `brings` instances tells all that are new after the transaction: one whose expressions have no value stops
        it, where errors are not discarded. Others tell of instances from before it, which had values, or of some that are
        neither before nor after it.
        """
        _, plans = self._plans.setdefault(id(rule), (rule, {}))  # the rule stays with its identity
        key = (brings, *(_magnitude(self.size(source)) for source in rule.body.sources[1:]))
        prepared = plans.get(key)
        if prepared is None:
            versions = (Version.DELTA, *(Version.FULL,) * (len(rule.body.sources) - 1)) if rule.body.sources else ()
            plan = self._planned(rule, versions)
            prepared = plans[key] = PreparedPlan(plan, self, self.work, _after(rule) if brings else None)
        self.work.aside = into if not is_auxiliary(rule.head.predicate) else None
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
        _, rule = self._bindings.setdefault(id(source), (source, _bindings_of(source)))
        bindings = Relation(rule.head.arity, counted=True)
        self.run(rule, bindings)
        columns = {name: place for place, name in enumerate(source.ranged)}
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


def _after(rule: NormalRule) -> NormalBody:
    """The body of a rule over the facts after the transaction. What has changed is part of them, or its absence is."""
    body = rule.body
    sources = tuple(_settled(atom) for atom in body.sources if isinstance(atom, Atom))
    return NormalBody(sources, tuple(map(_settled, body.negated)), body.computes, body.compares)


def _settled(atom: Atom) -> Atom:
    version, name = version_of(atom.predicate)
    return Atom(AFTER + name, atom.arguments) if version in _HIDDEN else atom


def _magnitude(size: int) -> int:
    return (size.bit_length() + 3) // 4
