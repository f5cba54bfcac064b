"""States of a program, one after the other: a knowledge base follows them, and an oracle says what each one means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from corollary import Change, KnowledgeBase
from corollary.language import parse_program
from corollary.program import Constant, Program

Facts = Mapping[str, set[tuple[Constant, ...]]]
Oracle = Callable[[Program], Facts]


@dataclass(frozen=True)
class State:
    """Facts as texts without a full stop, and rules by name."""

    facts: tuple[str, ...]
    rules: Mapping[str, str]

    @property
    def text(self) -> str:
        stated = [f"{fact}." for fact in self.facts]
        return "\n".join([*stated, *(f"{name}: {rule}." for name, rule in self.rules.items())])


def states(facts: Sequence[str], rules: Sequence[str], count: int = 4) -> st.SearchStrategy[list[State]]:
    """Some of the facts and rules at a time; most stay from one state to the next."""
    names = {f"r{number}": rule for number, rule in enumerate(rules, 1)}
    chosen_facts = st.lists(st.sampled_from(facts), unique=True, max_size=len(facts))
    chosen_rules = st.lists(st.sampled_from(sorted(names)), unique=True, max_size=2)
    some_facts = st.lists(st.sampled_from(facts), unique=True, max_size=3)
    flips = st.lists(st.tuples(some_facts, chosen_rules), min_size=1, max_size=count)

    def follow(start: list[str], changes: list[tuple[list[str], list[str]]]) -> list[State]:
        now, there = set(start), dict(names)
        found = [State(tuple(sorted(now)), dict(there))]
        for number, (flipped, switched) in enumerate(changes):
            now ^= set(flipped)
            for name in switched if number % 2 else ():
                if name in there:
                    del there[name]
                else:
                    there[name] = names[name]
            found.append(State(tuple(sorted(now)), dict(there)))
        return found

    return st.builds(follow, chosen_facts, flips)


def follow(given: Sequence[State], oracle: Oracle, **settings: Any) -> None:
    """Every state, and every difference between two of them, is what the oracle says."""
    first = given[0]
    expected = oracle(parse_program(first.text))
    kb = KnowledgeBase(first.text, **settings)
    assert_facts(kb, expected, first.text)
    for before, after in pairwise(given):
        result = kb.apply(change(before, after))
        wanted = oracle(parse_program(after.text))
        for name in expected.keys() | wanted.keys():
            old, new = expected.get(name, set()), wanted.get(name, set())
            context = f"{name} from\n{before.text}\nto\n{after.text}"
            assert rows(result.inserted[name]) == new - old, context
            assert rows(result.deleted[name]) == old - new, context
        expected = wanted
        assert_facts(kb, expected, after.text)


def change(before: State, after: State) -> Change:
    return Change(
        insert=_by_predicate(set(after.facts) - set(before.facts)),
        delete=_by_predicate(set(before.facts) - set(after.facts)),
        add_rules=tuple(f"{name}: {rule}." for name, rule in after.rules.items() if name not in before.rules),
        remove_rules=tuple(name for name in before.rules if name not in after.rules),
    )


def _by_predicate(facts: set[str]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for fact in sorted(facts):
        for block in parse_program(f"{fact}.").facts:
            found.setdefault(block.predicate, []).extend(block.rows)
    return found


def assert_facts(kb: KnowledgeBase, expected: Facts, text: str) -> None:
    for name, facts in expected.items():
        assert rows(kb.facts(name)) == facts, f"{name} of\n{text}"


def rows(result: Any) -> set[tuple[Constant, ...]]:
    return {tuple(map(Constant, row)) for row in result.constants()}
