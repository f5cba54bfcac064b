"""Steps under rule changes: which stay, which are new, and which take over the support of another one.

A recursive step that contains all remaining rules of an old step is its heir: it takes over its facts, evaluates the
added rules against them, and runs to a fixpoint. Support without an heir is withdrawn, without reasoning (paper 000).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from corollary.engines.base import MaintainedStep, StepT, SupportKeeper
from corollary.planning import NormalRule
from corollary.planning.steps import predicates_of


@dataclass
class ChangedSteps:
    """By the owner of a step: the names of its new rules, for each new step, and the rules that it has lost.

    `heirs` are owners that take over support. `uncounted` are owners that must count, but whose support is not a count
    yet. `gone` are, by predicate, the rules of steps without an heir.
    """

    new: dict[str, frozenset[str]] = field(default_factory=dict)
    removed: dict[str, list[NormalRule]] = field(default_factory=dict)
    heirs: set[str] = field(default_factory=set)
    uncounted: set[str] = field(default_factory=set)
    gone: dict[str, frozenset[NormalRule]] = field(default_factory=dict)

    def new_rules(self, step: MaintainedStep) -> list[NormalRule]:
        """Return the rules that a step gained in this transaction."""
        names = self.new.get(step.owner, frozenset())
        return [rule for rule in step.following_rules if rule.name in names]

    def note_gone(self, step: MaintainedStep) -> None:
        for name in step.heads:
            self.gone[name] = self.gone.get(name, frozenset()) | frozenset(step.following_rules)

    @property
    def read_before(self) -> set[str]:
        """The predicates that removed rules read."""
        return predicates_of(rule for rules in self.removed.values() for rule in rules)

    def described(self, owner: str) -> str:
        """Return the rules that a step gained and lost, as text for the report."""
        parts = [
            f"{sign}{', '.join(sorted(names))}"
            for sign, names in (("+", self.new[owner]), ("-", {rule.name for rule in self.removed.get(owner, ())}))
            if names
        ]
        return f"went on from what it had ({' '.join(parts)})" if parts else "went on from what it had"


def change_steps(
    known: Sequence[StepT],
    wanted: Sequence[StepT],
    keeper: SupportKeeper,
    *,
    counted: Callable[[StepT], bool],
    counts: Callable[[StepT], bool],
) -> ChangedSteps:
    """Hand the support of removed steps over to their heirs, or withdraw it; return how the steps changed.

    `counts` tells whether a step counts its instances from now on, `counted` whether it did so before: if not, its
    support only tells which facts it derives. An heir that counts is `uncounted` if it gets support from a step that
    did not.
    """
    change = ChangedSteps()
    stays, stayed = {step.identity for step in wanted}, {step.identity for step in known}
    heir_of_rule = {rule.name: step for step in wanted for rule in step.own_rules}
    kept: set[str] = set()
    handed_over: dict[tuple[str, str, int], list[str]] = {}  # by heir, predicate and arity: the previous owners
    for step in known:
        if step.identity in stays:
            continue
        starts_over = keeper.starts_over(step)
        heir = None if starts_over else _heir(step, heir_of_rule, counts)
        if heir is None:
            change.note_gone(step)
        else:
            change.heirs.add(heir.owner)
            kept |= {rule.name for rule in step.own_rules if rule.name in heir_of_rule}
            removed = [rule for rule in step.following_rules if rule.name not in heir_of_rule]
            change.removed.setdefault(heir.owner, []).extend(removed)
            if counts(heir) and not counted(step):
                change.uncounted.add(heir.owner)
        for name, arity in step.heads.items() if not starts_over else ():
            if heir is not None and name in heir.heads:
                handed_over.setdefault((heir.owner, name, arity), []).append(step.owner)
            else:
                keeper.withdraw(name, arity, step.owner)
    by_owner = {step.owner: step for step in wanted}
    for (owner, name, arity), owners in handed_over.items():
        is_count = counts(by_owner[owner]) and owner not in change.uncounted
        keeper.hand_over(name, arity, owners, owner, counts=is_count)
    if counts != counted:  # a step may be the same for both strategies
        staying = (step for step in wanted if step.identity in stayed)
        change.uncounted |= {step.owner for step in staying if counts(step) and not counted(step)}
    for step in wanted:
        if step.identity not in stayed:
            change.new[step.owner] = frozenset(rule.name for rule in step.own_rules) - kept
    return change


def _heir(step: StepT, heir_of_rule: Mapping[str, StepT], counts: Callable[[StepT], bool]) -> StepT | None:
    """Return the recursive step that contains all remaining rules of a step; None if there is none.

    The support of alternating rules is never a count, so an heir that `counts` starts without it.
    """
    heirs = {
        heir_of_rule[rule.name].owner: heir_of_rule[rule.name] for rule in step.own_rules if rule.name in heir_of_rule
    }
    if len(heirs) != 1:
        return None
    (heir,) = heirs.values()
    if step.alternates and counts(heir):
        return None
    by_name = {rule.name: rule for rule in heir.own_rules}
    is_same = all(by_name.get(rule.name, rule) == rule for rule in step.own_rules)
    return heir if heir.recursive and is_same else None
