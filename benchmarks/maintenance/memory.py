"""What the facts of each hyper-node take in memory: paper 000's Fig. 6.

ZodiacEdge gives every hyper-node a store of its own and bags of references to the stores that it reads. Here the facts of a
predicate stand once, with the support of each hyper-node beside them: a hyper-node's store is its share of the relations that it
derives, by the facts that it supports; its bag is what it reads, of which nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.maintenance.record import NodeMemory
from corollary import KnowledgeBase
from corollary.analysis import HyperNode
from corollary.engines.embedded.values.universe import Universe
from corollary.program import atoms_of


def memory_by_node(kb: KnowledgeBase, size: int) -> list[NodeMemory]:
    """Indexes count where a rule has built them by now."""
    kb.materialise()
    graph = kb.analysis.graph
    derived = {rule.head.predicate for rule in graph.rules.values()}
    supports = {predicate: _supports(kb, predicate) for predicate in derived}
    relations = {predicate: _bytes(kb, predicate) for predicate in kb.predicates()}
    found = []
    for node in graph.hyper_nodes:
        facts, store = 0, 0.0
        for predicate in {graph.rules[name].head.predicate for name in node.rules}:
            own = supports[predicate].get(str(node), 0)
            facts += own
            store += relations[predicate] * own / max(1, sum(supports[predicate].values()))
        bag = sum(relations[predicate] for predicate in _read(kb, node))
        found.append(NodeMemory(size, str(node), facts, round(store), bag))
    return found


def _read(kb: KnowledgeBase, node: HyperNode) -> set[str]:
    rules = [kb.analysis.graph.rules[name] for name in node.rules]
    return {atom.predicate for rule in rules for atom, _ in atoms_of(rule.body)}


def _supports(kb: KnowledgeBase, predicate: str) -> dict[str, int]:
    """Facts by owner; a hyper-node that closes the predicate supports all that is visible, and is not among the owners."""
    closing = {
        rule.hyper_node: kb.count(predicate)
        for rule in kb.rules()
        if rule.text.startswith(f"{predicate}(") and "transitive" in rule.module
    }
    return kb.owners(predicate) | closing


def _bytes(kb: KnowledgeBase, predicate: str) -> int:
    """Of the visible facts with indexes and support, and of what a closure keeps beside them."""
    engine: Any = kb._backend.engine  # type: ignore[attr-defined]
    seen: set[int] = set()
    closed = (engine._closed or {}).get(predicate)
    parts = (engine.visible(predicate), engine.support(predicate), closed)
    return sum({id(array): array.nbytes for part in parts for array in _arrays(part, seen)}.values())


def _arrays(value: Any, seen: set[int]) -> Iterator[np.ndarray]:
    """The arrays that an object holds, directly or in its parts; the constants belong to everybody."""
    if id(value) in seen or value is None or isinstance(value, Universe | str | int | float | type):
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value if value.base is None or not isinstance(value.base, np.ndarray) else value.base
        return
    parts: list[Any] = list(value) if isinstance(value, tuple | list) else []
    parts += value.values() if isinstance(value, dict) else []
    parts += vars(value).values() if hasattr(value, "__dict__") else []
    for part in parts:
        yield from _arrays(part, seen)
