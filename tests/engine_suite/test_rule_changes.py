"""Rules come and go: hyper-nodes grow, fall apart and go on from what they had."""

from __future__ import annotations

import pytest

from corollary import Change
from corollary.reasoning.maintain.report import StepReport
from corollary.settings import STRATEGIES
from corollary.transactions import TransactionResult
from tests.engine_suite.engines import NOTHING_IS_SMALL, Engine
from tests.engine_suite.test_changes import PATHS, facts, told

REACH = """
r1: reach(X) :- start(X).
r2: reach(Y) :- reach(X), edge(X, Y).
start(1). edge(1, 2). edge(1, 3). edge(2, 3). edge(3, 2). edge(3, 4).
"""


def test_two_hyper_nodes_own_a_predicate_and_the_facts_of_one_cannot_support_each_other(engine: Engine) -> None:
    kb = engine("""
    base(1, 2).
    r1: p(X, Y) :- base(X, Y).
    r2: q(Y, X) :- p(X, Y).
    r3: p(Y, X) :- q(X, Y).
    """)
    assert facts(kb, "p") == [[(1, 2)]]
    result = kb.apply(Change(remove_rules=("r1",)))
    assert told(kb, result)[1] == {"p": [(1, 2)], "q": [(2, 1)]}
    assert kb.count("p") == kb.count("q") == 0


def test_rules_come_merge_and_go(engine: Engine) -> None:
    kb = engine(PATHS + "edge(1, 2). edge(2, 3). node(3).")
    kb.materialise()
    result = kb.apply(Change(add_rules=("r5: edge(Y, X) :- path(X, Y).",)))
    assert told(kb, result)[1] == {"lonely": [(3,)]}
    assert kb.count("path") == 9
    assert kb.owners("edge") == {"explicit": 2, "{r1, r2, r5}": 7}
    result = kb.apply(Change(remove_rules=("r5",)))
    assert told(kb, result)[0] == {"lonely": [(3,)]}
    assert facts(kb, "path") == [[(1, 2), (1, 3), (2, 3)]]
    assert {rule.name: (rule.hyper_node, rule.derived) for rule in kb.rules()}["r2"] == ("{r2}", 1)


def test_another_rule_may_come_under_the_name_of_one_that_goes(engine: Engine) -> None:
    kb = engine("a(1). a(2). b(2). b(3). r1: p(X) :- a(X). r2: c(count(X)) :- p(X).")
    assert facts(kb, "c") == [[(2,)]]
    result = kb.apply(Change(remove_rules=("r1",), add_rules=("r1: p(X) :- b(X). p(X) :- b(X), a(X).",)))
    assert told(kb, result) == ({"p": [(3,)]}, {"p": [(1,)]})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_recursive_rule_of_the_same_name_goes_on_from_nothing(engine: Engine, strategy: str) -> None:
    kb = engine(REACH + "way(1, 4). way(4, 5).", strategy=strategy, on_spark=NOTHING_IS_SMALL)
    assert facts(kb, "reach") == [[(1,), (2,), (3,), (4,)]]
    other = Change(remove_rules=("r2",), add_rules=("r2: reach(Y) :- reach(X), way(X, Y).",))
    assert told(kb, kb.apply(other)) == ({"reach": [(5,)]}, {"reach": [(2,), (3,)]})
    assert facts(kb, "reach") == [[(1,), (4,), (5,)]]


def steps(result: TransactionResult) -> dict[str, StepReport]:
    return {step.owner: step for step in result.report.steps}


@pytest.mark.parametrize(("strategy", "followed"), [("auto", "dred"), ("dred-counting", "dred-counting")])
def test_merged_hyper_nodes_keep_what_they_had(engine: Engine, strategy: str, followed: str) -> None:
    kb = engine(REACH + "back(5, 4). back(6, 5).", strategy=strategy, on_spark=NOTHING_IS_SMALL)
    kb.materialise()
    result = kb.apply(Change(add_rules=("r3: start(Y) :- reach(X), back(Y, X).",), insert={"edge": [(6, 7)]}))
    (merged,) = result.report.steps
    assert merged.owner == "{r1, r2, r3}"
    if engine.name == "spark":  # which may also derive everything again, and says why it has not
        assert (merged.strategy, merged.reason) == (followed, "went on from what it had (+r3)")
    assert (merged.overdeleted, merged.deleted, merged.inserted) == (0, 0, 5)
    assert facts(kb, "reach") == [[(n,) for n in range(1, 8)]]
    assert kb.owners("reach") == {"{r1, r2, r3}": 7}
    assert kb.owners("start") == {"explicit": 1, "{r1, r2, r3}": 2}
    result = kb.apply(Change(delete={"edge": [(3, 4)]}, add_rules=("r4: reach(Y) :- reach(X), jump(X, Y).",)))
    if engine.name == "spark":
        assert steps(result)["{r1, r2, r3, r4}"].reason.startswith("went on from what it had (+r4)")
    assert facts(kb, "reach") == [[(1,), (2,), (3,)]]
    result = kb.apply(Change(remove_rules=("r4",), insert={"edge": [(3, 5)]}))
    if engine.name == "spark":
        assert steps(result)["{r1, r2, r3}"].reason.startswith("went on from what it had (-r4)")
    assert facts(kb, "reach") == [[(1,), (2,), (3,), (5,), (6,), (7,)]]


# -- owners ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_owners_of_a_closure_among_other_rules_are_the_hyper_nodes_whose_rules_derive_its_facts(
    engine: Engine, strategy: str
) -> None:
    """It is evaluated over external facts, which others bring and nobody has written: they are no facts of its own."""
    kb = engine(
        """
        given: r(X, Y) :- known(X, Y).
        r1: r(X, Y) :- e(X, Y).
        r2: r(X, Z) :- r(X, Y), r(Y, Z).
        r3: e(Y, X) :- r(X, Y), flip(X).
        known(1, 9). e(1, 2). e(2, 3). e(3, 4). flip(2). r(7, 8). r(8, 9).
        """,
        strategy=strategy,
    )
    assert kb.owners("r") == {"explicit": 2, "{given}": 1, "{r1, r2, r3}": 13}
    assert kb.owners("e") == {"explicit": 3, "{r1, r2, r3}": 3}
    assert {rule.name: rule.derived for rule in kb.rules()} == {"given": 1, "r1": 13, "r2": 13, "r3": 3}
    kb.delete("r", [(8, 9)])
    assert kb.owners("r") == {"explicit": 1, "{given}": 1, "{r1, r2, r3}": 12}
