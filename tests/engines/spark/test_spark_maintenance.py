"""Changes on Spark: facts and rules change, and what follows from them, hyper-node by hyper-node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from corollary import Change, KnowledgeBase, Limits
from corollary.backends.spark import SparkBackend
from corollary.diagnostics import ProgramError
from corollary.engines.spark.context import SparkSettings
from corollary.engines.spark.maintenance.change_rows import ChangeRows
from corollary.engines.spark.maintenance.signed_relation import MOST_SEGMENTS, SignedRelation
from corollary.engines.spark.relations import frame_of_ids
from corollary.program import Constant
from corollary.transactions import TransactionResult
from tests.engines.spark.engine_runs import decoded

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

Make = Callable[..., KnowledgeBase]

PATHS = """
r1: path(X, Y) :- edge(X, Y).
r2: path(X, Z) :- path(X, Y), edge(Y, Z).
r3: lonely(X) :- node(X), not path(X, _).
r4: other(X) :- thing(X).
"""


@pytest.fixture
def make(spark: SparkSession) -> Iterator[Make]:
    made: list[KnowledgeBase] = []

    def new(program: str, **options: object) -> KnowledgeBase:
        made.append(KnowledgeBase(program, engine=spark, spark_settings=SparkSettings(partitions=2), **options))
        return made[-1]

    yield new
    for kb in made:
        kb.close()


def backend(kb: KnowledgeBase) -> SparkBackend:
    assert isinstance(kb._backend, SparkBackend)
    return kb._backend


def rows(kb: KnowledgeBase, result: TransactionResult) -> tuple[dict[str, list], dict[str, list]]:
    """What came and what went, in one job."""
    frames = {
        (place, name): found[name]._frame
        for place, found in enumerate((result.inserted, result.deleted))
        for name in found
    }
    facts = {key: sorted(map(plain, found)) for key, found in decoded(backend(kb).context, frames).items()}
    inserted, deleted = ({name: found for (at, name), found in facts.items() if at == place} for place in (0, 1))
    return inserted, deleted


def visible(kb: KnowledgeBase, *predicates: str) -> dict[str, list]:
    kb.materialise()
    frames = {name: backend(kb).store.visible(name) for name in predicates}
    found = decoded(backend(kb).context, frames)
    return {name: sorted(map(plain, found.get(name, ()))) for name in predicates}


def plain(fact: tuple[Constant, ...]) -> tuple:
    return tuple(constant.value for constant in fact)


def strategies(result: TransactionResult) -> dict[str, str]:
    return {step.owner: step.strategy for step in result.report.steps}


# -- transactions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["dred", "recompute"])
def test_a_transaction_tells_what_came_and_went_and_touches_only_what_it_reaches(make: Make, strategy: str) -> None:
    kb = make(PATHS + "edge(1, 2). edge(2, 3). node(1). node(3). thing(7).", strategy=strategy)
    kb.materialise()
    result = kb.apply(Change(insert={"edge": [(3, 4)]}, delete={"edge": [(2, 3)]}))
    assert rows(kb, result) == (
        {"edge": [(3, 4)], "path": [(3, 4)]},
        {"edge": [(2, 3)], "path": [(1, 3), (2, 3)], "lonely": [(3,)]},
    )
    assert visible(kb, "path") == {"path": [(1, 2), (3, 4)]}
    assert set(strategies(result)) == {"{r1}", "{r2}", "{r3}"}
    assert (result.report.explicit_inserted, result.report.explicit_deleted) == (1, 1)
    nothing = kb.apply(Change(insert={"edge": [(3, 4)]}, delete={"edge": [(9, 9)]}))
    assert rows(kb, nothing) == ({}, {})
    assert nothing.report.steps == ()


def test_the_odd_cases_are_those_of_the_embedded_engine(make: Make) -> None:
    kb = make("q(1). p(2). r1: p(X) :- q(X).")
    kb.materialise()
    assert rows(kb, kb.apply(Change(insert={"p": [(1,)]}))) == ({}, {})  # explicit and derived
    assert rows(kb, kb.apply(Change(delete={"q": [(1,)]}))) == ({}, {"q": [(1,)]})
    assert rows(kb, kb.apply(Change(delete={"p": [(1,), (5,)]}))) == ({}, {"p": [(1,)]})
    both = Change(insert={"p": [(2,), (3,)]}, delete={"p": [(2,), (3,)]})
    assert rows(kb, kb.apply(both)) == ({"p": [(3,)]}, {})
    assert kb.owners("p") == {"explicit": 2}


def test_changes_before_the_first_read_and_loading_after_it(make: Make, tmp_path: Path) -> None:
    kb = make(PATHS)
    kb.insert("edge", [(1, 2)])
    result = kb.apply(Change(insert={"edge": [(2, 3)]}, add_rules=("r5: back(Y, X) :- path(X, Y).",)))
    assert rows(kb, result)[0]["path"] == [(1, 3), (2, 3)]
    (tmp_path / "edges.csv").write_text("3,4\n1,2\n")
    told: list[list] = []
    kb.subscribe("back", lambda inserted, deleted: told.append(sorted(inserted)))
    assert kb.load("edge", tmp_path / "edges.csv") == 1
    assert told == [[(4, 1), (4, 2), (4, 3)]]
    assert kb.insert("edge", [(3, 4)]) == 0


def test_what_fails_changes_nothing(make: Make) -> None:
    kb = make(PATHS + "edge(1, 2). edge(2, 3). node(1). node(3).", limits=Limits(facts=60))
    kb.materialise()
    names = ["edge", "node", "path", "lonely"]
    before = visible(kb, *names)
    many = {"edge": [(n, n + 1) for n in range(10, 40)]}
    for change, error in (
        (Change(insert={"edge": [(8, 9)], "node": [(None,)]}), "E401"),
        (Change(insert={"edge": [(8, 9)]}, add_rules=("r9: path(X, Y) :- edge(X, Y), not lonely(X).",)), "E"),
        (Change(insert=many, add_rules=("r9: p(X) :- path(X, _).",)), "more than 60 facts"),
    ):
        with pytest.raises(ProgramError, match=error):
            kb.apply(change)
        assert [kb.count(name) for name in names] == [len(before[name]) for name in names]
    assert visible(kb, *names) == before
    assert list(kb.analysis.graph.rules) == ["r1", "r2", "r3", "r4"]
    assert rows(kb, kb.apply(Change(delete={"edge": [(2, 3)]})))[1]["path"] == [(1, 3), (2, 3)]


def test_without_a_promise_of_updates_everything_is_derived_anew(make: Make) -> None:
    kb = make(PATHS + "edge(1, 2). node(1). node(2).", updates=False)
    assert visible(kb, "lonely") == {"lonely": [(2,)]}
    result = kb.apply(Change(insert={"edge": [(2, 3)]}, delete={"node": [(1,)]}))
    assert rows(kb, result) == (
        {"edge": [(2, 3)], "path": [(1, 3), (2, 3)]},
        {"node": [(1,)], "lonely": [(2,)]},
    )


# -- rules -------------------------------------------------------------------------------------------------------------


def test_two_hyper_nodes_own_a_predicate_and_the_facts_of_one_cannot_support_each_other(make: Make) -> None:
    kb = make("""
    base(1, 2).
    r1: p(X, Y) :- base(X, Y).
    r2: q(Y, X) :- p(X, Y).
    r3: p(Y, X) :- q(X, Y).
    """)
    assert visible(kb, "p") == {"p": [(1, 2)]}
    result = kb.apply(Change(remove_rules=("r1",)))
    assert rows(kb, result)[1] == {"p": [(1, 2)], "q": [(2, 1)]}
    assert kb.count("p") == kb.count("q") == 0


def test_rules_come_merge_and_go(make: Make) -> None:
    kb = make(PATHS + "edge(1, 2). edge(2, 3). node(3).")
    result = kb.apply(Change(add_rules=("r5: edge(Y, X) :- path(X, Y).",)))
    assert rows(kb, result)[1] == {"lonely": [(3,)]}
    assert kb.count("path") == 9
    assert kb.owners("edge") == {"explicit": 2, "{r1, r2, r5}": 7}
    result = kb.apply(Change(remove_rules=("r5",)))
    assert rows(kb, result)[0] == {"lonely": [(3,)]}
    assert visible(kb, "path") == {"path": [(1, 2), (1, 3), (2, 3)]}
    assert {rule.name: (rule.hyper_node, rule.derived) for rule in kb.rules()}["r2"] == ("{r2}", 1)


def test_another_rule_may_come_under_the_name_of_one_that_goes(make: Make) -> None:
    kb = make("a(1). a(2). b(2). b(3). r1: p(X) :- a(X). r2: c(count(X)) :- p(X).")
    assert visible(kb, "c") == {"c": [(2,)]}
    result = kb.apply(Change(remove_rules=("r1",), add_rules=("r1: p(X) :- b(X). p(X) :- b(X), a(X).",)))
    assert rows(kb, result) == ({"p": [(3,)]}, {"p": [(1,)]})


# -- negation, aggregates, recursion -----------------------------------------------------------------------------------


def test_aggregates_follow_group_by_group(make: Make) -> None:
    kb = make("""
    t(1, 5). t(1, 9). t(2, 4). t(2, 4.5).
    r1: least(X, min(T)) :- t(X, T).
    r2: middle(X, median(T)) :- t(X, T).
    r3: total(sum(T)) :- t(_, T).
    r4: warm(X) :- AGGREGATE(t(X, T)) ON X WITH MAX(T) AS M, M > 5.
    """)
    assert visible(kb, "least") == {"least": [(1, 5), (2, 4)]}
    result = kb.apply(Change(delete={"t": [(1, 5), (1, 9)]}, insert={"t": [(2, 1)]}))
    inserted, deleted = rows(kb, result)
    assert (inserted["least"], deleted["least"]) == ([(2, 1)], [(1, 5), (2, 4)])
    assert deleted["warm"] == [(1,)]
    assert inserted["middle"] == [(2, 4)]
    assert [float(value) for (value,) in kb.facts("total")] == [9.5]


def test_what_is_computed_under_a_negation_follows_changes(make: Make) -> None:
    kb = make("e(0). e(1). n(0, 5). n(2, 5). r1: q(X) :- e(X), not n(X, _), not n(X + 1, _).", strategy="dred")
    assert visible(kb, "q") == {"q": []}
    result = kb.apply(Change(delete={"n": [(0, 5)]}))
    assert rows(kb, result) == ({"q": [(0,)]}, {"n": [(0, 5)]})


@pytest.mark.parametrize("strategy", ["auto", "dred"])
def test_facts_that_only_support_each_other_go(make: Make, strategy: str) -> None:
    kb = make(
        """
    r1: reach(X) :- start(X).
    r2: reach(Y) :- reach(X), edge(X, Y), not closed(Y).
    start(1). edge(1, 2). edge(2, 3). edge(3, 2). edge(5, 6). reach(5).
    """,
        strategy=strategy,
    )
    assert kb.count("reach") == 5
    assert rows(kb, kb.apply(Change(delete={"edge": [(1, 2)]})))[1]["reach"] == [(2,), (3,)]
    assert rows(kb, kb.apply(Change(insert={"edge": [(5, 3)], "closed": [(6,)]})))[0]["reach"] == [(2,), (3,)]
    assert visible(kb, "reach") == {"reach": [(1,), (2,), (3,), (5,)]}
    result = kb.apply(Change(delete={"reach": [(5,)], "closed": [(6,)]}))
    assert rows(kb, result) == ({}, {"closed": [(6,)], "reach": [(2,), (3,), (5,)]})


# -- how it is kept ----------------------------------------------------------------------------------------------------


def test_segments_are_put_together_on_reading_and_folded(make: Make) -> None:
    kb = make("p(1).")
    context = backend(kb).context
    base = frame_of_ids(context.spark, np.arange(1000, dtype=np.int64).reshape(-1, 1))
    relation = SignedRelation(context, 1, (base,))
    expected = set(range(1000))
    for number in range(MOST_SEGMENTS + 2):
        ids = np.array([[number, -1], [5000 + number, 1]], np.int64)
        relation = relation.changed(ChangeRows.of_ids(context, 1, ids), "p")
        expected = expected - {number} | {5000 + number}
        assert len(relation.segments) <= MOST_SEGMENTS
        assert {row[0] for row in relation.visible().df.collect()} == expected
        assert relation.rows == len(expected)
    folded = relation.folded("p")
    assert not folded.segments
    assert {row[0] for row in folded.visible().df.collect()} == expected


def test_small_changes_do_not_move_the_large_relation(make: Make) -> None:
    kb = make("p(1).")
    context = backend(kb).context
    base = context.workspace.table(context.spark.range(100_000).selectExpr("id AS c0", "id AS c1"), "p", 2)
    change = ChangeRows.of_ids(context, 2, np.array([[1, 1, -1], [7, 8, 1]], np.int64))
    relation = SignedRelation(context, 2, (base,)).changed(change, "p")
    for df in (relation.visible().df, *relation.matching(change.keys)):
        plan = df._jdf.queryExecution().executedPlan().toString()
        assert "hashpartitioning" not in plan
        assert "SortMergeJoin" not in plan
