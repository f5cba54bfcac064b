"""Closures that follow changes equal closures from nothing after every change, and say exactly what has changed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corollary.engines.embedded.closures import MaintainedClosure, MaintainedSymmetricClosure
from corollary.engines.embedded.closures import linear as linear_closures
from corollary.engines.embedded.closures.difference import PairDifference

Pairs = set[tuple[int, int]]

NODES = 9
pair = st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1))
pairs = st.lists(pair, max_size=14)
few = st.lists(pair, max_size=4)
updates = st.lists(st.tuples(few, few, few, few, st.booleans(), st.booleans()), max_size=12)
EFFORTS = {"always follow": (10**12, 1), "give up early": (20, 0), "give up late": (100, 0), "always anew": (-1, 1)}


def codes(edges: Pairs | list[tuple[int, int]]) -> np.ndarray:
    return np.array(list(edges), np.uint32).reshape(len(edges), 2)


def as_set(rows: np.ndarray) -> Pairs:
    found = list(map(tuple, rows.tolist()))
    assert len(found) == len(set(found))
    return set(found)


def linear(step: Pairs, seeds: Pairs) -> Pairs:
    known = set(seeds)
    while not (new := {(a, d) for a, b in step for c, d in known if b == c}) <= known:
        known |= new
    return known


def guarded(step: Pairs) -> Pairs:
    return {(a, b) for a, b in linear(step, step) if a != b or (a, b) in step}


def symmetric(edges: Pairs) -> Pairs:
    both = edges | {(b, a) for a, b in edges}
    return linear(both, both)


def guarded_symmetric(edges: Pairs) -> Pairs:
    return {(a, b) for a, b in symmetric(edges) if a != b or (a, b) in edges}


def check(closure: MaintainedClosure | MaintainedSymmetricClosure, want: Pairs) -> None:
    assert closure.count == len(want)
    assert as_set(closure.rows()) == want
    everything = codes([(a, b) for a in range(NODES + 2) for b in range(NODES + 2)])
    assert as_set(everything[closure.contains(everything)]) == want


def check_difference(difference: PairDifference, before: Pairs, after: Pairs) -> None:
    assert difference.deleted.count == len(before - after)
    assert difference.inserted.count == len(after - before)
    assert as_set(difference.deleted.rows()) == before - after
    assert as_set(difference.inserted.rows()) == after - before


@pytest.fixture(params=EFFORTS, autouse=True)
def effort(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a change is followed, or everything is computed anew, must not be seen."""
    budget, spread = EFFORTS[request.param]
    monkeypatch.setattr(linear_closures, "_ALWAYS", budget)
    monkeypatch.setattr(linear_closures, "_IN_VAIN", 1 << 60)
    monkeypatch.setattr(linear_closures, "_SPREAD", spread)


# The fixture is the same for all examples of a test on purpose, and the first example compiles kernels.
relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def run(
    closure: MaintainedClosure | MaintainedSymmetricClosure,
    edges: list,
    script: list,
    meaning: Callable[[Pairs], Pairs],
) -> None:
    now = set(edges)
    check(closure, meaning(now))
    late: list[tuple[PairDifference, Pairs, Pairs]] = []
    for removed, added, _, _, undone, read_late in script:
        after = (now - set(removed)) | set(added)
        difference = closure.update(codes(removed), codes(added))
        check(closure, meaning(after))
        if read_late:
            late.append((difference, meaning(now), meaning(after)))
        else:
            check_difference(difference, meaning(now), meaning(after))
        if undone:
            closure.undo(closure.undo_token)  # type: ignore[arg-type]
            check(closure, meaning(now))
        else:
            now = after
    closure.roll_back()
    check(closure, meaning(set(edges)))
    for difference, before, after in late:
        check_difference(difference, before, after)


@relaxed
@given(pairs, updates)
def test_transitive(edges: list, script: list) -> None:
    run(MaintainedClosure(codes(edges), None, NODES if edges else 0), edges, script, lambda e: linear(e, e))


@relaxed
@given(pairs, updates)
def test_transitive_with_the_guard(edges: list, script: list) -> None:
    run(MaintainedClosure(codes(edges), None, NODES, guarded=True, left=True), edges, script, guarded)


@relaxed
@given(pairs, updates)
def test_symmetric_and_transitive(edges: list, script: list) -> None:
    run(MaintainedSymmetricClosure(codes(edges), NODES if edges else 0), edges, script, symmetric)


@relaxed
@given(pairs, updates)
def test_symmetric_and_transitive_with_the_guard(edges: list, script: list) -> None:
    run(MaintainedSymmetricClosure(codes(edges), NODES, guarded=True), edges, script, guarded_symmetric)


@relaxed
@given(pairs, pairs, updates)
def test_linear_over_other_seeds(edges: list, starts: list, script: list) -> None:
    closure = MaintainedClosure(codes(edges), codes(starts), NODES)
    step, seeds = set(edges), set(starts)
    check(closure, linear(step, seeds))
    for removed, added, removed_seeds, added_seeds, undone, _ in script:
        new_step, new_seeds = (step - set(removed)) | set(added), (seeds - set(removed_seeds)) | set(added_seeds)
        difference = closure.update(codes(removed), codes(added), codes(removed_seeds), codes(added_seeds))
        check(closure, linear(new_step, new_seeds))
        check_difference(difference, linear(step, seeds), linear(new_step, new_seeds))
        if undone:
            closure.undo(closure.undo_token)
            check(closure, linear(step, seeds))
        else:
            step, seeds = new_step, new_seeds
