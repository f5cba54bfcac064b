"""The generator itself: it reaches every feature, keeps its promises and shrinks to readable examples."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis.vendor.pretty import pretty

from corollary.analysis import analyse
from corollary.language import parse, print_program
from corollary.program import Clause, Program, atoms_of
from tests.budgets import examples
from tests.generator import (
    CLINGO,
    EVERYTHING,
    INTEGERS,
    POSITIVE,
    PURE,
    Change,
    Profile,
    Scenario,
    apply_change,
    programs,
    scenarios,
)
from tests.generator.features import program_features, scenario_features
from tests.generator.vocabulary import LOCAL, SYMBOLS
from tests.oracle import evaluate

FUNCTIONS = ("count", "sum", "min", "max", "avg", "median")
PROGRAM_FEATURES = {
    *("left-linear recursion", "right-linear recursion", "nonlinear recursion", "mutual recursion", "symmetry"),
    *("transitivity", "transitivity with a guard", "transitivity with conditions", "arithmetic through recursion"),
    *("a transitive closure among other rules", "a symmetric-transitive closure among other rules"),
    "several closures in one hyper-node",
    *("a negated atom", "a negated comparison", "an existential variable under negation", "a wildcard under negation"),
    *("arithmetic under negation", "local stratification", "a negation before what limits its variables"),
    *(f"{function} in a head" for function in FUNCTIONS),
    *(f"{function} in AGGREGATE" for function in FUNCTIONS),
    *("a distinct aggregate", "two aggregates in a head", "two AGGREGATEs in a body", "an AGGREGATE without groups"),
    *("a negation in AGGREGATE", "an aggregate of an expression"),
    *(f"the operator {operator}" for operator in ("+", "-", "*", "/", "div", "%")),
    *(f"the comparison {operator}" for operator in ("=", "!=", "<", "<=", ">", ">=")),
    *("BIND", "a minus", "a function", "arithmetic in a head", "arithmetic in an atom"),
    *("a constant in a head", "a constant in a body", "a constant that is no number", "a wildcard in a body"),
    *("a repeated variable", "a cartesian product", "a rule without atoms", "an empty relation"),
    *("a predicate of facts and rules", "several rules for one predicate"),
    *(f"a head of arity {arity}" for arity in range(4)),
    *(f"a fact of arity {arity}" for arity in range(4)),
    *(f"a fact with a value of type {name}" for name in ("int", "Decimal", "float", "bool", "str", "Iri", "Literal")),
}
SCRIPT_FEATURES = {
    *("a fact is inserted", "a fact is inserted again", "a fact is deleted", "a fact that is not there is deleted"),
    *("a fact is inserted and deleted at once", "facts and rules change at once"),
    *("a fact of a derived predicate is inserted", "a fact of a derived predicate is deleted"),
    *("a rule is added", "a rule is removed", "a removed rule comes back", "a rule is removed and added at once"),
}
SMALL = EVERYTHING.but(max_facts=4, max_groups=2, max_changes=1)
LAYERS = {symbol.predicate: layer for layer, symbols in enumerate(SYMBOLS) for symbol in symbols}


def layer_of(predicate: str, arguments: tuple[object, ...]) -> int:
    local = {symbol.atom(()).arguments[0]: layer for layer, symbol in LOCAL.items()}
    return local[arguments[0]] if predicate == "l" else LAYERS[predicate]  # type: ignore[index]


def test_every_feature_comes_up_in_a_few_hundred_examples() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=600, derandomize=True, database=None, phases=[Phase.generate])
    @given(scenarios())
    def collect(scenario: Scenario) -> None:
        seen.update(program_features(scenario.program) | scenario_features(scenario))

    collect()
    assert {feature: seen[feature] for feature in PROGRAM_FEATURES | SCRIPT_FEATURES if seen[feature] < 3} == {}
    assert set(seen) - PROGRAM_FEATURES - SCRIPT_FEATURES == set()


@given(programs())
def test_a_printed_program_parses_to_the_same_program(program: Program) -> None:
    parsed = parse(print_program(program))
    assert not parsed.errors
    assert parsed.program == program == Program.of(program.statements)


@given(scenarios())
def test_every_state_of_a_scenario_is_safe_and_stratified(scenario: Scenario) -> None:
    for program in scenario.programs():
        assert not analyse(program).errors


@given(scenarios())
def test_rules_negate_and_aggregate_layers_below_only(scenario: Scenario) -> None:
    for rule in (rule for program in scenario.programs() for rule in program.rules):
        layer = layer_of(rule.head.predicate, rule.head.arguments)
        for atom, kind in atoms_of(rule.body):
            strict = kind != "positive" or rule.has_head_aggregate
            assert layer_of(atom.predicate, atom.arguments) <= layer - strict


@given(scenarios())
def test_every_rule_has_a_name_of_its_own(scenario: Scenario) -> None:
    for program in scenario.programs():
        names = [clause.name for clause in program.of_type(Clause)]
        assert None not in names
        assert len(names) == len(set(names))


@given(programs())
def test_programs_terminate_with_few_facts(program: Program) -> None:
    evaluate(program, max_facts=5_000)


@pytest.mark.parametrize(
    ("profile", "excluded"),
    [
        (
            INTEGERS,
            {"a fact with a value of type float", "a fact with a value of type str", "a constant that is no number"},
        ),
        (POSITIVE, {"a negated atom", "a negated comparison", "count in a head", "count in AGGREGATE"}),
        (PURE, {"BIND", "the comparison =", "the comparison !=", "the operator +", "a negated atom"}),
        (CLINGO, {"the operator /", "avg in a head", "median in AGGREGATE", "a fact with a value of type Decimal"}),
        (EVERYTHING.but(recursion=False), {"symmetry", "nonlinear recursion", "mutual recursion"}),
        (EVERYTHING.but(local_stratification=False), {"local stratification"}),
        (EVERYTHING.but(fact_changes=False), {"a fact is inserted", "a fact is deleted"}),
        (EVERYTHING.but(rule_changes=False), {"a rule is added", "a rule is removed"}),
    ],
    ids=["integers", "positive", "pure", "clingo", "no recursion", "no local stratification", "no facts", "no rules"],
)
def test_a_profile_takes_features_away(profile: Profile, excluded: set[str]) -> None:
    assert excluded < PROGRAM_FEATURES | SCRIPT_FEATURES

    @settings(max_examples=examples(50))
    @given(scenarios(profile))
    def check(scenario: Scenario) -> None:
        assert not (program_features(scenario.program) | scenario_features(scenario)) & excluded

    check()


def test_an_example_shrinks_to_the_rule_and_the_facts_that_matter() -> None:
    def transitivity_matters(program: Program) -> bool:
        """As if an engine had forgotten transitive rules: what the shrinker has to find is a program that needs one."""
        transitive = [clause.name for clause in program.of_type(Clause) if is_transitive(clause)]
        without = apply_change(program, Change(remove_rules=tuple(name for name in transitive if name)))
        return evaluate(program).get("p2", set()) != evaluate(without).get("p2", set())

    small = PURE.but(max_facts=4, max_groups=2)
    smallest = find(
        programs(small), transitivity_matters, random=Random(0), settings=settings(database=None, max_examples=1_000)
    )
    assert len(smallest.rules) <= 3
    assert sum(len(block.rows) for block in smallest.facts) <= 2


def is_transitive(clause: Clause) -> bool:
    return "transitivity" in program_features(Program((clause,)))


def test_a_failing_example_is_shown_as_a_program_with_its_changes_as_comments() -> None:
    smallest = find(scenarios(SMALL), lambda scenario: bool(scenario.changes[0].remove_rules))
    text = pretty(smallest)
    assert text.splitlines()[-2:] == ["// change 1", f"// remove {smallest.changes[0].remove_rules[0]}"]
    assert parse(text).program == smallest.program
