"""Which rules follow a stream together, fact by fact: regions of positive rules, and everything else around them.

Algorithm 1 knows one program of positive rules. Here that is a region: the hyper-nodes without negation, aggregates and
arithmetic that lie between the same others. A region runs as one step, to one fixpoint; the others keep their own steps, before
and after it.
"""

from __future__ import annotations

from collections.abc import Iterable

from corollary.analysis import RuleGraph
from corollary.engines.embedded.marking.rule_tables import fits
from corollary.planning.steps import RuleStep, Step, is_auxiliary, predicates_of
from corollary.reasoning.maintain.steps import steps_in_order

_PREFIX = "stream "


def is_region(step: Step) -> bool:
    return step.owner.startswith(_PREFIX)


def region_steps(graph: RuleGraph) -> dict[Step, str]:
    """The steps in order, with those of positive rules put together; each with the name that reports use."""
    names = steps_in_order(graph)
    order = list(names)
    members: set[Step] = {step for step in order if isinstance(step, RuleStep) and _may_join(step)}
    levels = _levels(order, members)
    while strangers := _sharing_a_predicate(order, members, levels):
        members -= strangers
        levels = _levels(order, members)
    found: dict[Step, str] = {}
    for level in range(max(levels.values(), default=0) + 1):
        of_level = [step for step in order if levels[step] == level]
        if rules := [
            rule for step in of_level if isinstance(step, RuleStep) and step in members for rule in step.rules
        ]:
            owner = _PREFIX + "{" + ", ".join(rule.name for rule in rules) + "}"
            found[RuleStep(owner, tuple(rules), recursive=True)] = owner
        found |= {step: names[step] for step in of_level if step not in members}
    return found


def _may_join(step: RuleStep) -> bool:
    """Positive rules; those that use what an aggregation made are no such rules in the text."""
    if is_auxiliary(step.owner) or any(map(is_auxiliary, predicates_of(step.rules))):
        return False
    return all(fits(rule) for rule in step.rules)


def _levels(order: Iterable[Step], members: set[Step]) -> dict[Step, int]:
    """A level has a region, then other steps. A member comes after the others that it needs, and they after their region."""
    levels: dict[Step, int] = {}
    makers: dict[str, list[Step]] = {}
    for step in order:
        is_member = step in members
        level = int(is_member)
        for predicate in _inputs(step):
            for maker in makers.get(predicate, ()):
                level = max(level, levels[maker] + (is_member and maker not in members))
        levels[step] = level
        for predicate in step.heads:
            makers.setdefault(predicate, []).append(step)
    return levels


def _sharing_a_predicate(order: Iterable[Step], members: set[Step], levels: dict[Step, int]) -> set[Step]:
    """Members that derive facts of a predicate as others do: the facts of a region are its own, but for explicit ones."""
    makers: dict[str, list[Step]] = {}
    for step in order:
        for predicate in step.heads:
            makers.setdefault(predicate, []).append(step)
    found: set[Step] = set()
    for steps in makers.values():
        if len({(step in members, levels[step] if step in members else 0) for step in steps}) > 1:
            found |= members.intersection(steps)
    return found


def _inputs(step: Step) -> set[str]:
    return predicates_of(step.rules) if isinstance(step, RuleStep) else {step.bindings}
