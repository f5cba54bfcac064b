"""Rules come and go, and a step becomes one of another kind: nonrecursive, recursive, a closure, or rules that run by turns.

Whoever goes on with what another kind of step supported has counters that are right, or does not count and is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.language import parse_program
from corollary.settings import STRATEGIES
from tests.budgets import examples
from tests.engines.embedded.scenarios import engine_of
from tests.engines.embedded.trusted_state import check_state, keep_journal
from tests.semantics.following import State, change, states

FACTS = ("e(1, 1)", "e(1, 2)", "e(2, 3)", "e(3, 1)", "d(1)", "d(2)", "p(3, 3)", "q(2, 3)")
STAYING = {
    "start": "p(X, Y) :- e(X, Y), d(X)",
    "other": "q(X, Y) :- e(X, Y), not p(X, Y)",
    "reader": "s(X) :- p(X, Y), not q(Y, X)",
}
GROWING = {"grow": "p(X, Y) :- p(Y, X), e(X, Z), d(Z)"}
CLOSING = {"close": "p(X, Y) :- p(X, Z), p(Z, Y)"}
TURNING = {"turn": "p(X, Y) :- e(X, Y), not q(X, Y)"}
KINDS = {
    "nonrecursive": STAYING,
    "recursive": STAYING | GROWING,
    "closure": STAYING | CLOSING,
    "by turns": STAYING | TURNING,
    "recursive by turns": STAYING | GROWING | TURNING,
    "closure by turns": STAYING | CLOSING | TURNING,
    "by turns without start": {name: rule for name, rule in (STAYING | TURNING).items() if name != "start"},
    "nothing": {"reader": STAYING["reader"]},
}


def changes_between(before: str, after: str) -> Iterator[State]:
    """Rules change, then facts; the rules change back with facts, and once more with them."""
    first, last = KINDS[before], KINDS[after]
    yield State(FACTS, first)
    yield State(FACTS, last)
    yield State(FACTS[1:], last)
    yield State(FACTS, last)
    yield State(FACTS[:-3], first)
    yield State(FACTS, last)


def follow_with_checks(kb: KnowledgeBase, found: Iterable[State], *, journalled: bool = True) -> None:
    first, *later = found
    journal = keep_journal(kb) if journalled else None
    check_state(kb, parse_program(first.text), journal)
    for old, new in pairwise((first, *later)):
        kb.apply(change(old, new))
        check_state(kb, parse_program(new.text), journal)


def test_the_kinds_are_what_they_are_called() -> None:
    for name, rules in KINDS.items():
        kb = KnowledgeBase(State(FACTS, rules).text, semantics="well-founded", strategy="dred-counting-modules")
        kb.materialise()
        engine = engine_of(kb)
        steps = [step for step in engine.steps(engine._graph) if "p" in step.heads]
        assert any(step.alternates for step in steps) == ("turns" in name), name
        assert any(step.recursive for step in steps) == (name not in ("nonrecursive", "nothing")), name
        assert ("p" in engine._follow().facts.state.closed) == (name == "closure"), name


@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_step_of_another_kind_can_be_trusted(strategy: str, before: str) -> None:
    for after in KINDS:
        first, *_ = found = list(changes_between(before, after))
        kb = KnowledgeBase(first.text, semantics="well-founded", strategy=strategy)
        follow_with_checks(kb, found, journalled=len(after) % 2 == 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_store_counts_right_whatever_a_step_becomes(strategy: str, tmp_path: Path) -> None:
    names = ("nonrecursive", "by turns", "recursive", "recursive by turns", "closure", "by turns", "nonrecursive")
    first, *later = (State(FACTS, KINDS[name]) for name in names)
    place = tmp_path / "kb"
    kb = KnowledgeBase.create(place, first.text, semantics="well-founded", strategy=strategy)
    for old, new in pairwise((first, *later)):
        kb.apply(change(old, new))
        assert KnowledgeBase.verify(place) == [], new.text


# -- steps that share a predicate --------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rules_that_run_by_turns_are_asked_for_what_others_give_up(strategy: str) -> None:
    """A later step supports a fact first; the rules that run by turns derive it, too, and never said so."""
    rules = """
        turn: win(X, Z) :- move(X, Y), kind(X, Z), not win(Y, 1).
        later: win(X, 2) :- win(X, 1), extra(X).
    """
    kb = KnowledgeBase(rules + "extra(1). kind(1, 1). move(1, 1).", semantics="well-founded", strategy=strategy)
    kb.materialise()
    kb.insert("kind", [(1, 2)])
    kb.delete("extra", [(1,)])
    check_state(kb, parse_program(rules + "kind(1, 1). kind(1, 2). move(1, 1)."))
    assert set(kb.undefined("win")) == {(1, 1), (1, 2)}


@st.composite
def rules_with_constants(draw: st.DrawFn) -> str:
    """Rules for p and q; constants let rules share a predicate and not depend on each other."""
    terms = st.sampled_from(("X", "Y", "1", "2"))
    predicates = st.sampled_from(("p", "q"))
    atom = st.builds("{}({}, {})".format, predicates, terms, terms)
    body = [draw(st.sampled_from(("e(X, Y)", "e(Y, X)", "d(X), d(Y)"))), *draw(st.lists(atom, max_size=2))]
    body += [f"not {one}" for one in draw(st.lists(atom, max_size=1))]
    return f"{draw(atom)} :- {', '.join(body)}"


PROGRAMS = st.lists(rules_with_constants(), min_size=2, max_size=5, unique=True)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_generated_steps_can_be_trusted_whatever_they_become(strategy: str) -> None:
    @settings(max_examples=examples(40))
    @given(PROGRAMS.flatmap(lambda found: states(FACTS, found)), st.booleans())
    def run(found: list[State], journalled: bool) -> None:
        kb = KnowledgeBase(found[0].text, semantics="well-founded", strategy=strategy)
        follow_with_checks(kb, found, journalled=journalled)

    run()
