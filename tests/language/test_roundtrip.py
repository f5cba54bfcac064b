"""Printing and parsing are inverse; reading facts fast or slowly is the same; no text makes the parser raise or hang."""

from __future__ import annotations

from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from corollary.diagnostics.render import render_all
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


@given(st.one_of(texts(), mutated()))
def test_no_text_makes_the_parser_raise_or_hang(text: str) -> None:
    start = process_time()
    parsed = parse(text)
    render_all(parsed.diagnostics)
    assert process_time() - start < 1
    if not parsed.errors:
        assert_parses_back(parsed.program)


@given(st.one_of(fact_texts(), texts(), mutated()))
def test_facts_read_fast_are_the_facts_read_slowly(text: str) -> None:
    fast, slow = parse(text), parse(text, join_facts=False)
    assert fast.program == Program.of(slow.program.statements)
    assert repr(fast.program.statements) == repr(Program.of(slow.program.statements).statements)
    assert mistakes(fast) == mistakes(slow)
