"""One store for both engines: what one writes the other opens, without deriving it again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from corollary import Change, KnowledgeBase
from corollary.engines.spark.context import SparkSettings
from tests.engines.embedded.scenarios import apply, expected, visible
from tests.generator import EVERYTHING, Scenario, scenarios
from tests.services.spark_session import shared_session

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), path(Y, Z).
far(X, count(Y)) :- path(X, Y).
lonely(X) :- node(X), not path(X, _).
happy.
"""
ENGINES = ("embedded", "spark")


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return shared_session()


def opened(place: Path, engine: str, spark: SparkSession, **options: object) -> KnowledgeBase:
    return KnowledgeBase.open(place, engine=spark if engine == "spark" else "embedded", **options)


def state(kb: KnowledgeBase) -> dict[str, set[tuple[object, ...]]]:
    return {name: set(kb.facts(name)) for name in kb.predicates() if kb.count(name)}


@pytest.mark.parametrize("first", ENGINES)
def test_the_engines_take_turns(first: str, spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "kb"
    model = KnowledgeBase(PROGRAM)
    kb = KnowledgeBase.create(place, PROGRAM, engine=spark if first == "spark" else "embedded")
    changes = [
        ("insert", "edge", [(1, 2), (2, 3), ("ann", 1)]),
        ("insert", "node", [(1,), (9,), ("ann",), (4.5,)]),
        ("insert", "edge", [(3, "bo"), (9, 9)]),
        ("delete", "edge", [(2, 3)]),
    ]
    engine = first
    for act, predicate, rows in changes:
        for one in (kb, model):
            getattr(one, act)(predicate, rows)
        assert state(kb) == state(model)
        engine = ENGINES[engine == "embedded"]
        kb.close()
        kb = opened(place, engine, spark)
        assert state(kb) == state(model)
        assert [info.cause for info in kb.history()][-1] == "facts"
        assert not KnowledgeBase.verify(place)
    kb.add_rules("extra: back(Y, X) :- path(X, Y).")
    model.add_rules("extra: back(Y, X) :- path(X, Y).")
    kb.compact()
    for engine in ENGINES:
        assert state(opened(place, engine, spark)) == state(model)
        assert opened(place, engine, spark, version=2).count("edge") == 3
    assert not KnowledgeBase.verify(place)


GAME = """
win(X) :- move(X, Y), not win(Y).
X = Y :- alias(X, Y).
drawn(X) :- move(X, _), not win(X).
pair(f(X, Y)) :- win(X), weight(X, Y).
"""


def test_undefined_facts_and_equal_constants_are_stored(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "kb"
    options: dict[str, object] = {"semantics": "well-founded"}
    model = KnowledgeBase(GAME, **options)
    kb = KnowledgeBase.create(place, GAME, engine=spark, **options)
    changes = [
        ("insert", "move", [(1, 2), (2, 3), ("a", "b"), ("b", "a")]),
        ("insert", "weight", [(2, 0.5), ("a", -0.0), ("b", True)]),
        ("insert", "alias", [("b", 3)]),
        ("delete", "move", [(2, 3)]),
        ("delete", "alias", [("b", 3)]),
    ]
    for place_of_change, (act, predicate, rows) in enumerate(changes):
        for one in (kb, model):
            getattr(one, act)(predicate, rows)
        engine = ENGINES[place_of_change % 2]
        kb.close()
        kb = opened(place, engine, spark)
        assert state(kb) == state(model)
        assert set(kb.undefined("win")) == set(model.undefined("win"))
        if place_of_change == 1:
            kb.compact()  # on Spark
            assert model.undefined("win")
    assert not KnowledgeBase.verify(place)


def test_a_universe_with_stated_facts_of_derived_predicates(spark: SparkSession, tmp_path: Path) -> None:
    text, place = "a(X) :- not b(X). b(X) :- not c(X). c(one). a(zed).", tmp_path / "kb"
    model = KnowledgeBase(text, unsafe="universe")
    kb = KnowledgeBase.create(place, text, engine=spark, unsafe="universe")
    for engine, change in (
        ("embedded", Change(insert={"a": [("yak",)], "b": [("one",), ("xen",)]})),
        ("spark", Change(delete={"a": [("zed",)], "b": [("one",)]})),
    ):
        for one in (kb, model):
            one.apply(change)
        kb.close()
        kb = opened(place, engine, spark)
        assert state(kb) == state(model)
    assert not KnowledgeBase.verify(place)
    counts = [(info.explicit_inserted, info.explicit_deleted, info.inserted, info.deleted) for info in kb.history()]
    assert counts == [(2, 0, 4, 0), (3, 0, 4, 1), (0, 2, 1, 3)]


def test_many_changes_are_written_by_executors(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "kb"
    few = SparkSettings(change_rows=10)
    kb = KnowledgeBase.create(place, "path(X, Y) :- edge(X, Y).", engine=spark, spark_settings=few)
    kb.insert("edge", [(number, f"node {number}") for number in range(1000)])
    assert list((place / "versions").glob("changes-*.parquet"))
    found = KnowledgeBase.open(place)
    assert set(found.facts("path")) == {(number, f"node {number}") for number in range(1000)}
    assert len(found.diff(1, 2).inserted["path"]) == 1000
    assert not KnowledgeBase.verify(place)


def test_a_conflict_on_spark_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    from corollary import ProgramError

    kb = KnowledgeBase.create(tmp_path / "kb", PROGRAM, engine=spark)
    KnowledgeBase.open(tmp_path / "kb").insert("edge", [(1, 2)])
    with pytest.raises(ProgramError, match="E433"):
        kb.insert("edge", [(5, 6)])
    assert (kb.version, kb.count("edge"), kb.count("path")) == (1, 0, 0)


def test_change_files_are_applied_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    cloud = KnowledgeBase.create(tmp_path / "cloud", PROGRAM, engine=spark)
    device = KnowledgeBase.create(tmp_path / "device", PROGRAM)
    device.insert("edge", [(1, 2), ("ann", 4.5)])
    device.add_rules("extra: back(Y, X) :- path(X, Y).")
    device.changes(tmp_path / "news", since=1)
    cloud.apply(tmp_path / "news")
    assert state(cloud) == state(device)
    assert not KnowledgeBase.verify(tmp_path / "cloud")


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    scenarios(EVERYTHING.but(max_facts=8, max_groups=3, max_changes=3)),
    st.lists(st.sampled_from(ENGINES), min_size=4, max_size=4),
)
def test_generated_programs_change_engines(scenario: Scenario, engines: list[str]) -> None:
    spark = shared_session()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "kb"
        program, *later = scenario.programs()
        KnowledgeBase.create(place, program, engine=spark if engines[0] == "spark" else "embedded").close()
        states = {1: expected(program)}
        for engine, change, changed in zip(engines[1:], scenario.changes, later, strict=False):
            kb = opened(place, engine, spark)
            apply(kb, change)
            states[kb.version] = expected(changed)
            assert visible(kb) == states[kb.version]
            kb.close()
        for version, known in states.items():
            assert visible(KnowledgeBase.open(place, version=version)) == known
        assert not KnowledgeBase.verify(place)
