"""Counting, for steps whose rules do not depend on themselves.

Each fact knows how many instances derive it. The deltas of a rule, with their signs, tell exactly how many instances come and
go, through joins and through negation; a fact whose last support goes is deleted, and nothing has to be derived again.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING

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
