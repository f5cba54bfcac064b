"""Answers from relations that are maintained, whose hidden rows are no facts."""

from __future__ import annotations

from corollary.engines.embedded.maintenance.transaction import Transaction
from corollary.engines.embedded.relation import Relation
from corollary.planning import AggregateSource, NormalRule
from corollary.planning.deltas import AFTER, whole_rule
from corollary.planning.steps import steps_of_rule


def can_answer(query: NormalRule) -> bool:
    """Whether a query is about single facts only: one that asks for groups, or for the absence of any fact, is not."""
    auxiliary, _ = steps_of_rule(query)
    return not auxiliary and not any(isinstance(source, AggregateSource) for source in query.body.sources)


def answer(query: NormalRule, transaction: Transaction) -> Relation:
    """The distinct answers of such a query."""
    if query.body.compares:
        transaction.order_texts()
    found = Relation(query.head.arity, counted=True)
    transaction.views.once(whole_rule(query, AFTER), found)
    return found
