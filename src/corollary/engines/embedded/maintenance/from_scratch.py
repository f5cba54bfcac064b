"""The explicit facts after a change, and what came and went where everything was derived from them once more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from corollary.analysis import HyperNode, Module, RuleGraph
from corollary.analysis.lowering import stated_predicates
from corollary.engines.base import EXPLICIT
from corollary.engines.embedded.evaluation import Evaluation, RelationStore, Report
from corollary.engines.embedded.maintenance.changing_facts import FactChange, explicit_rows
from corollary.engines.embedded.maintenance.closed_predicate import ClosedPredicate, DoesNotFit, closure_module
from corollary.engines.embedded.maintenance.maintained_relation import GONE, MaintainedRelation, Written, add_sides
from corollary.engines.embedded.relations.relation import Codes, Relation, facts_of
from corollary.engines.embedded.values.aggregation import aggregate_rows
from corollary.planning.steps import AggregateStep, RuleStep, Step, is_auxiliary
from corollary.program import Aggregation, Negation, atoms_of
from corollary.reasoning.maintain.chooser import Strategy
from corollary.reasoning.maintain.report import Outcome
from corollary.reasoning.maintain.step_rules import steps_of_node

Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

# -- first -------------------------------------------------------------------------------------------------------------

# The first materialisation of a hyper-node that will be maintained: step by step, with counts.


def evaluate_node(
    evaluation: Evaluation,
    graph: RuleGraph,
    node: HyperNode,
    closed: dict[str, ClosedPredicate] | None,
    strategy: Strategy,
) -> Report:
    """Adds everything that a hyper-node derives, with the facts of its auxiliary predicates, to the evaluation's store.

    A predicate that the hyper-node closes goes to `closed`; None forbids that.
    """
    total = Report("")
    for step in steps_of_node(graph, node):
        if isinstance(step, AggregateStep):
            _aggregate(evaluation, step)
            continue
        module = closure_module(step.modules) if closed is not None else None
        if closed is not None and module is not None and _close(evaluation.store, module, step.owner, closed):
            total.strategy = module.name
            continue
        report = evaluation.evaluate(step.rules, step.modules, recursive=step.recursive, owner=step.owner)
        strategy.note_cost(step.owner, report.instances)
        if step.recursive and strategy.counts_instances(step):
            _count(evaluation, step)
        total.strategy, total.rounds = report.strategy or total.strategy, max(total.rounds, report.rounds)
        total.instances += report.instances
        total.plans |= report.plans
    return total


def add_explicit_predicates(store: RelationStore, graph: RuleGraph) -> None:
    """Adds the explicit facts that rules read under their own names."""
    for name, atom in stated_predicates(graph).items():
        known = store.relations.get(atom.predicate)
        if known is not None:
            owner = name if store.counted else None
            store.relation(name, atom.arity).append_distinct(explicit_rows(known), owner)


def evaluate_auxiliary(evaluation: Evaluation, step: Step) -> None:
    """The facts of one auxiliary predicate, from those of all others."""
    if isinstance(step, AggregateStep):
        _aggregate(evaluation, step)
    else:
        evaluation.evaluate(step.rules, step.modules, recursive=False, owner=step.owner)


def _count(evaluation: Evaluation, step: RuleStep) -> None:
    """Counts the instances of a recursive step once its fixpoint is reached: rounds may try one more than once."""
    for name, arity in step.heads.items():
        evaluation.store.relation(name, arity).support_of(step.owner)[:] = 0
    evaluation.evaluate(step.rules, (), recursive=False, owner=step.owner)


def _close(store: RelationStore, module: Module, owner: str, closed: dict[str, ClosedPredicate]) -> bool:
    """Closes a predicate; False where the closure does not fit its facts."""
    assert module.predicate is not None
    external = store.relation(module.predicate, 2)
    step = store.relation(module.step, 2).facts if module.step is not None else None
    try:
        found = ClosedPredicate(module, owner, MaintainedRelation(external, owner), step, store.universe)
    except DoesNotFit:
        return False
    closed[module.predicate] = found
    store.relations[module.predicate] = found.relation()
    return True


def _aggregate(evaluation: Evaluation, step: AggregateStep) -> None:
    store = evaluation.store
    bindings = facts_of(store.relation(step.bindings, len(step.names)))
    columns = {name: place for place, name in enumerate(step.names)}
    found = facts_of(aggregate_rows(bindings, columns, step.group_by, step.operations, store.universe))
    arity = step.heads[step.result]
    store.relation(step.result, arity).append_distinct(np.ascontiguousarray(found), step.owner)


# -- from scratch ------------------------------------------------------------------------------------------------------


def explicit_after(
    facts: FactChange,
    relations: Iterable[str],
    support: Callable[[str], Relation | None],
    before: RelationStore,
    outcome: Outcome,
) -> RelationStore:
    """The explicit facts after a change, in a store of its own; `support` gives the relation with the support of a predicate."""
    store = RelationStore()
    store.universe = before.universe
    for name in {*relations, *facts.insert}:
        known = support(name)
        rows = _explicit(known) if known is not None else None
        if rows is None:
            arity = known.arity if known is not None else facts.insert[name].shape[1]
            rows = np.empty((0, arity), np.uint32)
        if name in facts.delete or name in facts.insert:
            rows = _changed(rows, facts.delete.get(name), facts.insert.get(name), outcome)
        if len(rows):
            relation = store.relations[name] = Relation(rows.shape[1], store.universe.code_bits)
            if relation.arity:
                relation.append_distinct(np.ascontiguousarray(rows))
            else:
                relation.size = 1
    return store


def _explicit(relation: Relation) -> Codes | None:
    facts = facts_of(relation)
    if not relation.owners:
        return facts
    if EXPLICIT not in relation.owners:
        return None
    return facts[np.flatnonzero(relation.support_of(EXPLICIT)[: relation.size])]


def _changed(rows: Codes, delete: Codes | None, insert: Codes | None, outcome: Outcome) -> Codes:
    """Insertions win, as they do where changes are followed."""
    gone = _set_of(delete, rows.shape[1])
    kept = rows[~gone.contains(rows)] if len(rows) and gone.size else rows
    outcome.explicit_deleted += len(rows) - len(kept)
    if insert is None or not len(insert):
        return kept
    wanted = _set_of(insert, rows.shape[1])
    is_new = np.ones(wanted.size, np.bool_)
    if len(kept) and wanted.size:
        numbers = wanted.locate(kept)
        is_new[numbers[numbers >= 0]] = False
    new = facts_of(wanted)[is_new]
    outcome.explicit_inserted += len(new)
    return np.concatenate((kept, new))


def _set_of(rows: Codes | None, arity: int) -> Relation:
    relation = Relation(arity, counted=True)
    if rows is not None and len(rows):
        relation.insert(np.ascontiguousarray(rows))
    return relation


# -- what came of it ---------------------------------------------------------------------------------------------------


class VisibleFacts:
    """The visible facts of a predicate at one time. Pairs of a closure are written out when somebody wants to see them."""

    def __init__(self, relation: Relation, maintained: MaintainedRelation | None) -> None:
        self.count = relation.size if maintained is None else maintained.visible_count
        self.arity = relation.arity
        self._relation, self._maintained = relation, maintained
        self._facts = self._read() if not relation.is_pending else None

    def _read(self) -> Codes:
        return facts_of(self._relation) if self._maintained is None else self._maintained.facts()

    def facts(self) -> Codes:
        if self._facts is None:
            self._facts = self._read()
        return self._facts

    def freeze(self) -> None:
        """A closure whose pairs are not written out yet is about to change: a copy of it takes far less than they do."""
        if self._facts is not None:
            return
        if self._relation.is_pending:
            self._relation = self._relation.copy_of_pending()
        else:
            self._facts = self._read()

    def contains(self, facts: Codes) -> Mask:
        """For each fact whether it is visible. The relation must not have changed in the meantime."""
        if self._maintained is None or not self._maintained.hidden:
            return self._relation.contains(facts)
        numbers = self._relation.locate(facts)
        found: Mask = (numbers >= 0) & (self._maintained.flags[numbers] & GONE == 0)
        return found


class Compared:
    """The facts of a predicate that went and came, between two times; counted at once, found when somebody asks.

    The facts before do not change any more. Those after it do: `freeze` has to be called first.
    """

    def __init__(self, before: VisibleFacts | None, after: VisibleFacts | None, *, one_sided: bool) -> None:
        """Where facts only went or only came (`one_sided`), they are counted without a look at them."""
        self._before, self._after = before, after
        old, new = (one.count if one is not None else 0 for one in (before, after))
        both = min(old, new)
        if before is not None and after is not None and before.arity and both and not one_sided:
            both = new - int(np.count_nonzero(self._is_new))
        self.deleted_count, self.inserted_count = old - both, new - both

    def freeze(self) -> None:
        if self._after is not None:
            self._after.freeze()

    @cached_property
    def _is_new(self) -> Mask:
        assert self._before is not None
        assert self._after is not None
        return ~self._before.contains(self._after.facts())

    @cached_property
    def deleted(self) -> Codes:
        assert self._before is not None
        facts = self._before.facts()
        if self._after is None or not self._after.count or not self._before.arity:
            return facts
        found: Codes = facts[~_set_of(self._after.facts(), self._after.arity).contains(facts)]
        return found

    @cached_property
    def inserted(self) -> Codes:
        assert self._after is not None
        facts = self._after.facts()
        if self._before is None or not self._before.count or not self._after.arity:
            return facts
        found: Codes = facts[self._is_new]
        return found


class _Deleted:
    def __init__(self, compared: Compared) -> None:
        self._compared, self.count = compared, compared.deleted_count

    def rows(self) -> Codes:
        return self._compared.deleted


class _Inserted:
    def __init__(self, compared: Compared) -> None:
        self._compared, self.count = compared, compared.inserted_count

    def rows(self) -> Codes:
        return self._compared.inserted


def tell(
    facts: FactChange,
    graph: RuleGraph,
    before: Mapping[str, VisibleFacts],
    after: Mapping[str, VisibleFacts],
    outcome: Outcome,
) -> list[Compared]:
    """Adds to an outcome the visible facts that went and came; returns what has to be frozen before the next change."""
    is_mixed = any(map(len, facts.delete.values())) and any(map(len, facts.insert.values()))
    turning = _turning(graph)
    found = []
    for name in before.keys() | after.keys():
        compared = Compared(before.get(name), after.get(name), one_sided=not is_mixed and name not in turning)
        add_sides(outcome, name, _Deleted(compared), _Inserted(compared))
        found.append(compared)
    return found


def _turning(graph: RuleGraph) -> set[str]:
    """The predicates that may lose facts where others gain some: those that depend on a negation or an aggregate."""
    found: set[str] = set()
    for node in graph.hyper_nodes:  # in order
        for rule in (graph.rules[name] for name in node.rules):
            turns = rule.has_head_aggregate or any(isinstance(one, (Negation, Aggregation)) for one in rule.body)
            if turns or any(atom.predicate in found for atom, _ in atoms_of(rule.body)):
                found |= {graph.rules[name].head.predicate for name in node.rules}
    return found


# -- without maintenance ---------------------------------------------------------------------------------------------


def changed_explicit(explicit: RelationStore, change: FactChange, outcome: Outcome) -> RelationStore:
    """The explicit facts after a change, in a store of its own; relations that do not change are shared."""
    store = RelationStore()
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


def compare(before: RelationStore, after: RelationStore, outcome: Outcome) -> None:
    """The visible facts that went and those that came."""
    for predicate in before.relations.keys() | after.relations.keys():
        old, new = before.relations.get(predicate), after.relations.get(predicate)
        if old is not new and not is_auxiliary(predicate):
            add_sides(outcome, predicate, Written(_missing(old, new)), Written(_missing(new, old)))


def _missing(one: Relation | None, other: Relation | None) -> Codes:
    """The facts of one relation that the other has not."""
    if one is None:
        return np.empty((0, 0), np.uint32)
    facts = facts_of(one)
    return facts if other is None else facts[~other.contains(facts)]
