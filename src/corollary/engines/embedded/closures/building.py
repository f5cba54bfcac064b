"""A closure from nothing: components by Tarjan's algorithm, then rows in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.difference import COME, GONE, PAST, compare
from corollary.engines.embedded.closures.shape import (
    BOTTOM,
    CHANGED,
    CHANGED_COUNT,
    COMPONENT,
    COMPONENTS,
    CROSSING,
    FIRST,
    FREE_ROWS,
    INDEX,
    LINK,
    LOGGED,
    LOW,
    NEXT,
    ROW,
    SAVED,
    SIZE,
    SPAN,
    TOP,
    WIDTH,
    ClosureShape,
    Graph,
)
from corollary.engines.embedded.closures.splitting import tarjan


@njit(cache=True, nogil=True)
def lay_out(graph: Graph, shape: ClosureShape, nodes: int) -> int:
    """Makes components of the nodes in fields that are all zero; lists them as changed; says how many may need a row."""
    fields, counters = shape.fields, shape.counters
    shape.lanes[INDEX, :nodes] = -1
    count = tarjan(graph, shape, np.arange(nodes), -1)
    width = SPAN // max(count, 1)
    for c in range(count):
        fields[FIRST, c] = -1
        fields[LOW, c] = c * width
        fields[WIDTH, c] = width
        fields[ROW, c] = -1
        shape.lanes[CHANGED, c] = c
    rows = 0
    for node in range(nodes):
        c = shape.lanes[LINK, node]
        fields[COMPONENT, node] = c
        fields[SIZE, c] += 1
        first = fields[FIRST, c]
        if first < 0:
            fields[NEXT, node] = node
            fields[FIRST, c] = node
        else:
            fields[NEXT, node] = fields[NEXT, first]
            fields[NEXT, first] = node
        if fields[ROW, c] < 0 and graph.out.length[node] + graph.seeds.length[node] > 0:
            fields[ROW, c] = rows
            rows += 1
    counters[TOP], counters[BOTTOM] = SPAN, 0
    counters[LOGGED] = counters[SAVED] = counters[FREE_ROWS] = 0
    counters[COMPONENTS] = counters[CHANGED_COUNT] = count
    return rows


@njit(cache=True, nogil=True)
def fill_rows(
    graph: Graph, shape: ClosureShape, bits: Any, words: int, origin: Any, old_row: Any, old_bits: Any, direction: int
) -> None:
    """Computes the rows in the order of components, and numbers them in this order.

    While a row is at hand it is compared with the one that its first member had before: `group_changes` finds the result in
    PAST, GONE and COME, and need not fetch both rows from memory again.
    """
    fields, column = shape.fields, graph.column
    rows, crossing = 0, 0
    for c in range(shape.counters[COMPONENTS]):
        shape.lanes[PAST, c] = -1
        if fields[ROW, c] < 0:
            continue
        row = rows
        fields[ROW, c] = row
        rows += 1
        for word in range(words):
            bits[row, word] = np.uint64(0)
        node = fields[FIRST, c]
        for _ in range(fields[SIZE, c]):
            for place in range(graph.seeds.start[node], graph.seeds.start[node] + graph.seeds.length[node]):
                bit = column[graph.seeds.pool[place]]
                bits[row, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
            for place in range(graph.out.start[node], graph.out.start[node] + graph.out.length[node]):
                other = fields[COMPONENT, graph.out.pool[place]]
                source = fields[ROW, other]
                if other != c and source >= 0:
                    crossing += 1
                    for word in range(words):
                        bits[row, word] |= bits[source, word]
            node = fields[NEXT, node]
        past = origin[node]
        shape.lanes[PAST, c] = past
        shape.lanes[GONE, c], shape.lanes[COME, c] = compare(old_bits, old_row[past], bits, row, words, direction)
    shape.counters[CROSSING] = crossing
