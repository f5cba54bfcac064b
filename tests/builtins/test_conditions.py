"""Built-ins as literals of bodies: how they are read and printed, what they are true of, and what they give values to."""

from __future__ import annotations

import random

import pytest

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.language import parse_program, print_program, print_value
from corollary.program import Constant
from tests.builtins.values import POOL
from tests.oracle import evaluate


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("LESS(X, Y)", "X < Y"),
        ("EQUAL(X, Y)", "X = Y"),
        ("ADD(X, Y, Z)", "X + Y = Z"),
        ("func:numeric-mod(X, 2, Y)", "X % 2 = Y"),
        ("pred:contains(X, Y)", "pred:contains(X, Y)"),
        ("STRING_CONTAINS(X, Y)", "pred:contains(X, Y)"),
        ("not IS_INTEGER(X)", "not pred:is-literal-integer(X)"),
        ("STRING_LENGTH(X, 3)", "length(X) = 3"),
        ("Y = starts_with(X, a)", "Y = pred:starts-with(X, a)"),
        ("<http://www.w3.org/2007/rif-builtin-predicate#is-list>(X)", "pred:is-list(X)"),
        ("xs:integer(X, Y)", "xsd:integer(X) = Y"),
        ("ADD(X, 1, _)", "HAS_VALUE(X + 1)"),
        ("not pred:contains(X, Y, _)", "not HAS_VALUE(pred:contains(X, Y))"),
        ("<(X, Y)", "X < Y"),
        ("<=(X,Y)", "X <= Y"),
        ("not =(X, f(Y))", "not X = f(Y)"),
        ("!=(X, Y)", "X != Y"),
        ("≥ (X, Y)", "X >= Y"),
        ("+(X, Y, Z)", "X + Y = Z"),
        ("-(X, Y, Z)", "X - Y = Z"),
        ("*(X, 2, _)", "HAS_VALUE(X * 2)"),
        ("/(X, Y, Z)", "X / Y = Z"),
        ("%(X, Y, Z)", "X % Y = Z"),
        ("Z > -(X, *(2, +(Y, 1)))", "Z > X - 2 * (Y + 1)"),
        ("Z = -(X)", "Z = -X"),
    ],
)
def test_a_literal_is_printed_by_its_canonical_name(written: str, printed: str) -> None:
    program = parse_program(f"p(X) :- q(X, Y, Z), {written}.")
    text = print_program(program)
    assert text.strip() == f"p(X) :- q(X, Y, Z), {printed}."
    assert print_program(parse_program(text)) == text


def test_an_equality_of_a_head_may_have_its_sign_in_front() -> None:
    assert print_program(parse_program("=(X, Y) :- same(X, Y).")) == "X = Y :- same(X, Y).\n"


def test_an_underscore_as_result_says_that_there_is_one() -> None:
    kb = KnowledgeBase("n(1). n(0). n(a). p(X) :- n(X), ADD(X, 1, _). q(X) :- n(X), not DIVIDE(1, X, _).")
    assert set(kb.facts("p")) == {(1,), (0,)}
    assert set(kb.facts("q")) == {(0,), ("a",)}


def test_a_predicate_that_nothing_defines_may_be_meant_as_a_built_in() -> None:
    kb = KnowledgeBase('q(a). p(X) :- q(X), contains(X, "a").')
    assert [warning.hint for warning in kb.warnings] == ["the built-in is written pred:contains(…) in a body"]


def test_small_letters_are_predicates() -> None:
    kb = KnowledgeBase("add(1, 2, 4). contains(box, ball). p(X) :- add(X, _, _). q(X) :- contains(X, ball).")
    assert set(kb.facts("p")) == {(1,)}
    assert set(kb.facts("q")) == {("box",)}


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- q(X), ADD(X, 1).",
        "p(X) :- q(X), LESS(X).",
        "p(X) :- q(X), pred:is-list(X, 1, 2).",
        "p(X) :- q(X), <(X).",
        "p(X) :- q(X), =(X, 1, 2).",
        "p(X) :- q(X), 3 = *(X).",
        "p(X) :- q(X), -(X, 1, 2, 3).",
    ],
)
def test_the_wrong_number_of_arguments_is_an_error(text: str) -> None:
    with pytest.raises(ProgramError, match="E207"):
        parse_program(text)


def test_an_equality_is_solved_only_where_nothing_else_gives_the_value() -> None:
    kb = KnowledgeBase("n(4). p(X) :- n(Y), Y = X + 1, X = 3.0e0.")
    assert [type(value) for (value,) in kb.facts("p")] == [float]


def test_a_solution_that_rounding_made_is_none() -> None:
    kb = KnowledgeBase("n(1). n(6). p(X) :- n(Y), X * 3 = Y.")
    assert set(kb.facts("p")) == {(2,)}


RULES = """
    a(X) :- v(X), pred:is-literal-string(X).
    b(X) :- v(X), not pred:is-literal-decimal(X).
    c(X, Y) :- v(X), w(Y), pred:numeric-less-than(X, Y).
    d(X, Y) :- v(X), w(Y), not NUMERIC_LESS_EQUAL(X, Y).
    e(X, Z) :- v(X), Z = concat(X, "!"), not STRING_STARTS_WITH(X, "a").
    f(X, Y) :- v(X), w(Y), X = Y.
    g(X, Y) :- v(X), w(Y), X < Y.
    h(X, Z) :- v(X), ADD(X, 1, Z).
    i(Z, X) :- v(X), SUBTRACT(Z, 1, X).
    j(X, xsd:string(X)) :- v(X).
    k(X, Y) :- v(X), w(Y), not X != Y.
    l(X, Z) :- v(X), Z = length(xsd:string(X)) * 2.
    m(X, Y) :- v(X), w(Y), SAME_TYPE(X, Y).
    n(count(X)) :- v(X), IS_NUMERIC(X).
    o(max(X)) :- v(X), pred:is-literal-double(X).
"""


@pytest.mark.parametrize("seed", range(4))
def test_the_embedded_engine_agrees_with_the_oracle_before_and_after_a_change(seed: int) -> None:
    draw = random.Random(seed)
    facts = {name: [draw.choice(POOL) for _ in range(8)] for name in "vw"}
    text = RULES + "".join(f"{name}({print_value(value)}). " for name, values in facts.items() for value in values)
    kb = KnowledgeBase(text)
    assert_same(kb, text)
    gone, new = facts["v"][:3], [draw.choice(POOL) for _ in range(3)]
    with kb.transaction() as change:
        change.delete("v", [(value,) for value in gone])
        change.insert("v", [(value,) for value in new])
    left = {Constant(value) for value in facts["v"]} - {Constant(value) for value in gone} | set(map(Constant, new))
    kept = "".join(f"v({print_value(constant.value)}). " for constant in left)
    kept += "".join(f"w({print_value(value)}). " for value in facts["w"])
    assert_same(kb, RULES + kept)


def assert_same(kb: KnowledgeBase, text: str) -> None:
    for name, rows in evaluate(parse_program(text)).items():
        assert {tuple(map(Constant, row)) for row in kb.facts(name).constants()} == rows, name
