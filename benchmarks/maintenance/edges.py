"""One edge of a graph goes and comes back: the time should follow the number of paths that really change."""

from __future__ import annotations

from random import Random

from benchmarks import data, rules
from benchmarks.maintenance.record import Outcome
from benchmarks.maintenance.sizes import Sizes
from benchmarks.maintenance.states import State, named, table
from benchmarks.maintenance.trial import Move, Trial, deletion_and_insertion, moves_of_nothing
from corollary.transactions import Change


def run_grid(outcome: Outcome, sizes: Sizes) -> None:
    _run(outcome, sizes, data.grid(sizes.grid))


def run_random(outcome: Outcome, sizes: Sizes) -> None:
    nodes, edges = sizes.random_graph
    _run(outcome, sizes, data.graph(nodes, edges, seed=1))


def _run(outcome: Outcome, sizes: Sizes, rows: list[data.Row]) -> None:
    start = State(named(rules.TRANSITIVE), {"edge": table(rows)})
    trial = Trial(outcome, sizes, start, len(rows))
    for edge in Random(11).sample(rows, sizes.edges):
        others = table([row for row in rows if row != edge])
        moves = deletion_and_insertion("one edge", {"edge": [edge]})
        after = start.with_tables({"edge": others})
        outcome.timings += trial.there_and_back(*moves, after, runs=min(3, sizes.runs), scratch_runs=1)
    path = ("path", [rows[0]])
    absent = Move("delete", "what is not there", Change(delete={"edge": [(-1, -2)]}))
    trial.nothing_visible([absent, *moves_of_nothing(("edge", [rows[0]]), path)])
