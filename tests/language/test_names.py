"""Variables, predicates, and words of the language as names."""

import pytest

from corollary.language import parse_program
from corollary.program import Atom, Constant, Query, Variable, Wildcard
from tests.language.helpers import body, clause, codes, element, same, statement, term


@pytest.mark.parametrize(
    ("text", "name"), [("X", "X"), ("?X", "X"), ("?x", "x"), ("Name_1", "Name_1"), ("Ä", "Ä"), ("?1", "1")]
)
def test_a_capital_or_a_question_mark_starts_a_variable(text: str, name: str) -> None:
    assert term(text) == Variable(name)


def test_a_question_mark_makes_no_difference_before_a_capital() -> None:
    assert same("p(?X) :- q(X).", "p(X) :- q(?X).")
    assert not same("p(?x) :- q(X, ?x).", "p(X) :- q(X, X).")


def test_an_underscore_alone_is_anonymous_and_before_a_name_an_ordinary_variable() -> None:
    assert term("_") == Wildcard()
    assert term("?_") == Wildcard()
    assert term("_x") == Variable("_x")
    assert term("_X1") == Variable("_X1")
    assert term("__") == Variable("__")


def test_an_underscore_before_a_name_with_parentheses_is_a_typed_term() -> None:
    assert term("_integer(5)") == Constant(5)
    assert codes("h :- p(_foo(1)).") == ["E112"]


@pytest.mark.parametrize("name", ["edge", "Edge", "EDGE", "hasNeighbour", "größe", "e_1", "r1"])
def test_predicates_may_have_any_case(name: str) -> None:
    assert element(f"{name}(X)") == Atom(name, (Variable("X"),))
    assert parse_program(f"{name}(1).").facts[0].predicate == name


def test_predicates_without_arguments_need_no_parentheses() -> None:
    assert same("a :- b, c().", "a() :- b(), c.")
    assert same("Wet :- raining.", "Wet() :- raining().")
    assert same("a. B.", "a(). B().")


def test_brackets_and_prefixes_make_no_other_predicate() -> None:
    assert same("<edge>(1, 2).", "edge(1, 2).")
    assert same("@prefix e: <http://e/> . e:p(1).", "@prefix e: <http://e/> . <http://e/p>(1).")


def test_white_space_may_stand_before_the_parenthesis() -> None:
    assert same("p (1).", "p(1).")
    assert same("h :- p\n(X), <q> (X).", "h :- p(X), q(X).")


@pytest.mark.parametrize(
    "word",
    [
        "in",
        "true",
        "false",
        "count",
        "sum",
        "min",
        "and",
        "div",
        "mod",
        "as",
        "on",
        "with",
        "distinct",
        "bind",
        "comp",
        "aggregate",
    ],
)
def test_a_word_of_the_language_may_name_a_predicate(word: str) -> None:
    assert parse_program(f"{word}(1, 2).").facts[0].predicate == word
    assert element(f"{word}(X, Y)") == Atom(word, (Variable("X"), Variable("Y")))
    assert clause(f"{word}(X, Y) :- p(X), q(Y).").heads[0].predicate == word
    assert body(f"p(X), not {word}(X, X), q(X)")[2] == Atom("q", (Variable("X"),))


@pytest.mark.parametrize("word", ["and", "as", "on", "with", "div", "mod", "in", "count", "not", "naf", "distinct"])
def test_a_word_of_the_language_may_be_a_constant(word: str) -> None:
    assert term(word) == Constant(word)
    assert same(f"p({word}).", f'p("{word}").')


def test_not_and_naf_are_predicates_in_brackets_only() -> None:
    assert element("<not>(X)") == Atom("not", (Variable("X"),))
    assert element("not <not>(X)") != element("<not>(X)")
    assert parse_program("<naf>(1).").facts[0].predicate == "naf"


def test_true_and_false_without_arguments_are_predicates_with_parentheses_only() -> None:
    assert element("true()") == Atom("true", ())
    assert codes("h :- true.") == ["E115"]


def test_words_are_case_insensitive() -> None:
    upper = "p(X, N) :- AGGREGATE(q(X, Y) AND NOT r(Y)) ON X WITH COUNT(DISTINCT Y) AS N, COMP(N, >, 1)."
    lower = "p(X, N) :- aggregate(q(X, Y) and not r(Y)) on X with count(distinct Y) as N, comp(N, >, 1)."
    mixed = "p(X, N) :- Aggregate(q(X, Y) And Not r(Y)) On X With Count(Distinct Y) As N, Comp(N, >, 1)."
    assert same(upper, lower)
    assert same(upper, mixed)
    assert same("p(Y) :- q(X), BIND(X DIV 2 AS Y).", "p(Y) :- q(X), bind(X div 2 as Y).")


def test_names_of_built_in_functions_are_case_insensitive_and_other_names_are_not() -> None:
    assert term("ABS(X)") == term("abs(X)")
    assert term("F(X)") != term("f(X)")


def test_a_query_may_use_words_as_predicates() -> None:
    query = statement("?- in(?X), count(?X, 1).")
    assert isinstance(query, Query)
    assert [atom.predicate for atom in query.body] == ["in", "count"]  # type: ignore[union-attr]
