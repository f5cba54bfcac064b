"""ZodiacEdge's rule set 1, a wind farm: turbines come and go, and so do the rules of its closure."""

from __future__ import annotations

from benchmarks import data, rules
from benchmarks.maintenance.record import Outcome
from benchmarks.maintenance.sizes import Sizes
from benchmarks.maintenance.states import State, Tables, named, program, tables
from benchmarks.maintenance.trial import Move, Trial, moves_of_nothing
from corollary.transactions import Change

SYMMETRIC, TRANSITIVE = "r1", "r2"
NEIGHBOUR = "hasNeighbour"


def run(outcome: Outcome, sizes: Sizes) -> None:
    for n in sizes.wind_farms:
        _run(outcome, sizes, n)


def _run(outcome: Outcome, sizes: Sizes, n: int) -> None:
    start = State(named(rules.RULE_SET_1), tables(data.wind_farm(n)))
    trial = Trial(outcome, sizes, start, n)
    _grow(outcome, trial, n, 1, "one turbine")
    if n in sizes.grown_wind_farms:
        for share in sizes.shares:
            _grow(outcome, trial, n, n * share // 100, f"{share} %")
    for rule, pairs in ((SYMMETRIC, n * (n - 1) // 2), (TRANSITIVE, 2 * (n - 1))):
        there = Move("delete", rule, Change(remove_rules=(rule,)), expected={NEIGHBOUR: pairs})
        text = program({rule: start.rules[rule]})
        back = Move("add", rule, Change(add_rules=(text,)), expected={NEIGHBOUR: n * (n - 1)})
        outcome.timings += trial.there_and_back(there, back, start.without_rules([rule]))
    trial.nothing_visible(moves_of_nothing((NEIGHBOUR, [(0, 1)]), (NEIGHBOUR, [(0, 2)])))


def _grow(outcome: Outcome, trial: Trial, n: int, more: int, subject: str) -> None:
    """Turbines are added at the end of the row, and taken away again."""
    larger = tables(data.wind_farm(n + more))
    new = _difference(trial.start.tables, larger)
    there = Move("insert", subject, Change(insert=new), expected={NEIGHBOUR: (n + more) * (n + more - 1)})
    back = Move("delete", subject, Change(delete=new), expected={NEIGHBOUR: n * (n - 1)})
    outcome.timings += trial.there_and_back(there, back, trial.start.with_tables(larger))


def _difference(smaller: Tables, larger: Tables) -> Tables:
    """A larger wind farm begins with the smaller one."""
    return {predicate: rows.slice(len(smaller[predicate])) for predicate, rows in larger.items()}
