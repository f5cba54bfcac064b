"""Choosing experiments by name, running each in a process of its own, and the report of it all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from benchmarks.experiments import machine, run_in_process
from benchmarks.spark.record import Outcome
from benchmarks.spark.sizes import FULL, Sizes
from benchmarks.targets import Verdict

_TIME_LIMIT = 7200.0


@dataclass
class Report:
    """The outcomes by experiment; `failures` are experiments without one. `load` is how many processes wanted a core."""

    sizes: str = FULL.name
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    @property
    def problems(self) -> list[str]:
        return [*self.failures, *(problem for outcome in self.outcomes.values() for problem in outcome.problems)]

    @property
    def verdicts(self) -> list[Verdict]:
        return [verdict for outcome in self.outcomes.values() for verdict in outcome.verdicts]

    def as_dict(self) -> dict[str, Any]:
        return {
            **machine(),
            "spark": version("pyspark"),
            "load_before": self.load,
            "sizes": self.sizes,
            "experiments": [outcome.as_dict() for outcome in self.outcomes.values()],
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "problems": self.problems,
        }


def run(
    chosen: Iterable[str],
    *,
    sizes: Sizes = FULL,
    progress: Callable[[str], None] = lambda text: None,
    finished: Callable[[Report, Outcome], None] = lambda report, outcome: None,
) -> Report:
    """`finished` is told of each outcome: who stops the rest keeps what there is."""
    report = Report(sizes.name)
    for name in chosen:
        progress(name)
        outcome = _run_one(name, sizes)
        if isinstance(outcome, str):
            report.failures.append(outcome)
        else:
            report.outcomes[name] = outcome
            finished(report, outcome)
    return report


def _run_one(name: str, sizes: Sizes) -> Outcome | str:
    """The outcome, or for people why there is none."""
    found = run_in_process("benchmarks.spark.child", name, sizes.name, seconds=_TIME_LIMIT)
    return found if isinstance(found, str) else Outcome.of(found)
