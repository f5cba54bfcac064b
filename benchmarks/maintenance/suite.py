"""Choosing experiments by name, running each in a process of its own, and the report of it all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.experiments import chosen_of, machine, run_in_process
from benchmarks.maintenance.experiments import EXPERIMENTS
from benchmarks.maintenance.record import Outcome
from benchmarks.maintenance.sizes import FULL, Sizes
from benchmarks.maintenance.targets import verdicts
from benchmarks.targets import Verdict

_TIME_LIMIT = 3600.0


@dataclass
class Report:
    """The outcomes by experiment; `failures` are experiments without one."""

    strategy: str = "auto"
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        return [*self.failures, *(problem for outcome in self.outcomes.values() for problem in outcome.problems)]

    @property
    def verdicts(self) -> list[Verdict]:
        return verdicts(self.outcomes.values())

    def as_dict(self) -> dict[str, Any]:
        return {
            **machine(),
            "strategy": self.strategy,
            "experiments": [outcome.as_dict() for outcome in self.outcomes.values()],
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "problems": self.problems,
        }

    @classmethod
    def of(cls, documents: Iterable[Mapping[str, Any]]) -> Report:
        """Reports that were written as JSON, as one: of an experiment that occurs in several, the last one."""
        report = cls()
        for document in documents:
            report.strategy = document["strategy"]
            report.outcomes |= {one["experiment"]: Outcome.of(one) for one in document["experiments"]}
        report.outcomes = {name: report.outcomes[name] for name in EXPERIMENTS if name in report.outcomes}
        return report


def select(wanted: Sequence[str]) -> list[str]:
    """The experiments that fit names or patterns; without any, all."""
    return chosen_of(EXPERIMENTS, wanted)


def run(
    chosen: Iterable[str],
    *,
    sizes: Sizes = FULL,
    strategy: str = "auto",
    progress: Callable[[str], None] = lambda text: None,
) -> Report:
    report = Report(strategy)
    for name in chosen:
        progress(name)
        outcome = _run_one(name, sizes, strategy)
        if isinstance(outcome, str):
            report.failures.append(outcome)
        else:
            report.outcomes[name] = outcome
    return report


def _run_one(name: str, sizes: Sizes, strategy: str) -> Outcome | str:
    """The outcome, or for people why there is none."""
    found = run_in_process("benchmarks.maintenance.child", name, sizes.name, strategy, seconds=_TIME_LIMIT)
    return found if isinstance(found, str) else Outcome.of(found)
