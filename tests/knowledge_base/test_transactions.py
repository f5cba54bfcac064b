"""Transactions as users see them: what they change, what they tell, and that they are all or nothing."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.settings import Limits
from corollary.transactions import Change

PATHS = """
r1: path(X, Y) :- edge(X, Y).
r2: path(X, Z) :- path(X, Y), edge(Y, Z).
r3: lonely(X) :- node(X), not path(X, _).
r4: reach(X, count(Y)) :- path(X, Y).
edge(1, 2). edge(2, 3). node(1). node(3). node(4).
"""


def state(kb: KnowledgeBase) -> dict[str, list[tuple[object, ...]]]:
    return {name: sorted(kb.facts(name)) for name in kb.predicates()}


@pytest.fixture(params=[True, False], ids=["maintained", "derived-anew"])
def kb(request: pytest.FixtureRequest) -> KnowledgeBase:
    return KnowledgeBase(PATHS, updates=request.param)


def test_the_result_tells_what_came_and_went(kb: KnowledgeBase) -> None:
    with kb.transaction() as tx:
        tx.delete("edge", [(2, 3)])
        tx.insert("edge", [(3, 4)])
    assert sorted(tx.result.deleted["path"]) == [(1, 3), (2, 3)]
    assert sorted(tx.result.inserted["path"]) == [(3, 4)]
    assert list(tx.result.deleted["lonely"]) == [(3,)]
    assert list(tx.result.inserted["node"]) == []
    assert sorted(tx.result.inserted) == ["edge", "path", "reach"]


def test_a_fact_that_is_deleted_and_inserted_is_there(kb: KnowledgeBase) -> None:
    before = state(kb)
    result = kb.apply(Change(insert={"edge": [(1, 2)]}, delete={"edge": [(1, 2)]}))
    assert state(kb) == before
    assert not result.inserted
    assert not result.deleted


def test_deleting_an_explicit_fact_that_rules_derive_keeps_it_visible(kb: KnowledgeBase) -> None:
    kb.insert("path", [(1, 2), (7, 7)])
    assert kb.delete("path", [(1, 2), (7, 7), (2, 3)]) == 2
    assert sorted(kb.facts("path")) == [(1, 2), (1, 3), (2, 3)]


def test_what_is_not_explicit_cannot_be_deleted(kb: KnowledgeBase) -> None:
    before = state(kb)
    assert kb.delete("path", [(1, 3)]) == 0
    assert kb.delete("nothing", [(1,)]) == 0
    assert state(kb) == before


def test_rules_come_and_go_with_facts(kb: KnowledgeBase) -> None:
    with kb.transaction() as tx:
        tx.remove_rules("r2")
        tx.add_rules("r5: path(Y, X) :- edge(X, Y).")
        tx.insert("edge", [(5, 5)])
    assert sorted(kb.facts("path")) == [(1, 2), (2, 1), (2, 3), (3, 2), (5, 5)]
    assert sorted(rule.name for rule in kb.rules()) == ["r1", "r3", "r4", "r5"]


def test_rules_can_be_named_by_their_text(kb: KnowledgeBase) -> None:
    kb.remove_rules("path(A, C) :- path(A, B), edge(B, C).")
    assert sorted(kb.facts("path")) == [(1, 2), (2, 3)]


def test_a_text_means_all_rules_that_are_the_same() -> None:
    kb = KnowledgeBase("a: p(X) :- q(X). b: p(Y) :- q(Y). c: p(X) :- r(X). q(1). r(2).")
    kb.remove_rules("p(Z) :- q(Z).")
    assert [rule.name for rule in kb.rules()] == ["c"]
    assert list(kb.facts("p")) == [(2,)]


def test_a_text_with_a_name_means_the_rule_of_that_name() -> None:
    kb = KnowledgeBase("a: p(X) :- q(X). b: p(Y) :- q(Y). q(1).")
    kb.remove_rules("b: p(Z) :- q(Z).")
    assert [rule.name for rule in kb.rules()] == ["a"]
    with pytest.raises(ProgramError, match="E206"):
        kb.remove_rules("b: p(Z) :- q(Z).")


def test_rules_of_several_heads_are_removed_by_their_text() -> None:
    kb = KnowledgeBase("a: p(X), s(X) :- q(X). b: s(Y) :- q(Y). q(1).")
    kb.remove_rules("p(Z), s(Z) :- q(Z).")
    assert kb.rules() == []
    kb = KnowledgeBase("a: p(X), s(X) :- q(X). b: s(Y) :- q(Y). q(1).")
    kb.remove_rules("a: p(Z), s(Z) :- q(Z).")
    assert [rule.name for rule in kb.rules()] == ["b"]


def test_the_same_text_is_one_rule_whatever_its_variables_are_called(kb: KnowledgeBase) -> None:
    kb.materialise()
    kb.add_rules("path(From, To) :- edge(From, To).")
    assert [rule.name for rule in kb.rules()] == ["r1", "r2", "r3", "r4"]


def test_rules_with_another_join_structure_are_other_rules(kb: KnowledgeBase) -> None:
    kb.materialise()
    kb.add_rules("path(X, X) :- edge(X, X). path(X, Y) :- edge(Y, X).")
    assert len(kb.rules()) == 6


WRONG = {
    "an unsafe rule": Change(insert={"edge": [(8, 9)]}, add_rules=("p(X) :- not q(X).",)),
    "negation through itself": Change(insert={"edge": [(8, 9)]}, add_rules=("edge(X, X) :- lonely(X).",)),
    "a row that does not fit": Change(insert={"edge": [(8, 9)], "node": [(1, 2)]}),
    "an unknown rule": Change(delete={"edge": [(1, 2)]}, remove_rules=("r9",)),
    "a syntax error": Change(delete={"edge": [(1, 2)]}, add_rules=("p(X) :- ",)),
    "another arity": Change(delete={"edge": [(1, 2)]}, add_rules=("path(X) :- edge(X, X).",)),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_mistake_changes_nothing(kb: KnowledgeBase, change: Change) -> None:
    before, rules = state(kb), kb.rules()
    with pytest.raises(ProgramError):
        kb.apply(change)
    assert state(kb) == before
    assert kb.rules() == rules
    kb.insert("edge", [(3, 1)])
    assert kb.count("path") == 9


def test_a_block_that_raises_changes_nothing(kb: KnowledgeBase) -> None:
    before = state(kb)

    def interrupted() -> None:
        with kb.transaction() as tx:
            tx.insert("edge", [(3, 1)])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert state(kb) == before


@pytest.mark.parametrize("updates", [True, False])
def test_a_limit_changes_nothing(updates: bool) -> None:
    kb = KnowledgeBase("n(X + 1) :- n(X), X < 10.  m(X + 1) :- m(X).", limits=Limits(facts=50), updates=updates)
    kb.insert("n", [(0,)])
    before = state(kb)
    with pytest.raises(ProgramError, match="E302"):
        kb.apply(Change(insert={"m": [(0,)], "n": [(-5,)]}))
    assert state(kb) == before
    kb.insert("n", [(-5,)])
    assert kb.count("n") == 16


def test_a_failing_expression_changes_nothing() -> None:
    kb = KnowledgeBase("half(X / Y) :- p(X, Y).", on_error="stop")
    kb.insert("p", [(1, 2)])
    before = state(kb)
    with pytest.raises(ProgramError, match="E303"):
        kb.insert("p", [(1, 4), (1, 0)])
    assert state(kb) == before


def test_an_interrupt_changes_nothing() -> None:
    kb = KnowledgeBase(PATHS)
    before = state(kb)

    def rows() -> Iterator[tuple[int, int]]:
        os.kill(os.getpid(), signal.SIGINT)
        yield (3, 4)

    with pytest.raises(KeyboardInterrupt):
        kb.apply(Change(insert={"edge": rows()}, delete={"edge": [(1, 2)]}))
    assert state(kb) == before
    kb.insert("edge", [(3, 1)])
    assert kb.count("path") == 9


def test_subscribers_hear_of_every_change_of_their_predicate(kb: KnowledgeBase) -> None:
    heard: list[tuple[list[object], list[object]]] = []
    kb.materialise()
    stop = kb.subscribe("lonely", lambda inserted, deleted: heard.append((sorted(inserted), sorted(deleted))))
    kb.apply(Change(delete={"edge": [(1, 2)]}))
    kb.apply(Change(insert={"edge": [(9, 9)]}))
    kb.apply(Change(insert={"edge": [(4, 1)], "node": [(6,)]}))
    stop()
    kb.apply(Change(insert={"node": [(7,)]}))
    assert heard == [([(1,)], []), ([(6,)], [(4,)])]


def test_readers_see_whole_versions_only() -> None:
    kb = KnowledgeBase("both(X) :- left(X), right(X). left(0). right(0).")
    kb.materialise()
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen = list(kb.query("left(X), right(X), both(X)"))
            if len(seen) != 1:
                wrong.append(seen)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(60):
        kb.apply(
            Change(
                insert={"left": [(number + 1,)], "right": [(number + 1,)]},
                delete={"left": [(number,)], "right": [(number,)]},
            )
        )
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_an_answer_stays_what_it_was_when_facts_change() -> None:
    kb = KnowledgeBase(PATHS)
    paths, edges = kb.facts("path"), kb.facts("edge")
    for number in range(10, 3000):
        if number % 100 == 0:
            kb.insert("edge", [(number + k, number + k + 1) for k in range(50)])
    kb.delete("edge", [(number, number + 1) for number in range(3000)])
    assert sorted(paths) == [(1, 2), (1, 3), (2, 3)]
    assert sorted(edges) == [(1, 2), (2, 3)]


def test_the_difference_of_a_closure_can_be_read_after_later_changes() -> None:
    kb = KnowledgeBase("path(X, Z) :- path(X, Y), edge(Y, Z). path(X, Y) :- edge(X, Y).")
    kb.insert("edge", [(1, 2), (2, 3)])
    kb.materialise()
    results = [kb.apply(Change(insert={"edge": [(number, number + 1)]})) for number in range(3, 9)]
    added = kb.apply(Change(add_rules=("extra: path(X, 0) :- X = 7.",)))
    kb.apply(Change(remove_rules=("extra",), delete={"edge": [(1, 2), (4, 5)]}))
    assert [len(result.inserted["path"]) for result in results] == [3, 4, 5, 6, 7, 8]
    assert sorted(results[0].inserted["path"]) == [(1, 4), (2, 4), (3, 4)]
    assert sorted(added.inserted["path"]) == [(7, 0)]
