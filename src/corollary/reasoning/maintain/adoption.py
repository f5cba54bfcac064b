"""Facts that lose their support, and recursive steps that came earlier: they may derive them, too, and never said so.

A recursive step that does not count supports the facts that it found first. Whether it would derive a fact that others gave is
asked when theirs goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corollary.engines.base import ChangingFacts, MaintainedStep


class EarlierSteps:
    """Recursive steps that are up to date and do not count their instances."""

    def __init__(self, facts: ChangingFacts) -> None:
        self._facts = facts
        self._by_head: dict[str, list[MaintainedStep]] = {}

    def add(self, step: MaintainedStep) -> None:
        for name in step.heads:
            self._by_head.setdefault(name, []).append(step)

    def of(self, predicate: str) -> Sequence[MaintainedStep]:
        return self._by_head.get(predicate, ())

    def meet(self, predicates: Mapping[str, int]) -> bool:
        """Whether one of them derives one of these predicates."""
        return not self._by_head.keys().isdisjoint(predicates)

    def adopt(self, predicate: str, facts: Any) -> Mapping[str, Any]:
        """Let each of them support those of the facts that it derives, and return these by owner.

        None of them owns one of the facts. Their rules do not use such a fact, or it would have come later: one look is enough.
        """
        steps = self.of(predicate)
        if not steps:
            return {}
        return self._adopted(steps, predicate, facts)

    def adopt_from(self, step: MaintainedStep) -> None:
        """Let them support what a step owns which is about to be derived without it."""
        for name, arity in step.heads.items():
            for other in self.of(name):
                self._adopted([other], name, self._facts.owned_only_by(name, arity, step.owner, other.owner))

    def _adopted(self, steps: Sequence[MaintainedStep], predicate: str, facts: Any) -> Mapping[str, Any]:
        found = self._facts.derivable(steps, predicate, facts)
        for owner, rows in found.items():
            self._facts.support_once(predicate, owner, rows)
        if found:
            self._facts.settle()
        return found
