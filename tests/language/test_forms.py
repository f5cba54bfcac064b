"""COMP, BIND, AGGREGATE, aggregates in heads, and comparisons in any position."""

import pytest

from corollary.program import (
    AggregateOperation,
    AggregateTerm,
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    Comparison,
    Constant,
    FunctionTerm,
    Negation,
    Variable,
)
from tests.language.helpers import body, clause, codes, element, same, term

X, Y, N, T = Variable("X"), Variable("Y"), Variable("N"), Variable("T")


def test_comp_is_the_comparison_of_its_sides() -> None:
    assert same("h :- p(X), COMP(X, >=, 3).", "h :- p(X), X >= 3.")
    assert element("COMP(X + 1, <, Y * 2)") == Comparison("<", term("X + 1"), term("Y * 2"))
    assert element("not COMP(X, =, Y)") == Negation(Comparison("=", X, Y))


def test_bind_gives_a_variable_the_value_of_an_expression() -> None:
    difference = FunctionTerm("abs", (Arithmetic("-", T, N),))
    assert element("BIND(abs(T - N) AS D)") == Assignment(difference, Variable("D"))
    assert element("bind(abs(T-N) as ?D)") == Assignment(difference, Variable("D"))


@pytest.mark.parametrize(
    "text", ["X + 1 = Y", "Y = X + 1", "X * 2 < Y", "D = abs(T - M)", "X = Y", "1 < 2", "a = b", "-X < -(Y)"]
)
def test_comparisons_and_arithmetic_stand_on_either_side(text: str) -> None:
    assert isinstance(element(text), Comparison)


@pytest.mark.parametrize("text", ["p(X + 1)", "p(X, 2 * Y)", "p(abs(X))", "p(-X)", "p(f(X + 1), [X * 2])"])
def test_arithmetic_stands_in_arguments(text: str) -> None:
    assert isinstance(element(text), Atom)
    assert isinstance(clause(f"{text} :- q(X, Y).").heads[0], Atom)


def test_aggregate_has_a_body_groups_an_operation_and_a_result() -> None:
    found = element("AGGREGATE(near(X, Y) and temp(Y, T)) ON X WITH MED(T) AS N")
    assert found == Aggregation(
        (Atom("near", (X, Y)), Atom("temp", (Y, T))), (X,), (AggregateOperation("median", T, N),)
    )


def test_aggregate_groups_by_several_variables_or_by_none() -> None:
    assert element("AGGREGATE(p(X, Y, T)) ON X, Y WITH SUM(T) AS N").group_by == (X, Y)  # type: ignore[union-attr]
    assert element("AGGREGATE(p(X, Y, T)) ON ?X, ?Y WITH SUM(?T) AS ?N").group_by == (X, Y)  # type: ignore[union-attr]
    assert element("AGGREGATE(p(X, Y, T)) WITH SUM(T) AS N").group_by == ()  # type: ignore[union-attr]


def test_aggregate_stands_among_other_elements() -> None:
    found = body("q(X), AGGREGATE(p(X, Y)) ON X WITH COUNT(Y) AS N, N > 1")
    assert [type(one) for one in found] == [Atom, Aggregation, Comparison]


def test_the_body_of_aggregate_takes_everything_that_a_body_takes() -> None:
    found = element("AGGREGATE(p(X, T), not q(X), T > 5, BIND(T * 2 AS U)) ON X WITH MAX(U) AS N")
    assert [type(one) for one in found.body] == [Atom, Negation, Comparison, Assignment]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("count", "count"),
        ("SUM", "sum"),
        ("Min", "min"),
        ("max", "max"),
        ("AVG", "avg"),
        ("med", "median"),
        ("Median", "median"),
    ],
)
def test_aggregates_have_these_names_in_both_forms(name: str, function: str) -> None:
    assert clause(f"p(X, {name}(T)) :- q(X, T).").heads[0].arguments[1] == AggregateTerm(function, T)
    found = element(f"AGGREGATE(q(X, T)) ON X WITH {name}(T) AS N")
    assert found.operations == (AggregateOperation(function, T, N),)  # type: ignore[union-attr]


def test_aggregates_range_over_distinct_values_on_request() -> None:
    assert clause("p(count(distinct T)) :- q(T).").heads[0].arguments[0] == AggregateTerm("count", T, distinct=True)
    found = element("AGGREGATE(q(X, T)) ON X WITH SUM(DISTINCT T) AS N")
    assert found.operations == (AggregateOperation("sum", T, N, distinct=True),)  # type: ignore[union-attr]


def test_one_head_takes_several_aggregates_of_expressions() -> None:
    arguments = clause("p(X, count(T), max(T * 2), X + 1) :- q(X, T).").heads[0].arguments
    assert [type(argument) for argument in arguments] == [Variable, AggregateTerm, AggregateTerm, Arithmetic]


def test_the_name_of_an_aggregate_in_a_head_argument_is_the_aggregate() -> None:
    assert clause("p(X, count(T)) :- q(X, T).").heads[0].arguments[1] == AggregateTerm("count", T)
    assert clause("p(X, counts(T)) :- q(X, T).").heads[0].arguments[1] == FunctionTerm("counts", (T,))
    assert clause("count(X) :- q(X).").heads[0] == Atom("count", (X,))


@pytest.mark.parametrize(
    "text", ["p(X) :- q(X, count(Y)).", "p(N) :- q(X), N = sum(X).", "p(f(count(X))) :- q(X).", "?- q(max(X))."]
)
def test_an_aggregate_elsewhere_is_an_error(text: str) -> None:
    assert codes(text) == ["E118"]


@pytest.mark.parametrize(
    "text",
    [
        "h :- COMP(X, >).",
        "h :- COMP(>, X, Y).",
        "h :- COMP(X, >, Y, Z).",
        "h :- BIND(X AS Y, Z).",
        "h :- AGGREGATE(p(X)).",
        "h :- AGGREGATE(p(X)) ON X WITH FOO(X) AS N.",
        "h :- OTHER(p(X)) ON X WITH COUNT(X) AS N.",
        "h :- not AGGREGATE(p(X)) WITH COUNT(X) AS N.",
        "h :- not BIND(1 AS X).",
        "h :- not not p(X).",
        "COMP(X, >, Y) :- p(X, Y).",
        "BIND(X AS Y) :- p(X, Y).",
    ],
)
def test_a_form_that_is_not_written_as_it_should_be_is_an_error(text: str) -> None:
    assert codes(text) == ["E117"]


@pytest.mark.parametrize(
    "text", ["not p(X) :- q(X).", "X < 5 :- q(X).", "p(X), X > 1 :- q(X).", "AGGREGATE(p(X)) WITH COUNT(X) AS N :- q."]
)
def test_only_atoms_stand_in_heads(text: str) -> None:
    assert codes(text) == ["E116"]


@pytest.mark.parametrize(
    "text", ["h :- 5.", "h :- X + 1.", "h :- [a].", 'h :- "a".', "h :- ?X.", "h :- _.", "5 :- q.", "h :- p(X < 1)."]
)
def test_a_term_where_an_atom_belongs_is_an_error(text: str) -> None:
    assert codes(text) == ["E115"]


def test_a_built_in_function_takes_its_number_of_arguments() -> None:
    assert codes("h :- p(X), X = abs(X, 1).") == ["E207"]
    assert codes('p(concat("a")).') == ["E207"]
    assert term("concat(X, Y)") == FunctionTerm("concat", (X, Y))


def test_parentheses_group_terms_atoms_and_comparisons() -> None:
    assert term("(X + 1) * 2") == Arithmetic("*", Arithmetic("+", X, Constant(1)), Constant(2))
    assert body("(p(X)), ((X < 1))") == body("p(X), X < 1")
