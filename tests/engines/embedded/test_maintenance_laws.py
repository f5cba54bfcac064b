"""Laws that hold whatever the program: orders do not matter, batches are their steps, and undoing leaves no trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.program import Clause, Program, Variable
from corollary.program.rewrite import rename_element, rewrite_atom
from corollary.settings import OPTIMISATIONS, STRATEGIES
from tests.budgets import examples
from tests.engine_suite.scripts import apply, difference, follow, minus, visible
from tests.engines.embedded.scenarios import owner_name, support
from tests.generator import EVERYTHING, INTEGERS, Change, Scenario, apply_change, facts_of, program_of, scenarios

LOGIC = INTEGERS.but(comparisons=False, arithmetic=False)  # which equality gives a value does depend on the order
SMALL = {"max_facts": 10, "max_groups": 4, "max_changes": 3}


def clauses_of(program: Program) -> dict[str | None, Clause]:
    return {clause.name: clause for clause in program.of_type(Clause)}


def net_change(before: Program, after: Program) -> Change:
    """One change that leads from one program to another."""
    old, new = facts_of(before), facts_of(after)
    old_rules, new_rules = clauses_of(before), clauses_of(after)
    return Change(
        insert=tuple(new[key] for key in new.keys() - old.keys()),
        delete=tuple(old[key] for key in old.keys() - new.keys()),
        add_rules=tuple(new_rules[name] for name in new_rules.keys() - old_rules.keys()),
        remove_rules=tuple(str(name) for name in old_rules.keys() - new_rules.keys()),
    )


@settings(max_examples=examples(200))
@given(scenarios(EVERYTHING.but(**SMALL)), st.sampled_from(STRATEGIES))
def test_one_batch_is_the_same_changes_step_by_step(scenario: Scenario, strategy: str) -> None:
    first, *_, last = scenario.programs()
    stepwise, batch = (KnowledgeBase(first, strategy=strategy) for _ in range(2))
    before = visible(batch)
    for change in scenario.changes:
        apply(stepwise, change)
    result = apply(batch, net_change(first, last))
    after = visible(stepwise)
    assert visible(batch) == after
    assert difference(result) == (minus(after, before), minus(before, after))


@settings(max_examples=examples(200))
@given(scenarios(EVERYTHING.but(**SMALL)), st.sampled_from(STRATEGIES))
def test_a_change_that_is_undone_leaves_no_trace(scenario: Scenario, strategy: str) -> None:
    kb = KnowledgeBase(scenario.program, strategy=strategy)
    facts, counts = visible(kb), support(kb)
    recursive = {owner_name(node) for node in kb.analysis.graph.hyper_nodes if kb.analysis.graph.is_recursive(node)}
    after = apply_change(scenario.program, scenario.changes[0])
    there = apply(kb, net_change(scenario.program, after))
    back = apply(kb, net_change(after, scenario.program))
    assert visible(kb) == facts
    assert difference(there) == difference(back)[::-1]
    if strategy == "dred-counting":
        recursive = set()
    assert {key: found for key, found in support(kb).items() if key[1] not in recursive} == {
        key: found for key, found in counts.items() if key[1] not in recursive
    }


@settings(max_examples=examples(80))
@given(scenarios(LOGIC.but(**SMALL)), st.sampled_from(STRATEGIES), st.randoms(use_true_random=False))
def test_the_order_of_rules_and_bodies_does_not_matter(scenario: Scenario, strategy: str, random) -> None:
    def shuffled(clauses: list[Clause]) -> list[Clause]:
        found = [
            Clause(clause.heads, tuple(random.sample(clause.body, len(clause.body))), clause.name) for clause in clauses
        ]
        return random.sample(found, len(found))

    program = scenario.program
    other = program_of(facts_of(program).values(), shuffled(list(program.of_type(Clause))), facts_first=False)
    one, two = KnowledgeBase(program, strategy=strategy), KnowledgeBase(other, strategy=strategy)
    for change in scenario.changes:
        apply(one, change)
        apply(
            two,
            Change(
                change.insert[::-1], change.delete[::-1], tuple(shuffled(list(change.add_rules))), change.remove_rules
            ),
        )
        assert visible(one) == visible(two)


@settings(max_examples=examples(100))
@given(scenarios(EVERYTHING.but(**SMALL)), st.sampled_from(STRATEGIES))
def test_the_names_of_variables_do_not_matter(scenario: Scenario, strategy: str) -> None:
    def by(variable: Variable) -> Variable:
        return Variable(f"Z{variable.name[::-1]}")  # in another order than before, too

    def renamed(clauses: Iterable[Clause]) -> tuple[Clause, ...]:
        return tuple(
            Clause(
                tuple(rewrite_atom(head, by) for head in clause.heads),
                tuple(rename_element(element, by) for element in clause.body),
                clause.name,
            )
            for clause in clauses
        )

    program = scenario.program
    other = program_of(facts_of(program).values(), renamed(program.of_type(Clause)))
    one, two = KnowledgeBase(program, strategy=strategy), KnowledgeBase(other, strategy=strategy)
    for change in scenario.changes:
        apply(one, change)
        apply(two, replace(change, add_rules=renamed(change.add_rules)))
        assert visible(one) == visible(two)


@settings(max_examples=examples(150))
@given(
    scenarios(EVERYTHING.but(**SMALL)),
    st.sampled_from(STRATEGIES),
    st.sets(st.sampled_from(sorted(OPTIMISATIONS)), min_size=1),
)
def test_optimisations_can_be_left_out(scenario: Scenario, strategy: str, without: set[str]) -> None:
    follow(scenario, strategy=strategy, without=without)
