"""`python -m benchmarks streams` measures streams of updates, with 'trans*' some of them, with --quick on small data.

Exits with 1 when a state or a count is not what it must be, or an experiment fails. A missed target is shown, and no more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from benchmarks.experiments import machine, parsed, run_in_process
from benchmarks.maintenance.render import as_table
from benchmarks.streams.experiments import EXPERIMENTS, FULL, QUICK, Sizes
from benchmarks.streams.record import Outcome
from benchmarks.streams.sheets import sheets
from benchmarks.streams.targets import problems, verdicts
from benchmarks.table import targets_table
from benchmarks.targets import Verdict

_LEAST_WIDTH = 140  # of the tables; a narrower terminal breaks their lines
_TIME_LIMIT = 3600.0


@dataclass
class Report:
    """The outcomes by experiment; `failures` are experiments without one."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        wrong = [[*outcome.problems, *problems(outcome)] for outcome in self.outcomes.values()]
        return [*self.failures, *(problem for one in wrong for problem in one)]

    @property
    def verdicts(self) -> list[Verdict]:
        return verdicts(self.outcomes.values())

    def as_dict(self) -> dict[str, Any]:
        return {
            **machine(),
            "experiments": [outcome.as_dict() for outcome in self.outcomes.values()],
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "problems": self.problems,
        }


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed("streams", "Measure streams of updates.", EXPERIMENTS, arguments)
    if options.list:
        return 0
    console = Console()
    console.width = max(console.width, _LEAST_WIDTH)
    with console.status("") as status:
        report = run(options.chosen, QUICK if options.quick else FULL, status.update)
    print_report(report, console)
    if options.json is not None:
        options.json.write_text(json.dumps(report.as_dict(), indent=2) + "\n", encoding="utf-8")
    return 1 if report.problems else 0


def run(chosen: Iterable[str], sizes: Sizes, progress: Callable[[str], None] = lambda text: None) -> Report:
    report = Report()
    for name in chosen:
        progress(name)
        found = run_in_process("benchmarks.streams.child", name, sizes.name, seconds=_TIME_LIMIT)
        if isinstance(found, str):
            report.failures.append(found)
        else:
            report.outcomes[name] = Outcome.of(found)
    return report


def print_report(report: Report, console: Console) -> None:
    for sheet in sheets(report.outcomes):
        console.print(as_table(sheet), "", sep="\n")
    if report.verdicts:
        console.print(targets_table(report.verdicts))
    for problem in report.problems:
        console.print(f"WRONG  {problem}", style="bold red", highlight=False)
