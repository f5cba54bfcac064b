"""Directed graphs with a set of kinds on every edge: just what rule graphs need.

Usually there are hundreds of rules: a graph library would take longer to import than such a graph takes to build.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Generic, TypeVar

N = TypeVar("N")
K = TypeVar("K")


class Digraph(Generic[N, K]):
    """Nodes and directed edges, which keep the order in which they were added."""

    def __init__(self, nodes: Iterable[N] = ()) -> None:
        self._out: dict[N, dict[N, frozenset[K]]] = {}
        self._into: dict[N, dict[N, frozenset[K]]] = {}
        self._own: set[N] | None = None  # nodes whose edges are not shared with a copy; None if none are shared
        self.add(nodes)

    def add(self, nodes: Iterable[N]) -> None:
        for node in nodes:
            if node not in self._out:
                self._out[node], self._into[node] = {}, {}
                if self._own is not None:
                    self._own.add(node)

    def _change(self, node: N) -> None:
        """Copy the edges of a node, which are about to change, if they are shared."""
        if self._own is not None and node not in self._own:
            self._own.add(node)
            self._out[node], self._into[node] = dict(self._out[node]), dict(self._into[node])

    def connect(self, source: N, target: N, kinds: Iterable[K] = ()) -> None:
        """Add an edge, or add kinds to an existing one."""
        if source not in self._out or target not in self._out:
            self.add((source, target))
        self._change(source)
        self._change(target)
        edges = self._out[source]
        known, new = edges.get(target), kinds if isinstance(kinds, frozenset) else frozenset(kinds)
        edges[target] = self._into[target][source] = new if known is None else known | new

    def connect_one(self, source: N, target: N, kind: K) -> None:
        """Add an edge of one kind, or the kind to an existing edge; fast if it exists already."""
        known = self._out[source].get(target) if source in self._out else None
        if known is None or kind not in known:
            self.connect(source, target, (kind,))

    def remove(self, nodes: Iterable[N]) -> None:
        """Remove nodes with all their edges."""
        for node in list(nodes):
            self._change(node)
            out, into = self._out.pop(node), self._into.pop(node)
            for target in out:
                if target != node:
                    self._change(target)
                    self._into[target].pop(node, None)
            for source in into:
                if source != node:
                    self._change(source)
                    self._out[source].pop(node, None)

    def copy(self) -> Digraph[N, K]:
        """Return an independent copy; the edges of a node are copied when one of the two graphs changes them."""
        made: Digraph[N, K] = Digraph()
        made._out, made._into = dict(self._out), dict(self._into)
        self._own, made._own = set(), set()
        return made

    def inside(self, nodes: Iterable[N]) -> Digraph[N, K]:
        """Return the part of the graph with these nodes and the edges among them."""
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

    def edges_from(self, node: N) -> Iterable[tuple[N, frozenset[K]]]:
        return self._out[node].items()

    def edges_to(self, node: N) -> Iterable[tuple[N, frozenset[K]]]:
        return self._into[node].items()

    def reached_from(self, start: Iterable[N]) -> set[N]:
        """Return these nodes and everything reachable from them."""
        reached = set(start)
        waiting = list(reached)
        while waiting:
            for target in self._out[waiting.pop()]:
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return reached

    def reaching(self, goal: Iterable[N], within: Container[N]) -> set[N]:
        """Return these nodes and all nodes, within a set, from which they can be reached."""
        reached = set(goal)
        waiting = list(reached)
        while waiting:
            for source in self._into[waiting.pop()]:
                if source in within and source not in reached:
                    reached.add(source)
                    waiting.append(source)
        return reached

    def shortest_path(self, source: N, target: N) -> list[N]:
        """Return the nodes of a shortest path, including both ends; there must be a path."""
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
        """Return the strongly connected components, each after those that it reaches (Tarjan's algorithm, without
        recursion)."""
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
        """Yield each node after those with an edge to it; among the candidates the one with the least key."""
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
