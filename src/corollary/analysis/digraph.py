"""Directed graphs with a set of kinds on every edge: what rule graphs need, and no more.

Rules come by the hundred: a library of graph algorithms takes longer to import than these graphs take to build.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

N = TypeVar("N")
K = TypeVar("K")


class Digraph(Generic[N, K]):
    """Nodes, and edges from one to another; nodes and edges keep the order in which they came."""

    def __init__(self, nodes: Iterable[N] = ()) -> None:
        self._out: dict[N, dict[N, frozenset[K]]] = {}
        self._into: dict[N, dict[N, frozenset[K]]] = {}
        self.add(nodes)

    def add(self, nodes: Iterable[N]) -> None:
        for node in nodes:
            self._out.setdefault(node, {})
            self._into.setdefault(node, {})

    def connect(self, source: N, target: N, kinds: Iterable[K] = ()) -> None:
        """Adds an edge, or more kinds to one that is there."""
        self.add((source, target))
        together = self._out[source].get(target, frozenset()) | frozenset(kinds)
        self._out[source][target] = self._into[target][source] = together

    def remove(self, nodes: Iterable[N]) -> None:
        """Removes nodes with all their edges."""
        for node in list(nodes):
            for target in self._out.pop(node):
                self._into[target].pop(node, None)
            for source in self._into.pop(node):
                self._out.get(source, {}).pop(node, None)

    def copy(self) -> Digraph[N, K]:
        made: Digraph[N, K] = Digraph()
        made._out = {node: dict(edges) for node, edges in self._out.items()}
        made._into = {node: dict(edges) for node, edges in self._into.items()}
        return made

    def inside(self, nodes: Iterable[N]) -> Digraph[N, K]:
        """The part of the graph with these nodes and the edges among them."""
        part: Digraph[N, K] = Digraph(nodes)
        for source, target, kinds in self.edges_out_of(part.nodes):
            if target in part:
                part.connect(source, target, kinds)
        return part

    @property
    def nodes(self) -> tuple[N, ...]:
        return tuple(self._out)

    def __contains__(self, node: N) -> bool:
        return node in self._out

    def has_edge(self, source: N, target: N) -> bool:
        return target in self._out.get(source, ())

    def successors(self, node: N) -> Iterator[N]:
        return iter(self._out[node])

    def predecessors(self, node: N) -> Iterator[N]:
        return iter(self._into[node])

    def edges(self) -> list[tuple[N, N, frozenset[K]]]:
        return self.edges_out_of(self._out)

    def edges_out_of(self, nodes: Iterable[N]) -> list[tuple[N, N, frozenset[K]]]:
        return [(node, target, kinds) for node in nodes for target, kinds in self._out[node].items()]

    def edges_into(self, nodes: Iterable[N]) -> list[tuple[N, N, frozenset[K]]]:
        return [(source, node, kinds) for node in nodes for source, kinds in self._into[node].items()]

    def reached_from(self, start: Iterable[N]) -> set[N]:
        """These nodes and everything behind them."""
        reached = set(start)
        waiting = list(reached)
        while waiting:
            for target in self._out[waiting.pop()]:
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return reached

    def shortest_path(self, source: N, target: N) -> list[N]:
        """Nodes from one to the other, both included; the graph has such a path."""
        came_from: dict[N, N] = {}
        waiting = deque([source])
        while target != source and target not in came_from:
            node = waiting.popleft()
            for follower in self._out[node]:
                if follower not in came_from and follower != source:
                    came_from[follower] = node
                    waiting.append(follower)
        path = [target]
        while path[-1] != source:
            path.append(came_from[path[-1]])
        return path[::-1]

    def components(self) -> list[set[N]]:
        """The strongly connected components, each after those that it reaches (Tarjan's algorithm, without recursion)."""
        found: list[set[N]] = []
        number: dict[N, int] = {}
        lowest: dict[N, int] = {}
        open_nodes: dict[N, None] = {}
        for start in self._out:
            if start in number:
                continue
            path = [(start, iter(self._out[start]))]
            number[start] = lowest[start] = len(number)
            open_nodes[start] = None
            while path:
                node, followers = path[-1]
                for follower in followers:
                    if follower not in number:
                        number[follower] = lowest[follower] = len(number)
                        open_nodes[follower] = None
                        path.append((follower, iter(self._out[follower])))
                        break
                    if follower in open_nodes:
                        lowest[node] = min(lowest[node], number[follower])
                else:
                    path.pop()
                    if path:
                        lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                    if lowest[node] == number[node]:
                        found.append(_popped_through(open_nodes, node))
        return found

    def topological_order(self, key: Callable[[N], int]) -> Iterator[N]:
        """Each node after those with an edge to it; among those that may come next the one with the least key."""
        missing = {node: len(sources) for node, sources in self._into.items()}
        ready = [(key(node), place, node) for place, node in enumerate(self._out) if not missing[node]]
        heapq.heapify(ready)
        places = {node: place for place, node in enumerate(self._out)}
        while ready:
            *_, node = heapq.heappop(ready)
            yield node
            for target in self._out[node]:
                missing[target] -= 1
                if not missing[target]:
                    heapq.heappush(ready, (key(target), places[target], target))


def _popped_through(open_nodes: dict[N, None], node: N) -> set[N]:
    component: set[N] = set()
    while node not in component:
        component.add(open_nodes.popitem()[0])
    return component
