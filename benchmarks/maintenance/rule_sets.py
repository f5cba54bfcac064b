"""ZodiacEdge's rule sets 2 and 3: rules go and come back over four chains of n facts."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import data, rules
from benchmarks.maintenance.memory import memory_by_node
from benchmarks.maintenance.published import RULE_SET_2, RULE_SET_3, ZODIAC, RuleChange
from benchmarks.maintenance.record import Outcome
from benchmarks.maintenance.sizes import Sizes
from benchmarks.maintenance.states import State, named, program, tables
from benchmarks.maintenance.trial import Move, Trial, moves_of_nothing
from benchmarks.workloads import zodiac_counts
from corollary.transactions import Change


def run_second(outcome: Outcome, sizes: Sizes) -> None:
    _run(outcome, sizes, rules.RULE_SET_2, RULE_SET_2)
    for n in sizes.memory_chains:
        outcome.memory += memory_by_node(_state(rules.RULE_SET_2, n).loaded(strategy=outcome.strategy), n)


def run_third(outcome: Outcome, sizes: Sizes) -> None:
    _run(outcome, sizes, rules.RULE_SET_3, RULE_SET_3)


def _state(text: str, n: int) -> State:
    return State(named(text), tables(data.zodiac(n)))


def _run(outcome: Outcome, sizes: Sizes, text: str, changes: Sequence[RuleChange]) -> None:
    n = sizes.chain
    start = _state(text, n)
    trial = Trial(outcome, sizes, start, n)
    expected = zodiac_counts(n, negation="not p13" in text)
    for change in changes:
        texts = program({name: start.rules[name] for name in change.rules})
        there = Move(
            "delete", change.name, Change(remove_rules=change.rules), {ZODIAC: change.delete}, left=change.left
        )
        back = Move("add", change.name, Change(add_rules=(texts,)), {ZODIAC: change.add}, expected)
        outcome.timings += trial.there_and_back(there, back, start.without_rules(change.rules))
    # The chain of p1 is 0, 1, 2 …, whose closure p11 is; p20 takes that over.
    trial.nothing_visible(moves_of_nothing(("p1", [(0, 1)]), ("p20", [(0, 2)])))
