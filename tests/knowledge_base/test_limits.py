"""Every limit holds in every operation: reaching it is E302, nothing has changed, and the next change is right."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary import Change, KnowledgeBase, Limits, ProgramError
from corollary.diagnostics import Source
from corollary.machine import resident_megabytes
from corollary.settings import STREAM_STRATEGIES as STREAMS
from tests.engine_suite.scripts import apply, expected, visible
from tests.generator import EVERYTHING, Scenario, scenarios

PROGRAM = """
@prefix ex: <http://example.org/> .
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
peer(X, Y) :- up(X, A), peer(A, B), up(Y, B).
reach(X, count(Y)) :- path(X, Y).
lonely(X) :- node(X), not path(X, _).
n(X) :- seed(X).
n(0) :- ex:seed(_, _).
n(0) :- on(1), not stop(1).
n(0) :- on(1), not halt(1).
guard: halt(1) :- on(1).
endless: n(X + 1) :- n(X).
edge(1, 2). edge(2, 3). edge(3, 1). node(1). node(7). on(1). stop(1). peer(1, 1). up(2, 1). up(3, 1).
"""
PREDICATES = ("path", "peer", "reach", "lonely", "n", "seed", "on", "stop", "halt", "edge", "http://example.org/seed")
LIMITS = {"rounds": Limits(rounds=50), "facts": Limits(facts=200), "seconds": Limits(seconds=1.5)}
Operation = Callable[[KnowledgeBase, Path], Any]


def state(kb: KnowledgeBase) -> dict[str, frozenset[tuple[object, ...]]]:
    return {name: frozenset(kb.facts(name)) for name in PREDICATES}


def load(kb: KnowledgeBase, folder: Path) -> None:
    (folder / "seed.csv").write_text("0\n", encoding="utf-8")
    kb.load("seed", folder / "seed.csv")


def load_facts(kb: KnowledgeBase, folder: Path) -> None:
    (folder / "node.csv").write_text("8\n9\n", encoding="utf-8")
    (folder / "seed.csv").write_text("0\n", encoding="utf-8")
    kb.load_facts(folder)


def load_rdf(kb: KnowledgeBase, folder: Path) -> None:
    file = folder / "data.nt"
    file.write_text("<http://example.org/a> <http://example.org/seed> <http://example.org/b> .\n", encoding="utf-8")
    kb.load_rdf(file)


def add_rules_with_input(kb: KnowledgeBase, folder: Path) -> None:
    (folder / "more.csv").write_text("0\n", encoding="utf-8")
    kb.add_rules(f'@input more("{folder / "more.csv"}") . n(X) :- more(X).', allow=["inputs"])


CHANGES: dict[str, Operation] = {
    "insert": lambda kb, folder: kb.insert("seed", [(0,)]),
    "delete": lambda kb, folder: kb.delete("stop", [(1,)]),
    "apply": lambda kb, folder: kb.apply(Change({"seed": [(0,)], "edge": [(8, 9)]}, {"edge": [(1, 2)]})),
    "add_rules": lambda kb, folder: kb.add_rules("n(0) :- on(1). node(5)."),
    "add_rules and a file": add_rules_with_input,
    "remove_rules": lambda kb, folder: kb.remove_rules("guard"),
    "load": load,
    "load_facts": load_facts,
    "load_rdf": load_rdf,
    "stream": lambda kb, folder: list(kb.stream([Change({"seed": [(0,)]})], policy="fail")),
}


def deep(depth: int) -> str:
    """A query that makes a list nested so deep, of which no other depth has a part."""
    return f"g(X), Y = {f'[{depth}, ' * depth}X{']' * depth}"


CHANGES_OF_TERMS: dict[str, Callable[[KnowledgeBase, int], Any]] = {
    "insert": lambda kb, depth: kb.insert("on", [(1,)]),
    "apply": lambda kb, depth: kb.apply(Change({"on": [(1,)]})),
    "add_rules": lambda kb, depth: kb.add_rules("t(f(X)) :- t(X)."),
    "stream": lambda kb, depth: list(kb.stream([Change({"on": [(1,)]})], policy="fail")),
    "query": lambda kb, depth: kb.query(deep(depth + 1)),
    "demand": lambda kb, depth: kb.query(deep(depth + 1), mode="demand"),
}
WAYS = [
    *({"strategy": strategy} for strategy in ("auto", "dred", "backward-forward", "dred-counting", "recompute")),
    {"updates": False},
    {"index": "yield"},
]


def check(kb: KnowledgeBase, operation: Operation, folder: Path) -> None:
    """The operation reaches its limit, and it is as if nothing had happened."""
    before, rules = state(kb), kb.program.rules
    heard: list[object] = []
    stops = [kb.subscribe(name, lambda inserted, deleted: heard.append(inserted)) for name in ("path", "n", "seed")]
    with pytest.raises(ProgramError) as caught:
        operation(kb, folder)
    assert [one.code for one in caught.value.diagnostics] == ["E302"]
    assert state(kb) == before
    assert kb.program.rules == rules
    assert heard == []
    for stop in stops:
        stop()
    kb.apply(Change({"edge": [(3, 4)], "node": [(9,)]}, {"edge": [(3, 1)]}))
    fresh = KnowledgeBase(PROGRAM.replace("edge(3, 1).", "edge(3, 4). node(9)."))
    assert state(kb) == state(fresh)


CASES = [
    pytest.param(way, change, limit, id=f"{'-'.join(map(str, way.values()))}-{change}-{limit}")
    for way in WAYS
    for change in CHANGES
    for limit in LIMITS
    if not (change == "stream" and "updates" in way)  # streams need updates
    and not (
        limit == "seconds" and way not in ({"strategy": "auto"}, {"updates": False})
    )  # measured at the same places
]


@pytest.mark.parametrize(("way", "change", "limit"), CASES)
def test_a_change_that_reaches_a_limit_never_was(way: dict[str, Any], change: str, limit: str, tmp_path: Path) -> None:
    kb = KnowledgeBase(PROGRAM, base=tmp_path, **way)
    kb.materialise()
    kb.limits = LIMITS[limit]
    check(kb, CHANGES[change], tmp_path)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("limit", ["rounds", "facts"])
def test_a_change_of_a_store_that_reaches_a_limit_makes_no_version(change: str, limit: str, tmp_path: Path) -> None:
    place = tmp_path / "store"
    kb = KnowledgeBase.create(place, PROGRAM, base=tmp_path)
    kb.limits = LIMITS[limit]
    (tmp_path / "data").mkdir()
    check(kb, CHANGES[change], tmp_path / "data")
    assert kb.version == 2
    assert state(KnowledgeBase.open(place)) == state(kb)
    assert KnowledgeBase.verify(place) == []


@pytest.mark.parametrize("limit", LIMITS)
def test_deriving_stops_and_what_has_an_end_can_still_be_asked(limit: str, tmp_path: Path) -> None:
    operations: dict[str, Callable[[KnowledgeBase], Any]] = {
        "materialise": lambda kb: kb.materialise(),
        "read": lambda kb: kb.count("n"),
        "query": lambda kb: kb.query("n(X), edge(X, _)"),
        "demand": lambda kb: kb.query("n(X)", mode="demand"),
        "publish": lambda kb: kb.publish(tmp_path / "published", ["n"]),
        "save": lambda kb: kb.save(tmp_path / "saved"),
        "stream": lambda kb: kb.stream([]),
        "apply": lambda kb: kb.apply(Change({"edge": [(8, 9)]})),
    }
    for name, operation in operations.items():
        kb = KnowledgeBase(PROGRAM + "seed(0).", limits=LIMITS[limit])
        with pytest.raises(ProgramError, match="E302"):
            operation(kb)
        assert sorted(kb.query("edge(X, Y)")) == [(1, 2), (2, 3), (3, 1)], name
        assert list(tmp_path.iterdir()) == [], name
    with pytest.raises(ProgramError, match="E302"):
        KnowledgeBase.create(tmp_path / "created", PROGRAM + "seed(0).", limits=LIMITS[limit])
    assert list(tmp_path.iterdir()) == []


def test_opening_a_store_obeys_limits(tmp_path: Path) -> None:
    KnowledgeBase.create(tmp_path / "store", PROGRAM)
    for limits in (Limits(facts=5), Limits(seconds=0)):
        with pytest.raises(ProgramError, match="E302"):
            KnowledgeBase.open(tmp_path / "store", limits=limits)
        with pytest.raises(ProgramError, match="E302"):
            KnowledgeBase.verify(tmp_path / "store", limits=limits)
    assert KnowledgeBase.open(tmp_path / "store").count("edge") == 3


def test_loading_obeys_the_limit_of_facts_before_anything_was_derived(tmp_path: Path) -> None:
    kb = KnowledgeBase("edge(1, 2).", limits=Limits(facts=3))
    with pytest.raises(ProgramError, match="E302"):
        kb.insert("edge", [(2, 3), (3, 4), (4, 5)])
    assert kb.insert("edge", [(1, 2), (2, 3), (3, 4)]) == 2
    assert kb.count("edge") == 3


CUBE = "cube(X, Y, Z) :- a(X), a(Y), a(Z), on(X)."


@pytest.mark.parametrize("way", WAYS[:1] + WAYS[-2:-1], ids=str)
def test_memory_is_a_limit_in_changes_and_queries(way: dict[str, Any]) -> None:
    kb = KnowledgeBase(CUBE, **way)
    kb.insert("a", [(number,) for number in range(400)])
    kb.materialise()
    kb.limits = Limits(memory=int(resident_megabytes()) + 60)
    for operation in (
        lambda: kb.insert("on", [(number,) for number in range(400)]),
        lambda: kb.add_rules("all(X, Y, Z) :- a(X), a(Y), a(Z)."),
        lambda: kb.query("a(X), a(Y), a(Z)"),
    ):
        with pytest.raises(ProgramError, match="the process holds more than"):
            operation()
        assert (kb.count("cube"), kb.count("on"), kb.count("a"), len(kb.program.rules)) == (0, 0, 400, 1)
    kb.insert("on", [(1,)])
    assert kb.count("cube") == 400 * 400


@pytest.mark.parametrize("change", ["insert", "add_rules"])
def test_the_depth_of_terms_is_a_limit_in_changes(change: str) -> None:
    kb = KnowledgeBase("t(f(X)) :- t(X), on(1). edge(1, 2). t(0).", limits=Limits(depth=20))
    kb.materialise()
    with pytest.raises(ProgramError, match="20"):
        kb.insert("on", [(1,)]) if change == "insert" else kb.add_rules("t(f(X)) :- t(X).")
    assert (kb.count("t"), kb.count("on"), len(kb.program.rules)) == (1, 0, 1)
    kb.insert("edge", [(2, 3)])
    assert kb.count("edge") == 2


@pytest.mark.parametrize("change", CHANGES_OF_TERMS)
def test_limits_that_are_set_later_hold_for_the_depth_of_terms(change: str) -> None:
    kb = KnowledgeBase("t(f(X)) :- t(X), on(1). t(0). g(0).")
    kb.materialise()
    for depth in (20, 3, 50):
        kb.limits = Limits(depth=depth, rounds=300)
        with pytest.raises(ProgramError, match=f"nested more than {depth} levels deep"):
            CHANGES_OF_TERMS[change](kb, depth)
        assert (kb.count("t"), kb.count("on"), len(kb.program.rules)) == (1, 0, 1)


WALK = ", ".join(f"e(X{number}, X{number + 1})" for number in range(14))
WALKS = f"p(X0, X14) :- on(_), {WALK}. p(X, X) :- p(X, Y), p(Y, X), never(X). never(99). on(9) :- never(1)."


@pytest.mark.parametrize("way", [*WAYS, *({"stream": one} for one in STREAMS)], ids=lambda way: str(*way.values()))
def test_time_is_a_limit_while_one_fact_completes_more_than_anybody_can_wait_for(way: dict[str, Any]) -> None:
    """A single new fact has 4 ** 14 rule instances, which all have the same few heads."""
    strategy = way.get("stream")
    kb = KnowledgeBase(WALKS, **({} if strategy else way))
    kb.insert("e", [(a, b) for a in range(4) for b in range(4)])
    kb.materialise()
    kb.limits = Limits(seconds=0.5)
    change = Change({"on": [(1,)]})
    with pytest.raises(ProgramError, match=r"longer than 0\.5 s"):
        list(kb.stream([change], strategy=strategy, policy="fail")) if strategy else kb.apply(change)
    kb.limits = Limits()
    assert (kb.count("p"), kb.count("on")) == (0, 0)


@pytest.mark.parametrize("mode", ["auto", "demand", "materialise"])
@pytest.mark.parametrize(
    "options", [{}, {"updates": False}, {"semantics": "well-founded"}, {"unsafe": "universe"}], ids=str
)
def test_a_query_does_not_wait_for_endless_rules_that_do_not_feed_it(mode: str, options: dict[str, Any]) -> None:
    text = "n(0). n(X + 1) :- n(X). m(X) :- n(X). p(1). p(2). q(X) :- p(X), not r(X). r(2). s(count(X)) :- p(X)."
    kb = KnowledgeBase(text, mode=mode, limits=Limits(rounds=500), **options)
    started = time.monotonic()
    assert sorted(kb.query("p(X)")) == [(1,), (2,)]
    assert list(kb.query("q(X)")) == [(1,)]
    assert list(kb.query("s(X), not r(7)")) == [(2,)]
    assert list(kb.query("p(X), X > 1")) == [(2,)]
    assert len(kb.query("p(1)")) == 1
    assert (kb.count("q"), sorted(kb.facts("p"))) == (1, [(1,), (2,)])
    assert time.monotonic() - started < 60
    for endless in ("m(X)", "n(X), X < 3"):
        with pytest.raises(ProgramError, match="E302"):
            kb.query(endless, mode="materialise")


def test_analysis_obeys_the_limit_of_time() -> None:
    rules = " ".join(f"p(X, {number}) :- p(X, Y), q(Y, Z)." for number in range(20))
    for make in (KnowledgeBase, lambda text, **options: KnowledgeBase.from_sources([Source(text)], **options)):
        with pytest.raises(ProgramError, match="E302"):
            make(rules, limits=Limits(seconds=0))
    kb = KnowledgeBase("p(1, 2).")
    for is_derived in (False, True):
        if is_derived:
            kb.materialise()
        kb.limits = Limits(seconds=0)
        with pytest.raises(ProgramError, match="E302"):
            kb.add_rules(rules)
        kb.limits = Limits()
        assert (len(kb.program.rules), kb.count("p")) == (0, 1)


@pytest.mark.slow
def test_an_endless_counter_ends_by_itself() -> None:
    with pytest.raises(ProgramError, match=r"1,000,000 rounds[\s\S]*the default of limits\.rounds"):
        KnowledgeBase("n(0). n(X + 1) :- n(X).", updates=False).materialise()


@given(way=st.sampled_from(WAYS), scenario=scenarios(EVERYTHING.but(max_facts=10, max_groups=4, max_changes=3)))
def test_the_limit_of_facts_is_about_what_there_is_after_a_change(way: dict[str, Any], scenario: Scenario) -> None:
    """What steps take away later, or find again, does not count on the way: a change whose result fits is never refused."""
    first, *later = scenario.programs()
    kb = KnowledgeBase(first, **way)
    kb.materialise()
    before = visible(kb)
    for change, program in zip(scenario.changes, later, strict=True):
        wanted = expected(program)
        size = sum(map(len, wanted.values()))
        if wanted != before and size:
            kb.limits = Limits(facts=size - 1)
            with pytest.raises(ProgramError, match="E302"):
                apply(kb, change)
            assert visible(kb) == before
        kb.limits = Limits(facts=size)
        apply(kb, change)
        assert visible(kb) == wanted
        before = wanted


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_what_a_change_takes_away_does_not_count(way: dict[str, Any]) -> None:
    kb = KnowledgeBase("r(X) :- e(X, _). s(X) :- t(X), not e(X, X). e(0, 0). t(0). t(1).", **way)
    kb.materialise()
    kb.limits = Limits(facts=5)
    kb.apply(Change({"e": [(1, 1)]}, {"t": [(0,)]}))
    assert (kb.count("e"), kb.count("r"), kb.count("s"), kb.count("t")) == (2, 2, 0, 1)
    kb.limits = Limits(facts=0)
    kb.apply(Change(delete={"e": [(0, 0), (1, 1)], "t": [(1,)]}))
    assert [kb.count(name) for name in "erst"] == [0, 0, 0, 0]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_facts_that_modules_keep_for_themselves_do_not_count(way: dict[str, Any]) -> None:
    kb = KnowledgeBase("p(X, Y) :- e(X, Y).", **way)
    kb.materialise()
    kb.limits = Limits(facts=2)
    rules = "p(X, Y) :- p(X, Z), e(Z, Y). p(X, Y) :- p(X, Z), p(Z, Y), X != Y."
    kb.apply(Change(insert={"e": [(0, 0)]}, add_rules=(rules,)))
    assert (kb.count("e"), kb.count("p")) == (1, 1)
