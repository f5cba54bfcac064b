"""Which edges have to be turned round so that a graph has no cycle."""

from __future__ import annotations

from collections.abc import Sequence


def backward_edges(count: int, edges: Sequence[tuple[int, int]]) -> set[int]:
    """Positions of edges without which the vertices 0 … count-1 have no cycle; loops are not among them.

    A depth-first walk in the order of the vertices finds them: they lead to a vertex that it has entered and not left.
    """
    out: list[list[int]] = [[] for _ in range(count)]
    for position, (source, target) in enumerate(edges):
        if source != target:
            out[source].append(position)
    entered, left = [False] * count, [False] * count
    backward: set[int] = set()
    for root in range(count):
        if entered[root]:
            continue
        entered[root] = True
        # The walk keeps its own stack: a chain of rules may be longer than Python's.
        stack = [(root, iter(out[root]))]
        while stack:
            vertex, rest = stack[-1]
            for position in rest:
                target = edges[position][1]
                if not entered[target]:
                    entered[target] = True
                    stack.append((target, iter(out[target])))
                    break
                if not left[target]:
                    backward.add(position)
            else:
                left[vertex] = True
                stack.pop()
    return backward
