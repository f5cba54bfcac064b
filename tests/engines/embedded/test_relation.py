"""A relation behaves like a Python set of rows, whatever is inserted, asked and deleted in whatever order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.engines.embedded.relations.relation import Relation

Rows = list[tuple[int, ...]]


def rows_of(arity: int, largest: int) -> st.SearchStrategy[Rows]:
    return st.lists(st.tuples(*[st.integers(0, largest)] * arity), max_size=60)


def codes(rows: Rows, arity: int) -> np.ndarray:
    return np.array(rows, np.uint32).reshape(len(rows), arity)


def delete(relation: Relation, rows: np.ndarray) -> int:
    gone = Relation(relation.arity)
    gone.insert(rows)
    before = relation.size
    relation.keep(~gone.contains(relation.facts))
    return before - relation.size


@pytest.mark.parametrize(("arity", "bits"), [(1, 8), (2, 8), (3, 8), (3, 32), (5, 4), (5, 32)])
def test_it_holds_what_was_inserted_and_not_deleted(arity: int, bits: int) -> None:
    @given(st.lists(st.tuples(st.booleans(), rows_of(arity, 6)), max_size=6))
    def check(steps: list[tuple[bool, Rows]]) -> None:
        relation, model = Relation(arity, bits), set()
        for inserting, rows in steps:
            before = set(model)
            if inserting:
                model |= set(rows)
                assert relation.insert(codes(rows, arity)) == len(model - before)
            else:
                model -= set(rows)
                assert delete(relation, codes(rows, arity)) == len(before - model)
            assert set(map(tuple, relation.facts.tolist())) == model
            assert relation.size == len(model)
            asked = [*rows, *before]
            assert relation.contains(codes(asked, arity)).tolist() == [row in model for row in asked]

    check()


def test_pairs_over_few_constants_are_kept_in_a_bitmap_until_codes_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.engines.embedded.relations.relation.BITMAP_FROM", 8)

    @given(st.lists(st.tuples(st.sampled_from(["insert", "delete", "widen"]), rows_of(2, 14)), max_size=8))
    def check(steps: list[tuple[str, Rows]]) -> None:
        relation, model, bits = Relation(2, 4), set(), 4
        for step, rows in steps:
            if step == "widen":
                bits += 3
                relation.widen(bits)
            elif step == "insert":
                new = set(rows) - model
                model |= new
                assert relation.insert(codes(rows, 2)) == len(new)
            else:
                assert delete(relation, codes(rows, 2)) == len(model & set(rows))
                model -= set(rows)
            assert set(map(tuple, relation.facts.tolist())) == model
            assert relation.contains(codes(rows, 2)).tolist() == [row in model for row in rows]

    check()


def test_it_grows_far_beyond_its_first_capacity() -> None:
    relation = Relation(2)
    numbers = np.arange(300_000, dtype=np.uint32)
    rows = np.stack([numbers, numbers[::-1]], axis=1)
    assert relation.insert(rows) == 300_000
    assert relation.insert(rows) == 0
    assert relation.contains(rows).all()
    assert not relation.contains(rows + np.uint32(1)).all()


def test_rows_that_no_longer_fit_into_a_word_are_kept_when_codes_grow() -> None:
    relation = Relation(3, code_bits=8)
    small = codes([(1, 2, 3), (4, 5, 6)], 3)
    relation.insert(small)
    relation.widen(30)
    large = codes([(1 << 29, 2, 3), (1, 2, 1 << 28)], 3)
    assert relation.insert(large) == 2
    assert relation.insert(small) == 0
    assert relation.contains(np.concatenate([small, large])).all()


@pytest.mark.parametrize("columns", [(0,), (1,), (0, 1), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("universe", [10, 100_000])
def test_both_kinds_of_indexes_find_the_rows_of_a_key(columns: tuple[int, ...], universe: int) -> None:
    generator = np.random.default_rng(1)
    relation = Relation(3)
    relation.insert(generator.integers(0, 8, (200, 3)).astype(np.uint32))
    ranges = relation.range_index(columns, universe)
    assert sorted(map(tuple, ranges.rows.tolist())) == sorted(map(tuple, relation.facts.tolist()))
    keys = [tuple(row[c] for c in columns) for row in ranges.rows.tolist()]
    runs = sum(1 for position, key in enumerate(keys) if position == 0 or keys[position - 1] != key)
    assert runs == len(set(keys)), "the rows of a key lie side by side"
    chains = relation.chain_index(columns, universe)
    relation.insert(generator.integers(0, 8, (200, 3)).astype(np.uint32))
    chains = relation.chain_index(columns, universe)
    chained = [row for head in chains.heads.tolist() if head != 0xFFFFFFFF for row in _chain(head, chains.following)]
    assert sorted(chained) == list(range(relation.size))


def _chain(row: int, following: np.ndarray) -> list[int]:
    found = []
    while row != 0xFFFFFFFF:
        found.append(row)
        row = int(following[row])
    return found
