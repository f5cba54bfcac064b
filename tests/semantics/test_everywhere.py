"""Programs that are rewritten for what they mean, in stores, in streams and on demand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corollary import Change, KnowledgeBase
from corollary.program import Structure
from tests.semantics.test_well_founded import WIN

Case = tuple[str, dict[str, Any], list[Change], list[str]]

CASES: dict[str, Case] = {
    "well-founded": (
        f"{WIN} lost(X) :- move(_, X), not win(X). move(1, 2). move(4, 4).",
        {"semantics": "well-founded"},
        [Change(insert={"move": [(2, 3)]}), Change(delete={"move": [(4, 4)]}), Change(insert={"move": [(3, 1)]})],
        ["win", "lost"],
    ),
    "equality": (
        "X = Y :- alias(X, Y). q(c). alias(a, b). r(X) :- q(X).",
        {},
        [Change(insert={"alias": [("b", "c")], "new": [("a", 1)]}), Change(delete={"alias": [("a", "b")]})],
        ["q", "r", "alias", "new"],
    ),
    "equal parts": (
        "X = Y :- alias(X, Y). alias(a, b). q(f(a)). r(g(X, [X])) :- q(f(X)).",
        {},
        [
            Change(insert={"alias": [("b", "c")], "new": [(Structure("h", (1, "c")),)]}),
            Change(delete={"alias": [("a", "b")]}),
        ],
        ["q", "r", "alias", "new"],
    ),
    "unsafe": (
        "q(X) :- not p(X). p(1). r(2).",
        {"unsafe": "universe"},
        [Change(insert={"r": [(3,)], "new": [(7,)]}), Change(delete={"r": [(2,)]})],
        ["p", "q", "r"],
    ),
    "stated": (
        "a(X) :- not b(X). b(X) :- not c(X). c(one). a(zed). b(one).",
        {"unsafe": "universe"},
        [
            Change(insert={"a": [("yak",)], "b": [("yak",), ("xen",)], "new": [("w",)]}),
            Change(delete={"a": [("zed",)], "b": [("yak",), ("one",)]}),
            Change(delete={"a": [("yak",)]}, insert={"c": [("xen",)]}),
        ],
        ["a", "b", "c"],
    ),
    "terms": (
        "n(s(X)) :- m(X). m(1). o(X) :- n(s(X)). o(Y) :- o(X), l([X, Y]).",
        {},
        [Change(insert={"m": [(3,)]}), Change(insert={"l": [((3, 4),)]}), Change(delete={"m": [(3,)]})],
        ["n", "o"],
    ),
    "constants": (
        "p(2, X) :- q(X), not r(3, X). r(Y, X) :- p(Y, X). q(1). q(4). p(3, 4).",
        {},
        [Change(insert={"p": [(3, 1)]}), Change(delete={"p": [(3, 4)]})],
        ["p", "r"],
    ),
    "precision": (
        "near(X, Y) :- p(X), p(Y), X = Y, not r(X). p(0.3e0). p(0.5e0). top(X) :- near(X, _), X >= 0.1e0 + 0.2e0.",
        {"precision": 40},
        [
            Change(insert={"p": [(0.30000000000000004,)]}),
            Change(insert={"r": [(0.5,)]}),
            Change(delete={"p": [(0.3,)]}),
        ],
        ["near", "top"],
    ),
}


@pytest.fixture(params=sorted(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def told(kb: KnowledgeBase, predicates: list[str]) -> dict[str, tuple[set[Any], set[Any]]]:
    return {name: (set(kb.facts(name)), set(kb.undefined(name))) for name in predicates}


def fresh(case: Case, count: int) -> dict[str, tuple[set[Any], set[Any]]]:
    """What everything is after some changes, derived from nothing."""
    text, options, changes, predicates = case
    kb = KnowledgeBase(text, updates=False, **options)
    for change in changes[:count]:
        kb.apply(change)
    return told(kb, predicates)


def test_a_store_opens_as_it_was_and_goes_on(case: Case, tmp_path: Path) -> None:
    text, options, changes, predicates = case
    KnowledgeBase.create(tmp_path / "kb", text, **options).apply(changes[0])
    opened = KnowledgeBase.open(tmp_path / "kb")
    assert told(opened, predicates) == fresh(case, 1)
    for change in changes[1:]:
        opened.apply(change)
    assert told(opened, predicates) == fresh(case, len(changes))
    assert told(KnowledgeBase.open(tmp_path / "kb"), predicates) == fresh(case, len(changes))


@pytest.mark.parametrize("strategy", ["bf-marking", "bf", "dred"])
def test_a_stream_is_followed_update_by_update(case: Case, strategy: str) -> None:
    text, options, changes, predicates = case
    changes = [
        Change(delete=change.delete, insert={k: v for k, v in change.insert.items() if k != "new"})
        for change in changes
    ]
    kb = KnowledgeBase(text, **options)
    for number, _ in enumerate(kb.stream(changes, strategy=strategy), 1):
        now = told(kb, [name for name in predicates if name != "new"])
        assert now == fresh((text, options, changes, list(now)), number)


LISTS = "list([3, 1, 2]). list(R) :- list([_ | R]). sized([], 0). sized([X | R], N + 1) :- sized(R, N), list([X | R])."
PATHS = "e(1, 2). e(2, 3). t(f(X, Y)) :- e(X, Y). t(f(X, Z)) :- t(f(X, Y)), e(Y, Z). p(X) :- t(f(1, X))."
QUERIES = [
    *((LISTS, query) for query in ("sized([3 | T], N)", "sized([1, 2], N)", "list([1 | X])", "sized(X, 2)")),
    *((PATHS, query) for query in ("t(f(1, X))", "t(f(X, 3))", "p(3)", "t(f(1, 3))")),
]


@pytest.mark.parametrize(("text", "query"), QUERIES)
def test_queries_with_terms_are_answered_on_demand(text: str, query: str) -> None:
    asked = KnowledgeBase(text).query(query, mode="demand")
    assert set(map(repr, asked)) == set(map(repr, KnowledgeBase(text).query(query, mode="materialise")))


def test_a_rewritten_program_is_never_rewritten_for_a_query() -> None:
    kb = KnowledgeBase(f"{WIN} move(1, 2). move(2, 3).", semantics="well-founded")
    assert list(kb.query("win(2)", mode="demand")) == [()]
    assert list(kb.query("win(1)", mode="demand")) == []
