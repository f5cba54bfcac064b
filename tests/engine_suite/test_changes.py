"""Facts change, and what follows from them: states and differences, hyper-node by hyper-node."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest

from corollary import Change, KnowledgeBase, Limits
from corollary.diagnostics import ProgramError
from corollary.reasoning.maintain.backward_forward import _BackwardForward
from corollary.reasoning.maintain.delete_rederive import _DeleteAndRederive
from corollary.settings import STRATEGIES
from corollary.transactions import TransactionResult
from tests.engine_suite.engines import NOTHING_IS_SMALL, Engine
from tests.engine_suite.scripts import difference, follow, visible
from tests.generator import EVERYTHING, scenarios

PATHS = """
r1: path(X, Y) :- edge(X, Y).
r2: path(X, Z) :- path(X, Y), edge(Y, Z).
r3: lonely(X) :- node(X), not path(X, _).
r4: other(X) :- thing(X).
"""


def told(kb: KnowledgeBase, result: TransactionResult) -> tuple[dict[str, list], dict[str, list]]:
    """Return what came and what went, sorted."""
    inserted, deleted = (
        {name: sorted(tuple(constant.value for constant in fact) for fact in facts) for name, facts in side.items()}
        for side in difference(result, kb)
    )
    return inserted, deleted


def facts(kb: KnowledgeBase, *predicates: str) -> list[list]:
    found = visible(kb)
    return [sorted(tuple(one.value for one in fact) for fact in found.get(name, ())) for name in predicates]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_generated_changes_give_the_facts_of_the_oracle(engine: Engine, strategy: str) -> None:
    scripts = scenarios(EVERYTHING.but(max_changes=3))
    engine.each(scripts, 140, lambda chosen: follow(chosen, engine, strategy=strategy))


# -- transactions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["dred", "recompute"])
def test_a_transaction_tells_what_came_and_went_and_touches_only_what_it_reaches(engine: Engine, strategy: str) -> None:
    kb = engine(PATHS + "edge(1, 2). edge(2, 3). node(1). node(3). thing(7).", strategy=strategy)
    kb.materialise()
    result = kb.apply(Change(insert={"edge": [(3, 4)]}, delete={"edge": [(2, 3)]}))
    assert told(kb, result) == (
        {"edge": [(3, 4)], "path": [(3, 4)]},
        {"edge": [(2, 3)], "path": [(1, 3), (2, 3)], "lonely": [(3,)]},
    )
    assert facts(kb, "path") == [[(1, 2), (3, 4)]]
    assert {step.owner for step in result.report.steps} == {"{r1}", "{r2}", "{r3}"}
    assert (result.report.explicit_inserted, result.report.explicit_deleted) == (1, 1)
    nothing = kb.apply(Change(insert={"edge": [(3, 4)]}, delete={"edge": [(9, 9)]}))
    assert told(kb, nothing) == ({}, {})
    assert list(nothing.report.steps) == []


PHASES = {_DeleteAndRederive: ("rederive", "recount"), _BackwardForward: ("_prove",)}
FOLLOWED = {
    "backward-forward": ("backward-forward", 0, {"_prove"}),
    "dred": ("dred", 3, {"rederive"}),
    "dred-counting": ("dred-counting", 3, {"recount"}),
    "dred-counting-modules": ("dred-counting-modules", 3, {"recount"}),
    "recompute": ("recompute", 0, set()),
}
"""What the report says that a strategy was, how many facts it overdeletes, and the phases that are its own."""


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_runs_the_algorithm_that_it_is_named_after(engine: Engine, strategy: str) -> None:
    """A fact that loses one of its two derivations stays, and so does what follows from it."""
    rules = "r1: reach(X) :- start(X). r2: reach(Y) :- reach(X), edge(X, Y). start(1)."
    edges = "edge(1, 2). edge(1, 3). edge(3, 2). edge(2, 4). edge(4, 5)."
    kb = engine(rules + edges, strategy=strategy, on_spark=NOTHING_IS_SMALL)
    kb.materialise()
    with ExitStack() as patches:
        phases = {
            name: patches.enter_context(patch.object(one, name, autospec=True, side_effect=getattr(one, name)))
            for one, names in PHASES.items()
            for name in names
        }
        (step,) = kb.apply(Change(delete={"edge": [(1, 2)]})).report.steps
        ran = {name for name, phase in phases.items() if phase.called}
    found = step.strategy, step.overdeleted, ran
    assert found in FOLLOWED.values() if strategy == "auto" else found == FOLLOWED[strategy]
    assert (step.owner, step.deleted, step.inserted) == ("{r2}", 0, 0)
    assert facts(kb, "reach") == [[(1,), (2,), (3,), (4,), (5,)]]


def test_facts_that_are_explicit_and_derived(engine: Engine) -> None:
    kb = engine("q(1). p(2). r1: p(X) :- q(X).")
    kb.materialise()
    assert told(kb, kb.apply(Change(insert={"p": [(1,)]}))) == ({}, {})  # explicit and derived
    assert told(kb, kb.apply(Change(delete={"q": [(1,)]}))) == ({}, {"q": [(1,)]})
    assert told(kb, kb.apply(Change(delete={"p": [(1,), (5,)]}))) == ({}, {"p": [(1,)]})
    both = Change(insert={"p": [(2,), (3,)]}, delete={"p": [(2,), (3,)]})
    assert told(kb, kb.apply(both)) == ({"p": [(3,)]}, {})
    assert kb.owners("p") == {"explicit": 2}


def test_changes_before_the_first_read_and_loading_after_it(engine: Engine, tmp_path: Path) -> None:
    kb = engine(PATHS)
    kb.insert("edge", [(1, 2)])
    result = kb.apply(Change(insert={"edge": [(2, 3)]}, add_rules=("r5: back(Y, X) :- path(X, Y).",)))
    assert told(kb, result)[0]["path"] == [(1, 3), (2, 3)]
    (tmp_path / "edges.csv").write_text("3,4\n1,2\n")
    heard: list[list] = []
    kb.subscribe("back", lambda inserted, deleted: heard.append(sorted(inserted)))
    assert kb.load("edge", tmp_path / "edges.csv") == 1
    assert heard == [[(4, 1), (4, 2), (4, 3)]]
    assert kb.insert("edge", [(3, 4)]) == 0


def test_what_fails_changes_nothing(engine: Engine) -> None:
    kb = engine(PATHS + "edge(1, 2). edge(2, 3). node(1). node(3).", limits=Limits(facts=60))
    before = visible(kb)
    many = {"edge": [(n, n + 1) for n in range(10, 40)]}
    for change, error in (
        (Change(insert={"edge": [(8, 9)], "node": [(None,)]}), "E401"),
        (Change(insert={"edge": [(8, 9)]}, add_rules=("r9: path(X, Y) :- edge(X, Y), not lonely(X).",)), "E"),
        (Change(insert=many, add_rules=("r9: p(X) :- path(X, _).",)), "more than 60 facts"),
    ):
        with pytest.raises(ProgramError, match=error):
            kb.apply(change)
        assert visible(kb) == before
    assert list(kb.analysis.graph.rules) == ["r1", "r2", "r3", "r4"]
    assert told(kb, kb.apply(Change(delete={"edge": [(2, 3)]})))[1]["path"] == [(1, 3), (2, 3)]


def test_without_a_promise_of_updates_everything_is_derived_again(engine: Engine) -> None:
    kb = engine(PATHS + "edge(1, 2). node(1). node(2).", updates=False)
    assert facts(kb, "lonely") == [[(2,)]]
    result = kb.apply(Change(insert={"edge": [(2, 3)]}, delete={"node": [(1,)]}))
    assert told(kb, result) == (
        {"edge": [(2, 3)], "path": [(1, 3), (2, 3)]},
        {"node": [(1,)], "lonely": [(2,)]},
    )


# -- negation, aggregates, recursion -----------------------------------------------------------------------------------


def test_aggregates_follow_group_by_group(engine: Engine) -> None:
    kb = engine("""
    t(1, 5). t(1, 9). t(2, 4). t(2, 4.5).
    r1: least(X, min(T)) :- t(X, T).
    r2: middle(X, median(T)) :- t(X, T).
    r3: total(sum(T)) :- t(_, T).
    r4: warm(X) :- AGGREGATE(t(X, T)) ON X WITH MAX(T) AS M, M > 5.
    """)
    assert facts(kb, "least") == [[(1, 5), (2, 4)]]
    result = kb.apply(Change(delete={"t": [(1, 5), (1, 9)]}, insert={"t": [(2, 1)]}))
    inserted, deleted = told(kb, result)
    assert (inserted["least"], deleted["least"]) == ([(2, 1)], [(1, 5), (2, 4)])
    assert deleted["warm"] == [(1,)]
    assert inserted["middle"] == [(2, 4)]
    assert [float(value) for (value,) in kb.facts("total")] == [9.5]


def test_what_is_computed_under_a_negation_follows_changes(engine: Engine) -> None:
    kb = engine("e(0). e(1). n(0, 5). n(2, 5). r1: q(X) :- e(X), not n(X, _), not n(X + 1, _).", strategy="dred")
    assert facts(kb, "q") == [[]]
    result = kb.apply(Change(delete={"n": [(0, 5)]}))
    assert told(kb, result) == ({"q": [(0,)]}, {"n": [(0, 5)]})


@pytest.mark.parametrize("strategy", ["auto", "dred"])
def test_facts_that_only_support_each_other_go(engine: Engine, strategy: str) -> None:
    kb = engine(
        """
    r1: reach(X) :- start(X).
    r2: reach(Y) :- reach(X), edge(X, Y), not closed(Y).
    start(1). edge(1, 2). edge(2, 3). edge(3, 2). edge(5, 6). reach(5).
    """,
        strategy=strategy,
    )
    assert kb.count("reach") == 5
    assert told(kb, kb.apply(Change(delete={"edge": [(1, 2)]})))[1]["reach"] == [(2,), (3,)]
    assert told(kb, kb.apply(Change(insert={"edge": [(5, 3)], "closed": [(6,)]})))[0]["reach"] == [(2,), (3,)]
    assert facts(kb, "reach") == [[(1,), (2,), (3,), (5,)]]
    result = kb.apply(Change(delete={"reach": [(5,)], "closed": [(6,)]}))
    assert told(kb, result) == ({}, {"closed": [(6,)], "reach": [(2,), (3,), (5,)]})


def test_what_two_owners_derive_stays_until_both_have_lost_it(engine: Engine) -> None:
    """The recursive rule comes first and finds the fact there already: it has to be asked when the later rule loses it."""
    kb = engine("""
    r1: p(X, Z) :- e(X, Y), k(X, Z), p(Y, 1).
    r2: p(X, 2) :- p(X, 1), extra(X).
    p(0, 1). e(1, 0). k(1, 1). extra(1).
    """)
    assert facts(kb, "p") == [[(0, 1), (1, 1), (1, 2)]]
    assert told(kb, kb.apply(Change(insert={"k": [(1, 2)]}))) == ({"k": [(1, 2)]}, {})
    assert told(kb, kb.apply(Change(delete={"extra": [(1,)]}))) == ({}, {"extra": [(1,)]})
    assert facts(kb, "p") == [[(0, 1), (1, 1), (1, 2)]]
    assert told(kb, kb.apply(Change(delete={"k": [(1, 2)]})))[1]["p"] == [(1, 2)]


@pytest.mark.parametrize("updates", [True, False])
def test_what_only_has_to_exist_is_derived_once(engine: Engine, updates: bool) -> None:
    """None of its variables is used in the head, and it is what the rule begins with."""
    kb = engine("any(1) :- e(X, Y). same(X) :- e(X, Y), f(Z, W). e(1, 2). e(1, 3). f(1, 1). f(2, 2).", updates=updates)
    assert visible(kb).keys() == {"any", "same", "e", "f"}
    assert (kb.count("any"), kb.count("same")) == (1, 1)
    assert told(kb, kb.apply(Change(delete={"e": [(1, 2)]}))) == ({}, {"e": [(1, 2)]})
    assert told(kb, kb.apply(Change(delete={"e": [(1, 3)]})))[1] == {"any": [(1,)], "e": [(1, 3)], "same": [(1,)]}
