"""Deriving the facts of a step anew from its inputs: where most of them change, that is cheaper than following each.

The rules run as in a first materialisation, beside the maintained relations; the difference is what the step passes on.
"""

from __future__ import annotations

import numpy as np

from corollary.engines.embedded.aggregation import aggregate_rows
from corollary.engines.embedded.evaluation import Evaluation, Store
from corollary.engines.embedded.maintenance.aggregates import AggregateRules
from corollary.engines.embedded.maintenance.maintained_relation import GONE
from corollary.engines.embedded.maintenance.recursive_step import Found, Task, adopt
from corollary.engines.embedded.maintenance.step_rules import StepRules, atoms_of_rule
from corollary.engines.embedded.maintenance.transaction import Transaction, facts_of, relation_of
from corollary.engines.embedded.relation import Relation

_COUNT = "count"


def recompute(task: Task) -> Found:
    """Replaces what a step supports by what its rules derive now; gives the rows that nobody supports any more.

    As a rule the heads get relations of their own, which are compared with the old ones when somebody asks.
    """
    if _can_replace(task):
        _replace(task)
        return {}
    if not task.rules.step.recursive:
        return recount(task.rules, task.transaction)
    for name, earlier in task.earlier.items():
        for rules in earlier if name in task.rules.heads else ():
            maintained = task.transaction.relation(name, rules.heads[name])
            own = np.flatnonzero(maintained.relation.support_of(task.rules.step.owner)[: maintained.relation.size])
            adopt(rules, name, own, task.transaction)
    return _run_in_place(task)


def _can_replace(task: Task) -> bool:
    """Not where a head is closed by another step, or where an earlier step may go on with what this one drops."""
    heads, closed = task.rules.heads, task.transaction.closed
    return all(heads.values()) and not heads.keys() & closed.keys() and not heads.keys() & task.earlier.keys()


def _replace(task: Task) -> None:
    step, transaction = task.rules.step, task.transaction
    may_delete, may_insert = direction(task)
    store = _inputs(task)
    store.counted = not step.recursive
    others = {name: transaction.others(name, arity, step.owner) for name, arity in task.rules.heads.items()}
    for name, relation in others.items():
        store.relations[name] = relation_of(relation.facts) if step.recursive else relation
    evaluation = Evaluation(store, transaction.work, orders_texts=transaction.orders_texts)
    report = evaluation.evaluate(step.rules, step.modules, recursive=step.recursive, owner=step.owner)
    task.report.rounds += report.rounds if step.recursive else 0
    for name, relation in others.items():
        found = store.relations[name]
        after = _with_support(found, relation, step.owner) if step.recursive else found
        transaction.anew(name, after, may_delete=may_delete, may_insert=may_insert)


def _with_support(found: Relation, others: Relation, owner: str) -> Relation:
    """What a recursive step derives from facts of others, as its own."""
    known = others.size
    if not np.array_equal(found.facts[:known], others.facts):  # a closure has its own order
        rows = found.facts
        found = relation_of(np.concatenate([others.facts, rows[~others.contains(rows)]]))
    found.number_rows()
    for other in others.owners:
        found.support_of(other)[:known] = others.support_of(other)[:known]
    found.mark(owner, known)
    return found


def direction(task: Task) -> tuple[bool, bool]:
    """Whether the heads of a step may lose facts, and whether they may gain some: often rules and inputs tell."""
    transaction, heads = task.transaction, task.rules.heads
    own = frozenset(task.rules.step.rules)
    may_delete = len(task.removed_rules) > 0 or not task.closing_rules <= own
    may_insert = not task.closing_rules.issuperset(task.new_rules)
    if task.is_new and not heads.keys() & transaction.opened.keys():
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
    transaction: Transaction, heads: dict[str, int], *, may_delete: bool, may_insert: bool
) -> tuple[bool, bool]:
    """The same with what other steps have done to the heads: what one head gains or loses others may, too."""
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


def recount(rules: StepRules, transaction: Transaction) -> Found:
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


def _run_in_place(task: Task) -> Found:
    step, transaction = task.rules.step, task.transaction
    store = _inputs(task)
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        store.relations[name] = relation_of(maintained.rows(maintained.supported_by_others(step.owner, GONE)))
    evaluation = Evaluation(store, transaction.work, orders_texts=transaction.orders_texts)
    report = evaluation.evaluate(step.rules, step.modules, recursive=True, owner=step.owner)
    task.report.rounds += report.rounds
    gone = {}
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        numbers = maintained.place(facts_of(store.relations[name]))
        own = numbers[maintained.external_support(step.owner, numbers) == 0]
        gone[name] = maintained.set_support(step.owner, own, 1)
    return gone


def _inputs(task: Task) -> Store:
    """What other steps derive, as it is now."""
    store = Store()
    store.universe = task.transaction.store.universe
    arities = {atom.predicate: atom.arity for rule in task.rules.step.rules for atom in atoms_of_rule(rule)}
    for name, arity in arities.items():
        if name not in task.rules.heads:
            store.relations[name] = task.transaction.current(name, arity)
    return store


def recompute_groups(rules: AggregateRules, transaction: Transaction) -> Found:
    """Aggregates all groups anew."""
    step, universe = rules.step, transaction.store.universe
    bindings = facts_of(transaction.current(step.bindings, len(step.names)))
    columns = {name: place for place, name in enumerate(step.names)}
    found = facts_of(aggregate_rows(bindings, columns, step.group_by, step.operations, universe))
    after = Relation(found.shape[1], universe.code_bits, counted=True)
    after.append_distinct(np.ascontiguousarray(found), step.owner)
    transaction.anew(step.result, after)
    return {}
