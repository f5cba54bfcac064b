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
    EITHER,
    INSERTED,
    KEPT,
    PROVED,
    SETTLED,
    UNSPREAD,
    UNTOUCHED,
    Versions,
    backward_rule,
    checking_rule,
    delta_rule,
    step_delta_rule,
    whole_rule,
)
from corollary.planning.steps import RuleStep
from corollary.program import Atom

# What is lost and gained outside is told first, then what follows from it inside, round by round: no instance comes twice.
_LOSING = Versions(inside=(BEFORE, BEFORE), outside=(KEPT, BEFORE), negated=(EITHER, BEFORE))
_SPREADING = Versions(inside=(UNTOUCHED, UNSPREAD), outside=(KEPT, KEPT), negated=(EITHER, EITHER))
_GAINING = Versions(inside=(SETTLED, SETTLED), outside=(KEPT, AFTER), negated=(EITHER, AFTER))
_GROWING = Versions(inside=(SETTLED, AFTER), outside=(AFTER, AFTER), negated=(AFTER, AFTER))
_PROVING = Versions(inside=(PROVED, PROVED), outside=(AFTER, AFTER), negated=(AFTER, AFTER))


@dataclass(frozen=True)
class Delta:
    """A rule with changes of one predicate at one place; `trigger` is the predicate with the version that holds them."""

    trigger: str
    rule: NormalRule


class StepRules:
    """For each rule: what it loses and gains with the facts of other steps, and what follows inside the step."""

    def __init__(self, step: RuleStep) -> None:
        self.step = step
        self.heads = step.heads

    @cached_property
    def inputs(self) -> frozenset[str]:
        return frozenset(atom.predicate for rule in self.step.rules for atom in atoms_of_rule(rule))

    @cached_property
    def counted(self) -> tuple[tuple[Delta, int], ...]:
        """Deltas whose instances, with their signs, sum up to the change of all derivations."""
        found = []
        for rule in self.step.rules:
            for place, atom in enumerate(atoms_of_rule(rule)):
                sign = 1 if place < len(rule.body.sources) else -1
                for delta, direction in ((DELETED, -sign), (INSERTED, sign)):
                    changed = delta_rule(rule, place, delta, earlier=AFTER, later=BEFORE)
                    found.append((Delta(delta + atom.predicate, changed), direction))
        return tuple(found)

    @cached_property
    def losing(self) -> tuple[Delta, ...]:
        """The instances before the transaction that the changes of other steps take away."""
        return self._from_outside(DELETED, INSERTED, _LOSING)

    @cached_property
    def gaining(self) -> tuple[Delta, ...]:
        """The instances that the changes of other steps bring to the settled facts of the step."""
        return self._from_outside(INSERTED, DELETED, _GAINING)

    def _from_outside(self, delta: str, negated_delta: str, versions: Versions) -> tuple[Delta, ...]:
        found = []
        for rule in self.step.rules:
            for place, atom in enumerate(atoms_of_rule(rule)):
                is_negated = place >= len(rule.body.sources)
                if is_negated or atom.predicate not in self.heads:  # what is inside the step changes round by round
                    kind = negated_delta if is_negated else delta
                    changed = step_delta_rule(rule, place, kind, self.heads, versions)
                    found.append(Delta(kind + atom.predicate, changed))
        return tuple(found)

    @cached_property
    def spreading(self) -> tuple[Delta, ...]:
        """The instances left so far that use a fact which a deletion has just reached."""
        return self._inside(_SPREADING)

    @cached_property
    def growing(self) -> tuple[Delta, ...]:
        """The instances after the transaction that use a fact which an insertion has just reached."""
        return self._inside(_GROWING)

    @cached_property
    def proving(self) -> tuple[Delta, ...]:
        """The instances over proved facts that use one which has just been proved."""
        return self._inside(_PROVING)

    def _inside(self, versions: Versions) -> tuple[Delta, ...]:
        return tuple(
            Delta(CHANGING + atom.predicate, step_delta_rule(rule, place, CHANGING, self.heads, versions))
            for rule in self.step.rules
            for place, atom in enumerate(rule.body.sources)
            if isinstance(atom, Atom) and atom.predicate in self.heads
        )

    @cached_property
    def checking(self) -> tuple[Delta, ...]:
        """Each rule for given heads, over the facts after the transaction."""
        return tuple(
            Delta(CHANGING + rule.head.predicate, checking_rule(rule, CHANGING, AFTER)) for rule in self.step.rules
        )

    @cached_property
    def checking_proved(self) -> tuple[Delta, ...]:
        """Each rule for given heads, over proved facts of the step."""
        return tuple(
            Delta(CHANGING + rule.head.predicate, checking_rule(rule, CHANGING, AFTER, self.heads, PROVED))
            for rule in self.step.rules
        )

    @cached_property
    def backward(self) -> tuple[Delta, ...]:
        """From given heads to the facts of the step that the instances use which derive them."""
        return tuple(
            Delta(CHANGING + rule.head.predicate, backward_rule(rule, place, CHANGING, AFTER))
            for rule in self.step.rules
            for place, atom in enumerate(rule.body.sources)
            if isinstance(atom, Atom) and atom.predicate in self.heads
        )

    @cached_property
    def whole(self) -> dict[str, NormalRule]:
        """Each rule over all facts after the transaction, as far as they are settled."""
        return {rule.name: whole_rule(rule, AFTER, self.heads, SETTLED) for rule in self.step.rules}


def whole_before(rule: NormalRule) -> NormalRule:
    """A rule over all facts before the transaction."""
    return whole_rule(rule, BEFORE)


def atoms_of_rule(rule: NormalRule) -> list[Atom]:
    """The atoms of a body, then the negated ones."""
    return [atom for atom in (*rule.body.sources, *rule.body.negated) if isinstance(atom, Atom)]
