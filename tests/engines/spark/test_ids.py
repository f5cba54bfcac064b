"""Ids say the same everywhere, differ for different constants, and tell what they can without the universe."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from corollary.engines.embedded.values.encoder import encode_constants, text_buffers
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.engines.spark.terms.double_ids import double_sql
from corollary.engines.spark.terms.ids import (
    CollisionTable,
    Tag,
    id_of,
    ids_of,
    ids_of_doubles,
    ids_of_encoded_texts,
    ids_of_universe,
    inline_value,
    is_hashed,
    kinds,
    tag,
)
from corollary.program import Constant, Value, canonical, identity
from tests.engines.spark.constants import BORDERS, constants

INLINE = st.integers(-(2**61), 2**61 - 1)


@given(st.lists(constants, max_size=30))
def test_ids_are_the_identity_of_constants(values: list[Value]) -> None:
    ids = ids_of(values)
    assert [id_of(value) for value in values] == ids.tolist()
    assert len(set(ids.tolist())) == len({Constant(canonical(value)) for value in values})


@given(st.lists(constants, max_size=30))
def test_an_id_tells_its_kind_and_an_inline_one_its_value(values: list[Value]) -> None:
    universe = Universe()
    codes = encode_constants(universe, values)
    ids = ids_of_universe(universe, codes)
    assert kinds(ids).tolist() == universe.kinds[codes].tolist()
    for number, value in zip(ids.tolist(), values, strict=True):
        found = inline_value(number)
        if (number & 3) == Tag.HASHED:
            assert found is None
        else:
            assert found is not None
            assert identity(found) == identity(canonical(value))


@given(st.lists(INLINE, min_size=2, max_size=50))
def test_ids_of_integers_are_ordered_as_the_integers_are(values: list[int]) -> None:
    ids = ids_of(values)
    assert not tag(ids).any()
    assert np.argsort(ids, kind="stable").tolist() == np.argsort(np.array(values), kind="stable").tolist()


def are_inside(values: list[float]) -> list[bool]:
    return (tag(ids_of(values)) == Tag.DOUBLE).tolist()  # type: ignore[no-any-return]


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=50))
def test_ids_of_doubles_inside_them_are_ordered_as_the_doubles_are(values: list[float]) -> None:
    inside = [value for value, is_inside in zip(values, are_inside(list(values)), strict=True) if is_inside]
    ids = ids_of(list(inside)).tolist()
    assert sorted(inside) == [inline_value(number) for number in sorted(ids)]
    for left, first in zip(inside, ids, strict=True):
        for right, second in zip(inside, ids, strict=True):
            assert ((left < right), (left == right)) == ((first < second), (first == second))


def test_doubles_are_inside_ids_but_for_those_that_equal_others_and_the_extreme_ones() -> None:
    least, beyond = 2.0**-255, 2.0**256
    assert (
        are_inside([0.0, 0.1, -273.15, least, -least, math.nextafter(beyond, 0), -math.nextafter(beyond, 0)])
        == [True] * 7
    )
    hashed = [-0.0, math.nan, math.inf, -math.inf, math.nextafter(least, 0), beyond, -beyond, 5e-324]
    assert are_inside(hashed) == [False] * 8
    assert -1 not in ids_of([*hashed, least, -least]).tolist()  # it stands for no value


@pytest.mark.spark
def test_spark_itself_reads_doubles_out_of_ids(spark: SparkSession) -> None:
    import pyarrow as pa

    bits = np.random.default_rng(3).integers(-(2**63), 2**63 - 1, 20_000).view(np.float64)
    some = [0.0, 1.5, -1.5, 0.1, 1e22, 2.0**-255, -(2.0**-255), math.nextafter(2.0**256, 0), 1 / 3, math.pi]
    values = np.concatenate((np.array(some), bits[~np.isnan(bits)], np.random.default_rng(4).normal(20, 5, 20_000)))
    ids = ids_of_doubles(values)
    inside = tag(ids) == Tag.DOUBLE
    assert inside.sum() > 20_000
    rows = spark.createDataFrame(pa.table({"c": ids[inside]})).selectExpr(f"{double_sql('c')} AS v").toArrow()
    assert rows.column("v").to_pylist() == values[inside].tolist()


def test_ids_are_the_same_in_every_process() -> None:
    imports = "from tests.engines.spark.constants import BORDERS; from corollary.engines.spark.terms.ids import ids_of"
    script = f"{imports}; print(*ids_of(BORDERS))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        for seed in ("0", "1", "4711")
    ]
    assert {run.stdout.strip() for run in runs} == {" ".join(map(str, ids_of(BORDERS).tolist()))}


def test_ids_stay_what_they_are() -> None:
    """Snapshots hold them: a change here needs a new version of whatever was written with the old ones."""
    assert [id_of(value) for value in (3, -1, True, "a", 1.5)] == [
        *(12, -4, 257),
        *(546486892214614222, 4620693217682128899),
    ]


def test_narrow_hashes_stay_within_their_bits_and_keep_the_kind() -> None:
    narrow = CollisionTable(hash_bits=6)
    ids = ids_of([f"text {number}" for number in range(1000)], narrow)
    assert is_hashed(ids).all()
    assert set(kinds(ids).tolist()) == {Kind.STRING}
    assert len(set(ids.tolist())) == 64


def test_a_salt_gives_one_constant_another_id_and_leaves_the_rest() -> None:
    values: list[Value] = ["a", "b", 1.5, (1, 2)]
    from corollary.engines.spark.terms.forms import STRING

    salted = ids_of(values, CollisionTable({(STRING, "b"): 1}))
    assert (salted == ids_of(values)).tolist() == [True, False, True, True]
    assert is_hashed(salted)[1]


@pytest.mark.spark
def test_spark_itself_makes_the_same_ids_of_texts(spark: SparkSession) -> None:
    import pyarrow as pa

    texts = [*(value for value in BORDERS if isinstance(value, str)), *("x" * length for length in range(70))]
    table = pa.table({"text": pa.array(texts, pa.string())})
    number = f"shiftleft(xxhash64({int(Kind.STRING)}L, text), 5) | {int(Kind.STRING) << 2 | int(Tag.HASHED)}"
    made = [row[0] for row in spark.createDataFrame(table).selectExpr(number).collect()]
    assert made == ids_of_encoded_texts(Kind.STRING, *text_buffers(table.column("text").combine_chunks())).tolist()
