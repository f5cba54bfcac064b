"""Printing and parsing are inverse; reading facts fast or slowly is the same; no text makes the parser raise or hang."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corollary.diagnostics.diagnostic import render_all
from corollary.language import Parsed, parse, print_program
from corollary.program import Program
from tests.generator import programs
from tests.generator.syntax import fact_texts, mutated, syntax_programs, texts


def assert_parses_back(program: Program) -> None:
    """`repr` as well: `==` takes 1, 1.0 and True for equal where they stand in the options of a directive."""
    text = print_program(program)
    parsed = parse(text)
    assert not parsed.errors, text
    assert parsed.program == program, text
    assert repr(parsed.program.statements) == repr(program.statements), text


def mistakes(parsed: Parsed) -> list[tuple[str, str]]:
    return [(error.code, error.message) for error in parsed.errors]


@given(programs())
def test_a_sensible_program_parses_back(program: Program) -> None:
    assert_parses_back(program)


@given(syntax_programs())
def test_any_syntax_tree_parses_back(program: Program) -> None:
    assert_parses_back(program)


@pytest.mark.parametrize(
    "text",
    [
        "p(count(distinct (X + Y) * 2)) :- q(X, Y).",
        "p(sum(distinct <distinct>(X))) :- q(X).",
        "p(max(distinct <-a>(X))) :- q(X).",
        "p :- !<-1>().",
        "p :- !X = nOT, 'nOT' + 1 = X.",
        "p(_'', 1). p(X, _',a', _'=,b') :- q(X).",
        'p(X, --"-5"^^xsd:integer, -_integer(5)) :- q(X).',
        'p(X, --5, -(-5), --"INF"^^xsd:double) :- q(X).',
        "@prefix xsd: <a> . p(1e400).",
        "@prefix : <a> . p :- :ggregate(f()).",
        "<_x>(X) :- <_y>(X, <_z>(X)).",
        "<²>(X) :- q(X).",
        "@output <true> . @input <false>('a') . @output <NOT> .",
        "@function F(a) . @function <http://example.org/f>(a, b) . @function 'not'/1 .",
    ],
)
def test_a_text_that_was_once_printed_wrongly_parses_back(text: str) -> None:
    parsed = parse(text)
    assert not parsed.errors
    assert_parses_back(parsed.program)


@pytest.mark.parametrize("value", ["X", "_", "[1 | X]", "count(1)", "[1 | 2]", "1 / 0"])
def test_an_option_of_a_directive_that_has_no_value_is_a_mistake(value: str) -> None:
    (error,) = parse(f"@input p('a.csv', header = {value}) .").errors
    assert error.code in ("E110", "E118", "E119")


@pytest.mark.parametrize("text", ["_x(X) :- p(X).", "p(X) :- _x(X).", "_x(1)."])
def test_a_typed_term_is_no_atom(text: str) -> None:
    assert [error.code for error in parse(text).errors] == ["E115"]


@given(st.one_of(texts(), mutated()))
def test_no_text_makes_the_parser_raise_or_hang(text: str) -> None:
    start = process_time()
    parsed = parse(text)
    render_all(parsed.diagnostics)
    assert process_time() - start < 1
    if not parsed.errors:
        assert_parses_back(parsed.program)


@given(st.one_of(fact_texts(), texts(), mutated()))
@example('p("5.0"^^xsd:decimal).')
@example("p(<>, 1).")
@example("p(1, <,a>, <=,b>).")
@example("aggregate(f(1)).")
def test_facts_read_fast_are_the_facts_read_slowly(text: str) -> None:
    fast, slow = parse(text), parse(text, join_facts=False)
    assert fast.program == Program.of(slow.program.statements)
    assert repr(fast.program.statements) == repr(Program.of(slow.program.statements).statements)
    assert mistakes(fast) == mistakes(slow)
