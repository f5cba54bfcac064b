"""Recomputing: the rules of a step run as in a first materialisation, and what they derive becomes what the step supports.

Where most facts of a step change, that costs less than following each of them. They run over what the step reads, after the
transaction, and over the facts of its heads that others support. Best is to run *beside* what is there: the new facts take the
place of the old ones when the transaction ends, and what has changed is found when somebody asks. Otherwise the change of support
is found at once: by counting the instances of rules without recursion, or *in place*, by a job whose facts are compared.
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
    """Derive steps from nothing, in order, and make what they derive what they support.

    Raise `OverBudget`, with nothing changed, where that takes more than `most` rule instances.
    """
    for task in tasks:
        if most is not None and not ((beside := _beside(task, facts)) and beside.can_go_on(task.step)):
            raise OverBudget  # what is done in other ways cannot stop, or leaves something half done
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
    """Not where an earlier step may go on with what this one drops."""
    return None if task.earlier.meet(task.step.heads) else facts.beside(task.step)


def go_on(task: Task, facts: ChangingFacts, last: Mapping[str, Any]) -> bool:
    """Add all that follows from the last facts of a step that grows, beside what is there; return False where that cannot be.

    What the step has found so far is kept. Nothing may have to go any more.
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
    """Return what may become of the heads of a step that runs beside what is there: often rules and inputs tell."""
    if task.step.groups is not None:
        return BOTH  # finding the bindings that are other ones may cost as much as all groups
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
                    found = BOTH  # facts of the same predicate with other constants, from another step
                elif atom.predicate not in heads and facts.has_changed(atom.predicate):
                    deleted, inserted, _ = facts.change_of(atom.predicate, atom.arity)
                    if is_negated:
                        deleted, inserted = inserted, deleted
                    found |= Direction(deleted > 0, inserted > 0)
    for name, arity in heads.items():  # other steps have changed heads, too: what one gains or loses others may
        found |= facts.direction_of(name, arity)
    return found
