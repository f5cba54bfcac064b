"""Inequalities between two atoms are ranges of rows in order: exact for all values, and while rows come and go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import Change, KnowledgeBase
from corollary.backends.embedded import EmbeddedBackend
from corollary.engines.embedded.relations import ordered_index
from corollary.engines.embedded.report import RunReport
from corollary.language import parse_program
from corollary.planning import explain_plan, join_order
from corollary.program import Constant, EvaluationError, FactBlock, Program
from corollary.program.arithmetic import compare
from tests.budgets import examples
from tests.engine_suite.scripts import visible
from tests.engines.embedded.test_value_joins import NUMBERS, OTHERS, VALUES
from tests.oracle import evaluate

RULES = """
r1(N, V) :- c(N, C), nat(V), V < C.
r2(N, V) :- c(N, C), nat(V), C < V, V <= C + 1.
r3(N) :- c(N, C), nat(V), V >= C.
r4(A, C) :- nat(A), nat(B), nat(C), A < B, B < C.
r5(N, M) :- c(N, C), c(M, D), N < M, D >= C.
r6(N, C, D) :- c(N, C), c(N, D), C < D.
r7(N, V) :- c(N, C), nat(V), C < V + 1, V * 2 <= C.
r8(N, V) :- c(N, C), nat(V), V > C, V < 2.
r9(V) :- nat(V), c(N, C), V > C, not nat(N).
r10(N, count(V)) :- c(N, C), nat(V), C <= V.
r11(N, S) :- AGGREGATE(c(N, C), nat(V), V - 1 < C) ON N WITH COUNT(V) AS S.
r12(V) :- nat(V), not V < 2, c(N, C), C >= V, N <= C.
r13(N) :- c(N, C), c(M, D), nat(V), C < V, V < D, N != M.
s(V) :- nat(V), V = 2.
s(W) :- s(V), nat(W), V < W, W <= V + 1.
t(V, W) :- s(V), s(W), V < W.
u(X, Y) :- c(X, _), nat(Y), X < Y.
u(X, Z) :- u(X, Y), u(Y, W), c(Z, C), C > W, C >= Y.
"""
WAYS = {"tail": (10**9, 1), "sorted": (0, 10**9), "both": (2, 4)}
"""By what is put in order: nothing; everything at once; and what is looked at often."""


@pytest.fixture(autouse=True, scope="module")
def ranges_of_few_rows() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join_order, "_WORTH_A_RANGE", 0)
        yield


def oracle(rules: str, facts: dict[str, set[tuple[Constant, ...]]]) -> dict[str, set[tuple[Constant, ...]]]:
    blocks = [
        FactBlock(name, len(next(iter(rows))), [tuple(one.value for one in row) for row in rows])
        for name, rows in facts.items()
        if rows
    ]
    return {name: rows for name, rows in evaluate(Program((*parse_program(rules).statements, *blocks))).items() if rows}


def is_less(left: object, right: object) -> bool:
    try:
        return compare("<", left, right)  # type: ignore[arg-type]
    except EvaluationError:
        return False


VALUE = st.one_of(st.sampled_from(VALUES), st.sampled_from((1, 2, 1.0, 2.5, 3))).map(Constant)
ROWS = st.sets(st.tuples(st.sampled_from((0, 1, 2, 1.0, "a")).map(Constant), VALUE), max_size=9)
NATS = st.sets(VALUE, max_size=9)


@settings(max_examples=examples(80))
@given(
    st.lists(st.tuples(ROWS, NATS), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from(sorted(WAYS)),
    st.sampled_from([(), ("exists",), ("small-rounds",), ("range-joins",)]),
)
def test_mixed_values_give_the_facts_of_the_oracle(
    steps: list, updates: bool, way: str, without: tuple[str, ...]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered_index, "_SORTING", WAYS[way][0])
        patch.setattr(ordered_index, "_MERGING", WAYS[way][1])
        kb = KnowledgeBase(RULES, updates=updates, without=without)
        facts: dict[str, set] = {"c": set(), "nat": set()}
        for rows, numbers in steps:
            wanted = {"c": set(rows), "nat": {(number,) for number in numbers}}
            change = {name: [tuple(c.value for c in row) for row in wanted[name] - facts[name]] for name in wanted}
            gone = {name: [tuple(c.value for c in row) for row in facts[name] - wanted[name]] for name in wanted}
            kb.apply(Change(insert=change, delete=gone))
            facts = wanted
            assert visible(kb) == oracle(RULES, facts)
            answers = {tuple(map(Constant, row)) for row in kb.query("c(N, C), nat(V), V < C").constants()}
            pairs = {(n, c, v) for n, c in facts["c"] for (v,) in facts["nat"]}
            assert answers == {(n, c, v) for n, c, v in pairs if is_less(v.value, c.value)}


@pytest.mark.parametrize("values", [NUMBERS, OTHERS, VALUES])
@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_every_two_values_are_in_the_order_of_the_language(
    values: tuple, way: str, operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordered_index, "_SORTING", WAYS[way][0])
    monkeypatch.setattr(ordered_index, "_MERGING", WAYS[way][1])
    rule = f"r(X, Y) :- a(X), b(Y), X {operator} Y."
    kb = KnowledgeBase(rule)
    facts: dict[str, set] = {"a": set(), "b": set()}
    for part in range(3):  # values that come later fit in between those that were there
        new = [(Constant(value),) for value in values[part::3]]
        kb.apply(Change(insert={name: [(row[0].value,) for row in new] for name in facts}))
        for known in facts.values():
            known.update(new)
        assert visible(kb) == oracle(rule, facts)


@pytest.mark.parametrize("updates", [True, False])
@pytest.mark.parametrize(
    "comparison",
    [
        "C < V, V < C + 3",
        "V > C - 2, V <= C",
        "V - 2 <= C, V - 2 > C - 3",
        "V >= C, V <= C, V < 10",
        "2 * V > C * 2, C * 2 + 5 > 2 * V",
        "N = 7, C < V",
    ],
)
def test_what_is_tried_grows_with_the_rows_and_not_with_their_pairs(comparison: str, updates: bool) -> None:
    def tried(rows: int) -> int:
        kb = KnowledgeBase(f"r(N, V) :- c(N, C), nat(V), {comparison}.", updates=updates)
        kb.apply(Change(insert={"c": [(n, n) for n in range(rows)], "nat": [(n,) for n in range(rows)]}))
        kb.count("r")
        return report_of(kb).instances

    small, large = tried(500), tried(1000)
    assert large <= 2 * small + 10 <= 6000


def report_of(kb: KnowledgeBase) -> RunReport:
    backend = kb._backend
    assert isinstance(backend, EmbeddedBackend)
    return backend.engine.report


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("c(N, C), nat(V), C < V", "nat(V)  [index in order: V > C]"),
        ("c(N, C), nat(V), C < V, V < C + 2", "nat(V)  [index in order: V > C, V < C + 2]"),
        ("c(N, C), nat(V), C > V, V >= 1", "nat(V)  [index in order: V >= 1, V < C]"),
        ("c(N, C), nat(V), C < 2 * V", "nat(V)  [index in order: 2 * V > C]"),
        ("c(N, C), c(N, V), C < V", "c(N, V)  [index in order: N, V > C]"),
        ("c(N, C), nat(V), not C < V", "nat(V)  [all rows]"),
        ("c(N, C), nat(V), C = V, C < V + 1", "nat(V)  [index by value: V = C]"),
    ],
)
def test_plans_show_the_range(body: str, expected: str) -> None:
    kb = KnowledgeBase(f"r(N, V) :- {body}.\nc(1, 2). nat(2). nat(3). nat(4).")
    kb.count("r")
    (node,) = report_of(kb).nodes
    (plan,) = node.plans
    assert expected in explain_plan(plan.plan)


def test_where_errors_stop_a_run_ends_are_not_computed_before_the_body_holds() -> None:
    rules = 'r(V) :- c(N, C), nat(V), V < C + 1, nat(N).\nc(0, "a"). c(1, 2). nat(1). nat(2).'
    assert set(KnowledgeBase(rules, on_error="stop").facts("r")) == {(1,), (2,)}


def test_one_row_is_enough_where_nobody_uses_it() -> None:
    kb = KnowledgeBase("small(X) :- v(X), w(Y), X < Y.", updates=False)
    kb.apply(Change(insert={"v": [(n,) for n in range(100)], "w": [(n,) for n in range(100)]}))
    assert kb.count("small") == 99
    assert report_of(kb).instances == 99
