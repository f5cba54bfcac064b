"""Constants on disk: every kind comes back as it was, and constants with one hash are told apart."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from corollary import Iri, KnowledgeBase, Literal
from corollary.engines.spark.terms.ids import CollisionTable
from corollary.store import embedded_exchange
from corollary.store.terms import StoredTerms

KINDS = [
    0,
    -1,
    1 << 60,
    1 << 62,
    -(1 << 63),
    1 << 200,
    Decimal("2.50"),
    Decimal("-0.000001"),
    Decimal(10) ** 40 + Decimal("0.5"),
    0.0,
    4.5,
    float("inf"),
    True,
    False,
    "",
    "ann",
    'it\'s "quoted"\n',
    "ü 🌍",
    Iri("http://example.org/a"),
    Literal("chat", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "fr"),
    Literal("x", "http://example.org/type"),
    dt.date(2026, 1, 1),
    dt.datetime(2026, 1, 1, 12, 30),
    (1, "two", (3.5,)),
]


def test_every_kind_of_constant_comes_back(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", "q(X) :- p(X, _).")
    kb.insert("p", [(value, number) for number, value in enumerate(KINDS[:10])])
    kb.insert("p", [(value, number) for number, value in enumerate(KINDS)])
    for _ in range(2):
        opened = KnowledgeBase.open(tmp_path / "kb")
        assert opened.facts("p").sorted() == kb.facts("p").sorted()
        assert opened.facts("q").sorted() == kb.facts("q").sorted()
        kb.compact()


@pytest.mark.parametrize("least", [1, 1_000], ids=["whole states", "changes"])
def test_constants_with_one_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    monkeypatch.setattr("corollary.engines.embedded.maintenance.journal._LEAST_LARGE", least)
    narrow = CollisionTable(hash_bits=9)
    monkeypatch.setattr(
        embedded_exchange, "StoredTerms", lambda universe, collisions=narrow: StoredTerms(universe, collisions)
    )
    names = [f"name {number}" for number in range(150)]
    kb = KnowledgeBase.create(tmp_path / "kb", "q(X) :- p(X).")
    kb.insert("p", [(name,) for name in names[:100]])
    assert kb._durable.store.meaning.collisions.salts, "nothing collides"
    opened = KnowledgeBase.open(tmp_path / "kb")
    opened.insert("p", [(name,) for name in names[100:]])
    opened.delete("p", [(names[3],), (names[120],)])
    expected = {(name,) for name in names} - {(names[3],), (names[120],)}
    for kb in (opened, KnowledgeBase.open(tmp_path / "kb")):
        assert set(kb.facts("p")) == set(kb.facts("q")) == expected
    assert not KnowledgeBase.verify(tmp_path / "kb")
