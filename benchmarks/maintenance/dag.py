"""Paper 002's DAG-R: random facts of an acyclic graph go and come back under one transitive rule."""

from __future__ import annotations

from benchmarks import data, rules
from benchmarks.maintenance.published import of_table_2
from benchmarks.maintenance.record import Outcome, Timing, typical
from benchmarks.maintenance.sizes import Sizes
from benchmarks.maintenance.states import State, divided, named, tables
from benchmarks.maintenance.trial import Trial, deletion_and_insertion, moves_of_nothing

LARGE_SHARE = 4  # a quarter of the facts


def run(outcome: Outcome, sizes: Sizes) -> None:
    nodes, edges = sizes.dag
    rows = data.graph(nodes, edges, seed=3, acyclic=True)
    start = State(named(rules.TRANSITIVE_ITSELF), tables({"r": rows}))
    trial = Trial(outcome, sizes, start, edges)
    outcome.timings += deletion_and_insertion_of_sets(trial, sizes.small_change, sizes.sets)
    chosen, others = divided(start.tables, edges // LARGE_SHARE, seed=100)
    moves = deletion_and_insertion("25 %", chosen, (of_table_2("DAG-R", 2), {}))
    outcome.timings += trial.there_and_back(*moves, start.with_tables(others), runs=min(3, sizes.runs))
    trial.nothing_visible(moves_of_nothing(("r", rows[:1]), ("r", [_derived(rows)])))


def deletion_and_insertion_of_sets(
    trial: Trial, count: int, sets: int, benchmark: str | None = "DAG-R"
) -> list[Timing]:
    """Different random sets of so many facts, as in the paper; medians where the paper has averages."""
    published = (of_table_2(benchmark, 0), of_table_2(benchmark, 1)) if benchmark else ({}, {})
    found = []
    for seed in range(sets):
        chosen, others = divided(trial.start.tables, count, seed)
        moves = deletion_and_insertion(f"{count:,} facts", chosen, published)
        found.append(trial.there_and_back(*moves, trial.start.with_tables(others), runs=1))
    return [typical(list(timings)) for timings in zip(*found, strict=True)]


def _derived(rows: list[data.Row]) -> data.Row:
    """Some fact that is two steps away and not explicit."""
    explicit = set(rows)
    following: dict[int | str, list[int | str]] = {}
    for start, end in rows:
        following.setdefault(start, []).append(end)
    pairs = ((start, far) for start, end in rows for far in following.get(end, ()))
    return next(pair for pair in pairs if pair not in explicit)
