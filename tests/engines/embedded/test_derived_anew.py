"""Where most of a predicate changes it is derived anew, beside what was there: states, differences and support stay exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.engines.embedded.maintenance import changing_facts
from corollary.reasoning.maintain import chooser
from corollary.transactions import Change
from tests.budgets import examples
from tests.engine_suite.scripts import apply, difference, expected, follow, minus, visible
from tests.engines.embedded.scenarios import engine_of
from tests.engines.embedded.trusted_state import keep_with, note
from tests.generator import EVERYTHING, POSITIVE, Scenario, scenarios

SMALL = {"max_facts": 10, "max_groups": 4, "max_changes": 3}
CLOSURES = [
    "t(X, Y) :- e(X, Y). s: t(Y, X) :- t(X, Y). c: t(X, Z) :- t(X, Y), t(Y, Z). q(X, Z) :- t(X, Y), u(Y, Z).",
    "t(X, Y) :- e(X, Y). c: t(X, Z) :- t(X, Y), t(Y, Z). q(X) :- u(X, Y), not t(X, Y).",
    "t(X, Y) :- e(X, Y). c: t(X, Z) :- e(X, Y), t(Y, Z). q(X, N) :- AGGREGATE(t(X, Y)) ON X WITH COUNT(Y) AS N.",
]
pair = st.tuples(st.integers(0, 4), st.integers(0, 4))
few = st.lists(pair, max_size=5)


@pytest.fixture(scope="module", autouse=True)
def no_change_is_small() -> Iterator[None]:
    """Otherwise small programs would be followed fact by fact."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chooser, "_AT_LEAST", 0)
        patch.setattr(changing_facts, "_MANY", 0)
        yield


@settings(max_examples=examples(300))
@given(scenarios(EVERYTHING.but(**SMALL)))
def test_every_change_gives_the_facts_of_the_oracle(scenario: Scenario) -> None:
    follow(scenario)


@settings(max_examples=examples(200))
@given(scenarios(POSITIVE.but(**SMALL)))
def test_recursive_programs_follow_every_change(scenario: Scenario) -> None:
    follow(scenario)


@settings(max_examples=examples(100))
@given(scenarios(EVERYTHING.but(**SMALL)), st.sampled_from(["auto", "recompute", "dred-counting"]))
def test_differences_can_be_read_after_later_changes(scenario: Scenario, strategy: str) -> None:
    first, *later = scenario.programs()
    kb = KnowledgeBase(first, strategy=strategy)
    kb.materialise()
    results = [apply(kb, change) for change in scenario.changes]
    states = [expected(program) for program in (first, *later)]
    for before, after, result in zip(states, states[1:], results, strict=False):
        assert difference(result) == (minus(after, before), minus(before, after))


@settings(max_examples=examples(250), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(CLOSURES),
    few,
    few,
    st.lists(st.tuples(st.sampled_from(["e", "t", "u"]), few, few, st.booleans()), max_size=6),
    st.sampled_from(["auto", "dred-counting", "recompute"]),
    st.booleans(),
)
def test_the_rule_of_a_closure_comes_and_goes_with_facts(
    text: str, edges, others, script, strategy: str, has_journal: bool
) -> None:
    rule = next(part for part in text.split(". ") if part.startswith("c: ")) + "."
    facts = {"e": set(edges), "t": set(), "u": set(others)}
    kb = KnowledgeBase(text, strategy=strategy)
    for name, rows in facts.items():
        kb.insert(name, list(rows))
    has_rule, journal = True, _Journal(kb) if has_journal else None
    for predicate, gone, new, turns in script:
        before = visible(kb)
        change = Change(insert={predicate: new}, delete={predicate: gone})
        if turns:
            change.add_rules, change.remove_rules = (() if has_rule else (rule,)), (("c",) if has_rule else ())
            has_rule = not has_rule
        facts[predicate] = (facts[predicate] - set(gone)) | set(new)
        result = kb.apply(change)
        fresh = KnowledgeBase(text if has_rule else text.replace(rule, ""), updates=False)
        for name, rows in facts.items():
            fresh.insert(name, list(rows))
        after = visible(kb)
        assert after == visible(fresh)
        assert difference(result) == (minus(after, before), minus(before, after))
        if journal is not None:
            journal.check()


@settings(max_examples=examples(200))
@given(scenarios(EVERYTHING.but(**SMALL)), st.sampled_from(["auto", "recompute", "dred-counting"]))
def test_the_journal_of_support_tells_every_change(scenario: Scenario, strategy: str) -> None:
    kb = KnowledgeBase(scenario.program, strategy=strategy)
    journal = _Journal(kb)
    for change in scenario.changes:
        apply(kb, change)
        journal.check()


class _Journal:
    """The support of all facts, as the changes tell it, from a first state on."""

    def __init__(self, kb: KnowledgeBase) -> None:
        kb.materialise()
        self._engine = engine_of(kb)
        self._known = self._supports()
        keep_with(kb, lambda changes: note(changes, self._known))

    def _supports(self) -> Counter:
        found: Counter = Counter()
        for predicate, owner, facts, counts in self._engine.supports():
            for row, count in zip(facts.tolist(), counts.tolist(), strict=True):
                found[predicate, owner, tuple(row)] += count
        return found

    def check(self) -> None:
        pending = Counter()
        for change in self._engine._follow().facts.carried:
            for row, amount in zip(change.facts.tolist(), change.change.tolist(), strict=True):
                pending[change.predicate, change.owner, tuple(row)] += amount
        expected = {key: count + pending[key] for key, count in self._known.items() if count + pending[key]}
        assert expected == {key: count for key, count in self._supports().items() if count}


def test_rules_forget_the_flags_of_a_relation_that_is_no_more() -> None:
    """Plans are kept; what they knew of hidden rows must not be used for the relation of a closure."""
    chains = [(4 * number + place, 4 * number + place + 1) for number in range(150) for place in (0, 1)]
    kb = KnowledgeBase("t(X, Y) :- e(X, Y). t(Y, X) :- t(X, Y). q(X, Z) :- t(X, Y), s(Y, Z).")
    kb.insert("e", chains)
    kb.insert("s", [(0, -1)])
    kb.materialise()
    kb.apply(Change(delete={"e": chains[40:80]}))
    kb.apply(Change(insert={"s": [(240, -1)]}))
    kb.apply(Change(add_rules=("t(X, Z) :- t(X, Y), t(Y, Z).",)))
    result = kb.apply(Change(insert={"s": [(520, -2)]}))
    assert sorted(result.inserted["q"]) == [(520, -2), (521, -2), (522, -2)]


def test_a_rule_that_denies_other_facts_of_its_own_predicate_may_lose_some() -> None:
    """Not recursive: what it denies is what another rule derives."""
    kb = KnowledgeBase("a(0). r1: l(3, X) :- a(X), not l(2, X).")
    kb.materialise()
    result = kb.apply(Change(add_rules=("r2: l(2, X) :- a(X), not l(1, X).",)))
    assert list(result.inserted["l"]) == [(2, 0)]
    assert list(result.deleted["l"]) == [(3, 0)]
