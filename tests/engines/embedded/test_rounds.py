"""Rounds with few rows run inside a kernel, and give what the ordinary way gives: facts, rounds, limits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from corollary import KnowledgeBase, Limits, ProgramError
from corollary.backends.embedded import EmbeddedBackend
from corollary.engines.embedded import evaluation
from corollary.engines.embedded.kernels import rounds
from corollary.engines.embedded.report import RunReport
from corollary.language import parse_program
from corollary.program import Program
from tests.budgets import examples
from tests.engine_suite.scripts import expected, follow, visible
from tests.generator import EVERYTHING, INTEGERS, Scenario, programs, scenarios

CHAIN = [(number, number + 1) for number in range(300)]


def report_of(kb: KnowledgeBase) -> RunReport:
    backend = kb._backend
    assert isinstance(backend, EmbeddedBackend)
    return backend.engine.report


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rounds each call of the kernel ran."""
    found: list[int] = []
    run = rounds.Rounds.run

    def counted(self: rounds.Rounds, *arguments: object) -> object:
        results = run(self, *arguments)  # type: ignore[arg-type]
        found.append(int(results[0][rounds.R_ROUNDS]))
        return results

    monkeypatch.setattr(rounds.Rounds, "run", counted)
    return found


PROGRAMS = {
    "counter": "n(0). n(X + 1) :- n(X), X < 300.",
    "down": "n(300). n(X - 1) :- n(X), X > -300, X != 7. n(6) :- n(7).",
    "products": "n(1). n(X * 3) :- n(X), X < 1000000000, X > -1000000000. n(-X) :- n(X), X * 2 - 1 < 100000 + X.",
    "large": "n(1). n(X * 7) :- n(X), X < 100000000000000000000000000000.",
    "mixed kinds": 'n(0). n(0.5). n(1.0e0). n("a"). n(X + 1) :- n(X), X < 200.',
    "texts": 'n(0, "a"). n(X + 1, T) :- n(X, T), T != "b", X < 200. n(X, "b") :- n(X, "a"), X = 50.',
    "wide": "w(0, 1, 2, 3, 4). w(B, C, D, E, A + 1) :- w(A, B, C, D, E), A < 200.",
    "several rules": "a(0). b(X) :- a(X). c(X) :- b(X). a(Y) :- c(X), s(X, Y). d(X) :- a(X), not q(X). a(X) :- d(X).",
    "linear": "r(0, 0). r(X, Z) :- r(X, Y), s(Y, Z). m(X) :- r(X, Y), q(Y). r(Y, Y) :- m(Y).",
    "generations": "g(0, 150). g(X, Y) :- g(A, B), s(A, X), s(B, Y). g(Y, X) :- g(X, Y), q(X).",
    "looked up": "p(0, 1, 2). p(Y, Z, W) :- p(X, Y, Z), s(Z, W), p(X, Y, _), not q(W).",
    "checked": "p(0). p(Y) :- p(X), s(X, Y), Y = X + 1. t(X, X + 1) :- p(X). p(Y) :- t(X, Y), s(X, X + 1).",
    "aggregate below": "k(count(X)) :- s(X, _). n(0). n(X + 1) :- n(X), k(K), X < K.",
    "order of texts": 'n(0, "a"). n(X + 1, T) :- n(X, T), T < "b", X < 100.',
    "propositions": "p(0). p(X + 1) :- p(X), X < 100, yes. yes.",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("updates", [True, False])
def test_it_derives_what_the_ordinary_way_derives(name: str, updates: bool) -> None:
    """Which other tests compare with the oracle; here it would take long."""
    facts = "".join(f"s({one}, {other})." for one, other in CHAIN[:200]) + "q(60). q(300)."
    text = f"{facts}\n{PROGRAMS[name]}"
    kb = KnowledgeBase(text, updates=updates)
    without = KnowledgeBase(text, updates=updates, without=["small-rounds"])
    assert visible(kb) == visible(without)
    assert report_of(without).rounds == report_of(kb).rounds


@pytest.mark.parametrize("name", ["counter", "down", "texts", "wide", "several rules", "linear", "generations"])
def test_nearly_all_rounds_run_in_the_kernel(name: str, calls: list[int]) -> None:
    kb = KnowledgeBase("".join(f"s({one}, {other})." for one, other in CHAIN) + "q(60). q(400)." + PROGRAMS[name])
    kb.count(parse_program(PROGRAMS[name]).rules[0].head.predicate)
    total = report_of(kb).rounds
    assert total > 100
    assert sum(calls) >= total - 40
    assert len(calls) <= 6


def test_a_long_counter_takes_few_calls(calls: list[int]) -> None:
    kb = KnowledgeBase("n(0). n(X + 1) :- n(X), X < 100000.")
    assert kb.count("n") == 100_001
    assert report_of(kb).rounds == 100_001
    assert len(calls) < 40
    assert sorted(kb.facts("n"))[-1] == (100_000,)


@pytest.mark.parametrize("most", [1, 7, 8, 9, 100, 5006, 5007, 12_345])
def test_limits_of_rounds_are_exact(most: int) -> None:
    text = f"n(0). n(X + 1) :- n(X), X < {most - 1}."
    assert KnowledgeBase(text, limits=Limits(rounds=most)).count("n") == most
    longer = KnowledgeBase(text.replace(f"< {most - 1}", f"< {most}"), limits=Limits(rounds=most))
    with pytest.raises(ProgramError, match=f"{most:,} rounds"):
        longer.count("n")


def test_limits_of_facts_and_seconds_stop_endless_rounds() -> None:
    for limits in (Limits(facts=20_000), Limits(seconds=0.3)):
        with pytest.raises(ProgramError, match="E302"):
            KnowledgeBase("n(0). n(X + 1) :- n(X).", limits=limits).count("n")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is tried in every round, with hardly any room in it."""
    monkeypatch.setattr(evaluation, "_SMALL_ROUNDS", -1)
    monkeypatch.setattr(evaluation, "_LONG", 0)
    monkeypatch.setattr(evaluation, "_WORTH_A_SESSION", 0)


@pytest.mark.parametrize("slack", [64, 100, 1 << 15])
def test_generated_programs_in_the_kernel_at_once(slack: int, at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "SLACK", slack)

    @settings(max_examples=examples(30))
    @given(programs(EVERYTHING))
    def check(program: Program) -> None:
        assert visible(KnowledgeBase(program)) == expected(program)

    check()


def test_generated_changes_in_the_kernel_at_once(at_once: None) -> None:
    @settings(max_examples=examples(20))
    @given(scenarios(INTEGERS))
    def check(scenario: Scenario) -> None:
        follow(scenario)

    check()
