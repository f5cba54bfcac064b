"""Scripts of changes to facts and rules: what an engine is asked to follow, and what the oracle says after each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from hypothesis import strategies as st

from corollary.language import Printer, print_program
from corollary.program import Clause, FactBlock, Program, Statement
from tests.generator import vocabulary
from tests.generator.profile import EVERYTHING, Profile
from tests.generator.programs import (
    FILLED,
    Fact,
    ShownAsText,
    draw_fact,
    facts_of,
    key_of,
    named,
    program_of,
    programs,
    rules_of_any_layer,
)
from tests.generator.values import pick


@dataclass(frozen=True)
class Change:
    """One transaction. A fact both deleted and inserted is there afterwards, and so is a rule both removed and added."""

    insert: tuple[Fact, ...] = ()
    delete: tuple[Fact, ...] = ()
    add_rules: tuple[Clause, ...] = ()
    remove_rules: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        yield from (f"delete {_text(_facts(fact))}" for fact in self.delete)
        yield from (f"insert {_text(_facts(fact))}" for fact in self.insert)
        yield from (f"remove {name}" for name in self.remove_rules)
        yield from (f"add    {_text(clause)}" for clause in self.add_rules)


@dataclass(frozen=True, repr=False)
class Scenario(ShownAsText):
    """A program and the changes that happen to it, one after the other."""

    program: Program
    changes: tuple[Change, ...]

    def programs(self) -> list[Program]:
        """The program at first and after each change."""
        return list(accumulate(self.changes, apply_change, initial=self.program))

    def __repr__(self) -> str:
        """The text of the program; the changes follow as comments."""
        script = [
            line for number, change in enumerate(self.changes, 1) for line in (f"change {number}", *change.lines())
        ]
        return f"\n{print_program(self.program)}" + "".join(f"// {line}\n" for line in script)


def apply_change(program: Program, change: Change) -> Program:
    """The program after a change. Each clause of the program needs a name."""
    facts = facts_of(program)
    for fact in change.delete:
        facts.pop(key_of(fact), None)
    for fact in change.insert:
        facts.setdefault(key_of(fact), fact)
    clauses = {clause.name: clause for clause in program.of_type(Clause)}
    assert None not in clauses, "every clause needs a name"
    for name in change.remove_rules:
        del clauses[name]
    for clause in change.add_rules:
        assert clause.name not in clauses, f"{clause.name} is there already"
        clauses[clause.name] = clause
    return program_of(facts.values(), clauses.values())


@cache
def scenarios(profile: Profile = EVERYTHING) -> st.SearchStrategy[Scenario]:
    """A program with one or more changes; after each, the program is safe and stratified and terminates."""
    return st.one_of([_scenarios(profile.but(domain=domain)) for domain in profile.domains])


@st.composite
def _scenarios(draw: st.DrawFn, profile: Profile) -> Scenario:
    start: Program = draw(programs(profile))
    program = start
    script: list[Change] = []
    writer = ScriptWriter(draw, profile, start)
    for number in range(profile.max_changes):
        if number == 0 or pick(draw, FILLED):
            change = writer.change(program)
            script.append(change)
            program = apply_change(program, change)
    return Scenario(start, tuple(script))


class ScriptWriter:
    """Draws changes; remembers which rules were removed, to bring some of them back, and which names were used."""

    def __init__(self, draw: st.DrawFn, profile: Profile, program: Program) -> None:
        self._draw = draw
        self._profile = profile
        self._removed: dict[str, Clause] = {}
        self._names_used = len(program.of_type(Clause))

    def change(self, program: Program) -> Change:
        insert: tuple[Fact, ...] = ()
        delete: tuple[Fact, ...] = ()
        add: tuple[Clause, ...] = ()
        remove: tuple[str, ...] = ()
        if self._profile.fact_changes:
            delete = self._delete(list(facts_of(program).values()))
            insert = self._insert(delete)
        if self._profile.rule_changes:
            remove = self._remove(program.of_type(Clause))
            add = self._add(remove, program.of_type(Clause))
        return Change(insert, delete, add, remove)

    def _delete(self, present: Sequence[Fact]) -> tuple[Fact, ...]:
        """Mostly facts that are there; now and then one that is not, or one that only rules derive."""
        count = pick(self._draw, (0, 1, 1, 2, 3))
        return tuple(pick(self._draw, (*present, None)) or self._fact() for _ in range(count))

    def _insert(self, deleted: Sequence[Fact]) -> tuple[Fact, ...]:
        count = pick(self._draw, (0, 1, 1, 2, 3))
        return tuple(pick(self._draw, (None, None, None, None, *deleted[:1])) or self._fact() for _ in range(count))

    def _fact(self) -> Fact:
        symbols = vocabulary.stated(self._profile, pick(self._draw, range(6)))
        return draw_fact(self._draw, self._profile, symbols)

    def _remove(self, clauses: Sequence[Clause]) -> tuple[str, ...]:
        count = pick(self._draw, (0, 0, 1, 1, 2)) if clauses else 0
        chosen = dict.fromkeys(pick(self._draw, clauses) for _ in range(count))
        return tuple(clause.name for clause in chosen if clause.name)

    def _add(self, removed: Sequence[str], clauses: Sequence[Clause]) -> tuple[Clause, ...]:
        """New rules under new names, rules from before under their old ones, sometimes one that this change removes."""
        added: dict[str, Clause] = {}
        for _ in range(pick(self._draw, (0, 0, 1, 1, 2))):
            may_return = pick(self._draw, (False, True))
            if self._removed and may_return:
                name = pick(self._draw, list(self._removed))
                added[name] = self._removed[name]
            else:
                new = named(self._draw(rules_of_any_layer(self._profile)), self._names_used + 1)
                self._names_used += len(new)
                added |= {str(clause.name): clause for clause in new}
        self._removed |= {str(clause.name): clause for clause in clauses if clause.name in removed}
        at_once = pick(self._draw, (False,) * 9 + (True,))
        if removed and at_once:
            added[removed[0]] = self._removed[removed[0]]
        for name in added:
            self._removed.pop(name, None)
        return tuple(added.values())


def _facts(fact: Fact) -> FactBlock:
    predicate, row = fact
    return FactBlock(predicate, len(row), [row])


def _text(statement: Statement) -> str:
    return " ".join(line.strip() for line in Printer().statement(statement))
