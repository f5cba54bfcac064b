"""Counting, for steps whose rules do not depend on themselves, and aggregates group by group.

Each fact knows how many instances derive it. The deltas of a rule, with their signs, tell exactly how many instances come and
go, through joins and through negation; a fact whose last support goes is deleted, and nothing has to be derived again.

Of an aggregation, only groups that got or lost a binding are looked at again.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from corollary.engines.base import ChangingFacts, Signed

if TYPE_CHECKING:
    from corollary.reasoning.maintain.transaction import Task


def count(tasks: Sequence[Task], facts: ChangingFacts) -> None:
    """Follow the changes of the inputs of some steps, all at once."""
    wanted = [one for task in tasks for one in counted_rules(task)]
    for (owner, predicate), change in facts.derive(wanted).items():
        facts.change_support(predicate, owner, change, counted=True)


def counted_rules(task: Task, without: Container[str] = ()) -> Iterator[Signed]:
    """Yield the rules whose instances sum up to the change of all derivations, but for those of rules that are left out.

    A new step had none before: it gains all instances that there are.
    """
    if task.is_new:
        for rule in task.rules.whole.values():
            yield Signed((task.step.owner, rule.head.predicate), rule, brings=True)
        return
    for one in task.rules.counted:
        if one.rule.name not in without:
            yield one


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
