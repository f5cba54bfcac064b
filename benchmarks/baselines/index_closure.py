"""Transitive closures from an index (paper 003, section 5.3).

The index of `p(X, Z) :- edge(X, Y), edge(Y, Z)` links a relation with itself: its entries are the nodes of a graph, and what is
listed at an entry are the edges that leave it. Components are found along them; what a component reaches is one row of bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.closures import closure
from corollary.engines.embedded.yield_index.index import YieldIndex
from corollary.engines.embedded.yield_index.layout import LISTED, USED


class IndexClosure(closure.LinearClosure):
    """The pairs that the edges of an index lead to; `accesses` counts entries and facts that were looked at."""

    def __init__(self, index: YieldIndex, rule: str) -> None:
        number = next(at for at, one in enumerate(index.rules) if one.name == rule)
        shape = index.shapes[number]
        (link,) = shape.links
        left, right = (index.plan.post(number, place).sides[0] for place in (link.one, link.other))
        assert (link.columns, link.other_columns) == ((1,), (0,)), "edges follow each other"
        blocks = index.blocks(shape.atoms[0].predicate)
        used = int(index.state.scalars[USED])
        nodes, sources, ends = _edges(index.state.memory, blocks, used, left.cells, right.cells)
        self._nodes = self._columns = nodes
        offsets, targets = closure._adjacency(sources, ends, len(nodes))
        self._component, count = closure._components(offsets, targets)
        words = (len(nodes) + 63) // 64
        if count * words * 8 > closure.MAX_BITS_BYTES:
            raise closure.TooLarge
        self._bits = np.zeros((count, words), np.uint64)
        closure.set_bits(self._bits, self._component[sources], ends)
        closure._close(self._bits, offsets, targets, self._component)
        self._own_column = np.full(len(nodes), -1, np.int64)
        self.count = int(closure._count_pairs(self._bits, self._component, self._own_column))
        self.accesses = len(nodes) + 2 * len(targets)


@njit(nogil=True)
def _edges(memory: Any, blocks: Any, used: Any, left: Any, right: Any) -> Any:
    """Return the codes of the nodes, and the edges from node to node: each fact names the entries at both of its ends."""
    number_of = np.full(used, -1, np.int32)
    nodes = np.empty(2 * len(blocks), np.uint32)
    sources, targets = np.empty(len(blocks), np.uint32), np.empty(len(blocks), np.uint32)
    count = 0
    for at in range(len(blocks)):
        fact = blocks[at]
        source, target = memory[fact + right + LISTED], memory[fact + left + LISTED]
        if number_of[source] < 0:
            number_of[source], nodes[count] = count, memory[fact]
            count += 1
        if number_of[target] < 0:
            number_of[target], nodes[count] = count, memory[fact + 1]
            count += 1
        sources[at], targets[at] = number_of[source], number_of[target]
    return nodes[:count].copy(), sources, targets
