"""Rules, facts, queries and directives as statements."""

import pytest

from corollary.diagnostics import ProgramError
from corollary.language import parse, parse_program, parse_query
from corollary.program import (
    Atom,
    Clause,
    Constant,
    FactBlock,
    FunctionDeclaration,
    InputDeclaration,
    OutputDeclaration,
    PrefixDeclaration,
    Query,
    Variable,
)
from tests.language.helpers import clause, codes, same, statement


def names(text: str) -> list[str]:
    return [rule.name for rule in parse_program(text).rules]


def test_a_rule_has_heads_a_body_and_a_place() -> None:
    rule = clause("// comment\np(X) :- q(X).")
    assert rule.heads == (Atom("p", (Variable("X"),)),)
    assert rule.body == (Atom("q", (Variable("X"),)),)
    assert rule.span is not None
    assert rule.span.position == (2, 1)
    assert rule.span.text == "p(X) :- q(X)."


def test_every_node_knows_where_it_stands() -> None:
    rule = clause("path(X, Y) :- edge(X, Y), not  blocked(?Z).")
    assert rule.body[0].span.text == "edge(X, Y)"  # type: ignore[union-attr]
    assert rule.body[1].span.text == "not  blocked(?Z)"  # type: ignore[union-attr]
    assert rule.body[1].element.arguments[0].span.text == "?Z"  # type: ignore[union-attr]


def test_places_do_not_count_when_programs_are_compared() -> None:
    assert same("p(X):-q(X).", "\n\n  p(X)  :-\n q( X ) .")


def test_several_heads_are_several_rules_with_one_body() -> None:
    rules = parse_program("p(X), q(X) and r :- s(X).").rules
    assert [rule.head.predicate for rule in rules] == ["p", "q", "r"]
    assert len({rule.body for rule in rules}) == 1
    assert [rule.name for rule in rules] == ["r1.1", "r1.2", "r1.3"]


def test_several_heads_of_a_named_rule_are_numbered() -> None:
    assert names("both: p(X), q(X) :- s(X).") == ["both.1", "both.2"]


def test_the_kth_rule_is_called_rk_unless_it_has_a_name() -> None:
    assert names("a :- b. start: c :- d. e :- f.") == ["r1", "start", "r3"]


def test_facts_queries_and_directives_do_not_count_for_rule_names() -> None:
    assert names("@output a . x(1). a :- x(1). ?- a. y(2). b :- a.") == ["r1", "r2"]


def test_a_name_that_is_taken_gets_an_underscore() -> None:
    assert names("r2: a :- b. c :- d. r1: e :- f.") == ["r2", "r2_", "r1"]


def test_facts_may_have_an_empty_body() -> None:
    assert same("p(a) :- .", "p(a).")
    assert same("p(a) <- .", "p(a).")
    assert same("p(a):-.", "p(a).")


def test_several_facts_may_share_a_clause() -> None:
    assert same("p(1), p(2), q(3).", "p(1). p(2). q(3).")


def test_neighbouring_facts_of_one_predicate_are_one_statement() -> None:
    program = parse_program("p(1). p(2). q(1). p(3). p(4, 5).")
    assert [(facts.predicate, facts.arity, len(facts.rows)) for facts in program.facts] == [
        ("p", 1, 2),
        ("q", 1, 1),
        ("p", 1, 1),
        ("p", 2, 1),
    ]


def test_a_clause_without_body_but_with_variables_is_no_fact() -> None:
    assert isinstance(statement("p(X)."), Clause)


def test_a_query_lists_its_variables_in_order_of_appearance() -> None:
    query = statement("?- p(?B, A), not q(A, C), D = A + 1, A < D.")
    assert isinstance(query, Query)
    assert [variable.name for variable in query.variables] == ["B", "A", "D"]


def test_a_query_may_be_typed_without_its_signs() -> None:
    for text in ("?- p(1, X).", "p(1, X)", "  p(1, X).", "?- p(1, X)"):
        assert parse_query(text).body == (Atom("p", (Constant(1), Variable("X"))),)


def test_more_than_one_query_where_one_is_wanted_is_an_error() -> None:
    with pytest.raises(ProgramError) as caught:
        parse_query("p(X). q(X)")
    assert caught.value.diagnostics[0].code == "E104"


def test_a_mistake_in_a_query_is_shown_in_the_query() -> None:
    with pytest.raises(ProgramError, match="<query>:1:"):
        parse_query("p(X")


def test_prefixes_are_statements_and_listed() -> None:
    program = parse_program("@prefix ex: <http://e/> . @prefix : <http://d/> .")
    assert program.statements == (PrefixDeclaration("ex", "http://e/"), PrefixDeclaration("", "http://d/"))
    assert program.prefixes == {"ex": "http://e/", "": "http://d/"}


def test_a_prefix_may_be_declared_twice_with_a_warning_when_it_changes() -> None:
    assert codes("@prefix e: <http://a/> . @prefix e: <http://a/> . p(e:x).") == []
    assert codes("@prefix e: <http://a/> . @prefix e: <http://b/> . p(e:x).") == ["W104"]


def test_inputs_have_a_location_and_options() -> None:
    assert parse_program('@input edge("e.csv") .').inputs == (InputDeclaration("edge", "e.csv"),)
    text = '@input edge("e.csv", header = true, delimiter = ";", skip = 2) .'
    options = (("header", True), ("delimiter", ";"), ("skip", 2))
    assert parse_program(text).inputs == (InputDeclaration("edge", "e.csv", options),)


def test_outputs_may_have_a_location() -> None:
    program = parse_program('@output path . @output Anomaly("a.csv") . @output <http://e/p> .')
    assert program.outputs == (
        OutputDeclaration("path"),
        OutputDeclaration("Anomaly", "a.csv"),
        OutputDeclaration("http://e/p"),
    )


def test_several_sources_may_share_a_directive() -> None:
    assert same("@output a, b .", "@output a . @output b .")


def test_functions_are_declared_with_their_arity() -> None:
    assert statement("@function score/2 .") == FunctionDeclaration("score", 2)


def test_directives_need_no_space_before_the_full_stop() -> None:
    assert same("@output path.", "@output path .")
    assert same("@prefix e: <http://e/>.", "@prefix e: <http://e/> .")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("@foo bar .", "E109"),
        ("@prefx e: <http://e/> .", "E109"),
        ("@ .", "E109"),
        ("@prefix e <http://e/> .", "E110"),
        ("@prefix <http://e/> .", "E110"),
        ('@prefix e: "http://e/" .', "E110"),
        ("@input edge .", "E110"),
        ("@input .", "E110"),
        ("@output 5 .", "E110"),
        ("@function f .", "E110"),
        ("@function f/X .", "E110"),
        ("@output path", "E105"),
    ],
)
def test_a_directive_that_is_not_written_as_it_should_be_is_an_error(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_a_prefix_without_full_stop_is_one_error_and_known_afterwards() -> None:
    assert codes("@prefix e: <http://e/>\np(e:a).\nq(e:b).") == ["E105"]


def test_what_follows_a_mistake_is_read() -> None:
    parsed = parse("p(1 2).\nq(3).\nr(X) :- , .\ns(4).")
    assert [diagnostic.code for diagnostic in parsed.diagnostics] == ["E104", "E104"]
    assert [facts.predicate for facts in parsed.program.facts] == ["q", "s"]


def test_statements_stay_in_the_order_of_the_text() -> None:
    kinds = [type(one) for one in parse_program("?- p(X). p(1). q(X) :- p(X). @output q .").statements]
    assert kinds == [Query, FactBlock, Clause, OutputDeclaration]


def test_an_empty_text_is_a_program_with_a_warning() -> None:
    for text in ("", "  \n\t ", "// only a comment", "/* */"):
        assert codes(text) == ["W101"]
        assert parse_program(text).statements == ()
