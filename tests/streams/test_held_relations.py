"""Relations and constants that the driver keeps: what is found there is what a scan finds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from corollary.engines.spark.context import SparkSettings
from corollary.engines.spark.held_relations import HeldRelation, HeldRelations
from corollary.engines.spark.relations import Frame
from corollary.engines.spark.terms.universe import HeldTerms

_LARGE = 2**62 + 1  # no floating-point number has all digits of this one
_VALUES = st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1])


def rows_of(count: int, columns: int) -> st.SearchStrategy[Any]:
    return arrays.arrays(np.int64, (count, columns), elements=_VALUES)


@given(
    st.integers(0, 30).flatmap(lambda n: rows_of(n, 4)), rows_of(6, 3), st.sets(st.sampled_from([0, 1, 2]), min_size=1)
)
def test_rows_are_found_by_some_of_their_columns(rows: Any, facts: Any, chosen: set[int]) -> None:
    places = tuple(sorted(chosen))
    keys = np.unique(facts[:, places], axis=0)
    found = HeldRelation(rows).matching(places, keys)
    wanted = {tuple(key) for key in keys.tolist()}
    assert sorted(found.tolist()) == sorted(
        row for row in rows.tolist() if tuple(row[place] for place in places) in wanted
    )


def written(folder: Path, name: str, count: int, *, counted: bool = False) -> Frame:
    columns = {
        "c0": _LARGE + np.arange(count),
        "c1": np.arange(count) * 2,
        **({"n": np.full(count, 7)} if counted else {}),
    }
    pq.write_table(pa.table(columns), folder / name)
    return Frame(None, 2, count, lies_in=((folder / name).as_uri(),))  # type: ignore[arg-type] # Spark is not asked


def held(most: int) -> HeldRelations:
    return HeldRelations(SimpleNamespace(settings=SparkSettings(driver_facts=most)))  # type: ignore[arg-type]


def test_a_relation_is_read_when_it_was_asked_for_often(tmp_path: Path) -> None:
    relations, frame = held(100_000), written(tmp_path, "large.parquet", 20_000, counted=True)
    assert [relations.relation(frame) is None for _ in range(3)] == [True, True, False]
    known = relations.relation(frame)
    assert known is not None
    assert known.matching((1,), np.array([[10]])).tolist() == [[_LARGE + 5, 10, 7]]


def test_a_small_relation_is_read_at_once(tmp_path: Path) -> None:
    known = held(100_000).relation(written(tmp_path, "small.parquet", 10))
    assert known is not None
    assert known.matching((0, 1), np.array([[_LARGE + 3, 6], [_LARGE + 3, 7]])).tolist() == [[_LARGE + 3, 6, 1]]


@pytest.mark.parametrize("most", [0, 9])
def test_what_is_too_large_is_not_read(tmp_path: Path, most: int) -> None:
    relations, frame = held(most), written(tmp_path, "small.parquet", 10)
    assert all(relations.relation(frame) is None for _ in range(5))


def test_what_nobody_asks_about_any_more_makes_room(tmp_path: Path) -> None:
    relations = held(15)
    old, new = written(tmp_path, "old.parquet", 10), written(tmp_path, "new.parquet", 10)
    assert relations.has([old])
    assert not relations.has([new])
    for _ in range(400):
        relations.relation(new)
    assert relations.has([new])
    assert not relations.has([old])


def terms(rows: list[tuple[int, str, str]]) -> pa.Table:
    ids, canonical, datatype = zip(*rows, strict=True)
    return pa.table(
        {"id": pa.array(ids, pa.int64()), "common": list(map(str, ids)), "canonical": canonical, "datatype": datatype}
    )


def test_constants_are_known_by_their_ids_and_told_apart_by_their_texts() -> None:
    parts = [HeldTerms.of(terms([(9, "b", "x"), (2, "a", "x")])), HeldTerms.of(terms([(5, "c", "y")]))]
    known, different = HeldTerms.together(parts).look_up(
        terms([(2, "a", "x"), (3, "d", "x"), (5, "c", "z"), (9, "other", "x")])
    )
    assert (known.tolist(), different) == ([True, False, True, True], 2)
    assert HeldTerms.together(parts).forms(np.array([9, 1, 5])).to_pylist() == [
        {"id": 9, "common": "9", "canonical": "b", "datatype": "x"},
        {"id": 5, "common": "5", "canonical": "c", "datatype": "y"},
    ]
