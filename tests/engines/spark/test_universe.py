"""The universe on Spark grows by what is new, once each, and never keeps two constants under one id."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from corollary.engines.embedded.values.encoder import encode_constants
from corollary.engines.spark.terms import universe as universe_module
from corollary.engines.spark.terms.forms import value_of_form
from corollary.engines.spark.terms.ids import CollisionTable, ids_of
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.engines.spark.terms.universe import Collisions, SparkUniverse, each_once, settled
from corollary.engines.spark.workspace import Workspace
from corollary.program import Structure, Value, canonical, identity
from corollary.program.patterns import LIST
from tests.engines.spark.constants import BORDERS

pytestmark = pytest.mark.spark


@pytest.fixture
def workspace(spark: SparkSession) -> Iterator[Workspace]:
    with Workspace(spark) as workspace:
        yield workspace


def terms_of(values: list[Value], table: CollisionTable) -> pa.Table:
    task = TaskUniverse(table)
    encode_constants(task.universe, values)
    return task.new_terms()


def contents(universe: SparkUniverse) -> dict[int, tuple[str, object]]:
    rows = universe.df.collect()
    found = {row.id: identity(value_of_form(row.canonical, row.datatype)) for row in rows}
    assert len(found) == len(rows) == universe.rows
    return found


def hashed(values: list[Value], table: CollisionTable) -> dict[int, tuple[str, object]]:
    ids = ids_of(values, table).tolist()
    return {number: identity(canonical(value)) for number, value in zip(ids, values, strict=True) if number & 3 == 2}


def test_constants_of_every_kind_come_back_and_are_kept_once(spark: SparkSession, workspace: Workspace) -> None:
    universe = SparkUniverse(spark, workspace)
    values = list(BORDERS)
    terms = terms_of(values, universe.collisions)
    half = terms.slice(0, terms.num_rows // 2)
    assert universe.append(half) == half.num_rows
    twice = spark.createDataFrame(terms).union(spark.createDataFrame(terms))
    assert universe.append(twice) == terms.num_rows - half.num_rows
    assert universe.append(twice) == 0
    assert contents(universe) == hashed(values, universe.collisions)


def test_forms_are_those_of_the_ids_that_are_asked_for(spark: SparkSession, workspace: Workspace) -> None:
    universe = SparkUniverse(spark, workspace)
    universe.append(terms_of(["a", "b", 1e300], universe.collisions))
    wanted = ids_of(["a", 7, 1.5, 1e300, "a"]).tolist()
    asked = spark.createDataFrame([(number,) for number in wanted], "id long")
    assert sorted(row.canonical for row in universe.forms(asked).collect()) == ["1e+300", "a"]


def test_many_small_additions_stay_few_tables(spark: SparkSession, workspace: Workspace) -> None:
    universe = SparkUniverse(spark, workspace)
    values: list[Value] = [f"text {number}" for number in range(18)]
    for value in values:
        universe.append(terms_of([value], universe.collisions))
    assert contents(universe) == hashed(values, universe.collisions)
    assert len(universe._segments) < 17


def test_nothing_is_added_where_two_constants_have_one_id(spark: SparkSession, workspace: Workspace) -> None:
    universe = SparkUniverse(spark, workspace, hash_bits=1)
    values: list[Value] = ["a", "b", "c"]
    with pytest.raises(Collisions) as caught:
        universe.append(terms_of(values, universe.collisions))
    assert caught.value.table.salts
    assert universe.rows == 0


def test_no_constant_is_lost_where_many_hashes_are_equal(spark: SparkSession, workspace: Workspace) -> None:
    """48 strings in 64 ids, in three additions: earlier constants keep their ids, which facts have already."""
    universe = SparkUniverse(spark, workspace, hash_bits=6)
    values: list[Value] = [f"text {number}" for number in range(48)]
    before: dict[int, tuple[str, object]] = {}
    for stop in (16, 32, 48):
        part = values[:stop]
        settled(lambda part=part: universe.append(terms_of(part, universe.collisions)))  # type: ignore[misc]
        found = contents(universe)
        assert before.items() <= found.items()
        assert found == hashed(part, universe.collisions)
        assert len(found) == stop
        before = found


def test_a_constant_that_looks_like_an_opaque_one_is_found_out(spark: SparkSession, workspace: Workspace) -> None:
    """A task that took one constant for another by its id runs again, and then keeps them apart."""
    universe = SparkUniverse(spark, workspace, hash_bits=2)
    known, other = next(
        (f"t{one}", f"t{two}")
        for one in range(20)
        for two in range(one)
        if ids_of([f"t{one}"], universe.collisions) == ids_of([f"t{two}"], universe.collisions)
    )
    universe.append(terms_of([known], universe.collisions))
    fact = ids_of([known], universe.collisions)

    def stage() -> tuple[int, int]:
        task = TaskUniverse(universe.collisions)
        opaque, own = int(task.codes(fact)[0]), task.universe.encode(other)
        universe.append(task.new_terms())
        return opaque, own

    opaque, own = settled(stage)
    assert opaque != own
    assert contents(universe).keys() == {int(fact[0]), int(ids_of([other], universe.collisions)[0])}


def test_hashes_that_are_too_narrow_end_in_an_error(spark: SparkSession, workspace: Workspace) -> None:
    runs = 0

    def stage() -> None:
        nonlocal runs
        runs += 1
        raise Collisions(CollisionTable())

    with pytest.raises(RuntimeError, match="after 100 runs"):
        settled(stage)
    assert runs == 100


def test_rows_that_come_again_are_kept_once_or_found_to_be_different() -> None:
    terms = terms_of(["a", "b", 1e300], CollisionTable())
    assert each_once(terms) is terms
    again = pa.concat_tables([terms, terms.slice(1), terms])
    once = each_once(again)
    assert once is not None
    assert once.equals(terms)
    other = pa.table(
        [terms["id"].take([1, 0]), *terms_of(["c", "a"], CollisionTable()).columns[1:]], terms.schema.names
    )
    assert each_once(pa.concat_tables([terms, other])) is None
    same_text = terms.set_column(3, "datatype", pa.array(["iri"] * 3))
    assert each_once(pa.concat_tables([terms, same_text])) is None


def test_many_rows_are_looked_through_in_many_parts(
    spark: SparkSession, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(universe_module, "_PARTITION", 2)
    universe = SparkUniverse(spark, workspace)
    values: list[Value] = [f"text {number}" for number in range(12)]
    terms = spark.createDataFrame(terms_of(values, universe.collisions))
    twice = terms.union(terms)
    assert universe._distinct(twice, 24).rdd.getNumPartitions() == 12
    assert universe._distinct(twice, 0).rdd.getNumPartitions() < 12
    assert universe.append(twice, 24) == 12
    assert universe.append(terms, 12) == 0
    assert contents(universe) == hashed(values, universe.collisions)


def test_repeated_rows_of_the_driver_are_added_once(spark: SparkSession, workspace: Workspace) -> None:
    universe = SparkUniverse(spark, workspace)
    first, second = (terms_of(values, universe.collisions) for values in (["a", "b"], ["b", "c"]))
    assert universe.append(pa.concat_tables([first, first])) == 2
    assert universe.append(pa.concat_tables([second, first, second])) == 1
    assert contents(universe) == hashed(["a", "b", "c"], universe.collisions)


@pytest.mark.parametrize("loads", [2, 20])
def test_it_knows_the_forms_of_terms_that_came_since_it_was_asked(
    spark: SparkSession, workspace: Workspace, loads: int
) -> None:
    universe = SparkUniverse(spark, workspace)
    assert universe.term_forms.all() == frozenset()
    for number in range(loads):
        universe.append(terms_of([Structure("f", (number, ("a", Structure("g", ()))))], universe.collisions))
    assert universe.term_forms.all() == {("f", 2), LIST, ("g", 0)}
    universe.append(terms_of([Structure("f", (Structure("h", ("b",)),))], universe.collisions))
    assert universe.term_forms.all() == {("f", 2), ("f", 1), ("h", 1), LIST, ("g", 0)}
