"""Recomputes the facts of a step from its inputs: where most of them change, that is cheaper than following each.

The rules run as in a first materialisation, beside the maintained relations; the difference is what the step passes on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from corollary.engines.base import OverBudget
from corollary.engines.embedded.evaluation import Evaluation, RelationStore
from corollary.engines.embedded.maintenance.maintained_relation import GONE, Numbers
from corollary.engines.embedded.maintenance.transaction import EmbeddedTransaction
from corollary.engines.embedded.relations.relation import Relation, facts_of, relation_of
from corollary.engines.embedded.values.aggregation import aggregate_rows
from corollary.planning.steps import AggregateStep, is_auxiliary
from corollary.reasoning.maintain.step_rules import StepForms, StepRules, atoms_of_rule
from corollary.reasoning.maintain.transaction import Task

Found = dict[str, Numbers]
"""Numbers of rows by predicate."""
_COUNT = "count"
_NOBODY = np.empty(0, np.int64)


def recompute(task: Task, transaction: EmbeddedTransaction) -> Found:
    """Replace what a step supports by what its rules derive now; return the rows that a count left without support.

    Usually the heads get relations of their own, which are compared with the old ones when somebody asks.
    """
    if _can_replace(task, transaction):
        _replace(task, transaction)
        return {}
    if not task.step.recursive:
        return recount(task.rules, transaction)
    _run_in_place(task, transaction)
    return {}


def _can_replace(task: Task, transaction: EmbeddedTransaction) -> bool:
    """Not where a head is closed by another step, or where an earlier step may go on with what this one drops."""
    heads = task.rules.heads
    return all(heads.values()) and not heads.keys() & transaction.closed.keys() and not task.earlier.meet(heads)


def _replace(task: Task, transaction: EmbeddedTransaction) -> None:
    step = task.rules.step
    may_delete, may_insert = direction(task, transaction)
    store = _inputs(task, transaction)
    store.counted = not step.recursive
    others = {name: transaction.others(name, arity, step.owner) for name, arity in task.rules.heads.items()}
    for name, relation in others.items():
        store.relations[name] = relation_of(relation.facts) if step.recursive else relation
    evaluation = Evaluation(store, transaction.work)
    with transaction.work.counting(_facts_with(task, transaction, store)):
        report = evaluation.evaluate(step.rules, step.modules, recursive=step.recursive, owner=step.owner)
    task.report.rounds += report.rounds if step.recursive else 0
    for name, relation in others.items():
        found = store.relations[name]
        after = _with_support(found, relation, step.owner) if step.recursive else found
        transaction.set_recomputed(name, after, may_delete=may_delete, may_insert=may_insert)


def try_again(task: Task, transaction: EmbeddedTransaction, *, most: int) -> None:
    """Recompute a recursive step; raise `OverBudget`, with nothing changed, where that takes more than `most` instances."""
    work = transaction.work
    if not (
        _can_replace(task, transaction)
        and Evaluation(RelationStore(), work).can_go_on(task.rules.step.rules, task.rules.step.modules)
    ):
        raise OverBudget  # what is done in other ways cannot stop, or leaves something half done
    with work.trying(most):
        _replace(task, transaction)


def go_on(task: Task, transaction: EmbeddedTransaction, last: Found) -> bool:
    """Adds what follows from the last facts of a step that grows, in relations of their own; False where that cannot be.

    What is there is copied, and the rounds are those of a first materialisation: what the step has found so far is kept. Nothing
    may have to go any more.
    """
    step = task.rules.step
    if not _can_replace(task, transaction):
        return False
    store = _inputs(task, transaction)
    evaluation = Evaluation(store, transaction.work)
    if not evaluation.can_go_on(step.rules, step.modules):
        recompute(task, transaction)
        return True
    may_delete, may_insert = direction(task, transaction)
    starts, known = {}, {}
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        is_old = (maintained.flags[: maintained.relation.size] & GONE) == 0
        new = last.get(name, _NOBODY)  # the last round may have brought facts of other heads only
        is_old[new] = False
        known[name] = np.concatenate((np.flatnonzero(is_old), new))
        store.relations[name] = relation_of(maintained.rows(known[name]))
        starts[name] = len(known[name]) - len(new)
    with transaction.work.counting(_facts_with(task, transaction, store)):
        task.report.rounds += evaluation.go_on(step.rules, starts).rounds
    for name, arity in task.rules.heads.items():
        before, after = transaction.relation(name, arity).relation, store.relations[name]
        after.number_rows()
        for owner in before.owners:
            after.support_of(owner)[: len(known[name])] = before.support_of(owner)[known[name]]
        after.mark(step.owner, len(known[name]))
        transaction.set_recomputed(name, after, may_delete=may_delete, may_insert=may_insert)
    return True


def _with_support(found: Relation, others: Relation, owner: str) -> Relation:
    """Return the facts that a recursive step derives, with its own support; `others` are the facts of other owners."""
    known = others.size
    if not np.array_equal(found.facts[:known], others.facts):  # a closure has its own order
        rows = found.facts
        found = relation_of(np.concatenate([others.facts, rows[~others.contains(rows)]]))
    found.number_rows()
    for other in others.owners:
        found.support_of(other)[:known] = others.support_of(other)[:known]
    found.mark(owner, known)
    return found


def direction(task: Task, transaction: EmbeddedTransaction) -> tuple[bool, bool]:
    """Whether the heads of a step may lose facts, and whether they may gain some: often rules and inputs tell."""
    heads = task.rules.heads
    own = frozenset(task.rules.step.rules)
    may_delete = len(task.removed_rules) > 0 or not task.gone_rules <= own
    may_insert = not task.gone_rules.issuperset(task.new_rules)
    if task.is_new and may_insert and not heads.keys() & transaction.opened.keys():
        return _changes_so_far(transaction, heads, may_delete=False, may_insert=True)
    for rule in task.rules.step.rules:
        for place, atom in enumerate(atoms_of_rule(rule)):
            is_negated = place >= len(rule.body.sources)
            if atom.predicate in heads and (is_negated or not task.rules.step.recursive):
                may_delete = may_insert = True  # facts of the same predicate with other constants, from another step
            elif atom.predicate not in heads and transaction.has_changed(atom.predicate):
                deleted, inserted, _ = transaction.change_of(atom.predicate, atom.arity)
                if is_negated:
                    deleted, inserted = inserted, deleted
                may_delete, may_insert = may_delete or deleted > 0, may_insert or inserted > 0
    return _changes_so_far(transaction, heads, may_delete=may_delete, may_insert=may_insert)


def _changes_so_far(
    transaction: EmbeddedTransaction, heads: dict[str, int], *, may_delete: bool, may_insert: bool
) -> tuple[bool, bool]:
    """Extend the possible changes by those that other steps have made to the heads: what one head gains or loses others may,
    too."""
    for name, arity in heads.items():
        replaced, maintained = transaction.replaced.get(name), transaction.maintained.get(name)
        if name in transaction.opened:
            # Facts without those of the closure are no change: the closure was there before.
            is_changed = transaction.untouched_external(name) is None
            may_delete, may_insert = may_delete or is_changed, may_insert or is_changed
        elif replaced is not None:
            may_delete, may_insert = may_delete or replaced.may_delete, may_insert or replaced.may_insert
        elif maintained is not None and (maintained.is_touched or maintained.has_lost):
            deleted, inserted, _ = transaction.change_of(name, arity)
            may_delete = may_delete or deleted > 0 or maintained.has_lost
            may_insert = may_insert or inserted > 0
    return may_delete, may_insert


def recount(rules: StepRules, transaction: EmbeddedTransaction) -> Found:
    """Counts the instances of a step's rules over the facts that are visible now, and sets its support to that."""
    gone = {}
    for name, arity in rules.heads.items():
        found = Relation(arity, counted=True)
        for rule in rules.step.rules:
            if rule.head.predicate == name:
                transaction.views.run(rules.whole[rule.name], found, _COUNT)
        maintained = transaction.supported(name, arity)
        numbers = maintained.place(facts_of(found))
        gone[name] = maintained.set_support(rules.step.owner, numbers, found.support_of(_COUNT)[: len(numbers)])
    return gone


def _run_in_place(task: Task, transaction: EmbeddedTransaction) -> None:
    step = task.rules.step
    store = _inputs(task, transaction)
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        store.relations[name] = relation_of(maintained.rows(maintained.supported_by_others(step.owner, GONE)))
    evaluation = Evaluation(store, transaction.work)
    with transaction.work.counting(_facts_with(task, transaction, store)):
        report = evaluation.evaluate(step.rules, step.modules, recursive=True, owner=step.owner)
    task.report.rounds += report.rounds
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        numbers = maintained.place(facts_of(store.relations[name]))
        own = numbers[maintained.external_support(step.owner, numbers) == 0]
        maintained.set_support(step.owner, own, 1)


def _facts_with(task: Task, transaction: EmbeddedTransaction, store: RelationStore) -> Callable[[], int]:
    """The number of facts where those of the step's heads are the ones in a store; a later step may take what others have."""
    heads = {name: arity for name, arity in task.rules.heads.items() if not is_auxiliary(name)}
    if not transaction.work.run.counts_facts:
        return lambda: 0
    others = transaction.work.facts()
    for name, arity in heads.items():
        _, inserted, left = transaction.change_of(name, arity)
        others += transaction.unsettled.get(name, 0) - left - inserted - store.relations[name].size
    return lambda: others + sum(store.relations[name].size for name in heads)


def _inputs(task: Task, transaction: EmbeddedTransaction) -> RelationStore:
    """The current facts that other steps derive."""
    store = RelationStore()
    store.universe = transaction.store.universe
    arities = {atom.predicate: atom.arity for rule in task.rules.step.rules for atom in atoms_of_rule(rule)}
    for name, arity in arities.items():
        if name not in task.rules.heads:
            store.relations[name] = transaction.current(name, arity)
    return store


def recompute_groups(step: StepForms, transaction: EmbeddedTransaction) -> None:
    """Recompute all groups of an aggregation."""
    aggregation, universe = step.step, transaction.store.universe
    assert isinstance(aggregation, AggregateStep)
    bindings = facts_of(transaction.current(aggregation.bindings, len(aggregation.names)))
    columns = {name: place for place, name in enumerate(aggregation.names)}
    found = facts_of(aggregate_rows(bindings, columns, aggregation.group_by, aggregation.operations, universe))
    after = Relation(found.shape[1], universe.code_bits, counted=True)
    after.append_distinct(np.ascontiguousarray(found), step.owner)
    transaction.set_recomputed(aggregation.result, after)
