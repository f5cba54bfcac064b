"""One store for both engines: what one writes the other opens, without deriving it again."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from corollary import Change, KnowledgeBase, Limits, ProgramError
from corollary.diagnostics import catalogue
from corollary.engines.spark.context import SparkSettings
from corollary.reasoning.run import Run
from corollary.store import spark_exchange
from corollary.store.problems import problem
from corollary.store.store import Store
from tests.budgets import examples
from tests.engine_suite.scripts import apply, expected, minus, visible
from tests.generator import EVERYTHING, Scenario, scenarios
from tests.services.spark_session import shared_session

pytestmark = pytest.mark.spark

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


NEAR = """
near(X, Y) :- v(X), v(Y), X = Y, not far(X, 4).
path(X, Y) :- back(Y, X).
back(X, Y) :- path(Y, X), v(Y).
v(0.3e0). v(0.30000000000000004e0). v(9).
"""


FIRST_CHANGES = {
    "facts": Change({"edge": [(3, 4)]}, {"edge": [(1, 2)]}),
    "comparisons": Change({"v": [(2,)], "lonely": [(7,)]}, {"v": [(0.3,)]}),
    "a rule": Change(add_rules=("extra: path(X, Y) :- back(Y, X), X < 9.",)),
    "facts and a rule": Change({"edge": [("z", 9)]}, remove_rules=("second",)),
}


@pytest.mark.parametrize(
    ("change", "change_rows"),
    [
        pytest.param(change, rows, id=f"{name}-{rows}", marks=[pytest.mark.slow] * ((number + (rows == 1)) % 2))
        for number, (name, change) in enumerate(FIRST_CHANGES.items())
        for rows in (50_000, 1)
    ],
)
def test_what_was_derived_with_other_owners_is_part_of_the_first_change(
    spark: SparkSession, tmp_path: Path, change_rows: int, change: Change
) -> None:
    """One call, one version, also where other facts are visible than before."""
    place, text = (
        tmp_path / "kb",
        PROGRAM + NEAR + "second: near(X, X) :- edge(X, _). edge(1, 2). edge(2, 3). edge(3, 1).",
    )
    with KnowledgeBase.create(place, text, strategy="dred-counting") as made:
        made.feed(tmp_path / "feed", ["path", "near", "edge", "far"], snapshot=True)
    before = visible(made)
    model = KnowledgeBase(text, precision=20)
    few = SparkSettings(partitions=2, change_rows=change_rows)
    with KnowledgeBase.open(place, engine=spark, spark_settings=few, strategy="auto", precision=20) as kb:
        assert visible(kb) == visible(model) != before
        with pytest.raises(ProgramError, match="E206"):
            kb.remove_rules("nosuch")
        with pytest.raises(ProgramError, match="E302"), limited(kb, Limits(facts=3)):
            kb.apply(change)
        assert kb.insert("edge", [(2, 3)]) == 0
        assert kb.version == 1
        kb.apply(change)
        model.apply(change)
        assert visible(kb) == visible(model)
        assert kb.version == 2
        told = kb.diff(1, 2)
        after = visible(model)
        assert {name: set(map(tuple, rows.constants())) for name, rows in told.inserted.items() if len(rows)} == {
            name: {tuple(constant.value for constant in row) for row in rows}
            for name, rows in minus(after, before).items()
        }
    assert not KnowledgeBase.verify(place)
    for engine in ENGINES:
        with opened(place, engine, spark) as again:
            assert visible(again) == after
        with opened(place, engine, spark, version=1) as old:
            assert visible(old) == before
    with KnowledgeBase.open(place) as again:
        again.feed(tmp_path / "feed")
        again.insert("edge", [(50, 51)])
        rows = polars.read_delta(str(tmp_path / "feed")).rows()
        seen = Counter[tuple[str, str]]()
        for _, predicate, op, values in rows:
            seen[predicate, values] += 1 if op == "insert" else -1
        assert set(seen.values()) <= {0, 1}
        counts = Counter(predicate for (predicate, _), number in seen.items() if number)
        assert counts == {name: again.count(name) for name in ("path", "near", "edge", "far") if again.count(name)}


@contextmanager
def limited(kb: KnowledgeBase, limits: Limits) -> Iterator[None]:
    kb.limits = limits
    try:
        yield
    finally:
        kb.limits = Limits()


@pytest.mark.slow
@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
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


@pytest.mark.parametrize("operation", ["save", "open", "compact"])
def test_an_interrupt_stops_the_jobs_of_a_store(
    spark: SparkSession, tmp_path: Path, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs run beside the main thread, which notices Ctrl-C while they do."""
    place = tmp_path / "kb"
    kb = KnowledgeBase.create(place, PROGRAM + "edge(1, 2). edge(2, 3).", engine=spark)
    name = "write_frame" if operation != "open" else "restore_facts"
    usual = getattr(spark_exchange, name)
    is_working, may_go_on = threading.Event(), threading.Event()

    def waiting(*arguments: Any) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        is_working.set()
        may_go_on.wait(60)
        return usual(*arguments)

    def interrupting(run: Run, facts: int | None = None) -> None:
        if threading.current_thread() is threading.main_thread() and is_working.is_set() and not may_go_on.is_set():
            may_go_on.set()
            raise KeyboardInterrupt
        check(run, facts)

    check = Run.check
    monkeypatch.setattr(spark_exchange, name, waiting)
    monkeypatch.setattr(Run, "check", interrupting)
    operations = {
        "save": lambda: kb.save(tmp_path / "copy"),
        "compact": kb.compact,
        "open": lambda: KnowledgeBase.open(place, engine=spark),
    }
    with pytest.raises(KeyboardInterrupt):
        operations[operation]()
    monkeypatch.undo()
    assert not (tmp_path / "copy").exists()
    assert (kb.version, len(kb.history())) == (1, 1)
    kb.insert("edge", [(3, 4)])
    kb.save(tmp_path / "copy")
    kb.compact()
    for path in (place, tmp_path / "copy"):
        for engine in ENGINES:
            assert state(opened(path, engine, spark)) == state(kb)


def test_a_copy_takes_no_constants_from_the_directory(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that could not be written leaves constants behind, which a later version needs."""
    place = tmp_path / "kb"
    kb = KnowledgeBase.create(place, "seen(X) :- word(X).", engine=spark)

    def failing(store: Store, commit: object) -> None:
        raise problem(catalogue.STORE_CONFLICT, "somebody else writes")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "commit", failing)
        with pytest.raises(ProgramError):
            kb.insert("word", [("a constant that comes again",)])
    kb.save(tmp_path / "copy")
    kb.insert("word", [("a constant that comes again",)])
    assert state(KnowledgeBase.open(place)) == state(kb)
