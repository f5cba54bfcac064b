"""Which queries are answered on demand."""

from __future__ import annotations

import pytest

from corollary import KnowledgeBase

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
