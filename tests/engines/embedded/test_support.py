"""In a store that expects updates, support counts equal recounting the rule instances."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import example, given, settings

from corollary import KnowledgeBase
from corollary.analysis import checked
from corollary.engines.embedded.engine import EXPLICIT, EmbeddedEngine
from corollary.language import parse_program
from corollary.program import Aggregation, Constant, Program, Rule, Wildcard, all_terms_of, subterms
from tests.budgets import examples
from tests.generator import EVERYTHING, programs
from tests.oracle import evaluate
from tests.oracle.evaluator import Fact, Relations, head_facts, solutions


def engine_of(program: Program) -> EmbeddedEngine:
    engine = EmbeddedEngine(checked(program).graph, updates=True)
    for facts in program.facts:
        codes = [engine.universe.encode(value) for row in facts.rows for value in row]
        engine.insert(facts.predicate, np.array(codes, np.uint32).reshape(len(facts.rows), facts.arity))
    engine.materialise()
    return engine


def rows(engine: EmbeddedEngine, predicate: str) -> list[Fact]:
    relation = engine.visible(predicate)
    assert relation is not None
    if relation.arity == 0:
        return [()] * relation.size
    return [tuple(Constant(engine.universe.value(code)) for code in row) for row in relation.facts.tolist()]


def is_counted_by_bindings(rule: Rule) -> bool:
    """Wildcards multiply derivations, but not the oracle's bindings; an aggregate is one derivation for each group."""
    terms = [term for element in rule.body for term in all_terms_of(element)]
    has_wildcard = any(isinstance(part, Wildcard) for term in terms for part in subterms(term))
    is_aggregate = rule.has_head_aggregate or any(isinstance(element, Aggregation) for element in rule.body)
    return not has_wildcard and not is_aggregate


@settings(max_examples=examples(150))
@given(programs(EVERYTHING))
def test_the_support_of_a_nonrecursive_rule_is_its_number_of_instances(program: Program) -> None:
    expected = evaluate(program)
    engine = engine_of(program)
    facts = Relations()
    for predicate, known in expected.items():
        facts.add(predicate, known)
        assert set(rows(engine, predicate) if engine.visible(predicate) else []) == known
    graph = checked(program).graph
    for node in graph.hyper_nodes:
        rule = graph.rules[node.rules[0]]
        if graph.is_recursive(node) or not is_counted_by_bindings(rule):
            continue
        relation = engine.support(rule.head.predicate)
        assert relation is not None
        counts = relation.support_of(str(node))[: max(1, relation.size)].tolist()
        known = rows_of(engine, relation.facts.tolist()) if relation.arity else [()]
        found = {fact: count for fact, count in zip(known, counts, strict=False) if count}
        assert found == Counter(head_facts(rule, solutions(rule.body, facts)))


def rows_of(engine: EmbeddedEngine, codes: list[list[int]]) -> list[Fact]:
    return [tuple(Constant(engine.universe.value(code)) for code in row) for row in codes]


def test_owners_tell_who_supports_the_facts_of_a_predicate() -> None:
    program = parse_program("""
        p(1). p(2). q(2). q(3). q(4).
        r1: p(X) :- q(X).
        r2: t(X, Y) :- t(X, Z), t(Z, Y).
        r3: t(X, Y) :- q(X), q(Y), X < Y.
        t(4, 5).
    """)
    engine = engine_of(program)
    assert engine.owners(["p", "q", "t"]) == {
        "p": {EXPLICIT: 2, "{r1}": 3},
        "q": {EXPLICIT: 3},
        "t": {EXPLICIT: 1, "{r3}": 3, "{r2}": 2},
    }


TWO_CLOSURES = parse_program("""
    e2(0, 1). e1(0).
    r1: q2(X, Y) :- q2(X, Z), q2(Z, Y).
    r2: t2(X, Y) :- t2(X, Z), t2(Z, Y).
    r3: t2(X, Y) :- e2(X, Y).
    r4: q2(X, Y) :- t2(Y, X).
    r5: t2(X, Y) :- q2(X, Y), e1(Y).
""")
CONDITIONAL_CLOSURE = parse_program("""
    e2(0, 1). e0.
    r1: t2(X, Y) :- t2(X, Z), t2(Z, Y), e1(Z).
    r2: t2(X, Y) :- t2(Y, X).
    r3: t2(X, Y) :- e2(X, Y).
""")


@settings(max_examples=examples(60))
@given(programs(EVERYTHING))
@example(TWO_CLOSURES)
@example(CONDITIONAL_CLOSURE)
def test_owners_do_not_depend_on_how_a_hyper_node_is_evaluated(program: Program) -> None:
    """By a closure or by rules, with support that was noted meanwhile or not."""
    names = KnowledgeBase(program).predicates()
    wanted = KnowledgeBase(program, without=["closures"])
    others = [KnowledgeBase(program), KnowledgeBase(program, updates=False)]
    for kb in others:
        assert {name: kb.owners(name) for name in names} == {name: wanted.owners(name) for name in names}
        assert {rule.name: rule.derived for rule in kb.rules()} == {rule.name: rule.derived for rule in wanted.rules()}


def test_owners_of_a_closure_follow_changes() -> None:
    kb = KnowledgeBase("path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), path(Y, Z). edge(1, 2). edge(2, 3).")
    assert kb.owners("path") == {"{r1}": 2, "{r2}": 1}
    kb.insert("edge", [(3, 4)])
    assert kb.owners("path") == {"{r1}": 3, "{r2}": 3}
    assert [rule.derived for rule in kb.rules()] == [3, 3]
    kb.delete("edge", [(2, 3)])
    assert kb.owners("path") == {"{r1}": 2}


def test_a_dense_join_counts_as_the_kernel_does() -> None:
    rule = parse_program("h(X, Z) :- a(X, Y), b(Y, Z).")
    random = np.random.default_rng(5)
    left, right = (np.unique(random.integers(0, 40, (900, 2)), axis=0) for _ in range(2))
    counts = []
    for without in (frozenset(), frozenset({"dense-joins"})):
        engine = EmbeddedEngine(checked(rule).graph, updates=True, without=without)
        for predicate, pairs in (("a", left), ("b", right)):
            codes = engine.universe.encode_integers(pairs.reshape(-1)).reshape(pairs.shape)
            engine.insert(predicate, codes)
        engine.materialise()
        relation = engine.support("h")
        assert relation is not None
        support = relation.support_of("{r1}").tolist()
        counts.append({tuple(row): count for row, count in zip(relation.facts.tolist(), support, strict=False)})
    assert counts[0] == counts[1]
    assert max(counts[0].values()) > 1


def test_owners_are_named_after_the_rules_of_the_program() -> None:
    """A closure among other rules is evaluated by rules over external facts, which nobody has written."""
    kb = KnowledgeBase(
        "r(X, Y) :- e(X, Y). r(X, Z) :- r(X, Y), r(Y, Z). e(Y, X) :- r(X, Y), flip(X). e(1, 2). flip(1)."
    )
    assert list(kb.owners("e")) == ["explicit", "{r1, r2, r3}"]
    assert list(kb.owners("r")) == ["{r1, r2, r3}"]
    assert {rule.hyper_node for rule in kb.rules()} == {"{r1, r2, r3}"}
    kb.add_rules("turn: r(X, Y) :- r(Y, X).")  # part of the closure now, and evaluated by a rule of another name
    assert list(kb.owners("r")) == ["{r1, r2, r3, turn}"]
