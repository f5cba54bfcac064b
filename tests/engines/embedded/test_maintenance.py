"""After every change the maintained state is what the oracle derives from scratch, and the reported difference is exact."""

from __future__ import annotations

from hypothesis import given, settings

from corollary import KnowledgeBase
from corollary.program import Constant, Program
from corollary.reference import Fact, evaluate
from corollary.transactions import Change as Changes
from corollary.transactions import TransactionResult
from tests.generator import EVERYTHING, POSITIVE, Change, Scenario, scenarios

State = dict[str, set[Fact]]


def visible(kb: KnowledgeBase) -> State:
    found: State = {}
    for predicate in kb.predicates():
        rows = [tuple(map(Constant, row)) for row in kb.facts(predicate).constants()]
        assert len(rows) == len(set(rows)) == kb.count(predicate), f"{predicate} has duplicates"
        if rows:
            found[predicate] = set(rows)
    return found


def expected(program: Program) -> State:
    return {predicate: facts for predicate, facts in evaluate(program).items() if facts}


def apply(kb: KnowledgeBase, change: Change) -> TransactionResult:
    insert: dict[str, list] = {}
    delete: dict[str, list] = {}
    for target, facts in ((insert, change.insert), (delete, change.delete)):
        for predicate, row in facts:
            target.setdefault(predicate, []).append(row)
    return kb.apply(Changes(insert, delete, (Program(change.add_rules),) if change.add_rules else (), change.remove_rules))


def difference(result: TransactionResult) -> tuple[State, State]:
    inserted, deleted = (
        {name: {tuple(map(Constant, row)) for row in facts[name].constants()} for name in facts}
        for facts in (result.inserted, result.deleted)
    )
    return inserted, deleted


def minus(left: State, right: State) -> State:
    found = {name: facts - right.get(name, set()) for name, facts in left.items()}
    return {name: facts for name, facts in found.items() if facts}


def follow(scenario: Scenario) -> None:
    program, *later = scenario.programs()
    kb = KnowledgeBase(program)
    before = visible(kb)
    assert before == expected(program)
    for change, after_change in zip(scenario.changes, later, strict=True):
        result = apply(kb, change)
        after = expected(after_change)
        assert visible(kb) == after
        assert difference(result) == (minus(after, before), minus(before, after))
        before = after


@settings(max_examples=500)
@given(scenarios(EVERYTHING))
def test_every_change_gives_the_facts_of_the_oracle(scenario: Scenario) -> None:
    follow(scenario)


@settings(max_examples=200)
@given(scenarios(POSITIVE))
def test_recursive_programs_follow_every_change(scenario: Scenario) -> None:
    follow(scenario)
