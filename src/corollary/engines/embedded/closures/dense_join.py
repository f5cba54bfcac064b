"""`h(X, Z) :- a(X, Y), b(Y, Z)` where most instances give pairs that are there already: rows of bits instead of instances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.closures.closure import emit_pairs, number_codes, set_bits
from corollary.engines.embedded.relations.relation import Codes, Relation

_MAX_BYTES = 1 << 30
_BLOCK = 1024
_NO_NODE = np.uint32(0xFFFFFFFF)


def instance_count(left: Codes, right: Codes, universe: int) -> int:
    """How many rule instances the join has."""
    ends = np.bincount(left[:, 1], minlength=universe)
    starts = np.bincount(right[:, 0], minlength=universe)
    return int((ends.astype(np.float64) * starts).sum())


def pays(left: Codes, right: Codes, universe: int, *, counted: bool = False) -> bool:
    """Whether rows of bits, or of numbers where instances are counted, fit and are cheaper than trying every instance."""
    if len(left) < 256 or len(right) < 256 or universe > 50 * (len(left) + len(right)):
        return False
    columns = min(len(right), universe)
    middle = min(len(right), universe)
    word_operations = len(left) * (columns / 64)
    if counted:
        fits = (middle * columns + _BLOCK * (middle + columns)) * 8 < _MAX_BYTES
    else:
        fits = middle * columns / 8 < _MAX_BYTES and min(len(left), universe) * columns / 8 < _MAX_BYTES
    # An instance costs some 20 ns and a word of bits less than one.
    return fits and instance_count(left, right, universe) > word_operations / 8


def join(left: Codes, right: Codes, universe: int) -> Codes:
    """The distinct pairs (X, Z)."""
    columns, column_of = number_codes([right[:, 1]], universe)
    middle, middle_of = number_codes([right[:, 0]], universe)
    sources, source_of = number_codes([left[:, 0]], universe)
    words = (len(columns) + 63) // 64
    right_bits = np.zeros((len(middle), words), np.uint64)
    set_bits(right_bits, middle_of[right[:, 0]], column_of[right[:, 1]])
    bits = np.zeros((len(sources), words), np.uint64)
    _unite(bits, source_of[left[:, 0]], middle_of[left[:, 1]], right_bits)
    count = int(np.bitwise_count(bits).sum())
    own = np.full(len(sources), -1, np.int64)
    return emit_pairs(bits, np.arange(len(sources)), own, sources, columns, count)  # type: ignore[no-any-return]


def insert_counted(left: Codes, right: Codes, universe: int, into: Relation, owner: str) -> None:
    """Inserts the pairs with the number of ways to derive each: a product of integer matrices, in blocks of rows."""
    columns, column_of = number_codes([right[:, 1]], universe)
    middle, middle_of = number_codes([right[:, 0]], universe)
    sources, source_of = number_codes([left[:, 0]], universe)
    reachable = left[middle_of[left[:, 1]] != _NO_NODE]
    # Counts stay below 2**53, so that products of doubles are exact.
    step = np.zeros((len(middle), len(columns)), np.float64)
    step[middle_of[right[:, 0]], column_of[right[:, 1]]] = 1
    rows, places = source_of[reachable[:, 0]], middle_of[reachable[:, 1]]
    order = np.argsort(rows, kind="stable")
    rows, places = rows[order], places[order]
    for start in range(0, len(sources), _BLOCK):
        inside = slice(*np.searchsorted(rows, [start, start + _BLOCK]))
        block = np.zeros((min(_BLOCK, len(sources) - start), len(middle)), np.float64)
        block[rows[inside] - start, places[inside]] = 1
        counts = block @ step
        found = np.nonzero(counts)
        pairs = np.stack([sources[found[0] + start], columns[found[1]]], axis=1)
        into.insert_with_counts(pairs, counts[found].astype(np.uint32), owner)


@njit(cache=True, nogil=True)
def _unite(bits: Any, sources: Any, middle: Any, right_bits: Any) -> None:
    for i in range(len(sources)):
        if middle[i] != np.uint32(0xFFFFFFFF):
            for word in range(bits.shape[1]):
                bits[sources[i], word] |= right_bits[middle[i], word]
