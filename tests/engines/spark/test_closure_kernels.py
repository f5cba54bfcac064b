"""Closures in blocks and pieces give what the embedded ones give, less what was known before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.spark.tasks.closure_job import closure_pieces, component_pieces

PAIRS = st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=25)
UNIVERSE = 12


def rows(pairs: set[tuple[int, int]]) -> Codes:
    return np.array(sorted(pairs), np.uint32).reshape(-1, 2)


def gathered(pieces: object) -> set[tuple[int, int]]:
    found = [(int(a), int(b)) for piece in pieces for a, b in piece]  # type: ignore[attr-defined]
    assert len(found) == len(set(found)), "duplicates"
    return set(found)


def right_linear(step: set[tuple[int, int]], seeds: set[tuple[int, int]]) -> set[tuple[int, int]]:
    known = set(seeds)
    while True:
        new = {(x, z) for x, y in step for other, z in known if y == other} - known
        if not new:
            return known
        known |= new


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@given(step=PAIRS, seeds=PAIRS, guarded=st.booleans())
def test_linear_closures(block_bytes: int, step: set, seeds: set, guarded: bool) -> None:
    expected = right_linear(step, seeds) - seeds
    if guarded:
        expected = {(x, z) for x, z in expected if x != z}
    pieces = closure_pieces(rows(step), rows(seeds), UNIVERSE, guarded=guarded, piece=64, block_bytes=block_bytes)
    assert gathered(pieces) == expected


def test_many_columns_in_many_blocks() -> None:
    chain = np.stack([np.arange(299), np.arange(1, 300)], axis=1).astype(np.uint32)
    pieces = list(closure_pieces(chain, chain, 300, guarded=False, piece=100, block_bytes=1))
    assert max(map(len, pieces)) <= 100
    assert len(gathered(pieces)) == 299 * 300 // 2 - 299


@given(edges=PAIRS, guarded=st.booleans(), own=st.sets(st.integers(0, 11)))
def test_symmetric_closures_of_some_sources(edges: set, guarded: bool, own: set) -> None:
    both = edges | {(y, x) for x, y in edges}
    closed = right_linear(both, both)
    expected = {(x, z) for x, z in closed - edges if x in own and not (guarded and x == z)}
    sources = np.zeros(UNIVERSE, np.bool_)
    sources[list(own)] = True
    assert gathered(component_pieces(rows(edges), sources, UNIVERSE, guarded=guarded, piece=7)) == expected
