"""A query has the answers of a rule with the same body: comparisons under negation, in aggregates and built-ins, of all types."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.language import parse_program, parse_query
from corollary.program import Constant
from corollary.settings import Settings
from tests.oracle import answer, evaluate

_CONSTANTS = (
    *("1", "2.5", "2.5e0", "9007199254740993", "9007199254740992e0", "-3"),
    *('"apple"', '"m"', '"melon"', '"zebra"', '"Zebra"', '""', '"é"'),
    *("<http://e.org/a>", "<http://e.org/z>", "true", "false"),
    *('"2026-01-01"^^xsd:date', '"2026-06-01"^^xsd:date', '"hallo"@de', "f(1)", "[1, 2]"),
)
_COMPARED = tuple(one for one in _CONSTANTS if one != "f(1)")  # in a comparison that would be a function nobody defines
_TESTS = ("X {op} {c}", "{c} {op} X", "not X {op} {c}", "not {c} {op} X", "{builtin}(X, {c})", "not {builtin}(X, {c})")
_SHAPES = (
    "v(X), {test}",
    "v(X), not w(X), {test}",
    "v(X), v(Y), {test}, not X {op} Y",
    "v(X), v(Y), X {op} Y, {test}",
    "AGGREGATE(v(X), {test}) WITH COUNT(X) AS N",
    "AGGREGATE(v(X), v(Y), {test}, not X {op} Y) ON X WITH COUNT(Y) AS N",
    "w(Y), AGGREGATE(v(X), v(Y), {test}, X {op} Y) ON Y WITH COUNT(X) AS N",
    "AGGREGATE(v(X), {test}) WITH MAX(X) AS N",
    "v(Y), AGGREGATE(AGGREGATE(v(X), {test}) ON X WITH COUNT(X) AS M) WITH SUM(M) AS N, not Y {op} {c}",
)
_OPERATORS = ("<", "<=", ">", ">=", "=", "!=")
_BUILTINS = ("pred:numeric-less-than", "LESS", "GREATER_EQUAL", "STRING_LESS_THAN", "NOT_EQUAL")
_OTHER_RULES = ("", "other(X) :- w(X), X = 7.", 'other(X) :- w(X), X < "k".')


@dataclass(frozen=True)
class AskedBody:
    values: tuple[str, ...]
    others: tuple[str, ...]
    rules: str
    body: str

    @property
    def program(self) -> str:
        facts = [*(f"v({value})." for value in self.values), *(f"w({value})." for value in self.others)]
        return "\n".join([*facts, self.rules])


@st.composite
def bodies(draw: st.DrawFn) -> AskedBody:
    constant, operator = draw(st.sampled_from(_COMPARED)), draw(st.sampled_from(_OPERATORS))
    written = {"c": constant, "op": operator, "builtin": draw(st.sampled_from(_BUILTINS))}
    test = draw(st.sampled_from(_TESTS)).format(**written)
    body = draw(st.sampled_from(_SHAPES)).format(**written, test=test)
    values = draw(st.lists(st.sampled_from(_CONSTANTS), min_size=1, max_size=8, unique=True))
    others = draw(st.lists(st.sampled_from(_CONSTANTS), min_size=1, max_size=3, unique=True))
    return AskedBody(tuple(values), tuple(others), draw(st.sampled_from(_OTHER_RULES)), body)


def _rows(kb: KnowledgeBase, query: str, mode: str) -> set[tuple[Constant, ...]]:
    return {tuple(map(Constant, row)) for row in kb.query(query, mode=mode).constants()}


@given(bodies())
def test_a_query_has_the_answers_that_the_reference_gives_in_every_mode(asked: AskedBody) -> None:
    expected = answer(parse_query(asked.body), evaluate(parse_program(asked.program)))
    kb = KnowledgeBase(asked.program)
    assert _rows(kb, asked.body, "demand") == expected
    kb.materialise()
    assert _rows(kb, asked.body, "materialise") == expected
    kb.insert("v", [("gone",), (77,), (-77.5,)])
    kb.delete("v", [("gone",), (77,), (-77.5,)])  # rows that are still there, and hidden
    assert _rows(kb, asked.body, "materialise") == expected
    kb.insert("w", [("new text",)])
    kb.delete("w", [("new text",)])
    assert _rows(kb, asked.body, "materialise") == expected


@given(bodies(), st.sampled_from(("auto", "dred", "backward-forward", "recompute")))
def test_a_query_has_the_answers_of_a_rule_that_comes_later(asked: AskedBody, strategy: str) -> None:
    kb = KnowledgeBase(asked.program, settings=Settings.of(None, strategy=strategy))
    kb.materialise()
    query = parse_query(asked.body)
    expected = _rows(kb, asked.body, "auto")
    names = ", ".join(variable.name for variable in query.variables)
    kb.add_rules(f"found({names}) :- {asked.body}." if names else f"found() :- {asked.body}.")
    kb.insert("v", [("gone",), (77,)])
    kb.delete("v", [("gone",), (77,)])
    assert {tuple(map(Constant, row)) for row in kb.facts("found").constants()} == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('word(X), not X < "m"', {("melon",), ("zebra",)}),
        ('AGGREGATE(word(X), X < "m") WITH COUNT(X) AS N', {(1,)}),
        ('AGGREGATE(word(X), not X < "m") WITH COUNT(X) AS N', {(2,)}),
    ],
)
def test_texts_are_ordered_under_negation_and_in_aggregates(body: str, expected: set[tuple[object, ...]]) -> None:
    kb = KnowledgeBase('word("apple"). word("melon"). word("zebra").')
    assert set(kb.query(body)) == expected


@pytest.mark.spark
def test_on_spark_queries_order_texts_under_negation_and_in_aggregates() -> None:
    from tests.services.spark_session import shared_session

    written = {"c": '"m"', "op": "<", "builtin": "LESS"}
    asked = [shape.format(**written, test='not X < "m"') for shape in _SHAPES[::2]]
    program = "\n".join([*(f"v({value})." for value in _CONSTANTS), 'w("apple"). w("zebra").'])
    facts = evaluate(parse_program(program))
    with KnowledgeBase(program, engine=shared_session()) as kb:
        for body in asked:
            assert _rows(kb, body, "materialise") == answer(parse_query(body), facts), body
