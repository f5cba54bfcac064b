"""Choosing experiments by name, running each in a process of its own, and the report of it all."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.metadata import version
from typing import Any

from benchmarks.runner import ROOT
from benchmarks.spark.experiments import EXPERIMENTS
from benchmarks.spark.record import Outcome
from benchmarks.spark.sizes import FULL, Sizes
from benchmarks.suite import UnknownName
from benchmarks.targets import Verdict
from corollary.machine import memory_megabytes, usable_cores

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
            "python": platform.python_version(),
            "spark": version("pyspark"),
            "system": platform.system(),
            "machine": platform.machine(),
            "cores": usable_cores(),
            "memory_mb": memory_megabytes(),
            "load_before": self.load,
            "sizes": self.sizes,
            "experiments": [outcome.as_dict() for outcome in self.outcomes.values()],
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "problems": self.problems,
        }


def select(wanted: Sequence[str]) -> list[str]:
    """The experiments that fit names or patterns; without any, all."""
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in EXPERIMENTS):
            raise UnknownName(f"there is no experiment '{pattern}'; there are {', '.join(EXPERIMENTS)}")
    return [name for name in EXPERIMENTS if not wanted or any(fnmatchcase(name, pattern) for pattern in wanted)]


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
    command = [sys.executable, "-m", "benchmarks.spark.child", name, sizes.name]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return f"{name} took longer than {_TIME_LIMIT:g} s"
    if done.returncode:
        last_lines = "\n".join(done.stderr.strip().splitlines()[-15:])
        return f"{name} ended with {done.returncode}:\n{last_lines}"
    return Outcome.of(json.loads(done.stdout.splitlines()[-1]))
