"""Equalities between two atoms are joins by value: right for numbers of all types and moments, and linear."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import Change, KnowledgeBase
from corollary.backends.embedded import EmbeddedBackend
from corollary.engines.embedded.report import RunReport
from corollary.engines.embedded.values.ordering import value_keys_of
from corollary.engines.embedded.values.universe import Universe
from corollary.language import parse_program
from corollary.planning import explain_plan
from corollary.program import Constant, FactBlock, Iri, Literal, Program, Value
from corollary.program.arithmetic import equal
from corollary.program.values import XSD
from tests.budgets import examples
from tests.engine_suite.scripts import visible
from tests.oracle import evaluate

TWO_53 = 1 << 53
NUMBERS: tuple[Value, ...] = (
    0, 1, 2, 3, -1, 1.0, 2.0, -0.0, Decimal("2.5"), 2.5, Decimal("0.1"), 0.1, TWO_53, TWO_53 + 1, float(TWO_53),
    float(TWO_53 + 2), (1 << 63) - 1, -(1 << 63), 1 << 63, float(1 << 63), -float(1 << 63), 1 << 70, float(1 << 70), 10**30,
    1e30, Decimal(10**30) / 4, 1e400, -1e400, float("nan"), Literal("1.0E0", XSD + "float"), Literal("NaN", XSD + "float"),
    Literal("1.0E-1", XSD + "float"), Literal("INF", XSD + "float"), Decimal("1e-400"), 10**400,
)  # fmt: skip
OTHERS: tuple[Value, ...] = (
    "1", "a", True, False, Iri("http://example.org/a"), Literal("2026-01-01", XSD + "date"), (1, 2), (1.0, 2),
    Literal("2026-01-01Z", XSD + "date"), Literal("2026-01-01T12:00:00+01:00", XSD + "dateTime"),
    Literal("2026-01-01T11:00:00Z", XSD + "dateTime"), Literal("11:00:00Z", XSD + "time"),
    Literal("12:00:00+01:00", XSD + "time"), Literal("P1D", XSD + "dayTimeDuration"),
    Literal("P1Y", XSD + "yearMonthDuration"), Literal("a", "http://example.org/other"),
)  # fmt: skip
TWINS: tuple[Value, ...] = (Literal("PT24H", XSD + "dayTimeDuration"), Literal("P12M", XSD + "yearMonthDuration"))
"""Not written like that in any fact: what is inserted gets its shortest form."""
VALUES = (*NUMBERS, *OTHERS)

RULES = """
r1(N, V) :- c(N, C), nat(V), V = C.
r2(N, V) :- c(N, C), nat(V), V = C + 1.
r3(N, V) :- c(N, C), nat(V), V - 1 = C.
r4(N) :- c(N, C), nat(V), V = C.
r5(N, M) :- c(N, C), c(M, D), C = D, N != M.
r6(N, V) :- c(N, C), c(N, D), nat(V), V = C, V = D.
r7(V) :- nat(V), c(N, C), C = V, not nat(N).
r8(N, count(V)) :- c(N, C), nat(V), C = V.
r9(N, S) :- AGGREGATE(c(N, C), nat(V), 2 * V = C) ON N WITH COUNT(V) AS S.
r10(V, W) :- nat(V), nat(W), c(V, C), W = -C.
s(V) :- nat(V), V = 2.
s(W) :- s(V), nat(W), W = V + 1.
t(N, V) :- c(N, C), nat(V), C = V, V = N.
u(V) :- nat(V), not V = 1, c(N, C), C = V.
v(X, Z) :- c(X, A), c(Y, B), A = Y, Z = B.
"""


def oracle(facts: dict[str, set[tuple[Constant, ...]]]) -> dict[str, set[tuple[Constant, ...]]]:
    blocks = [
        FactBlock(name, len(next(iter(rows))), [tuple(one.value for one in row) for row in rows])
        for name, rows in facts.items()
        if rows
    ]
    return {name: rows for name, rows in evaluate(Program((*parse_program(RULES).statements, *blocks))).items() if rows}


ROWS = st.sets(st.tuples(st.integers(0, 4), st.sampled_from(VALUES).map(Constant)), max_size=8)
NATS = st.sets(st.sampled_from(VALUES).map(Constant), max_size=8)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(ROWS, NATS), min_size=1, max_size=3), st.booleans())
def test_mixed_types_give_the_facts_of_the_oracle(steps: list, updates: bool) -> None:
    kb = KnowledgeBase(RULES, updates=updates)
    facts: dict[str, set] = {"c": set(), "nat": set()}
    for rows, numbers in steps:
        wanted = {"c": {(n, v.value) for n, v in rows}, "nat": {(v.value,) for v in numbers}}
        wanted = {name: {tuple(map(Constant, row)) for row in some} for name, some in wanted.items()}
        change = {name: [tuple(c.value for c in row) for row in wanted[name] - facts[name]] for name in wanted}
        gone = {name: [tuple(c.value for c in row) for row in facts[name] - wanted[name]] for name in wanted}
        kb.apply(Change(insert=change, delete=gone))
        facts = wanted
        assert visible(kb) == oracle(facts)
        answers = {tuple(map(Constant, row)) for row in kb.query("c(N, C), nat(V), V = C").constants()}
        assert answers == {(n, c, v) for n, c in facts["c"] for (v,) in facts["nat"] if equal(v.value, c.value)}


def test_two_constants_have_one_key_where_they_are_equal() -> None:
    for first in range(2):
        universe = Universe()
        keys = value_keys_of(universe)
        codes = []
        values_in_order = (*VALUES, *TWINS)
        for value in values_in_order[::-1] if first else values_in_order:
            codes.append(universe.encode(value))
            keys.by_code()
        found = keys.by_code()
        values = [universe.value(code) for code in codes]
        none = 0xFFFFFFFF
        for one, left in zip(codes, values, strict=True):
            for other, right in zip(codes, values, strict=True):
                assert (found[one] == found[other] != none) == equal(left, right), (left, right)


def report_of(kb: KnowledgeBase) -> RunReport:
    backend = kb._backend
    assert isinstance(backend, EmbeddedBackend)
    return backend.engine.report


def tried(rule: str, rows: int, updates: bool) -> int:
    kb = KnowledgeBase(rule, updates=updates)
    kb.apply(Change(insert={"c": [(n, n) for n in range(rows)], "nat": [(n,) for n in range(rows)]}))
    kb.count("r")
    return report_of(kb).instances


@pytest.mark.parametrize("updates", [True, False])
@pytest.mark.parametrize(
    "equality",
    ["V = C + 1", "C + 1 = V", "V - 1 = C", "2 * V = C", "V + 1 = C * 2", "V = C", "-V = -C", "V = C, V > 3"],
)
def test_what_is_tried_grows_with_the_rows_and_not_with_their_pairs(equality: str, updates: bool) -> None:
    rule = f"r(N, V) :- c(N, C), nat(V), {equality}."
    small, large = (tried(rule, rows, updates) for rows in (500, 1000))
    assert large <= 2 * small + 10 <= 4000


@pytest.mark.parametrize("equality", ["V = C", "V = C + 1", "V - 1 = C", "V = C, N < V"])
def test_plans_look_up_by_value(equality: str) -> None:
    kb = KnowledgeBase(f"r(N, V) :- c(N, C), nat(V), {equality}.\nc(1, 2). nat(2).")
    kb.count("r")
    (node,) = report_of(kb).nodes
    (plan,) = node.plans
    assert any("index by value" in line for line in explain_plan(plan.plan))


def test_a_change_costs_what_it_changes() -> None:
    kb = KnowledgeBase("r(N, V) :- c(N, C), nat(V), V = C + 1.")
    kb.apply(Change(insert={"c": [(n, n) for n in range(3000)], "nat": [(n,) for n in range(3000)]}))
    kb.count("r")
    result = kb.apply(Change(insert={"c": [(7, 8)]}, delete={"nat": [(100,)]}))
    assert sum(step.instances for step in result.report.steps) < 10


@pytest.mark.parametrize("updates", [True, False])
def test_an_aggregation_leaves_out_instances_whose_expressions_have_no_value(updates: bool) -> None:
    text = "r(N, S) :- AGGREGATE(c(N, C), nat(V), 2 * V = C) ON N WITH COUNT(V) AS S."
    kb = KnowledgeBase(text, updates=updates)
    kb.insert("c", [(0, 0), (0, 4)])
    kb.insert("nat", [("text",), (2,)])
    assert set(kb.facts("r")) == {(0, 1)}
