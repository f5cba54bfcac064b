"""A feed of changes: every version once and as a whole, whoever failed or died in between."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import polars
import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.store import feed as feed_module
from corollary.transactions import Change

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), path(Y, Z).
lonely(X) :- node(X), not path(X, _).
happy :- node(1).
edge(1, 2). node(7).
"""
CHANGES = [
    Change(insert={"edge": [(2, 3)], "node": [(1,)]}),
    Change(delete={"edge": [(1, 2)]}),
    Change(insert={"unseen": [(1,)]}),
    Change(add_rules=("extra: path(X, X) :- node(X).",)),
    Change(delete={"node": [(1,)]}, insert={"edge": [("ann", 4.5)]}),
]
NAMES = ("path", "lonely", "happy")


def facts(kb: KnowledgeBase) -> set[tuple]:
    return {(name, tuple(row)) for name in NAMES for row in kb.facts(name)}


def versions_of(feed: Path) -> dict[int, Counter[tuple]]:
    """What each version of a feed adds and takes."""
    found: dict[int, Counter[tuple]] = {}
    for version, predicate, op, values in polars.read_delta(str(feed)).rows():
        found.setdefault(version, Counter())[predicate, tuple(json.loads(values))] += 1 if op == "insert" else -1
    return found


def check(kb: KnowledgeBase, feed: Path) -> None:
    """Each version leads from the state before it to its own; the first one with rows starts from nothing."""
    state: Counter[tuple] = Counter()
    for version, changes in sorted(versions_of(feed).items()):
        state.update(changes)
        state = Counter({fact: count for fact, count in state.items() if count})
        assert set(state.values()) <= {1}, f"version {version} says something twice"
        assert set(state) == facts(KnowledgeBase.open(kb.path, version=version))
    assert set(state) == facts(kb)


def test_a_feed_follows_every_transaction(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", PROGRAM)
    kb.feed(tmp_path / "feed", NAMES, snapshot=True)
    for change in CHANGES:
        kb.apply(change)
        check(kb, tmp_path / "feed")
    kb.compact()
    list(kb.stream([{"insert": {"edge": [[8, 9]]}}, {"delete": {"edge": [[8, 9]]}}]))
    kb.insert("edge", [(5, 6)])
    check(kb, tmp_path / "feed")


@pytest.mark.parametrize("least", [1, 1_000], ids=["whole states", "changes"])
@pytest.mark.parametrize("strategy", ["auto", "dred-counting"])
def test_a_feed_that_is_behind_gets_what_is_missing(
    tmp_path: Path, strategy: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corollary.engines.embedded.maintenance.journal._LEAST_LARGE", least)
    kb = KnowledgeBase.create(tmp_path / "kb", PROGRAM)
    kb.feed(tmp_path / "feed", NAMES, snapshot=True)
    others = KnowledgeBase.open(tmp_path / "kb", strategy=strategy)
    for change in CHANGES:
        others.apply(change)
    again = KnowledgeBase.open(tmp_path / "kb")
    for _ in range(2):
        again.feed(tmp_path / "feed", NAMES)
        check(again, tmp_path / "feed")


def test_a_version_that_could_not_be_written_comes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", PROGRAM)
    kb.feed(tmp_path / "feed", NAMES, snapshot=True)

    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(feed_module, "commit", full)
        with pytest.raises(ProgramError, match="No space left"):
            kb.apply(CHANGES[0])
    assert kb.version == 2  # the version is there; only the feed is behind
    kb.apply(CHANGES[1])
    check(kb, tmp_path / "feed")


def test_a_knowledge_base_in_memory_has_a_feed_too(tmp_path: Path) -> None:
    kb = KnowledgeBase(PROGRAM)
    kb.feed(tmp_path / "feed", ["path"])
    kb.insert("edge", [(2, 3)])
    kb.insert("unseen", [(1,)])
    kb.delete("edge", [(2, 3)])
    assert versions_of(tmp_path / "feed") == {
        1: Counter({("path", (2, 3)): 1, ("path", (1, 3)): 1}),
        2: Counter({("path", (2, 3)): -1, ("path", (1, 3)): -1}),
    }


def test_what_is_no_feed_of_this_knowledge_base_is_refused(tmp_path: Path) -> None:
    kb = KnowledgeBase.create(tmp_path / "kb", PROGRAM)
    KnowledgeBase.create(tmp_path / "other", PROGRAM).feed(tmp_path / "others", NAMES)
    with pytest.raises(ProgramError, match=r"E461.*another knowledge base"):
        kb.feed(tmp_path / "others", NAMES)
    kb.feed(tmp_path / "feed", NAMES)
    ahead = KnowledgeBase.open(tmp_path / "kb")
    for change in CHANGES[:2]:
        ahead.apply(change)
    ahead.feed(tmp_path / "feed", NAMES)
    with pytest.raises(ProgramError, match=r"E461.*is at version 3"):
        KnowledgeBase.open(tmp_path / "kb", version=1).feed(tmp_path / "feed", NAMES)
    kb = KnowledgeBase.open(tmp_path / "kb")
    for change in CHANGES[2:]:
        kb.apply(change)
    kb.compact()
    kb.vacuum(keep=1)
    with pytest.raises(ProgramError, match=r"E461.*dropped"):
        kb.feed(tmp_path / "feed", NAMES)


def test_tables_that_died_before_their_mark_get_nothing_twice(tmp_path: Path) -> None:
    """A publication whose rows are newer than its mark."""
    kb = KnowledgeBase.create(tmp_path / "kb", PROGRAM)
    kb.publish(tmp_path / "tables", ["path"])
    mark = (tmp_path / "tables" / "corollary.json").read_text()
    kb.insert("edge", [(2, 3)])
    (tmp_path / "tables" / "corollary.json").write_text(mark)
    again = KnowledgeBase.open(tmp_path / "kb")
    again.insert("edge", [(3, 4)])
    again.publish(tmp_path / "tables", ["path"])
    rows = polars.read_delta(str(tmp_path / "tables" / "path.delta")).rows()
    assert sorted(rows) == sorted(again.facts("path"))


def test_a_feed_keeps_its_predicates(tmp_path: Path) -> None:
    """Also those of somebody who does not name them, whether the feed is behind or not; others are refused."""
    kb = KnowledgeBase.create(tmp_path / "kb", PROGRAM)
    kb.feed(tmp_path / "feed", ["lonely"], snapshot=True)
    KnowledgeBase.open(tmp_path / "kb").apply(CHANGES[0])
    again = KnowledgeBase.open(tmp_path / "kb")
    again.feed(tmp_path / "feed")
    again.delete("node", [(7,)])
    found = sorted(polars.read_delta(str(tmp_path / "feed")).select("predicate", "op", "values").rows())
    assert found == [("lonely", "delete", "[7]"), ("lonely", "insert", "[7]")]
    with pytest.raises(ProgramError, match=r"E461.* has lonely, not lonely, path"):
        KnowledgeBase.open(tmp_path / "kb").feed(tmp_path / "feed", ["path", "lonely"])


def test_a_feed_that_says_nothing_of_its_predicates_takes_those_that_are_asked_for(tmp_path: Path) -> None:
    """Feeds that were begun before they said it."""
    kb = KnowledgeBase.create(tmp_path / "kb", PROGRAM)
    kb.feed(tmp_path / "feed", NAMES, snapshot=True)
    (first,) = (tmp_path / "feed" / "_delta_log").glob("*0.json")
    actions = [json.loads(line) for line in first.read_text().splitlines()]
    assert sum(action["metaData"].pop("description") is not None for action in actions if "metaData" in action) == 1
    first.write_text("".join(json.dumps(action) + "\n" for action in actions))
    again = KnowledgeBase.open(tmp_path / "kb")
    again.feed(tmp_path / "feed", NAMES)
    again.apply(CHANGES[0])
    check(again, tmp_path / "feed")
