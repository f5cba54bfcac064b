"""Arguments that are marked as locations."""

import pytest

from corollary.language import parse_program, print_program
from corollary.program import Atom, Clause
from corollary.program.locations import at_address

TEXT = 'path(@X, Y) :- link(X, @Z), path(@Z, Y), not shut(@X), name(@"a", Y).\n'


def test_a_mark_is_kept_by_the_printer() -> None:
    program = parse_program(TEXT)
    (clause,) = program.of_type(Clause)
    assert [atom.location for atom in (*clause.heads, *clause.body) if isinstance(atom, Atom)] == [0, 1, 0, 0]
    assert parse_program(print_program(program)) == program


def test_it_is_part_of_the_rule() -> None:
    assert parse_program("p(X) :- q(@X).") != parse_program("p(X) :- q(X).")


def test_a_fact_has_none() -> None:
    assert parse_program("link(6, @5).") == parse_program("link(6, 5).")


def test_a_node_runs_rules_for_its_own_facts() -> None:
    local = print_program(at_address(parse_program("p(@X, Y) :- l(X, @A), p(@A, Y), d(X)."), 1))
    assert local == "p(@X, Y) :- l(X, @A), p(@A, Y), d(X), A = 1.\n"


@pytest.mark.parametrize("text", ["@prefix ex: <http://example.org/> .", 'p("a"@en).'])
def test_other_uses_of_the_sign_stay_what_they_are(text: str) -> None:
    assert parse_program(text).statements
