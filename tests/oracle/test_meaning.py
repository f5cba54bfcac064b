"""What programs mean, feature by feature, as the reference evaluator has it."""

from __future__ import annotations

import pytest

from corollary.diagnostics import ProgramError
from corollary.language import parse_program, parse_query
from tests.oracle import answer, evaluate


def assert_gives(text: str, expected: str) -> None:
    """The predicates that `expected` mentions have exactly the facts that it states."""
    wanted = evaluate(parse_program(expected))
    found = evaluate(parse_program(text))
    assert {name: found.get(name, set()) for name in wanted} == wanted


def assert_gives_nothing(text: str) -> None:
    assert not evaluate(parse_program(text)).get("p")


# -- rules --------------------------------------------------------------------------------------------------------------


def test_a_fact_holds() -> None:
    assert_gives("p(1, a). p(1, a).", "p(1, a).")


def test_a_rule_joins_by_its_shared_variables() -> None:
    assert_gives("e(1, 2). e(2, 3). e(2, 4). p(X, Y) :- e(X, Z), e(Z, Y).", "p(1, 3). p(1, 4).")


def test_recursion_runs_to_the_fixpoint() -> None:
    edges = "e(1, 2). e(2, 3). e(3, 1). e(4, 1)."
    closure = "p(X, Y) :- e(X, Y). p(X, Y) :- p(X, Z), p(Z, Y)."
    reached = " ".join(f"p({x}, {y})." for x in (1, 2, 3, 4) for y in (1, 2, 3))
    assert_gives(f"{edges} {closure}", reached)


def test_a_symmetric_transitive_closure_with_a_guard_has_no_reflexive_pairs() -> None:
    rules = "p(X, Y) :- p(Y, X). p(X, Y) :- p(X, Z), p(Z, Y){}."
    assert_gives("p(1, 2). " + rules.format(", X != Y"), "p(1, 2). p(2, 1).")
    assert_gives("p(1, 2). " + rules.format(""), "p(1, 1). p(1, 2). p(2, 1). p(2, 2).")


def test_the_guard_keeps_reflexive_facts_that_were_stated() -> None:
    assert_gives("p(1, 1). p(1, 2). p(X, Y) :- p(Y, X), X != Y.", "p(1, 1). p(1, 2). p(2, 1).")


def test_mutual_recursion_goes_back_and_forth() -> None:
    text = "n(0). n(1). n(2). n(3). even(0). even(Y) :- odd(X), n(Y), Y = X + 1. odd(Y) :- even(X), n(Y), Y = X + 1."
    assert_gives(text, "even(0). even(2).")
    assert_gives(text, "odd(1). odd(3).")


def test_recursion_through_arithmetic_stops_at_its_bound() -> None:
    assert_gives("p(0). p(X + 1) :- p(X), X < 3.", "p(0). p(1). p(2). p(3).")


def test_stated_and_derived_facts_of_a_predicate_are_one_relation() -> None:
    assert_gives("p(1). q(2). p(X) :- q(X).", "p(1). p(2).")


def test_several_heads_are_several_rules() -> None:
    assert_gives("e(1). p(X), q(X, X) :- e(X).", "p(1). q(1, 1).")


def test_a_constant_in_a_head_is_in_every_fact() -> None:
    assert_gives('e(1). e(2). p(X, "k", true) :- e(X).', 'p(1, "k", true). p(2, "k", true).')


def test_a_constant_in_a_body_selects() -> None:
    assert_gives("e(1, 2). e(2, 3). p(X) :- e(X, 3).", "p(2).")


def test_a_repeated_variable_selects_equal_arguments() -> None:
    assert_gives("e(1, 1). e(1, 2). p(X) :- e(X, X). q(X, X) :- e(X, 2).", "p(1). q(1, 1).")


def test_wildcards_are_variables_of_their_own() -> None:
    assert_gives("e(1, 2, 3). p(X) :- e(X, _, _).", "p(1).")


def test_propositional_atoms_hold_or_not() -> None:
    assert_gives("rain. wet :- rain. dry :- not wet. p :- wet, not dry.", "p. wet.")
    assert_gives_nothing("p :- rain.")


def test_atoms_without_a_shared_variable_make_a_cartesian_product() -> None:
    assert_gives("e(1). e(2). f(a). f(b). p(X, Y) :- e(X), f(Y).", "p(1, a). p(1, b). p(2, a). p(2, b).")


def test_a_rule_without_atoms_holds_when_its_conditions_do() -> None:
    assert_gives("p(X) :- X = 3, 1 < 2.", "p(3).")
    assert_gives_nothing("p(X) :- X = 3, 2 < 1.")


def test_the_order_of_a_body_does_not_matter() -> None:
    assert_gives("e(1). e(2). p(Y) :- not f(Y), Y < 4, Y = X + 1, e(X). f(2).", "p(3).")


# -- negation -----------------------------------------------------------------------------------------------------------


def test_negation_is_absence() -> None:
    assert_gives("e(1). e(2). f(2). p(X) :- e(X), not f(X).", "p(1).")


def test_a_variable_that_occurs_under_one_negation_only_is_existential() -> None:
    assert_gives("d(1). d(2). e(1, 5). p(X) :- d(X), not e(X, Y).", "p(2).")


def test_an_existential_variable_that_is_repeated_has_one_value() -> None:
    assert_gives("e(1, 2). p :- not e(X, X). q :- not e(X, Y).", "p.")
    assert_gives_nothing("e(1, 1). p :- not e(X, X).")


def test_a_wildcard_under_negation_is_existential() -> None:
    assert_gives("d(1). d(2). e(1, 5). p(X) :- d(X), not e(X, _).", "p(2).")


def test_a_predicate_without_facts_is_false() -> None:
    assert_gives("d(1). p(X) :- d(X), not nothing(X).", "p(1).")


def test_a_negated_comparison_is_its_opposite() -> None:
    assert_gives("d(1). d(2). p(X) :- d(X), not X < 2.", "p(2).")


def test_a_negated_comparison_holds_where_its_sides_cannot_be_compared() -> None:
    assert_gives("d(1). d(a). p(X) :- d(X), not X < 2.", "p(a).")
    assert_gives("d(1). d(0). p(X) :- d(X), not 4 div X > 2.", "p(0).")


def test_negation_looks_at_the_finished_relation() -> None:
    assert_gives(
        "e(1, 2). e(2, 3). n(1). n(2). n(3). t(X, Y) :- e(X, Y). t(X, Y) :- t(X, Z), e(Z, Y). p(X) :- n(X), not t(1, X).",
        "p(1).",
    )


def test_rules_that_constants_keep_apart_may_negate_each_other() -> None:
    assert_gives("q(1). q(4). p(3, 4). p(2, ?X) :- q(?X), not p(3, ?X).", "p(2, 1). p(3, 4).")


def test_a_program_that_negates_itself_is_refused() -> None:
    with pytest.raises(ProgramError, match="not stratified"):
        evaluate(parse_program("q(1). r(2). p(?Y, ?X) :- q(?X), r(?Y), not p(3, ?X)."))


# -- arithmetic and comparisons -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 + 2", "9"),
        ("7 - 9", "-2"),
        ("7 * 2", "14"),
        ("6 / 3", "2"),
        ("7 / 2", "3.5"),
        ("1 / 3", "0.333333333333333333"),
        ("7 div 2", "3"),
        ("-7 div 2", "-3"),
        ("7 % 2", "1"),
        ("-7 % 2", "-1"),
        ("7 % -2", "1"),
        ("7.5 div 2", "3"),
        ("7.5 % 2", "1.5"),
        ("0.1 + 0.2", "0.3"),
        ("1.5 + 1.5", "3"),
        ("1 + 1.0e0", "2.0e0"),
        ("1.0e0 / 0", '"INF"^^xsd:double'),
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("10 - 4 - 3", "3"),
        ("-(2 + 3)", "-5"),
        ("abs(2 - 5)", "3"),
        ("round(2.5)", "3"),
        ("concat(a, b)", '"ab"'),
        ("length(abc)", "3"),
    ],
)
def test_an_expression_has_one_exact_value(expression: str, value: str) -> None:
    assert_gives(f"p(X) :- X = {expression}.", f"p({value}).")


@pytest.mark.parametrize(
    "expression", ["1 / 0", "1 div 0", "1 % 0", "a + 1", "true + 1", "<a> * 2", "-(a)", "abs(a)", "length(5)"]
)
def test_an_expression_without_a_value_discards_the_instance(expression: str) -> None:
    assert_gives_nothing(f"e(1). p(X) :- e(X), Y = {expression}.")
    assert_gives_nothing(f"e(1). p(Y) :- e(X), BIND({expression} AS Y).")
    assert_gives_nothing(f"e(1). p({expression}) :- e(X).")
    assert_gives_nothing(f"e(1). p(X) :- e(X), {expression} != 7.")


def test_only_the_instance_without_a_value_is_discarded() -> None:
    assert_gives("e(0). e(a). e(4). p(X, 8 div X) :- e(X).", "p(4, 2).")


def test_an_argument_of_a_body_atom_may_be_computed() -> None:
    assert_gives("e(1). e(2). e(4). p(X) :- e(X), e(X * 2).", "p(1). p(2).")
    assert_gives("e(1). e(2). p(X) :- e(X), not e(X + 1).", "p(2).")


def test_bind_gives_a_value_and_joins_by_identity_where_there_is_one() -> None:
    assert_gives("e(1, 2). e(1, 3). p(X, Y) :- e(X, Y), BIND(X + 1 AS Y).", "p(1, 2).")
    assert_gives_nothing("e(1, 2.0e0). p(X, Y) :- e(X, Y), BIND(X + 1 AS Y).")


def test_an_integer_and_the_decimal_of_its_value_are_one_constant() -> None:
    assert_gives("e(1). f(1.0). p(X) :- e(X), f(X).", "p(1).")


def test_a_double_is_another_constant_than_the_integer_of_its_value() -> None:
    assert_gives_nothing("e(1). f(1.0e0). p(X) :- e(X), f(X).")


def test_equality_compares_numbers_by_value_across_types() -> None:
    assert_gives("e(1). f(1.0e0). f(2.0e0). p(X, Y) :- e(X), f(Y), X = Y.", "p(1, 1.0e0).")
    assert_gives_nothing("e(1). f(1.0e0). p(X, Y) :- e(X), f(Y), X != Y.")


def test_equality_gives_the_very_constant_to_a_variable_that_nothing_else_limits() -> None:
    assert_gives("e(1.0e0). p(Y) :- e(X), Y = X.", "p(1.0e0).")


def test_true_is_not_one() -> None:
    assert_gives_nothing("e(1). f(true). p(X) :- e(X), f(X).")
    assert_gives_nothing("e(1). f(true). p(X) :- e(X), f(Y), X = Y.")
    assert_gives_nothing('e(1). e("1"). p(X) :- e(X), X = true.')


def test_a_string_is_not_the_iri_of_its_characters() -> None:
    assert_gives_nothing('e("a"). f(<a>). p(X) :- e(X), f(Y), X = Y.')


@pytest.mark.parametrize("condition", ['"a" < 1', '1 < "a"', "1 >= true", '<a> <= "a"', "true > a"])
def test_an_order_between_types_discards_the_instance(condition: str) -> None:
    assert_gives_nothing(f"p :- {condition}.")


@pytest.mark.parametrize(
    "condition", ['"a" != 1', "true != 1", '<a> != "a"', "a != b", "1 != 2.0e0", "1 < 1.5", "a < b"]
)
def test_inequality_holds_across_types_and_order_within_one(condition: str) -> None:
    assert_gives(f"p :- {condition}.", "p.")


def test_comp_and_bind_are_forms_of_comparison_and_equality() -> None:
    assert_gives("e(1). e(5). p(X, D) :- e(X), COMP(X, >=, 3), BIND(X - 3 AS D).", "p(5, 2).")


# -- aggregates ---------------------------------------------------------------------------------------------------------

SALES = "s(a, 1). s(a, 2). s(a, 6). s(b, 4)."


@pytest.mark.parametrize(
    ("aggregate", "of_a", "of_b"),
    [
        ("count", "3", "1"),
        ("sum", "9", "4"),
        ("min", "1", "4"),
        ("max", "6", "4"),
        ("avg", "3.0e0", "4.0e0"),
        ("median", "2", "4"),
        ("med", "2", "4"),
    ],
)
def test_an_aggregate_in_a_head_and_in_a_body_mean_the_same(aggregate: str, of_a: str, of_b: str) -> None:
    expected = f"p(a, {of_a}). p(b, {of_b})."
    assert_gives(f"{SALES} p(X, {aggregate}(Y)) :- s(X, Y).", expected)
    assert_gives(f"{SALES} p(X, N) :- AGGREGATE(s(X, Y)) ON X WITH {aggregate}(Y) AS N.", expected)


def test_an_aggregate_ranges_over_the_bindings_not_over_the_values() -> None:
    text = "s(a, x, 2). s(a, y, 2)."
    assert_gives(f"{text} p(X, count(N), sum(N)) :- s(X, I, N).", "p(a, 2, 4).")
    assert_gives(f"{text} p(X, count(distinct N), sum(distinct N)) :- s(X, I, N).", "p(a, 1, 2).")


def test_a_wildcard_does_not_multiply_an_aggregate() -> None:
    assert_gives("s(a, x, 2). s(a, y, 2). p(X, count(N), sum(N)) :- s(X, _, N).", "p(a, 1, 2).")


def test_a_joined_variable_multiplies_an_aggregate() -> None:
    assert_gives("e(1). e(2). f(a). f(b). f(c). p(sum(X)) :- e(X), f(Y).", "p(9).")


def test_the_median_of_an_even_count_is_the_exact_mean_of_the_middle_two() -> None:
    assert_gives("e(1). e(2). e(4). e(9). p(median(X)) :- e(X).", "p(3).")
    assert_gives("e(1). e(2). p(median(X)) :- e(X).", "p(1.5).")
    assert_gives("e(1). e(2.0e0). p(median(X)) :- e(X).", "p(1.5e0).")


def test_the_average_is_a_double() -> None:
    assert_gives("e(1). e(2). p(avg(X)) :- e(X).", "p(1.5e0).")


def test_a_sum_is_exact_until_a_double_joins() -> None:
    assert_gives("e(0.1). e(0.2). p(sum(X)) :- e(X).", "p(0.3).")
    assert_gives("e(1). e(0.5e0). p(sum(X)) :- e(X).", "p(1.5e0).")


def test_of_equal_numbers_the_least_and_the_greatest_is_the_exact_one() -> None:
    assert_gives("e(1.0e0). e(1). p(min(X), max(X)) :- e(X).", "p(1, 1).")


def test_least_and_greatest_are_defined_on_strings_too() -> None:
    assert_gives("e(b). e(a). p(min(X), max(X)) :- e(X).", "p(a, b).")


def test_an_empty_group_gives_no_fact() -> None:
    assert_gives_nothing("p(count(X)) :- e(X).")
    assert_gives_nothing("p(N) :- AGGREGATE(e(X)) WITH SUM(X) AS N.")
    assert_gives("d(1). d(2). e(1, 5). p(X, N) :- d(X), AGGREGATE(e(X, Y)) ON X WITH COUNT(Y) AS N.", "p(1, 1).")


def test_a_group_of_values_that_an_aggregate_cannot_take_gives_no_fact() -> None:
    assert_gives("s(a, 1). s(a, x). s(b, 2). p(X, sum(Y)) :- s(X, Y).", "p(b, 2).")
    assert_gives("s(a, 1). s(a, x). s(b, 2). p(X, max(Y)) :- s(X, Y).", "p(b, 2).")
    assert_gives("s(a, 1). s(a, x). p(X, count(Y)) :- s(X, Y).", "p(a, 2).")


def test_an_aggregated_expression_without_a_value_discards_its_binding() -> None:
    assert_gives("e(0). e(2). p(count(4 / X), count(X)) :- e(X).", "p(1, 1).")


def test_an_aggregate_stands_at_any_place_of_a_head_and_more_than_once() -> None:
    assert_gives(f"{SALES} p(max(Y), X, min(Y)) :- s(X, Y).", "p(6, a, 1). p(4, b, 4).")


def test_groups_are_the_values_of_the_other_arguments() -> None:
    assert_gives("e(1). e(2). e(3). p(X % 2, count(X)) :- e(X).", "p(0, 1). p(1, 2).")
    assert_gives("e(1). e(2). p(k, count(X)) :- e(X).", "p(k, 2).")


def test_an_aggregation_without_groups_ranges_over_everything() -> None:
    assert_gives(f"{SALES} p(N) :- AGGREGATE(s(X, Y)) WITH COUNT(Y) AS N.", "p(4).")


def test_an_aggregation_joins_the_rest_of_the_body() -> None:
    assert_gives(f"{SALES} d(b). p(X, N) :- d(X), AGGREGATE(s(X, Y)) ON X WITH MAX(Y) AS N.", "p(b, 4).")
    assert_gives(f"{SALES} p(X, N) :- s(X, N), AGGREGATE(s(X, Y)) ON X WITH MAX(Y) AS N.", "p(a, 6). p(b, 4).")


def test_an_aggregation_may_hold_negations_and_comparisons() -> None:
    text = f"{SALES} bad(2). p(X, N) :- AGGREGATE(s(X, Y), not bad(Y), Y < 6) ON X WITH COUNT(Y) AS N."
    assert_gives(text, "p(a, 1). p(b, 1).")


def test_several_aggregation_rules_may_share_a_predicate() -> None:
    assert_gives(f"{SALES} p(X, min(Y)) :- s(X, Y). p(X, max(Y)) :- s(X, Y).", "p(a, 1). p(a, 6). p(b, 4).")


def test_an_aggregate_of_an_aggregate_needs_a_predicate_in_between() -> None:
    assert_gives(f"{SALES} n(X, count(Y)) :- s(X, Y). p(max(N)) :- n(X, N).", "p(3).")


# -- results ------------------------------------------------------------------------------------------------------------


def test_every_predicate_of_the_program_has_its_relation_even_an_empty_one() -> None:
    assert evaluate(parse_program("e(1). p(X) :- e(X), X > 1.")).keys() == {"e", "p"}


def test_a_query_is_answered_with_its_variables_in_order_of_appearance() -> None:
    facts = evaluate(parse_program("e(1, 2). e(2, 3). e(3, 1)."))
    query = parse_query("e(X, Y), not e(Y, 3), Y < 3")
    assert {tuple(constant.value for constant in row) for row in answer(query, facts)} == {(3, 1)}


def test_a_ground_query_has_one_empty_answer_or_none() -> None:
    facts = evaluate(parse_program("e(1, 2)."))
    assert answer(parse_query("e(1, 2)"), facts) == {()}
    assert answer(parse_query("e(2, 1)"), facts) == set()


def test_an_unsafe_program_is_refused() -> None:
    with pytest.raises(ProgramError, match="not bound"):
        evaluate(parse_program("e(1). p(X, Y) :- e(X)."))


def test_a_program_that_grows_without_end_stops_at_the_limit() -> None:
    with pytest.raises(ProgramError, match="more than 100 facts"):
        evaluate(parse_program("p(0). p(X + 1) :- p(X)."), max_facts=100)
