"""Generated scenarios as streams of updates, and a source that is slow."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from corollary.program import Clause, Program
from corollary.streams.updates import Arrived
from corollary.transactions import Change as Update
from tests.generator import Change, Scenario, apply_change, facts_of
from tests.generator.programs import key_of

# -- scenarios ---------------------------------------------------------------------------------------------------------


def update_of(change: Change) -> Update:
    insert: dict[str, list] = {}
    delete: dict[str, list] = {}
    for target, facts in ((insert, change.insert), (delete, change.delete)):
        for predicate, row in facts:
            target.setdefault(predicate, []).append(row)
    return Update(insert, delete, (Program(change.add_rules),) if change.add_rules else (), change.remove_rules)


def as_stream(scenario: Scenario, choose: random.Random) -> Iterator[tuple[Change, Program]]:
    """Updates that a stream accepts, with the program after each; some are empty, some undo the one before."""
    program = scenario.program
    for change in scenario.changes:
        clauses = {clause.name for clause in program.of_type(Clause)}
        there = facts_of(program).keys()
        delete = tuple(fact for fact in change.delete if key_of(fact) in there)
        remove = tuple(name for name in change.remove_rules if name in clauses)
        change = Change(change.insert, delete, change.add_rules, remove)
        before, program = program, apply_change(program, change)
        yield change, program
        if choose.random() < 0.2:
            yield Change(), program
        if choose.random() < 0.3 and not change.add_rules and not change.remove_rules:
            undone, program = program, before
            yield _undo(undone, before), before
            if choose.random() < 0.5:
                program = undone
                yield _undo(before, undone), undone


def _undo(after: Program, before: Program) -> Change:
    """From one set of facts back to another."""
    old, new = facts_of(before), facts_of(after)
    insert = tuple(fact for key, fact in old.items() if key not in new)
    delete = tuple(fact for key, fact in new.items() if key not in old)
    return Change(insert, delete)


@dataclass
class Delayed:
    """A source whose next update is there only now and then."""

    updates: list[Update]
    choose: random.Random
    taken: int = 0
    looks: int = 0

    @property
    def waiting(self) -> int:
        return len(self.updates) - self.taken

    def take(self) -> Arrived | None:
        if self.taken == len(self.updates):
            return None
        self.taken += 1
        return Arrived(f"update {self.taken}", self.updates[self.taken - 1])

    def take_now(self) -> Arrived | None:
        self.looks += 1
        return self.take() if self.choose.random() < 0.7 else None

    def close(self) -> None:
        self.taken = len(self.updates)
