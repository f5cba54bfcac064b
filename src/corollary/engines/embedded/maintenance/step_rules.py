"""The rules of a step in every form that maintaining it needs, made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from corollary.planning import NormalRule
from corollary.planning.deltas import (
    AFTER,
    BEFORE,
    CHANGING,
    DELETED,
    INSERTED,
    checking_rule,
    delta_rule,
    whole_rule,
)
from corollary.planning.steps import RuleStep
from corollary.program import Atom


@dataclass(frozen=True)
class Delta:
    """A rule with changes of one predicate at one place; `trigger` is the predicate with the version that holds them."""

    trigger: str
    rule: NormalRule


class StepRules:
    """For each rule: what it loses and gains with the facts of other steps, and what follows inside the step."""

    def __init__(self, step: RuleStep) -> None:
        self.step = step

    @cached_property
    def inputs(self) -> frozenset[str]:
        return frozenset(atom.predicate for rule in self.step.rules for atom in _atoms(rule))

    @cached_property
    def counted(self) -> tuple[tuple[Delta, int], ...]:
        """Deltas whose instances, with their signs, sum up to the change of all derivations."""
        found = []
        for rule in self.step.rules:
            for place, atom in enumerate(_atoms(rule)):
                sign = 1 if place < len(rule.body.sources) else -1
                for delta, direction in ((DELETED, -sign), (INSERTED, sign)):
                    changed = delta_rule(rule, place, delta, earlier=AFTER, later=BEFORE)
                    found.append((Delta(delta + atom.predicate, changed), direction))
        return tuple(found)

    @cached_property
    def losing(self) -> tuple[Delta, ...]:
        """Instances before the transaction that the changes of other steps take away."""
        return self._from_outside(DELETED, INSERTED, BEFORE)

    @cached_property
    def gaining(self) -> tuple[Delta, ...]:
        """Instances after the transaction that the changes of other steps bring."""
        return self._from_outside(INSERTED, DELETED, AFTER)

    def _from_outside(self, delta: str, negated_delta: str, version: str) -> tuple[Delta, ...]:
        found = []
        for rule in self.step.rules:
            for place, atom in enumerate(_atoms(rule)):
                is_negated = place >= len(rule.body.sources)
                if is_negated or atom.predicate not in self.step.heads:  # what is inside the step changes round by round
                    kind = negated_delta if is_negated else delta
                    found.append(Delta(kind + atom.predicate, delta_rule(rule, place, kind, version, version)))
        return tuple(found)

    @cached_property
    def spreading(self) -> tuple[Delta, ...]:
        """Instances before the transaction that use a fact which is just being deleted."""
        return self._inside(BEFORE)

    @cached_property
    def growing(self) -> tuple[Delta, ...]:
        """Instances after the transaction that use a fact which has just come."""
        return self._inside(AFTER)

    def _inside(self, version: str) -> tuple[Delta, ...]:
        return tuple(
            Delta(CHANGING + atom.predicate, delta_rule(rule, place, CHANGING, version, version))
            for rule in self.step.rules
            for place, atom in enumerate(rule.body.sources)
            if isinstance(atom, Atom) and atom.predicate in self.step.heads
        )

    @cached_property
    def checking(self) -> tuple[Delta, ...]:
        """Each rule for given heads, over the facts after the transaction."""
        return tuple(
            Delta(CHANGING + rule.head.predicate, checking_rule(rule, CHANGING, AFTER)) for rule in self.step.rules
        )

    @cached_property
    def whole(self) -> dict[str, NormalRule]:
        """Each rule over all facts after the transaction."""
        return {rule.name: whole_rule(rule, AFTER) for rule in self.step.rules}


def whole_before(rule: NormalRule) -> NormalRule:
    """A rule over all facts before the transaction."""
    return whole_rule(rule, BEFORE)


def _atoms(rule: NormalRule) -> list[Atom]:
    return [atom for atom in (*rule.body.sources, *rule.body.negated) if isinstance(atom, Atom)]
