"""One call is one transaction, one version and one message, whatever it brings: facts, predicates, terms, rules, files."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from corollary import Change, KnowledgeBase, ProgramError

EQUALITY = "X = Y :- same(X, Y). p(1). q(X) :- p(X)."
UNIVERSE = "other(X, Y) :- not p(X), q(Y). p(1). q(2)."


def heard_by(kb: KnowledgeBase, *predicates: str) -> list[tuple[str, list[Any], list[Any]]]:
    heard: list[tuple[str, list[Any], list[Any]]] = []
    for name in predicates:
        kb.subscribe(name, lambda came, went, name=name: heard.append((name, sorted(came), sorted(went))))  # type: ignore[misc]
    return heard


def rows_of_file(folder: Path) -> Path:
    (folder / "same.csv").write_text("1,2\n2,3\n", encoding="utf-8")
    return folder / "same.csv"


CALLS: dict[str, Callable[[KnowledgeBase, Path], Any]] = {
    "insert": lambda kb, folder: kb.insert("same", [(1, 2), (2, 3)]),
    "apply": lambda kb, folder: kb.apply(Change({"same": [(1, 2), (2, 3)]})),
    "load": lambda kb, folder: kb.load("same", rows_of_file(folder)),
    "load_facts": lambda kb, folder: kb.load_facts(rows_of_file(folder).parent),
    "add_rules": lambda kb, folder: kb.add_rules(f'@input same("{rows_of_file(folder)}") .', allow=["inputs"]),
    "add_rules with facts": lambda kb, folder: kb.add_rules("same(1, 2). same(2, 3). also(X) :- p(X)."),
    "stream": lambda kb, folder: list(kb.stream([Change({"same": [(1, 2), (2, 3)]})])),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("stored", [False, True])
def test_facts_and_the_rules_that_notice_them_come_together(call: str, stored: bool, tmp_path: Path) -> None:
    """`same` is new, so the rules of equality reach it with the same call."""
    text = EQUALITY.replace("X = Y :- same(X, Y).", "X = Y :- same(X, Y). same(8, 9).")
    kb = KnowledgeBase.create(tmp_path / "store", text, base=tmp_path) if stored else KnowledgeBase(text, base=tmp_path)
    kb.materialise()
    heard = heard_by(kb, "p", "q")
    (tmp_path / "data").mkdir()
    CALLS[call](kb, tmp_path / "data")
    assert heard == [("p", [(2,), (3,)], []), ("q", [(2,), (3,)], [])]
    if stored:
        assert kb.version == 2
        assert KnowledgeBase.verify(tmp_path / "store") == []


@pytest.mark.parametrize("updates", [True, False])
@pytest.mark.parametrize("text", [EQUALITY, UNIVERSE], ids=["equality", "universe"])
def test_a_refused_call_leaves_neither_facts_nor_rules(text: str, updates: bool) -> None:
    options = {"unsafe": "universe"} if text is UNIVERSE else {}
    kb = KnowledgeBase(text, updates=updates, **options)
    kb.materialise()
    before = {name: sorted(kb.facts(name)) for name in kb.predicates()}
    analysis, predicates = kb.analysis, kb.predicates()
    kb.limits = type(kb.limits)(facts=60)
    for name in ("same", "fresh"):
        heard = heard_by(kb, "p", "q", "other")
        with pytest.raises(ProgramError, match="E302"):
            kb.insert(name, [(number, number + 1) for number in range(200)])
        assert heard == []
    assert kb.analysis is analysis
    assert kb.predicates() == predicates
    assert kb.arity("fresh") is None
    assert {name: sorted(kb.facts(name)) for name in kb.predicates()} == before


@pytest.mark.parametrize("strategy", ["auto", "dred", "backward-forward", "dred-counting", "recompute"])
@pytest.mark.parametrize("way", ["bf-marking", "dred", "sets"])
def test_a_change_after_a_stream_is_one_version(strategy: str, way: str, tmp_path: Path) -> None:
    text = """
    path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z). n(X, count(Y)) :- path(X, Y).
    q(X) :- e(X, Y), q(Y). e(1, 2). q(2). edge(1, 2). edge(2, 3).
    """
    place = tmp_path / "store"
    kb = KnowledgeBase.create(place, text, strategy=strategy)
    changes = [Change({"edge": [(3, 4)]}), Change({"e": [(0, 1)]}, {"edge": [(1, 2)]})]
    steps: list[Callable[[], Any]] = [
        lambda: list(kb.stream(changes[:1], strategy=way)),
        lambda: kb.add_rules("x: path(X, Y) :- path(Y, X), e(X, _)."),
        lambda: list(kb.stream(changes[1:], strategy=way)),
        lambda: kb.remove_rules("x"),
        lambda: list(kb.stream([Change({"edge": [(4, 5)]})], strategy=way)),
        lambda: kb.apply(Change({"q": [(9,)]}, {"e": [(1, 2)]}, ("x: q(X) :- path(X, 4).",))),
    ]
    for version, step in enumerate(steps, 2):
        step()
        assert kb.version == version
        assert KnowledgeBase.verify(place) == []
        known = {name: sorted(kb.facts(name)) for name in ("path", "n", "q")}
        opened = KnowledgeBase.open(place)
        assert {name: sorted(opened.facts(name)) for name in known} == known
        assert [rule.name for rule in opened.program.rules] == [rule.name for rule in kb.program.rules]


OPENED = """
path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), path(Y, Z), X != Z. n(X, count(Y)) :- path(X, Y).
far(X, Y) :- path(X, Y), not edge(X, Y). edge(1, 2). edge(2, 3). edge("a", 1).
"""
FIRST_CHANGES: dict[str, Callable[[KnowledgeBase], Any]] = {
    "insert": lambda kb: kb.insert("edge", [(4, "b")]),
    "delete": lambda kb: kb.delete("edge", [(2, 3)]),
    "rules": lambda kb: kb.add_rules("x: path(X, Y) :- path(Y, X), mark(X). mark(1)."),
    "both": lambda kb: kb.apply(Change({"mark": [(2,)]}, {"edge": [(1, 2)]}, ("x: path(X, X) :- mark(X).",))),
    "stream": lambda kb: list(kb.stream([Change({"edge": [(4, 5)]})], strategy="dred")),
    "compact": lambda kb: kb.compact(),
}


def state_of(kb: KnowledgeBase) -> tuple[dict[str, set[Any]], list[str]]:
    return {name: set(kb.facts(name)) for name in ("edge", "path", "n", "far")}, [
        rule.name for rule in kb.program.rules
    ]


def check_stored(kb: KnowledgeBase, place: Path, version: int) -> None:
    assert kb.version == version
    assert KnowledgeBase.verify(place) == []
    assert state_of(KnowledgeBase.open(place)) == state_of(kb)


STRATEGIES = ("auto", "dred", "backward-forward", "dred-counting", "recompute")
WAYS = ("bf-marking", "dred", "sets", None)
CASES = [(*one, change) for one, change in zip(product(STRATEGIES, WAYS), cycle(FIRST_CHANGES), strict=False)]


@pytest.mark.parametrize(("strategy", "way", "change"), CASES)
def test_the_first_change_after_opening_in_another_way_is_one_version(
    strategy: str, way: str | None, change: str, tmp_path: Path
) -> None:
    place = tmp_path / "store"
    kb = KnowledgeBase.create(place, OPENED)
    if way is not None:
        list(kb.stream([Change({"edge": [(3, 4)]})], strategy=way))
    version, known = kb.version, state_of(kb)
    assert version is not None
    opened = KnowledgeBase.open(place, strategy=strategy)
    opened.limits = type(opened.limits)(facts=60)
    with pytest.raises(ProgramError, match="E302"):
        opened.insert("edge", [(number, number + 1) for number in range(20, 40)])
    opened.limits = type(opened.limits)()
    assert opened.insert("edge", [(1, 2)]) == 0
    assert state_of(opened) == known
    check_stored(opened, place, version)
    FIRST_CHANGES[change](opened)
    check_stored(opened, place, version + 1)
    (before, _), (after, _) = known, state_of(opened)
    found = opened.diff(version, version + 1)
    for predicate in before:
        assert set(found.inserted[predicate]) == after[predicate] - before[predicate]
        assert set(found.deleted[predicate]) == before[predicate] - after[predicate]
    again = KnowledgeBase.open(place)
    again.delete("edge", [("a", 1)])
    check_stored(again, place, version + 2)


@pytest.mark.parametrize("way", ["bf-marking", "dred"])
def test_what_changes_nothing_after_a_refused_change_makes_no_version(way: str, tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "store", OPENED)
    list(kb.stream([Change({"edge": [(3, 4)]})], strategy=way))
    assert kb.insert("edge", [(1, 2)]) == 0
    check_stored(kb, tmp_path / "store", 2)
    kb.limits = type(kb.limits)(facts=60)
    with pytest.raises(ProgramError, match="E302"):
        kb.insert("edge", [(number, number + 1) for number in range(20, 40)])
    assert kb.insert("edge", [(1, 2)]) == 0
    check_stored(kb, tmp_path / "store", 2)
    kb.delete("edge", [(1, 2)])
    check_stored(kb, tmp_path / "store", 3)


def test_who_only_reads_after_a_stream_writes_nothing(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "store", "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), edge(Y, Z).")
    list(kb.stream([Change({"edge": [(1, 2)]})]))
    version = kb.version
    kb.owners("path"), kb.rules(), kb.query("path(X, Y)")
    assert kb.version == version
    kb.mark(offset=7)
    kb.owners("path")
    assert kb.marks == {}
    kb.insert("edge", [(2, 3)])
    assert (kb.version, kb.marks) == (version + 1, {"offset": 7})


def test_rejected_rows_count_with_the_change_that_they_belong_to(tmp_path: Path) -> None:
    kb = KnowledgeBase("p(X) :- edge(X, _).")
    kb.materialise()
    (tmp_path / "edge.csv").write_text("1,2\n3\n4,5\n", encoding="utf-8")
    kb.limits = type(kb.limits)(facts=1)
    with pytest.raises(ProgramError, match="E302"):
        kb.load("edge", tmp_path / "edge.csv")
    assert len(kb.rejects) == 0
    kb.limits = type(kb.limits)()
    assert kb.load("edge", tmp_path / "edge.csv") == 2
    assert len(kb.rejects) == 1


# -- without updates -----------------------------------------------------------------------------------------------------


def test_without_updates_changes_are_told_too(tmp_path: Path) -> None:
    kb = KnowledgeBase("q(X) :- p(X). p(1). @output q .", updates=False)
    kb.materialise()
    heard = heard_by(kb, "q")
    kb.publish(tmp_path / "published")
    kb.feed(tmp_path / "feed")
    kb.insert("p", [(2,)])
    kb.delete("p", [(1,)])
    kb.add_rules("q(X) :- r(X). r(7).")
    assert heard == [("q", [(2,)], []), ("q", [], [(1,)]), ("q", [(7,)], [])]
    from deltalake import DeltaTable

    assert len(DeltaTable(tmp_path / "published" / "q.delta").to_pyarrow_table()) == 2
    fed = DeltaTable(tmp_path / "feed").to_pyarrow_table().to_pylist()
    assert sorted((row["op"], row["values"]) for row in fed) == [
        ("delete", "[1]"), ("insert", "[2]"), ("insert", "[7]"),
    ]  # fmt: skip


def test_a_directory_needs_updates(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="E437"):
        KnowledgeBase.create(tmp_path / "store", "p(1).", updates=False)
    assert not (tmp_path / "store").exists()
    KnowledgeBase.create(tmp_path / "store", "p(1).")
    with pytest.raises(ProgramError, match="E437"):
        KnowledgeBase.open(tmp_path / "store", updates=False)


def test_a_copy_may_be_saved_without_updates(tmp_path: Path) -> None:
    kb = KnowledgeBase("q(X) :- p(X). p(1).", updates=False)
    kb.insert("p", [(2,)])
    kb.save(tmp_path / "copy")
    assert KnowledgeBase.open(tmp_path / "copy").count("q") == 2
    assert KnowledgeBase.verify(tmp_path / "copy") == []
