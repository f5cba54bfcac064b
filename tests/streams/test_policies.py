"""Bad updates: each is rejected as a whole and the stream goes on, or the stream ends before it; nothing is half applied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.settings import STREAM_STRATEGIES as STRATEGIES
from corollary.transactions import Change
from tests.engine_suite.scripts import visible

RULES = "r1: path(X, Y) :- edge(X, Y). r2: path(X, Z) :- edge(X, Y), path(Y, Z). edge(1, 2)."
GOOD = {"insert": {"edge": [[2, 3]]}}
BAD = {
    "no JSON": ("{insert: 1}", "E450"),
    "no object": ("[1, 2]", "E450"),
    "unknown key": ('{"insret": {"edge": [[5, 6]]}}', "E450"),
    "rows that are none": ('{"insert": {"edge": [5, 6]}}', "E450"),
    "facts that are none": ('{"insert": [["edge", 5, 6]]}', "E450"),
    "rules that are none": ('{"add_rules": "p(X) :- q(X)."}', "E450"),
    "null": ('{"insert": {"edge": [[5, 6], [7, null]]}}', "E450"),
    "another type": (17, "E450"),
    "unknown predicate": ({"insert": {"edge": [[5, 6]], "egde": [[7, 8]]}}, "E451"),
    "unknown predicate with a rule": (
        {"insert": {"egde": [[5, 6]]}, "add_rules": ["ends(Y) :- edge(_, Y)."], "remove_rules": ["r2"]},
        "E451",
    ),
    "too many arguments": ({"insert": {"edge": [[5, 6], [7, 8, 9]]}}, "E401"),
    "too few arguments": ({"delete": {"edge": [[1]]}}, "E401"),
    "a text that is no row": ({"insert": {"edge": ["ab"]}}, "E401"),
    "an object that is no row": ({"insert": {"edge": [{"a": 5, "b": 6}]}}, "E401"),
    "no constant": (Change(insert={"edge": [(5, None)]}), "E401"),
    "absent fact": ({"insert": {"edge": [[5, 6]]}, "delete": {"edge": [[1, 2], [8, 9]]}}, "E452"),
    "derived fact": ({"delete": {"path": [[1, 2]]}}, "E452"),
    "too large": ({"insert": {"edge": [[5, n] for n in range(11)]}}, "E453"),
    "unsafe rule": ({"insert": {"edge": [[5, 6]]}, "add_rules": ["p(X, Y) :- edge(X, _)."]}, "E202"),
    "rule that is none": ({"insert": {"edge": [[5, 6]]}, "add_rules": ["p(X :- ."]}, "E1"),
    "unknown rule": ({"insert": {"edge": [[5, 6]]}, "remove_rules": ["r9"]}, "E206"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_update_is_rejected_and_the_stream_goes_on(case: str) -> None:
    update, code = BAD[case]
    kb = KnowledgeBase(RULES)
    stream = kb.stream([update, GOOD], largest=10)
    result = next(stream)
    assert result.rejected is not None
    assert result.rejected.diagnostics[0].code.startswith(code)
    assert result.rejected.diagnostics[0].message.startswith("update 1")
    assert (dict(result.inserted), dict(result.deleted), list(result.inserted["path"])) == ({}, {}, [])
    assert (kb.count("edge"), kb.count("path")) == (1, 1)
    assert sorted(next(stream).inserted["path"]) == [(1, 3), (2, 3)]
    assert (stream.statistics.updates, stream.statistics.rejected, len(stream.rejects)) == (2, 1, 1)


@pytest.mark.parametrize("case", BAD)
def test_a_bad_update_ends_a_stream_that_may_not_reject(case: str) -> None:
    update, code = BAD[case]
    kb = KnowledgeBase(RULES)
    stream = kb.stream([GOOD, update, {"insert": {"edge": [[7, 7]]}}], policy="fail", largest=10)
    next(stream)
    before = visible(kb)
    with pytest.raises(ProgramError, match=code):
        next(stream)
    assert next(stream, None) is None
    assert visible(kb) == before


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_looking_ahead_at_a_bad_update_changes_nothing(strategy: str) -> None:
    for update, _ in BAD.values():
        kb = KnowledgeBase(RULES)
        results = list(kb.stream([GOOD, update, {"delete": {"edge": [[2, 3]]}}], strategy=strategy, largest=10))
        assert [result.is_rejected for result in results] == [False, True, False]
        assert sorted(kb.facts("path")) == [(1, 2)]


def test_an_update_may_delete_what_the_one_before_inserts() -> None:
    kb = KnowledgeBase(RULES)
    updates = [GOOD, {"delete": {"edge": [[2, 3]]}}, {"delete": {"edge": [[2, 3]]}}]
    assert [result.is_rejected for result in kb.stream(updates)] == [False, False, True]


def test_rules_bring_their_predicates_with_them() -> None:
    kb = KnowledgeBase(RULES)
    update = {"insert": {"colour": [[1, "red"]]}, "add_rules": ["red(X) :- colour(X, red)."], "remove_rules": ["r2"]}
    assert [result.is_rejected for result in kb.stream([update, {"insert": {"colour": [[2, "red"]]}}])] == [False] * 2
    assert sorted(kb.facts("red")) == [(1,), (2,)]


def test_what_is_no_row_is_none_either_when_its_constants_are_known() -> None:
    kb = KnowledgeBase(RULES)
    updates = [
        {"insert": {"edge": [("a", "b"), ("b", "a")]}},
        {"insert": {"edge": ["ab"]}},
        {"insert": {"edge": [{"a": 5, "b": 6}]}},
    ]
    results = list(kb.stream(updates))
    assert [result.rejected and result.rejected.diagnostics[0].code for result in results] == [None, "E401", "E401"]
    assert kb.count("edge") == 3


def test_constants_that_came_before_stay_apart_from_those_that_python_calls_equal() -> None:
    kb = KnowledgeBase("q(X) :- p(X). rain(1) :- wet().")
    updates = [
        {"insert": {"p": [[1], [2**70]]}},
        {"insert": {"p": [[True], [1.0], ["1"], [2**70]], "wet": [[]]}},
        {"insert": {"p": [[5], ["\ud800"]]}},
        {"delete": {"p": [[1], [2**70]], "wet": [[]]}, "insert": {"p": [[5]]}},
    ]
    results = list(kb.stream(updates))
    assert [result.rejected and result.rejected.diagnostics[0].code for result in results] == [None, None, "E401", None]
    assert sorted(map(repr, results[1].inserted["q"])) == ["('1',)", "(1.0,)", "(True,)"]
    assert sorted(map(repr, kb.facts("q"))) == ["('1',)", "(1.0,)", "(5,)", "(True,)"]
    assert (kb.count("wet"), kb.count("rain")) == (0, 0)


def test_facts_may_come_with_the_rules_that_mention_them_by_their_own_prefixes() -> None:
    kb = KnowledgeBase("@prefix ex: <http://example.org/> . " + RULES)
    updates = [
        {"insert": {"ex:new": [[1]]}, "add_rules": ["ex:seen(X) :- ex:new(X)."]},
        Change(
            insert={"http://other.org/p": [(2,)]}, add_rules=("@prefix o: <http://other.org/> . o:q(X) :- o:p(X).",)
        ),
    ]
    assert [result.rejected for result in kb.stream(updates)] == [None, None]
    assert (kb.count("ex:seen"), kb.count("http://other.org/q")) == (1, 1)


def test_rejected_updates_are_logged(tmp_path: Path) -> None:
    log = tmp_path / "rejects.jsonl"
    for _ in range(2):
        list(KnowledgeBase(RULES).stream([GOOD, BAD["no JSON"][0], BAD["absent fact"][0]], rejects=log))
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(line["update"], line["codes"]) for line in lines] == [(2, ["E450"]), (3, ["E452"])] * 2
    assert lines[0]["text"] == "{insert: 1}"
    assert lines[1]["reason"] == "E452: update 3: edge(8, 9) cannot be deleted: it is not an explicit fact"


def test_what_no_file_can_hold_is_logged_with_escapes(tmp_path: Path) -> None:
    stream = KnowledgeBase(RULES).stream(['{"insert": {"half \\ud800": [[1]]}}', GOOD], rejects=tmp_path / "rejects")
    assert [result.is_rejected for result in stream] == [True, False]
    assert r"'half \ud800'" in json.loads((tmp_path / "rejects").read_text(encoding="utf-8"))["reason"]


def test_a_limit_rejects_an_update_as_a_whole() -> None:
    from corollary import Limits

    kb = KnowledgeBase(RULES + " r3: pair(X, Y) :- edge(X, _), edge(Y, _).", limits=Limits(facts=200))
    updates = [{"insert": {"edge": [[5, n] for n in range(150)]}}, GOOD]
    assert [result.is_rejected for result in kb.stream(updates)] == [True, False]
    assert (kb.count("edge"), kb.count("path")) == (2, 3)


def test_only_a_knowledge_base_that_follows_changes_follows_a_stream() -> None:
    with pytest.raises(ProgramError, match="E455"):
        KnowledgeBase(RULES, updates=False).stream([GOOD])
    with pytest.raises(ValueError, match="there is no strategy 'magic'"):
        KnowledgeBase(RULES).stream([GOOD], strategy="magic")
    with pytest.raises(ValueError, match="'reject' or 'fail'"):
        KnowledgeBase(RULES).stream([GOOD], policy="ignore")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_other_changes_may_come_between_the_updates_of_a_stream(strategy: str) -> None:
    kb = KnowledgeBase(RULES)
    told = []
    kb.subscribe("path", lambda inserted, deleted: told.append((sorted(inserted), sorted(deleted))))
    one = kb.stream([GOOD, {"delete": {"edge": [[2, 3]]}}], strategy=strategy)
    other = kb.stream([{"insert": {"edge": [[3, 4]]}}, {"delete": {"edge": [[1, 2]]}}], strategy="dred")
    next(one)
    kb.insert("edge", [(4, 1)])
    next(other)
    assert kb.count("path") == 16
    next(one)
    kb.add_rules("r3: loop(X) :- path(X, X).")
    assert sorted(kb.facts("path")) == [(1, 2), (3, 1), (3, 2), (3, 4), (4, 1), (4, 2)]
    next(other)
    assert sorted(kb.facts("path")) == [(3, 1), (3, 4), (4, 1)]
    kb.delete("edge", [(4, 1)])
    assert (sorted(kb.facts("path")), kb.count("loop")) == ([(3, 4)], 0)
    assert told[-1] == ([], [(3, 1), (4, 1)])
