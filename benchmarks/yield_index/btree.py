"""Semi-naive evaluation with B+-trees, which paper 003 compares recursive rules with. Entries that are looked at are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

FAN_OUT = 32
_COUNT, _LEAF, _NEXT, _KEYS = 0, 1, 2, 3
_CHILDREN = _KEYS + FAN_OUT
_WIDTH = _CHILDREN + FAN_OUT + 1


def new_tree(keys: int) -> np.ndarray:
    """Room for so many keys; the first row holds the root and the number of nodes."""
    nodes = np.zeros((2 * keys // (FAN_OUT // 2) + 64, _WIDTH), np.int64)
    nodes[0, 0], nodes[0, 1] = 1, 2
    nodes[1, _LEAF], nodes[1, _NEXT] = 1, -1
    return nodes


@njit(cache=True, nogil=True)
def _above(nodes: Any, node: Any, key: Any) -> Any:
    """How many keys of a node are not greater."""
    low, high = 0, nodes[node, _COUNT]
    while low < high:
        middle = (low + high) // 2
        if nodes[node, _KEYS + middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _split(nodes: Any, parent: Any, place: Any) -> None:
    left = nodes[parent, _CHILDREN + place]
    right = nodes[0, 1]
    nodes[0, 1] += 1
    is_leaf = nodes[left, _LEAF]
    half = FAN_OUT // 2
    middle = nodes[left, _KEYS + half]
    first = half if is_leaf else half + 1
    count = FAN_OUT - first
    for at in range(count):
        nodes[right, _KEYS + at] = nodes[left, _KEYS + first + at]
    for at in range(0 if is_leaf else count + 1):
        nodes[right, _CHILDREN + at] = nodes[left, _CHILDREN + first + at]
    nodes[right, _LEAF], nodes[right, _COUNT], nodes[left, _COUNT] = is_leaf, count, half
    nodes[right, _NEXT], nodes[left, _NEXT] = nodes[left, _NEXT], right
    for at in range(nodes[parent, _COUNT], place, -1):
        nodes[parent, _KEYS + at] = nodes[parent, _KEYS + at - 1]
        nodes[parent, _CHILDREN + at + 1] = nodes[parent, _CHILDREN + at]
    nodes[parent, _KEYS + place], nodes[parent, _CHILDREN + place + 1] = middle, right
    nodes[parent, _COUNT] += 1


@njit(cache=True, nogil=True)
def insert(nodes: Any, key: Any, seen: Any) -> Any:
    """Whether the key is new."""
    node = nodes[0, 0]
    if nodes[node, _COUNT] == FAN_OUT:
        root = nodes[0, 1]
        nodes[0, 1] += 1
        nodes[root, _LEAF], nodes[root, _COUNT], nodes[root, _CHILDREN] = 0, 0, node
        nodes[0, 0] = root
        _split(nodes, root, 0)
        node = root
    while not nodes[node, _LEAF]:
        place = _above(nodes, node, key)
        seen[0] += 1
        if nodes[nodes[node, _CHILDREN + place], _COUNT] == FAN_OUT:
            _split(nodes, node, place)
            place += nodes[node, _KEYS + place] <= key
        node = nodes[node, _CHILDREN + place]
    seen[0] += 1
    place = _above(nodes, node, key)
    if place > 0 and nodes[node, _KEYS + place - 1] == key:
        return False
    for at in range(nodes[node, _COUNT], place, -1):
        nodes[node, _KEYS + at] = nodes[node, _KEYS + at - 1]
    nodes[node, _KEYS + place] = key
    nodes[node, _COUNT] += 1
    return True


@njit(cache=True, nogil=True)
def _first_from(nodes: Any, key: Any, seen: Any) -> Any:
    """Leaf and place of the first key that is not less."""
    node = nodes[0, 0]
    while not nodes[node, _LEAF]:
        seen[0] += 1
        node = nodes[node, _CHILDREN + _above(nodes, node, key - 1)]
    seen[0] += 1
    return node, _above(nodes, node, key - 1)


@njit(cache=True, nogil=True)
def closure(arcs: Any, by_target: Any, paths: Any, delta: Any, seen: Any) -> Any:
    """`path(X, Y) :- arc(X, Z), path(Z, Y)` round by round: each new path looks for the arcs that lead to its start."""
    count = 0
    for row in range(len(arcs)):
        insert(by_target, (np.int64(arcs[row, 1]) << 32) | arcs[row, 0], seen)
        key = (np.int64(arcs[row, 0]) << 32) | arcs[row, 1]
        if insert(paths, key, seen):
            delta[count] = key
            count += 1
    done = 0
    while done < count:
        stop = count
        while done < stop:
            start, end = delta[done] >> 32, delta[done] & 0xFFFFFFFF
            done += 1
            node, place = _first_from(by_target, start << 32, seen)
            while node != -1:
                if place == by_target[node, _COUNT]:
                    node, place = by_target[node, _NEXT], 0
                    continue
                key = by_target[node, _KEYS + place]
                if key >> 32 != start:
                    break
                seen[0] += 1
                path = ((key & 0xFFFFFFFF) << 32) | end
                if insert(paths, path, seen):
                    delta[count] = path
                    count += 1
                place += 1
    return count
