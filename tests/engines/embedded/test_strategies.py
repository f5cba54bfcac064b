"""What the strategies are called, what reports say about them, which one `auto` takes, and that giving up leaves no trace."""

from __future__ import annotations

import numpy as np
import pytest

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.engines.embedded.maintenance.changing_facts import FactChange
from corollary.reasoning.maintain.chooser import ALGORITHMS, by_instances, by_jobs
from corollary.reasoning.run import Run
from corollary.settings import STRATEGIES
from corollary.transactions import Change, MaintenanceReport
from tests.engine_suite.scripts import visible
from tests.engines.embedded.scenarios import engine_of, support

POINTS_TO = """
r1: vpt(V, H) :- new(V, H).
r2: vpt(V, H) :- assign(V, W), vpt(W, H).
r3: vpt(V, H) :- load(V, B, F), vpt(B, C), hpt(C, F, H).
r4: hpt(C, F, H) :- store(B, F, W), vpt(B, C), vpt(W, H).
r5: big(V, count(H)) :- vpt(V, H).
r6: lonely(V) :- variable(V), not vpt(V, _).
"""
REACH = "r1: reach(X) :- root(X). r2: reach(Y) :- reach(X), edge(X, Y), not closed(Y). "


def points_to(strategy: str, size: int = 40, seed: int = 1) -> KnowledgeBase:
    random = np.random.default_rng(seed)
    kb = KnowledgeBase(POINTS_TO, strategy=strategy)
    kb.insert("variable", [(v,) for v in range(size)])
    kb.insert("new", [(v, 1000 + v) for v in range(0, size, 4)])
    kb.insert("assign", random.integers(0, size, (size + 5, 2)).tolist())
    kb.insert("load", [(a, b, 2000 + f) for a, b, f in random.integers(0, size, (size // 4, 3)).tolist()])
    kb.insert("store", [(a, 2000 + f, b) for a, b, f in random.integers(0, size, (size // 4, 3)).tolist()])
    kb.materialise()
    return kb


def strategies(report: MaintenanceReport) -> dict[str, str]:
    return {step.owner: step.strategy for step in report.steps}


def test_the_engine_has_the_strategies_that_users_are_told() -> None:
    assert {*ALGORITHMS, "auto", "recompute"} == set(STRATEGIES)
    assert [by_instances(name).name for name in STRATEGIES] == list(STRATEGIES)
    assert [by_jobs(name, 0).name for name in STRATEGIES] == list(STRATEGIES)
    with pytest.raises(ProgramError, match="the strategy 'magic' needs an engine that counts rule instances"):
        by_jobs("magic", 0)


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no strategy 'magic': there are auto, backward-forward, dred"):
        KnowledgeBase("p(1).", strategy="magic")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_reports_and_rules_name_the_strategy(strategy: str) -> None:
    kb = points_to(strategy)
    row = next(iter(kb.facts("new")))
    result = kb.apply(Change(delete={"new": [row]}))
    ran = strategies(result.report)
    assert set(ran) <= {"{r1}", "{r2, r3, r4}", "{r5}", "{r6}"}
    shown = {rule.name: rule.strategy for rule in kb.rules()}
    assert shown["r2"] == strategy
    if strategy == "auto":
        assert ran["{r2, r3, r4}"] in ("dred", "backward-forward", "recompute")
        assert shown["r1"] == "counting"
    else:
        assert ran["{r2, r3, r4}"] == strategy
        assert ran["{r1}"] == shown["r1"] == ("recompute" if strategy == "recompute" else "counting")
    total = sum(step.deleted for step in result.report.steps)
    assert total == sum(len(facts) for name, facts in result.deleted.items() if name != "new")
    assert "{r2, r3, r4}  " in str(result.report)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(4))
def test_all_strategies_agree_on_points_to(strategy: str, seed: int) -> None:
    kb = points_to(strategy, seed=seed)
    random = np.random.default_rng(seed)
    for _ in range(4):
        assigns = [row for row in kb.facts("assign") if random.random() < 0.1]
        new = random.integers(0, 40, (3, 2)).tolist()
        kb.apply(Change(delete={"assign": assigns}, insert={"assign": new}))
        fresh = KnowledgeBase(POINTS_TO, updates=False)
        for predicate in ("variable", "new", "assign", "load", "store"):
            fresh.insert(predicate, list(kb.facts(predicate)))
        assert visible(kb) == visible(fresh)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_transaction_that_stops_anywhere_leaves_no_trace(strategy: str) -> None:
    kb = points_to(strategy)
    engine = engine_of(kb)
    before, counts = visible(kb), support(kb)
    rows = list(kb.facts("assign"))[::7]
    codes = np.array([[engine.universe.encode(value) for value in row] for row in rows], np.uint32)
    change = FactChange(delete={"assign": codes}, insert={"assign": codes[:, ::-1].copy()})

    class Stop(Exception):
        pass

    def stopping(after: int) -> Run:
        calls = iter(range(after))

        def check(facts: int) -> None:
            if next(calls, None) is None:
                raise Stop

        return Run(watch=check)

    stopped = 0
    for after in range(0, 400, 3):
        try:
            engine.apply(change, None, stopping(after))
        except Stop:
            stopped += 1
            assert visible(kb) == before
            assert support(kb) == counts
        else:
            break
    assert stopped > 5
    assert visible(kb) == visible(_changed(points_to("recompute"), rows))


def _changed(kb: KnowledgeBase, rows: list[tuple[object, ...]]) -> KnowledgeBase:
    kb.apply(Change(delete={"assign": rows}, insert={"assign": [row[::-1] for row in rows]}))
    return kb


# -- auto ------------------------------------------------------------------------------------------------------------


def test_auto_only_inserts_where_nothing_is_deleted() -> None:
    kb = points_to("auto")
    report = kb.apply(Change(insert={"new": [(1, 7777)]})).report
    (step,) = (step for step in report.steps if step.owner == "{r2, r3, r4}")
    assert (step.strategy, step.reason, step.overdeleted) == ("semi-naive", "nothing was deleted", 0)


def test_auto_takes_back_what_depends_on_a_deletion_where_that_is_little() -> None:
    kb = KnowledgeBase(REACH + "root(0). closed(-1).")
    kb.insert("edge", [(i, i + 1) for i in range(5000)])
    step = kb.apply(Change(delete={"edge": [(4990, 4991)]})).report.steps[-1]
    assert (step.strategy, step.overdeleted, step.deleted) == ("dred", 10, 10)


def test_auto_proves_what_depends_on_a_deletion_where_that_is_much() -> None:
    kb = KnowledgeBase(REACH + "root(0). closed(-1).")
    kb.insert("edge", [(0, 1), (0, 2), (2, 1), *((1, i) for i in range(10, 100))])
    kb.insert("edge", [(i, j) for i in range(10, 100) for j in range(100 * i, 100 * i + 100)])
    step = kb.apply(Change(delete={"edge": [(0, 1)]})).report.steps[-1]
    assert (step.strategy, step.overdeleted, step.deleted) == ("backward-forward", 0, 0)


MUTUAL = """
    p(X, Y) :- e(X, Y).
    p(X, Z) :- p(X, Y), q(Y, Z).
    q(X, Y) :- p(Y, X), f(X, Y).
    q(X, Y) :- f(X, Y).
"""


@pytest.mark.parametrize("strategy", ["auto", "dred", "dred-counting", "backward-forward"])
def test_a_rule_joins_and_leaves_a_recursive_hyper_node_from_what_is_there(strategy: str) -> None:
    random = np.random.default_rng(3)
    kb = KnowledgeBase(MUTUAL, strategy=strategy)
    for name in ("e", "f"):
        kb.insert(name, random.integers(0, 800, (800, 2)).tolist())
    kb.insert("g", random.integers(0, 800, (10, 2)).tolist())
    kb.materialise()
    derived = sum(node.instances for node in engine_of(kb).report.nodes)
    before = visible(kb)
    added = kb.apply(Change(add_rules=("new: p(X, Y) :- q(Y, X), g(X, Y).",))).report
    assert sum(step.overdeleted for step in added.steps) == 0
    assert sum(step.instances for step in added.steps) < derived // 4
    removed = kb.apply(Change(remove_rules=("new",))).report
    assert sum(step.instances for step in removed.steps) < derived // 2
    assert visible(kb) == before


def test_auto_derives_anew_where_a_deletion_becomes_expensive() -> None:
    random = np.random.default_rng(2)
    nodes = 6000
    kb = KnowledgeBase(REACH + "root(0). closed(-1).")
    order = random.permutation(nodes)
    order = np.concatenate(([0], order[order != 0]))
    circle = np.stack((order, np.roll(order, -1)), axis=1)
    kb.insert("edge", [*circle.tolist(), *random.integers(0, nodes, (3 * nodes, 2)).tolist(), (0, 1), (0, 2)])
    before = visible(kb)["reach"]
    step = kb.apply(Change(delete={"edge": [circle[3].tolist()]})).report.steps[-1]
    assert step.strategy == "recompute"
    assert "and was not done, deriving took" in step.reason
    assert visible(kb)["reach"] == before


def test_auto_derives_anew_where_more_input_goes_than_stays() -> None:
    kb = KnowledgeBase("r1: p(X, Z) :- e(X, Y), e(Y, Z).")
    kb.insert("e", [(i, i + 1) for i in range(6000)])
    kb.insert("other", [(i,) for i in range(30000)])  # a fifth of all facts is not most of everything
    kb.materialise()
    report = kb.apply(Change(delete={"e": [(i, i + 1) for i in range(5000)]})).report
    assert strategies(report) == {"{r1}": "recompute"}
    assert report.steps[0].reason == "5,000 facts of e went, 1,000 are left"
    assert (report.steps[0].deleted, kb.count("p")) == (5000, 999)


def test_a_hyper_node_whose_input_does_not_change_is_not_touched() -> None:
    kb = KnowledgeBase("r1: p(X) :- a(X). r2: q(X) :- p(X). r3: s(X) :- b(X). a(1). a(2). b(1). p(1).")
    kb.materialise()
    assert strategies(kb.apply(Change(delete={"a": [(1,)]})).report) == {"{r1}": "counting"}
    assert strategies(kb.apply(Change(delete={"a": [(2,)]})).report) == {"{r1}": "counting", "{r2}": "counting"}


def test_reports_put_the_steps_of_a_hyper_node_together() -> None:
    kb = KnowledgeBase("r1: n(X, count(Y)) :- e(X, Y). r2: alone(X) :- v(X), not e(X, _). e(1, 2). v(1). v(2).")
    kb.materialise()
    report = kb.apply(Change(insert={"e": [(1, 3), (2, 3)]})).report
    assert strategies(report) == {"{r1}": "counting + aggregates by group", "{r2}": "counting"}
    assert [(step.deleted, step.inserted) for step in report.steps] == [(1, 2), (1, 0)]


def test_a_rule_or_a_query_that_orders_texts_may_come_later() -> None:
    kb = KnowledgeBase('p("a"). p("m"). p("z"). q(X) :- p(X).')
    kb.delete("p", [("m",)])
    assert list(kb.query('p(X), X < "n"')) == [("a",)]
    kb.add_rules('s(X) :- p(X), X < "n".')
    kb.insert("p", [("b",), ("y",)])
    assert sorted(kb.facts("s")) == [("a",), ("b",)]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_fact_stays_that_an_earlier_recursive_hyper_node_derives_too(strategy: str) -> None:
    """{r1, r2} comes before {r3, r4}: what r3 derives, r2 cannot use. It never said that it derives p(a) as well."""
    kb = KnowledgeBase(
        """
        r1: p(X) :- s(X, c).    r2: s(b, c) :- p(b).
        r3: p(a) :- q(a).       r4: q(a) :- p(a), on(1).
        q(a). on(1).
        """,
        strategy=strategy,
    )
    assert [rule.hyper_node for rule in kb.rules()] == ["{r1, r2}"] * 2 + ["{r3, r4}"] * 2
    kb.insert("s", [("a", "c")])
    kb.delete("q", [("a",)])
    assert (list(kb.facts("p")), list(kb.facts("q"))) == ([("a",)], [("a",)])
    kb.delete("s", [("a", "c")])
    assert (kb.count("p"), kb.count("q")) == (0, 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_fact_goes_when_a_later_hyper_node_was_the_last_to_derive_it(strategy: str) -> None:
    kb = KnowledgeBase("r1: p(X) :- s(X, c). r2: s(b, c) :- p(b). r3: p(a) :- t(a). s(a, c). t(a).", strategy=strategy)
    kb.materialise()
    kb.delete("s", [("a", "c")])
    assert kb.count("p") == 1
    kb.delete("t", [("a",)])
    assert kb.count("p") == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_another_rule_may_come_under_the_name_of_one_that_went(strategy: str) -> None:
    kb = KnowledgeBase("e(1, 2). f(1, 2, 3). r1: n(X, count(Y)) :- e(X, Y).", strategy=strategy)
    assert list(kb.facts("n")) == [(1, 1)]
    with kb.transaction() as tx:
        tx.remove_rules("r1")
        tx.add_rules("r1: n(X, sum(Z)) :- f(X, Y, Z), not e(Z, _).")
    assert list(kb.facts("n")) == [(1, 3)]
    kb.remove_rules("r1")
    kb.add_rules("r1: n(X, max(Y)) :- e(X, Y), not f(Y, _, _).")
    kb.insert("e", [(1, 7)])
    assert list(kb.facts("n")) == [(1, 7)]
