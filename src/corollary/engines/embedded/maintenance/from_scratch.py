"""The explicit facts after a change, and what came and went where everything was derived from them once more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from corollary.analysis import HyperNode, Module, RuleGraph
from corollary.analysis.lowering import stated_predicates
from corollary.engines.base import EXPLICIT
from corollary.engines.embedded.evaluation import Evaluation, RelationStore, Report
from corollary.engines.embedded.maintenance.changing_facts import FactChange, explicit_rows
from corollary.engines.embedded.maintenance.closed_predicate import ClosedPredicate, DoesNotFit, closure_module
from corollary.engines.embedded.maintenance.maintained_relation import MaintainedRelation, Written, add_sides
from corollary.engines.embedded.relations.relation import Codes, Relation, facts_of
from corollary.engines.embedded.values.aggregation import aggregate_rows
from corollary.planning.steps import AggregateStep, RuleStep, Step, is_auxiliary
from corollary.program import Aggregation, Negation
from corollary.reasoning.maintain.chooser import Strategy
from corollary.reasoning.maintain.report import Outcome
from corollary.reasoning.maintain.step_rules import steps_of_node

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


class _Compared:
    """The facts of one set that are not in another one, counted where that needs no look at them, found when somebody asks."""

    def __init__(self, facts: Codes, others: Codes, count: int | None) -> None:
        self._facts, self._others = facts, others
        self._rows: Codes | None = None
        self.count = len(self.rows()) if count is None else count

    def rows(self) -> Codes:
        if self._rows is None:
            others = _set_of(self._others, self._facts.shape[1])
            self._rows = self._facts[~others.contains(self._facts)] if others.size and len(self._facts) else self._facts
        return self._rows


def tell(
    facts: FactChange, graph: RuleGraph, before: Mapping[str, Codes], after: Mapping[str, Codes], outcome: Outcome
) -> None:
    """Adds to an outcome the visible facts that went and came. Where rules only add facts, one side is empty."""
    only_adds = not any(isinstance(one, (Negation, Aggregation)) for rule in graph.rules.values() for one in rule.body)
    only_adds &= not any(rule.has_head_aggregate for rule in graph.rules.values())
    deletes, inserts = any(map(len, facts.delete.values())), any(map(len, facts.insert.values()))
    for name in before.keys() | after.keys():
        if is_auxiliary(name):
            continue
        arity = (before[name] if name in before else after[name]).shape[1]
        nothing = np.empty((0, arity), np.uint32)
        old, new = before.get(name, nothing), after.get(name, nothing)
        lost = gained = None
        if only_adds and not (deletes and inserts):
            lost, gained = max(0, len(old) - len(new)), max(0, len(new) - len(old))
        add_sides(outcome, name, _Compared(old, new, lost), _Compared(new, old, gained))


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
