"""Generated rules and scripts: after every step the index knows every match, every dummy waits at its place, and instances that
come and go are told exactly once."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.yield_index.inspection import entry_count, semantic_entries
from corollary.engines.embedded.yield_index.shape import fits
from corollary.language import parse_program
from corollary.planning import normalise
from tests.budgets import examples
from tests.engines.embedded.yield_index.facts import IndexedFacts, Row, check_entries, expected_instances, fact_of

ARITIES = {"p": 2, "q": 2, "r": 1, "s": 3}
VALUES = (1, 2, 3, 1.0, "a")

_variables = st.sampled_from("XYZW")
_terms = st.one_of(_variables, _variables, _variables, st.sampled_from(("1", "a", "_")))
_rows = {name: st.tuples(*[st.sampled_from(VALUES)] * arity) for name, arity in ARITIES.items()}


@st.composite
def rule_texts(draw: st.DrawFn) -> str:
    """A rule that an index takes, as text."""
    body, known = [], []
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(sorted(ARITIES)))
        terms = [draw(_terms) for _ in range(ARITIES[name])]
        body.append(f"{name}({', '.join(terms)})")
        known.append([term for term in terms if term.isupper()])
    variables = sorted({name for one in known for name in one})
    if variables:
        for _ in range(draw(st.integers(0, 2))):
            left, right = draw(st.sampled_from(variables)), draw(st.sampled_from([*variables, "2", "a"]))
            body.append(f"{left} {draw(st.sampled_from(('=', '!=', '<', '<=', '>', '>=')))} {right}")
        if draw(st.booleans()):
            name = draw(st.sampled_from(sorted(ARITIES)))
            guard = draw(st.sampled_from([one for one in known if one]))
            terms = [draw(st.sampled_from([*guard, "1"])) for _ in range(ARITIES[name])]
            body.append(f"not {name}({', '.join(terms)})")
    head = ", ".join(variables[:2]) or "1"
    return f"h({head}) :- {', '.join(body)}."


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[str, Row]]:
    """Facts that come, and go when they come again."""
    names = st.sampled_from(sorted(ARITIES))
    return [(name, draw(_rows[name])) for name in draw(st.lists(names, max_size=25))]


@settings(max_examples=examples(120), deadline=None)
@given(st.lists(rule_texts(), min_size=1, max_size=3), scripts(), st.booleans(), st.integers(0, 6))
def test_every_step_tells_the_instances_that_come_and_go(
    texts: list[str], script: list[tuple[str, Row]], reduced: bool, loaded: int
) -> None:
    program = parse_program("\n".join(texts))
    assert all(fits(normalise(rule)) for rule in program.rules)
    facts = IndexedFacts(program, reduced=reduced)
    present: dict[str, list[Row]] = {}
    for number, (name, row) in enumerate(script):
        if name not in facts.numbers:
            continue
        before = {rule.name: expected_instances(rule, present) for rule in program.rules}
        rows = present.setdefault(name, [])
        known = [fact_of(one) for one in rows]
        if fact_of(row) in known:
            del rows[known.index(fact_of(row))]
            told = facts.delete(name, row)
        else:
            rows.append(row)
            if number < loaded:
                facts.load({name: [row]})
                check_entries(facts)
                continue
            told = facts.insert(name, row)
        for rule in program.rules:
            after = expected_instances(rule, present)
            gained, lost = told[rule.name]
            assert gained - lost == after - before[rule.name]
            assert lost - gained == before[rule.name] - after
        check_entries(facts)
    for rule in program.rules:
        assert facts.instances(rule.name) == expected_instances(rule, present)


# -- one thing at a time -----------------------------------------------------------------------------------------------


def test_a_chain_wastes_no_look_at_a_fact() -> None:
    facts = IndexedFacts("r1: h(X, W) :- a(X, Y), b(Y, Z), c(Z, W).")
    facts.insert("b", *((1, number) for number in range(50)))
    assert facts.insert("a", (0, 1))["r1"] == (Counter(), Counter())
    assert facts.index.accesses.tuples == 0, "fifty facts of b wait for c, and a knows it"
    assert facts.insert("c", (7, 8))["r1"] == (Counter([(0, 8)]), Counter())
    assert facts.index.accesses.tuples == 2
    assert facts.index.accesses.wasted == 0


def test_partners_of_a_deleted_fact_fall_back_to_dummies() -> None:
    facts = IndexedFacts("r1: h(X, Z) :- a(X, Y), b(Y, Z).")
    facts.insert("a", (1, 2))
    facts.insert("b", (2, 3))
    assert facts.delete("a", (1, 2))["r1"] == (Counter(), Counter([(1, 3)]))
    check_entries(facts)
    assert facts.insert("a", (5, 2))["r1"] == (Counter([(5, 3)]), Counter())


def test_rules_share_the_data_index_of_a_predicate_and_a_column() -> None:
    rules = "r1: h(X) :- a(X, Y), b(Y, Z). r2: g(X) :- a(X, Y), c(Y). r3: f(X) :- a(X, Y), d(Y, X)."
    sizes = {"a": 10}
    index = IndexedFacts(rules, sizes=sizes).index
    assert [key[:2] for key in index.plan.indexes] == [("a", (1,)), ("a", (0, 1))]
    assert len(IndexedFacts(rules, sizes=sizes, reduced=False).index.plan.indexes) == 6


def test_semantic_entries_say_what_matches_and_what_waits() -> None:
    facts = IndexedFacts("r1: h(X) :- a(X), b(X), X > 1.").load({"a": [(1,), (2,), (3,)], "b": [(2,)]})
    found = {(one.fire, one.root[0], facts.universe.value(one.key[0])) for one in semantic_entries(facts.index)}
    assert found == {(True, "a", 2), (True, "a", 3), (True, "b", 2)}, "each is complete but for its partner"
    assert entry_count(facts.index) == (2, 3)


@pytest.mark.parametrize("operator", ["=", "<", "<=", ">", ">="])
def test_the_five_types_of_inequality(operator: str) -> None:
    facts = IndexedFacts(f"r1: h(X, Y) :- a(X), b(Y), X {operator} Y.")
    numbers = [5, 1, 4, 1.0, 9, 2, 6, -3, "x", "y"]
    present: dict[str, list[Row]] = {"a": [], "b": []}
    rule = facts.program.rules[0]
    for number in numbers:
        for name in ("a", "b"):
            before = expected_instances(rule, present)
            present[name].append((number,))
            assert facts.insert(name, (number,))["r1"][0] == expected_instances(rule, present) - before
            check_entries(facts)
    for number in numbers:
        for name in ("b", "a"):
            before = expected_instances(rule, present)
            present[name].pop(0)
            assert facts.delete(name, (number,))["r1"][1] == before - expected_instances(rule, present)
            check_entries(facts)
    assert facts.index.accesses.wasted == 0


def test_an_order_of_many_keys() -> None:
    facts = IndexedFacts("r1: h(X, Y) :- a(X), b(Y), X < Y.")
    numbers = [(number * 7919) % 3001 for number in range(3001)]
    facts.load({"a": [(number,) for number in numbers]})
    assert facts.insert("b", (2,))["r1"][0] == Counter([(0, 2), (1, 2)])
    assert sum(facts.insert("b", (3000,))["r1"][0].values()) == 3000
    check_entries_of_b = facts.instances("r1", 1)
    assert sum(check_entries_of_b.values()) == 3002


def test_long_keys_and_no_keys() -> None:
    facts = IndexedFacts("r1: h(A) :- p(A, B, C, D, E), q(A, B, C, D, E), r(F).")
    facts.insert("p", (1, 2, 3, 4, 5), (1, 2, 3, 4, 6))
    facts.insert("q", (1, 2, 3, 4, 5), (1, 2, 3, 9, 5))
    assert facts.insert("r", (0,), (1,))["r1"] == (Counter({(1,): 2}), Counter())
    check_entries(facts)


@pytest.mark.parametrize(
    "text",
    [
        "h(X + 1) :- p(X).",
        "h(X, N) :- p(X), N = X * 2.",
        "h(X) :- p(X), not q(X, _).",
        "h(X, Y) :- p(X), q(Y, Y), not q(X, Y).",
        "h :- p(X).",
        "h(X) :- p(X), q.",
        "h(X, count(Y)) :- q(X, Y).",
    ],
)
def test_other_rules_are_left_to_the_hash_index(text: str) -> None:
    assert not fits(normalise(parse_program(text).rules[0]))
