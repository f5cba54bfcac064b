"""How often hyper-nodes on Spark derive their facts, and how often they should."""

from __future__ import annotations

from collections import Counter

from corollary import KnowledgeBase
from corollary.backends.spark import SparkBackend
from corollary.planning.steps import is_auxiliary
from corollary.program import atoms_of
from corollary.transactions import TransactionResult
from tests.engine_suite.scripts import State
from tests.engines.embedded.test_support import is_counted_by_bindings
from tests.engines.spark.engine_runs import decoded_numbers
from tests.oracle import Fact
from tests.oracle.evaluator import Relations, head_facts, solutions


def recount(kb: KnowledgeBase, result: TransactionResult, state: State) -> None:
    """Assert after a change that each hyper-node knows how often it derives each fact."""
    found = counted(kb)
    for key, numbers in recounted(kb, state).items():
        assert found.get(key, {}) == numbers, f"{key} after {result.report}"


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
    """Return the numbers of the oracle's bindings, of hyper-nodes with rules that can be counted by them."""
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
        atoms = [atom for rule in rules for atom in (rule.head, *(one for one, _ in atoms_of(rule.body)))]
        if any(is_auxiliary(atom.predicate) for atom in atoms):  # the oracle knows nothing of external facts
            continue
        for rule in rules:
            numbers = found.setdefault((str(node), rule.head.predicate), Counter())
            numbers.update(head_facts(rule, solutions(rule.body, facts)))
    return {key: dict(numbers) for key, numbers in found.items()}
