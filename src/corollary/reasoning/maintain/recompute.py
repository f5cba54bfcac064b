"""Recomputing: run the rules of a step as in a first materialisation, and make the result the step's support.

This costs less than following each fact if most facts of a step change. The rules run over what the step reads, after
the transaction, and over the facts of its heads that other owners support. If possible they run *beside* the existing
facts: the new facts replace the old ones when the transaction ends, and the difference is computed only on request.
Otherwise the change of support is found at once: by counting the instances of nonrecursive rules, or *in place*, by a
job that compares the facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corollary.engines.base import ChangingFacts, FactsBeside, OverBudget
from corollary.reasoning.maintain.step_rules import atoms_of_rule

if TYPE_CHECKING:
    from corollary.reasoning.maintain.transaction import Task


@dataclass(frozen=True)
class Direction:
    """Whether the heads of a step may lose facts in a transaction, and whether they may gain some."""

    may_delete: bool = True
    may_insert: bool = True

    def __or__(self, other: Direction) -> Direction:
        return Direction(self.may_delete or other.may_delete, self.may_insert or other.may_insert)


BOTH = Direction()


def recompute(tasks: Sequence[Task], facts: ChangingFacts, *, most: int | None = None) -> None:
    """Derive steps from nothing, in order, and make the result their support.

    Raise `OverBudget`, with nothing changed, if that takes more than `most` rule instances.
    """
    for task in tasks:
        if most is not None and not ((beside := _beside(task, facts)) and beside.can_go_on(task.step)):
            raise OverBudget  # the other ways cannot stop without leaving something half done
        if task.step.recursive and task.earlier.meet(task.step.heads):
            task.earlier.adopt_from(task.step)
    if facts.runs_together:
        facts.derive_in_place(tasks)
        return
    for task in tasks:
        if beside := _beside(task, facts):
            beside.derive_beside(task, direction(task, beside), most=most)
        elif task.step.recursive:
            facts.derive_in_place([task])
        else:
            facts.recount(task.step)


def _beside(task: Task, facts: ChangingFacts) -> FactsBeside | None:
    """Return the facts to derive beside the existing ones; None if earlier steps may adopt what this step drops."""
    return None if task.earlier.meet(task.step.heads) else facts.beside(task.step)


def go_on(task: Task, facts: ChangingFacts, last: Mapping[str, Any]) -> bool:
    """Derive everything that follows from the last facts of a growing step, beside the existing facts; return False if
    that is not possible.

    What the step has found so far is kept. Nothing may have to be deleted any more.
    """
    beside = _beside(task, facts)
    if beside is None:
        return False
    if beside.can_go_on(task.step):
        beside.go_on_beside(task, last, direction(task, beside))
    else:
        recompute([task], facts)
    return True


def direction(task: Task, facts: FactsBeside) -> Direction:
    """Return how the heads of a step that runs beside the existing facts may change; often rules and inputs already tell."""
    if task.step.groups is not None:
        return BOTH  # finding the changed bindings may cost as much as all groups
    heads, rules = task.step.heads, task.rules.step.rules
    may_delete = len(task.removed_rules) > 0 or not task.gone_rules <= frozenset(rules)
    may_insert = not task.gone_rules.issuperset(task.new_rules)
    found = Direction(may_delete, may_insert)
    if task.is_new and may_insert and not facts.was_closed(heads):
        found = Direction(may_delete=False)
    else:
        for rule in rules:
            for place, atom in enumerate(atoms_of_rule(rule)):
                is_negated = place >= len(rule.body.sources)
                if atom.predicate in heads and (is_negated or not task.step.recursive):
                    found = BOTH  # another step has facts of the same predicate with other constants
                elif atom.predicate not in heads and facts.has_changed(atom.predicate):
                    deleted, inserted, _ = facts.change_of(atom.predicate, atom.arity)
                    if is_negated:
                        deleted, inserted = inserted, deleted
                    found |= Direction(deleted > 0, inserted > 0)
    for name, arity in heads.items():  # other steps may have changed these heads, too
        found |= facts.direction_of(name, arity)
    return found
