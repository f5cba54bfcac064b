"""Counting, for nonrecursive steps, and aggregates group by group.

The support count of a fact is the number of rule instances that derive it. The delta rules, with their signs, tell
exactly how many instances come and go, through joins and through negation; a fact whose count reaches zero is deleted,
and nothing has to be rederived.

For an aggregation, only groups that gained or lost a binding are aggregated again.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from corollary.engines.base import ChangingFacts, Signed

if TYPE_CHECKING:
    from corollary.reasoning.maintain.transaction import Task


def count(tasks: Sequence[Task], facts: ChangingFacts) -> None:
    """Follow the input changes of several steps at once."""
    wanted = [one for task in tasks for one in counted_rules(task)]
    for (owner, predicate), change in facts.derive(wanted).items():
        facts.change_support(predicate, owner, change, counted=True)


def counted_rules(task: Task, without: Container[str] = ()) -> Iterator[Signed]:
    """Yield the rules whose instances add up to the change of all derivations, without those of removed rules.

    A new step had no instances before, so it gains all instances that there are.
    """
    if task.is_new:
        for rule in task.rules.whole.values():
            yield Signed((task.step.owner, rule.head.predicate), rule, brings=True)
        return
    for one in task.rules.counted:
        if one.rule.name not in without:
            yield one


def touched_groups(task: Task, facts: ChangingFacts) -> Any:
    """Return the groups that gained or lost a binding; None if there are none."""
    key, rules = (task.step.owner, task.step.owner), task.rules
    wanted = [Signed(key, delta.rule) for delta in (*rules.losing, *rules.gaining)]
    return facts.derive(wanted).get(key)


def maintain_groups(task: Task, facts: ChangingFacts) -> None:
    """Aggregate the groups that changed again: withdraw their old rows and add the new ones."""
    touched = task.touched if task.touched is not None else touched_groups(task, facts)
    assert task.step.groups is not None
    if touched is None:
        return
    facts.ask_about(task.step.owner, touched)
    for (owner, predicate), change in facts.derive(task.step.groups.results).items():
        facts.change_support(predicate, owner, change, counted=False)
