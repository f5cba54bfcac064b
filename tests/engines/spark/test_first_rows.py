"""Equal rows are found, whatever the ids are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corollary.engines.spark.terms.first_rows import first_places, first_rows
from corollary.engines.spark.terms.ids import ids_of_doubles


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([0, 3, -1, 2**61, -(2**61)])), max_size=60))
def test_the_first_of_equal_rows_stays(rows: list[tuple[int, int]]) -> None:
    found = first_rows(np.array(rows, np.int64).reshape(-1, 2))
    assert [row for row, is_first in zip(rows, found, strict=True) if is_first] == list(dict.fromkeys(rows))


@given(st.lists(st.integers(-3, 3), max_size=60))
def test_every_row_knows_the_first_of_its_equals(ids: list[int]) -> None:
    places = first_places(np.array(ids, np.int64).reshape(-1, 1))
    assert places.tolist() == [ids.index(number) for number in ids]


def test_doubles_that_differ_in_few_bits_are_told_apart() -> None:
    ids = ids_of_doubles(np.arange(50_000) * 0.25)
    assert first_rows(ids.reshape(-1, 1)).all()
    assert first_rows(np.concatenate((ids, ids)).reshape(-1, 1)).sum() == len(ids)
