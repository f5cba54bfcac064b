"""Aggregates, group by group: only groups that got or lost a binding are looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from corollary.engines.base import ChangingFacts, Signed
from corollary.planning import AggregateSource, NormalBody, NormalRule
from corollary.planning.deltas import AFTER, BEFORE, CHANGING, whole_rule
from corollary.program import Atom, Variable

if TYPE_CHECKING:
    from corollary.reasoning.maintain.transaction import Task


class GroupRules:
    """The rules of an aggregation whose rows of groups and results are the facts of `head`."""

    def __init__(self, owner: str, source: AggregateSource, head: Atom) -> None:
        self.source = source
        self._owner = owner
        self._head = head
        self._group = tuple(Variable(name) for name in source.group_by)

    @cached_property
    def touching(self) -> NormalRule:
        """From bindings to their groups: its deltas tell the groups that got or lost a binding."""
        return NormalRule(self._owner, Atom(self._owner, self._group), self.source.body)

    @cached_property
    def results(self) -> tuple[Signed, Signed]:
        """The rows of the groups asked about, as they are now and as they were."""
        key = self._owner, self._head.predicate
        return Signed(key, self._now(), 1, brings=True), Signed(key, self._before(), -1)

    def _now(self) -> NormalRule:
        body = whole_rule(NormalRule(self._owner, Atom("", ()), self.source.body), AFTER).body
        inner = NormalBody((self._asked, *body.sources), body.negated, body.computes, body.compares)
        source = AggregateSource(inner, self.source.group_by, self.source.operations)
        return NormalRule(self._owner, self._head, NormalBody((source,), (), (), ()))

    def _before(self) -> NormalRule:
        known = Atom(BEFORE + self._head.predicate, self._head.arguments)
        return NormalRule(self._owner, self._head, NormalBody((self._asked, known), (), (), ()))

    def made(self) -> Iterator[NormalRule]:
        """The rules that have been made so far."""
        for one in vars(self).get("results", ()):
            yield one.rule

    @property
    def _asked(self) -> Atom:
        return Atom(CHANGING + self._owner, self._group)


def touched_groups(task: Task, facts: ChangingFacts) -> Any:
    """Return the groups that got or lost a binding; None where none did."""
    key, rules = (task.step.owner, task.step.owner), task.rules
    wanted = [Signed(key, delta.rule) for delta in (*rules.losing, *rules.gaining)]
    return facts.derive(wanted).get(key)


def maintain_groups(task: Task, facts: ChangingFacts) -> None:
    """Aggregate the groups that changed once more: their rows of before go, and those of now come."""
    touched = task.touched if task.touched is not None else touched_groups(task, facts)
    assert task.step.groups is not None
    if touched is None:
        return
    facts.ask_about(task.step.owner, touched)
    for (owner, predicate), change in facts.derive(task.step.groups.results).items():
        facts.change_support(predicate, owner, change, counted=False)
