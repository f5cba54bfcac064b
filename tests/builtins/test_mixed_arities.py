"""With `mixed_arities`, one name with several numbers of arguments is several predicates, as IRIS has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError

TEXT = "p(1). p(1, 2). q(X) :- p(X), p(X, _). r(X, Y) :- p(X, Y), not p(Y). ?- p(X)."


def test_one_name_with_two_numbers_of_arguments_is_an_error() -> None:
    with pytest.raises(ProgramError, match="E201"):
        KnowledgeBase(TEXT)


def test_they_are_two_predicates_where_the_setting_says_so() -> None:
    kb = KnowledgeBase(TEXT, mixed_arities=True)
    assert kb.predicates() == ["p/1", "p/2", "q/1", "r/2"]
    assert set(kb.query("p(X)")) == set(kb.query(kb.queries[0])) == set(kb.facts("p/1")) == {(1,)}
    assert set(kb.query("p(X, Y)")) == {(1, 2)}
    assert set(kb.facts("q")) == {(1,)}
    assert set(kb.facts("r")) == {(1, 2)}


def test_facts_and_rules_of_either_may_come_and_go() -> None:
    kb = KnowledgeBase(TEXT, mixed_arities=True)
    kb.add_rules("p(X, X, X) :- p(X).")
    assert set(kb.query("p(X, Y, Z)")) == {(1, 1, 1)}
    kb.insert("p/1", [(2,)])
    assert set(kb.facts("r")) == set()
    assert len(kb.query("p(X, Y, Z)")) == 2
    kb.remove_rules("p(X, X, X) :- p(X).")
    assert "p/3" not in kb.predicates()


def test_a_stored_knowledge_base_stays_as_it_was_made(tmp_path: Path) -> None:
    KnowledgeBase(TEXT, mixed_arities=True).save(tmp_path / "kb")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert set(kb.query("p(X, Y)")) == {(1, 2)}
        assert set(kb.facts("q")) == {(1,)}
