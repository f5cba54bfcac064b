"""Data indexes: from the key of a fact to its entry, by hash or in order.

An entry is made for the first fact that has its key or waits for it: a waiting fact is stored where its partner will
arrive, so nothing has to move then. Ordered entries are in a B+-tree and know their neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.yield_index.layout import (
    BY_VALUE,
    CODE,
    COUNT,
    ENTRY_CELLS,
    FAN_OUT,
    G_ENTRY,
    G_INDEX,
    G_KEY,
    G_KEY_END,
    G_MODE,
    G_ROOT,
    HASHED,
    HEADER,
    KEYS,
    LOOKUPS,
    NEXT,
    NODE_CHILDREN,
    NODE_COUNT,
    NODE_KEYS,
    NODE_LEAF,
    NODES,
    NONE,
    PREVIOUS,
    SLOT_ENTRY,
    USED,
)
from corollary.engines.embedded.yield_index.state import place_of

_NUMBER, _LAST_TEXT = 1, 4  # numbers, and kinds after texts, are equal if their ranks are
_PREFIXES = 1 << 24  # an upper bound for the number of data indexes
_LOW_BITS = (1 << 31) - 1


@njit(cache=True, nogil=True)
def entry_of(
    plan: Any, memory: Any, slots: Any, nodes: Any, scalars: Any, lookup: Any, block: Any, kinds: Any, ranks: Any
) -> Any:
    """Return the entry of a fact's key in a data index, made now if there is none."""
    scalars[LOOKUPS] += 1
    at, stop = plan[lookup + G_KEY], plan[lookup + G_KEY_END]
    if plan[lookup + G_MODE] != HASHED:
        code = memory[block + plan[at]]
        return _ordered_entry(plan, memory, nodes, scalars, lookup, code, kinds, ranks)
    first = plan[lookup + G_INDEX] << 32
    second = np.int64(0)
    if stop > at:
        first |= memory[block + plan[at]]
    if stop > at + 1:
        second = (memory[block + plan[at + 1]] << 32) | 1
    if stop > at + 2:
        third = memory[block + plan[at + 2]]
        second ^= (third & _LOW_BITS) << 1
        first ^= (third >> 31) << 62  # the highest of 32 bits, for which the second word has no room
    at += 3
    while at < stop:  # a longer key continues from the entry of its prefix
        prefix = _hashed_entry(memory, slots, scalars, first, second, 1)
        first = ((prefix + _PREFIXES) << 32) ^ memory[block + plan[at]]
        second = np.int64(2)
        at += 1
    return _hashed_entry(memory, slots, scalars, first, second, plan[lookup + G_ENTRY])


@njit(cache=True, nogil=True)
def _hashed_entry(memory: Any, slots: Any, scalars: Any, first: Any, second: Any, size: Any) -> Any:
    mask = len(slots) - 1
    slot = place_of(first, second, mask)
    while slots[slot, SLOT_ENTRY] != NONE:
        if slots[slot, 0] == first and slots[slot, 1] == second:
            return slots[slot, SLOT_ENTRY]
        slot = (slot + 1) & mask
    entry = _new_entry(memory, scalars, size, 0)
    slots[slot, 0], slots[slot, 1], slots[slot, SLOT_ENTRY] = first, second, entry
    scalars[KEYS] += 1
    return entry


@njit(cache=True, nogil=True)
def _new_entry(memory: Any, scalars: Any, size: Any, header: Any) -> Any:
    entry = scalars[USED]
    scalars[USED] += size
    for at in range(entry, entry + size):
        memory[at] = NONE
    for at in range(entry + header + COUNT, entry + size, ENTRY_CELLS):
        memory[at] = 0
    return entry


# -- in order ----------------------------------------------------------------------------------------------------------


@njit(inline="always")
def is_by_value(kind: Any) -> Any:
    """Return whether two constants of a kind may be equal without being the same."""
    return kind == _NUMBER or kind > _LAST_TEXT


@njit(cache=True, nogil=True)
def compared(one: Any, other: Any, mode: Any, kinds: Any, ranks: Any) -> Any:
    """Return -1, 0 or 1: numbers are compared by value; everything else by rank, or by code if only equality matters."""
    if one == other:
        return 0
    if kinds[one] != kinds[other]:
        return -1 if kinds[one] < kinds[other] else 1
    if mode == BY_VALUE and not is_by_value(kinds[one]):
        return -1 if one < other else 1
    if ranks[one] == ranks[other]:
        return 0
    return -1 if ranks[one] < ranks[other] else 1


@njit(cache=True, nogil=True)
def _position(memory: Any, nodes: Any, node: Any, code: Any, mode: Any, kinds: Any, ranks: Any) -> Any:
    """Return how many keys of a node are not greater than a code."""
    low, high = 0, nodes[node, NODE_COUNT]
    while low < high:
        middle = (low + high) // 2
        if compared(memory[nodes[node, NODE_KEYS + middle] + CODE], code, mode, kinds, ranks) <= 0:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _new_node(nodes: Any, scalars: Any, is_leaf: Any) -> Any:
    node = scalars[NODES]
    scalars[NODES] += 1
    nodes[node, NODE_LEAF], nodes[node, NODE_COUNT] = is_leaf, 0
    return node


@njit(cache=True, nogil=True)
def _split(nodes: Any, scalars: Any, parent: Any, place: Any) -> None:
    """Split the full child at a position of a parent with room."""
    left = nodes[parent, NODE_CHILDREN + place]
    is_leaf = nodes[left, NODE_LEAF]
    right = _new_node(nodes, scalars, is_leaf)
    half = FAN_OUT // 2
    middle = nodes[left, NODE_KEYS + half]
    first = half if is_leaf else half + 1  # the middle key of an inner node moves up
    count = FAN_OUT - first
    for at in range(count):
        nodes[right, NODE_KEYS + at] = nodes[left, NODE_KEYS + first + at]
    if not is_leaf:
        for at in range(count + 1):
            nodes[right, NODE_CHILDREN + at] = nodes[left, NODE_CHILDREN + first + at]
    nodes[left, NODE_COUNT], nodes[right, NODE_COUNT] = half, count
    for at in range(nodes[parent, NODE_COUNT], place, -1):
        nodes[parent, NODE_KEYS + at] = nodes[parent, NODE_KEYS + at - 1]
        nodes[parent, NODE_CHILDREN + at + 1] = nodes[parent, NODE_CHILDREN + at]
    nodes[parent, NODE_KEYS + place], nodes[parent, NODE_CHILDREN + place + 1] = middle, right
    nodes[parent, NODE_COUNT] += 1


@njit(cache=True, nogil=True)
def _ordered_entry(
    plan: Any, memory: Any, nodes: Any, scalars: Any, lookup: Any, code: Any, kinds: Any, ranks: Any
) -> Any:
    mode, root = plan[lookup + G_MODE], plan[lookup + G_ROOT]
    if scalars[root] == NONE:
        scalars[root] = _new_node(nodes, scalars, 1)
    node = scalars[root]
    if nodes[node, NODE_COUNT] == FAN_OUT:
        above = _new_node(nodes, scalars, 0)
        nodes[above, NODE_CHILDREN] = node
        scalars[root] = above
        _split(nodes, scalars, above, 0)
        node = above
    while not nodes[node, NODE_LEAF]:
        place = _position(memory, nodes, node, code, mode, kinds, ranks)
        if nodes[nodes[node, NODE_CHILDREN + place], NODE_COUNT] == FAN_OUT:
            _split(nodes, scalars, node, place)
            if compared(memory[nodes[node, NODE_KEYS + place] + CODE], code, mode, kinds, ranks) <= 0:
                place += 1
        node = nodes[node, NODE_CHILDREN + place]
    place = _position(memory, nodes, node, code, mode, kinds, ranks)
    count = nodes[node, NODE_COUNT]
    before, after = np.int64(NONE), np.int64(NONE)
    if place > 0:
        before = nodes[node, NODE_KEYS + place - 1]
        if compared(memory[before + CODE], code, mode, kinds, ranks) == 0:
            return before
        after = memory[before + NEXT]
    elif count > 0:
        after = nodes[node, NODE_KEYS]
        before = memory[after + PREVIOUS]
    entry = _new_entry(memory, scalars, plan[lookup + G_ENTRY], HEADER)
    for at in range(count, place, -1):
        nodes[node, NODE_KEYS + at] = nodes[node, NODE_KEYS + at - 1]
    nodes[node, NODE_KEYS + place] = entry
    nodes[node, NODE_COUNT] += 1
    memory[entry + CODE], memory[entry + NEXT], memory[entry + PREVIOUS] = code, after, before
    if before != NONE:
        memory[before + NEXT] = entry
    if after != NONE:
        memory[after + PREVIOUS] = entry
    return entry
