"""Following the script of a generated scenario, and what is compared on the way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from corollary import KnowledgeBase
from corollary.backends.embedded import EmbeddedBackend
from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.program import Constant, Program
from corollary.reference import Fact, evaluate
from corollary.transactions import Change as Changes
from corollary.transactions import TransactionResult
from tests.generator import Change, Scenario

State = dict[str, set[Fact]]
Support = dict[tuple[str, str], dict[Fact, int]]


def visible(kb: KnowledgeBase) -> State:
    found: State = {}
    for predicate in kb.predicates():
        rows = [tuple(map(Constant, row)) for row in kb.facts(predicate).constants()]
        assert len(rows) == len(set(rows)) == kb.count(predicate), f"{predicate} has duplicates"
        if rows:
            found[predicate] = set(rows)
    return found


def expected(program: Program) -> State:
    return {predicate: facts for predicate, facts in evaluate(program).items() if facts}


def apply(kb: KnowledgeBase, change: Change) -> TransactionResult:
    insert: dict[str, list] = {}
    delete: dict[str, list] = {}
    for target, facts in ((insert, change.insert), (delete, change.delete)):
        for predicate, row in facts:
            target.setdefault(predicate, []).append(row)
    return kb.apply(
        Changes(insert, delete, (Program(change.add_rules),) if change.add_rules else (), change.remove_rules)
    )


def difference(result: TransactionResult) -> tuple[State, State]:
    inserted, deleted = (
        {name: {tuple(map(Constant, row)) for row in facts[name].constants()} for name in facts}
        for facts in (result.inserted, result.deleted)
    )
    return inserted, deleted


def minus(left: State, right: State) -> State:
    found = {name: facts - right.get(name, set()) for name, facts in left.items()}
    return {name: facts for name, facts in found.items() if facts}


def follow(scenario: Scenario, strategy: str = "auto", without: Iterable[str] = (), **settings: Any) -> KnowledgeBase:
    """Asserts state and difference after every change; gives the knowledge base at the end."""
    program, *later = scenario.programs()
    kb = KnowledgeBase(program, strategy=strategy, without=without, **settings)
    before = visible(kb)
    assert before == expected(program)
    for change, after_change in zip(scenario.changes, later, strict=True):
        result = apply(kb, change)
        after = expected(after_change)
        assert visible(kb) == after
        assert difference(result) == (minus(after, before), minus(before, after))
        before = after
    return kb


def engine_of(kb: KnowledgeBase) -> EmbeddedEngine:
    assert isinstance(kb._backend, EmbeddedBackend)
    return kb._backend.engine


def support(kb: KnowledgeBase) -> Support:
    """How often each owner supports each fact, by predicate and owner."""
    kb.materialise()
    engine, found = engine_of(kb), {}
    assert engine._visible is not None
    for predicate in list(engine._visible.relations):
        relation = engine.support(predicate)
        if relation is not None:
            rows = relation.facts.tolist() if relation.arity else [[]] * relation.size
            facts = [tuple(Constant(engine.universe.value(code)) for code in row) for row in rows]
            for owner in relation.owners or ["explicit"]:
                counts = relation.support_of(owner).tolist() if relation.owners else [1] * len(facts)
                known = {fact: count for fact, count in zip(facts, counts, strict=False) if count}
                if known:
                    found[predicate, owner_name(owner)] = known
    return found


def owner_name(owner: object) -> str:
    """The rules of a hyper-node in an order that does not depend on how they came."""
    return "{" + ", ".join(sorted(str(owner).strip("{}").split(", "))) + "}"
