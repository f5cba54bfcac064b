"""The closures are the fixpoints of the rules that they stand for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corollary.engines.embedded.closures.closure import LinearClosure, SymmetricClosure, join

Pairs = set[tuple[int, int]]
pairs = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14)


def codes(edges: Pairs) -> np.ndarray:
    return np.array(sorted(edges), np.uint32).reshape(len(edges), 2)


def found(closure: LinearClosure | SymmetricClosure) -> Pairs:
    rows = list(map(tuple, closure.rows().tolist()))
    assert len(rows) == len(set(rows)) == closure.count
    return set(rows)


def fixpoint(start: Pairs, derive: object) -> Pairs:
    known = set(start)
    while not (new := derive(known)) <= known:  # type: ignore[operator]
        known |= new
    return known


@given(pairs)
def test_transitive(edges: Pairs) -> None:
    want = fixpoint(edges, lambda k: {(a, d) for a, b in k for c, d in k if b == c})
    assert found(LinearClosure(codes(edges), codes(edges), 8)) == want


@given(pairs)
def test_transitive_with_the_guard(edges: Pairs) -> None:
    want = fixpoint(edges, lambda k: {(a, d) for a, b in k for c, d in k if b == c and a != d})
    loops = codes({(a, b) for a, b in edges if a == b})
    assert found(LinearClosure(codes(edges), codes(edges), 8, loops)) == want


@given(pairs, pairs)
def test_linear_over_other_seeds(step: Pairs, seeds: Pairs) -> None:
    want = fixpoint(seeds, lambda k: {(a, d) for a, b in step for c, d in k if b == c})
    assert found(LinearClosure(codes(step), codes(seeds), 8)) == want


@given(pairs)
def test_symmetric_and_transitive(edges: Pairs) -> None:
    want = fixpoint(edges, lambda k: {(b, a) for a, b in k} | {(a, d) for a, b in k for c, d in k if b == c})
    assert found(SymmetricClosure(codes(edges), 8, guarded=False)) == want


@given(pairs)
def test_symmetric_and_transitive_with_the_guard(edges: Pairs) -> None:
    want = fixpoint(edges, lambda k: {(b, a) for a, b in k} | {(a, d) for a, b in k for c, d in k if b == c and a != d})
    assert found(SymmetricClosure(codes(edges), 8, guarded=True)) == want


@given(pairs, pairs)
def test_dense_join(left: Pairs, right: Pairs) -> None:
    rows = list(map(tuple, join(codes(left), codes(right), 8).tolist()))
    assert len(rows) == len(set(rows))
    assert set(rows) == {(a, d) for a, b in left for c, d in right if b == c}
