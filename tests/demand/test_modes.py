"""Which queries are answered on demand."""

from __future__ import annotations

from typing import Any

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.backends.asking import MOST_DEMANDS
from corollary.engines.embedded.engine import EmbeddedEngine

PATHS = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z). edge(1, 2). edge(2, 3)."


def derives_everything(kb: KnowledgeBase, query: str, mode: str | None = None) -> bool:
    kb.query(query, mode=mode)
    return kb._backend.is_materialised


def test_without_a_mode_a_query_with_a_known_argument_is_answered_on_demand() -> None:
    assert not derives_everything(KnowledgeBase(PATHS), "path(1, X)")
    assert not derives_everything(KnowledgeBase(PATHS), "edge(X, Y), path(Y, 3)")
    assert derives_everything(KnowledgeBase(PATHS), "path(X, Y)")


def test_the_setting_says_how_and_a_query_may_say_otherwise() -> None:
    assert derives_everything(KnowledgeBase(PATHS, mode="materialise"), "path(1, X)")
    assert not derives_everything(KnowledgeBase(PATHS, mode="demand"), "path(X, Y)")
    assert derives_everything(KnowledgeBase(PATHS, mode="demand"), "path(X, Y)", "materialise")


def test_after_ten_queries_on_demand_everything_is_derived() -> None:
    kb = KnowledgeBase(PATHS)
    assert [derives_everything(kb, f"path({number}, X)") for number in range(11)] == [False] * 10 + [True]


def test_where_errors_stop_everything_is_derived_unless_a_query_says_otherwise() -> None:
    assert derives_everything(KnowledgeBase(PATHS, on_error="stop"), "path(1, X)")
    assert not derives_everything(KnowledgeBase(PATHS, on_error="stop"), "path(1, X)", "demand")


def test_what_was_derived_is_read_in_every_mode() -> None:
    kb = KnowledgeBase(PATHS)
    kb.materialise()
    kb.insert("edge", [(3, 4)])
    assert sorted(kb.query("path(1, X)", mode="demand")) == [(2,), (3,), (4,)]


def test_facts_and_rules_may_change_between_queries_on_demand() -> None:
    kb = KnowledgeBase(PATHS)
    assert len(kb.query("path(1, X)", mode="demand")) == 2
    kb.insert("edge", [(3, 4)])
    kb.insert("path", [(4, 9)])
    assert sorted(kb.query("path(1, X)", mode="demand")) == [(2,), (3,), (4,), (9,)]
    kb.add_rules("edge(X, Y) :- road(X, Y). road(4, 10).")
    assert (10,) in set(kb.query("path(1, X)", mode="demand"))


def test_a_mode_that_there_is_not_is_an_error() -> None:
    with pytest.raises(ValueError, match="there is no mode 'demnd': did you mean 'demand'"):
        KnowledgeBase(PATHS).query("path(1, X)", mode="demnd")


# -- recursion that never ends without a demand ------------------------------------------------------------------------------

FACTORIAL = "fac(0, 1). fac(N, F) :- N > 0, M = N - 1, fac(M, G), F = N * G."
FIBONACCI = "fib(0, 0). fib(1, 1). fib(N, F) :- N > 1, A = N - 1, B = N - 2, fib(A, X), fib(B, Y), F = X + Y."


@pytest.mark.parametrize("mode", ["demand", "auto"])
@pytest.mark.parametrize(
    ("text", "query", "answers"),
    [
        (FACTORIAL, "fac(5, F)", [(120,)]),
        (FACTORIAL, "fac(-1, F)", []),
        (FACTORIAL, "fac(3, 6)", [()]),
        (FIBONACCI, "fib(20, F)", [(6765,)]),
        ("down(3, a). down(N, X) :- N < 3, M = N + 1, down(M, X).", "down(-2, X)", [("a",)]),
        ("walk(0, a). walk(N, Y) :- N != 0, M = N - 1, walk(M, X), edge(X, Y). edge(a, b). edge(b, a).", "walk(9, X)", [("b",)]),
        ("p(z). p(s(X)) :- p(X).", "p(s(s(z)))", [()]),
        ("p(z). p(s(X)) :- p(X).", "p(s(s(a)))", []),
        ("item(2). rest([]). rest([X | T]) :- item(X), rest(T).", "rest([2, 2])", [()]),
        ("n(1). n(2). n(4). even(0). even(N) :- N > 0, M = N - 2, even(M).", "n(X), even(X)", [(2,), (4,)]),
    ],
)  # fmt: skip
def test_a_demand_passes_through_what_is_computed_and_into_terms(
    mode: str, text: str, query: str, answers: list[tuple[object, ...]]
) -> None:
    kb = KnowledgeBase(text, mode=mode, limits={"facts": 2000, "depth": 20})
    for _ in range(MOST_DEMANDS + 1):
        assert sorted(kb.query(query), key=str) == answers


def test_a_demand_that_is_computed_finds_equal_numbers_of_all_types() -> None:
    text = '{} :- n(N), M = N - 1, p(M). n(3). n(1). p(2). p(2.0e0). p("2"^^xsd:float). p(X) :- o(X). o(-0.0e0).'
    kb = KnowledgeBase(text.format("q(N, M)"))
    assert len(kb.query("q(3, M)", mode="demand")) == 3
    assert len(kb.query("q(1, M)", mode="demand")) == 1
    assert {name for name, _ in kb.demanded("q(3, M)").demands} == {"q", "p"}


def test_a_demand_does_not_step_away_from_the_bound() -> None:
    kb = KnowledgeBase("p(0). p(N) :- N <= 9, M = N - 1, p(M).", limits={"facts": 100})
    assert list(kb.query("p(-3)", mode="demand")) == []
    assert len(kb.query("p(7)", mode="demand")) == 1


def test_where_errors_stop_nothing_is_computed_for_a_demand() -> None:
    kb = KnowledgeBase("p(0). p(N) :- N > 0, M = N - 1, p(M), N < 9.", on_error="stop")
    assert list(kb.query("p(a)", mode="demand")) == []


def test_reads_beside_rules_without_an_end_derive_their_part_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase(
        "n(0). n(X + 1) :- n(X). path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z). edge(1, 2)."
    )
    derived: list[object] = []
    usual = EmbeddedEngine.derived_by

    def counted(engine: EmbeddedEngine, *arguments: Any) -> Any:
        derived.append(arguments)
        return usual(engine, *arguments)

    monkeypatch.setattr(EmbeddedEngine, "derived_by", counted)
    for _ in range(3):
        assert (list(kb.facts("path")), kb.count("path"), list(kb.query("path(X, Y)"))) == ([(1, 2)], 1, [(1, 2)])
    assert len(derived) == 2  # facts and the query name their variables in their own ways
    kb.insert("edge", [(2, 3)])
    assert set(kb.facts("path")) == {(1, 2), (2, 3), (1, 3)}
    kb.add_rules("path(X, X) :- edge(X, _).")
    assert kb.count("path") == 5
    kb.insert("path", [(9, 9)])
    assert kb.count("path") == 6
    with pytest.raises(ProgramError, match="E401"):
        kb.insert("edge", [(None, 3)])
    assert kb.count("path") == 6
