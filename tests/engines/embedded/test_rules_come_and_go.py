"""Rules that come and go leave nothing in memory: what was made for a rule goes with it."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator

import pytest

from corollary import KnowledgeBase
from corollary.analysis import RuleGraph
from corollary.engines.embedded.kernels.runner import PreparedPlan
from corollary.language import parse_program
from corollary.planning import NormalRule, RulePlan
from corollary.program import Atom, Rule
from corollary.reasoning.maintain import step_rules
from corollary.reasoning.maintain.step_rules import steps_in_order

KINDS = (Atom, NormalRule, PreparedPlan, Rule, RulePlan)
RULES = {
    "a rule of its own": "extra: q(X) :- p(X, Y), e(Y, X).",
    "a rule of a recursive hyper-node": "extra: e(Y, X) :- p(X, Y), back(X).",
    "an aggregate": "extra: most(X, count(Y)) :- p(X, Y).",
    "a negation": "extra: q(X) :- e(X, _), not p(X, X).",
}


@pytest.fixture(autouse=True)
def _without_what_is_there_already() -> Iterator[None]:
    """Counting only looks at objects that a test makes: other tests leave a million of them."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def living() -> Counter[type]:
    gc.collect()
    return Counter(type(one) for one in gc.get_objects() if isinstance(one, KINDS))


@pytest.mark.parametrize("strategy", ["auto", "backward-forward", "dred", "dred-counting", "recompute"])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_that_went_leaves_nothing(rule: str, strategy: str) -> None:
    program = "e(1, 2). e(2, 3). back(2). p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z), X != 9."
    kb = KnowledgeBase(program, strategy=strategy)
    kb.materialise()

    def come_and_go(times: int) -> Counter[type]:
        for _ in range(times):
            kb.add_rules(rule)
            kb.insert("e", [(3, 1)])
            kb.delete("e", [(3, 1)])
            kb.remove_rules("extra")
        return living()

    before = come_and_go(3)
    assert come_and_go(6) == before


def test_what_was_kept_for_an_object_that_is_gone_is_not_taken_for_another() -> None:
    """A new object may have the number of an old one, and what was kept for that stays where Ctrl-C cuts its end short."""
    (alone,) = (known := RuleGraph.of(parse_program("p(X, Y) :- p(Y, X).").rules)).rules.values()
    both = RuleGraph.of((alone, *parse_program("more: p(X, Z) :- p(X, Y), p(Y, Z).").rules))
    other = RuleGraph.of(parse_program("q(X) :- r(X).").rules)
    (old_node,), (node,) = known.hyper_nodes, both.hyper_nodes
    (other_rule,) = other.rules.values()
    kept = [steps_in_order(graph) for graph in (known, other)]  # these stay alive
    step_rules._STEPS[id(node)] = step_rules._STEPS[id(old_node)]
    step_rules._SPLIT[id(both.rules["more"])] = step_rules._SPLIT[id(other_rule)]
    (step,) = steps_in_order(both)
    assert [rule.name for rule in step.rules] == [rule.name for rule in both.rules.values()]
    assert [rule.head.predicate for rule in step.rules] == ["p", "p"]
    assert len(kept) == 2
