"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.maintenance import dag, edges, rule_sets, universities, wind_farm
from benchmarks.maintenance.record import Outcome
from benchmarks.maintenance.sizes import Sizes

EXPERIMENTS: dict[str, Callable[[Outcome, Sizes], None]] = {
    "dag-r": dag.run,
    "tc-grid": edges.run_grid,
    "tc-random": edges.run_random,
    "rule-set-1": wind_farm.run,
    "rule-set-2": rule_sets.run_second,
    "rule-set-3": rule_sets.run_third,
    "lubm": universities.run,
}


def run_experiment(name: str, sizes: Sizes, strategy: str = "auto") -> Outcome:
    """In this process."""
    outcome = Outcome(name, sizes.name, strategy)
    EXPERIMENTS[name](outcome, sizes)
    return outcome
