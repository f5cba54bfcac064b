"""Following scripts of changes on Spark, of several programs at once, and what is compared on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from corollary import KnowledgeBase
from corollary.backends.spark import SparkBackend
from corollary.planning.steps import is_auxiliary
from corollary.program import Program
from corollary.reference import Fact, evaluate
from corollary.reference.evaluator import Relations, head_facts, solutions
from corollary.transactions import Change as Changes
from corollary.transactions import TransactionResult
from tests.engines.embedded.scenarios import State, minus
from tests.engines.embedded.test_support import is_counted_by_bindings
from tests.engines.spark.engine_runs import decoded, decoded_numbers
from tests.engines.spark.many_programs import facts_of, name_in, rule_in, together
from tests.generator import Change, Scenario


def at_once(changes: Sequence[Change | None]) -> Changes:
    """The next change of each scenario that has one, in one transaction."""
    insert: dict[str, list[Any]] = {}
    delete: dict[str, list[Any]] = {}
    removed: list[str] = []
    for number, change in enumerate(changes):
        if change is not None:
            for target, facts in ((insert, change.insert), (delete, change.delete)):
                for predicate, row in facts:
                    target.setdefault(name_in(number, predicate), []).append(row)
            removed += [rule_in(number, name) for name in change.remove_rules]
    added = together([Program(change.add_rules if change is not None else ()) for change in changes])
    return Changes(insert, delete, (added,) if added.rules else (), tuple(removed))


def visible(kb: KnowledgeBase) -> State:
    kb.materialise()
    backend = kb._backend
    assert isinstance(backend, SparkBackend)
    names = [name for name in backend.engine.predicates() if backend.store.frames(name)]
    return decoded(backend.context, {name: backend.store.visible(name) for name in names})


def difference(kb: KnowledgeBase, result: TransactionResult) -> tuple[State, State]:
    backend = kb._backend
    assert isinstance(backend, SparkBackend)
    inserted, deleted = (
        decoded(backend.context, {name: facts[name]._frame for name in facts})
        for facts in (result.inserted, result.deleted)
    )
    return inserted, deleted


def expected(programs: Sequence[Program]) -> State:
    return {
        name_in(number, predicate): facts
        for number, program in enumerate(programs)
        for predicate, facts in evaluate(program).items()
        if facts
    }


def counted(kb: KnowledgeBase) -> dict[tuple[str, str], dict[Fact, int]]:
    """How often each hyper-node derives each fact, by hyper-node and predicate, as far as it counts."""
    backend = kb._backend
    assert isinstance(backend, SparkBackend)
    graph, store = backend._graph, backend.store
    nonrecursive = {str(node) for node in graph.hyper_nodes if not graph.is_recursive(node)}
    frames = {
        (owner, name): frame
        for name in store.arities
        for owner, frame in store.owners(name).items()
        if owner in nonrecursive and not is_auxiliary(name)
    }
    frames |= {(owner, name): one.supported() for owner, known in store.counters.items() for name, one in known.items()}
    return decoded_numbers(backend.context, frames)


def recounted(kb: KnowledgeBase, state: State) -> dict[tuple[str, str], dict[Fact, int]]:
    """The same by the oracle's bindings, of hyper-nodes with rules that can be counted by them."""
    backend = kb._backend
    assert isinstance(backend, SparkBackend)
    graph, facts = backend._graph, Relations()
    for predicate, known in state.items():
        facts.add(predicate, known)
    found: dict[tuple[str, str], dict[Fact, int]] = {}
    for node in graph.hyper_nodes:
        rules = [graph.rules[name] for name in node.rules]
        is_counted = not graph.is_recursive(node) or str(node) in backend.store.counters
        if not is_counted or not all(map(is_counted_by_bindings, rules)):
            continue
        for rule in rules:
            numbers = found.setdefault((str(node), rule.head.predicate), Counter())
            numbers.update(head_facts(rule, solutions(rule.body, facts)))
    return {key: dict(numbers) for key, numbers in found.items()}


def follow(
    spark: SparkSession, chosen: Sequence[Scenario], *, recounts: bool = False, **options: Any
) -> list[TransactionResult]:
    """Asserts states and differences after every change, with `recounts` numbers of derivations too; gives what each told."""
    results = []
    versions = [scenario.programs() for scenario in chosen]
    with KnowledgeBase(together([one[0] for one in versions]), engine=spark, **options) as kb:
        before = expected([one[0] for one in versions])
        compare(chosen, 0, visible(kb), before)
        for step in range(max(len(scenario.changes) for scenario in chosen)):
            changes = [one.changes[step] if step < len(one.changes) else None for one in chosen]
            result = kb.apply(at_once(changes))
            results.append(result)
            after = expected([one[min(step + 1, len(one) - 1)] for one in versions])
            compare(chosen, step + 1, visible(kb), after)
            inserted, deleted = difference(kb, result)
            compare(chosen, step + 1, inserted, minus(after, before))
            compare(chosen, step + 1, deleted, minus(before, after))
            if recounts:
                found = counted(kb)
                for key, numbers in recounted(kb, after).items():
                    assert found.get(key, {}) == numbers, f"{key} after change {step + 1} of\n{chosen!r}"
            before = after
    return results


def compare(chosen: Sequence[Scenario], step: int, found: State, wanted: State) -> None:
    for number, scenario in enumerate(chosen):
        assert facts_of(number, found) == facts_of(number, wanted), f"after change {step} of\n{scenario!r}"
