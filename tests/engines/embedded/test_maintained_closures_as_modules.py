"""Closures as modules of DRed^c-Mod: the laws of paper 002 (Definitions 3, 6 and 7, Theorems 8 to 10)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.engines.embedded.closures import SymmetricTransitiveModule, TransitiveModule

Pairs = set[tuple[int, int]]
Rule = Callable[[Pairs, Pairs], Pairs]  # what the instances over the first set give that use a fact of the second

NODES = 7
pair = st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1))
facts = st.sets(pair, max_size=12)


def codes(rows: Pairs) -> np.ndarray:
    return np.array(sorted(rows), np.uint32).reshape(len(rows), 2)


def as_set(rows: np.ndarray) -> Pairs:
    found = list(map(tuple, rows.tolist()))
    assert len(found) == len(set(found))
    return set(found)


def composed(known: Pairs, delta: Pairs, *, guarded: bool = False) -> Pairs:
    return {
        (a, d)
        for a, b in known
        for c, d in known
        if b == c and ((a, b) in delta or (c, d) in delta) and not (guarded and a == d)
    }


RULES: dict[str, Rule] = {
    "transitive": composed,
    "transitive, guarded": lambda known, delta: composed(known, delta, guarded=True),
    "symmetric": lambda known, delta: composed(known, delta) | {(b, a) for a, b in delta},
    "symmetric, guarded": lambda known, delta: composed(known, delta, guarded=True) | {(b, a) for a, b in delta},
}
MODULES: dict[str, Callable[[Pairs], TransitiveModule | SymmetricTransitiveModule]] = {
    "transitive": lambda x: TransitiveModule(codes(x), NODES),
    "transitive, guarded": lambda x: TransitiveModule(codes(x), NODES, guarded=True),
    "symmetric": lambda x: SymmetricTransitiveModule(codes(x), NODES),
    "symmetric, guarded": lambda x: SymmetricTransitiveModule(codes(x), NODES, guarded=True),
}


def closure(start: Pairs, rule: Rule) -> Pairs:
    known = set(start)
    while not (new := rule(known, known)) <= known:
        known |= new
    return known


def lower_bound(known: Pairs, delta: Pairs, supported: Pairs, rule: Rule) -> Pairs:
    """J_l of Definition 6: what DRed^c overdeletes."""
    found: Pairs = set()
    while new := rule(known, delta | found) - delta - found - supported:
        found |= new
    return found


def upper_bound(known: Pairs, delta: Pairs, rule: Rule) -> Pairs:
    """J_u of Definition 6: what DRed overdeletes."""
    return lower_bound(known, delta, set(), rule)


@pytest.mark.parametrize("kind", RULES)
@settings(deadline=None)
@given(facts, st.lists(st.tuples(facts, facts), max_size=4))
def test_one_module_alone(kind: str, start: Pairs, script: list[tuple[Pairs, Pairs]]) -> None:
    """The external facts are the supported ones: after Del, Red and Add the state is the closure from nothing."""
    rule, module, external = RULES[kind], MODULES[kind](start), set(start)
    known = closure(external, rule)
    assert as_set(module.rows()) == known
    for removed, added in script:
        module.begin()
        delta = (external & removed) - added
        left = external - delta

        def supported(rows: np.ndarray, left: Pairs = left) -> np.ndarray:
            return np.array([tuple(row) in left for row in rows.tolist()], np.bool_)

        overdeleted = as_set(module.overdelete(codes(delta), supported))
        assert overdeleted >= lower_bound(known, delta, left, rule)
        if "guarded" not in kind:
            assert overdeleted <= upper_bound(known, delta, rule)
        assert not overdeleted & (left | delta)
        gone = overdeleted | delta
        back = as_set(module.rederive(codes(gone)))
        assert (known - gone) | back == closure(left, rule)
        new = added - closure(left, rule)
        derived = as_set(module.add(codes(added)))
        after = closure(left | added, rule)
        assert derived == after - closure(left, rule) - new - added
        assert as_set(module.rows()) == after
        assert module.count == len(after)
        if len(added) % 2:
            module.roll_back()
            assert as_set(module.rows()) == known
        else:
            external, known = left | added, after


@pytest.mark.parametrize("kind", RULES)
@settings(deadline=None)
@given(facts, facts, st.lists(st.tuples(facts, facts), max_size=4), st.sets(st.tuples(pair, pair), max_size=6))
def test_two_modules_in_a_circle(
    kind: str, start: Pairs, first: Pairs, script: list[tuple[Pairs, Pairs]], others: set[tuple[tuple, tuple]]
) -> None:
    """Algorithm 3 with the module beside propositional rules f <- g over the same relation."""
    rule = RULES[kind]

    def other(known: Pairs, delta: Pairs) -> Pairs:
        return {head for head, body in others if body in delta}

    def both(known: Pairs, delta: Pairs) -> Pairs:
        return rule(known, delta) | other(known, delta)

    module, explicit, known = MODULES[kind](set()), set(), set()
    for removed, added in [(set(), start), (set(), first), *script]:
        delta = (explicit & removed) - added
        explicit -= delta
        gone: Pairs = set()

        def supported(rows: np.ndarray) -> np.ndarray:
            return np.array([tuple(row) in explicit for row in rows.tolist()], np.bool_)  # noqa: B023

        by_others, by_module = delta, set()
        while by_others or by_module:
            left, now = known - gone, by_others | by_module
            from_module = as_set(module.overdelete(codes(by_others), supported)) if by_others else set()
            from_others = other(left, now) & left - now - explicit
            assert from_module <= left
            gone |= now
            by_others, by_module = from_others - gone, from_module - gone
            by_others -= by_module
        left = known - gone
        outside, inside = set(added), as_set(module.rederive(codes(gone)))
        while (new := other(left, left | outside) & gone - outside) and not new <= outside:
            outside |= new
        outside -= inside - added
        explicit |= added
        known = left
        while outside or inside:
            known |= outside | inside
            from_module = as_set(module.add(codes(outside))) - known if outside else set()
            from_others = other(known, outside | inside) - known - from_module
            outside, inside = from_others, from_module
        assert known == closure(explicit, both)
        assert as_set(module.rows()) == known
