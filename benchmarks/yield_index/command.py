"""`python -m benchmarks yield` measures the Yield index, with 'acc*' some of it, with --quick on small data.

Exits with 1 when results are not what they must be, or an experiment fails. A missed target is shown, and no more. With
`--pictures DIRECTORY` the figures of the paper are drawn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.experiments import machine, parsed, run_in_process
from benchmarks.maintenance.render import as_table
from benchmarks.maintenance.svg import write_charts
from benchmarks.table import targets_table
from benchmarks.targets import Verdict
from benchmarks.yield_index.experiments import EXPERIMENTS, FULL, QUICK, Sizes
from benchmarks.yield_index.pictures import charts
from benchmarks.yield_index.record import Outcome
from benchmarks.yield_index.sheets import sheets
from benchmarks.yield_index.targets import verdicts

_LEAST_WIDTH = 140  # of the tables; a narrower terminal breaks their lines
_TIME_LIMIT = 3600.0
_PICTURES = "--pictures"


@dataclass
class Report:
    """The outcomes by experiment; `failures` are experiments without one."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        return [*self.failures, *(problem for one in self.outcomes.values() for problem in one.problems)]

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
    rest, directory = _without_pictures(list(arguments or ()))
    options = parsed("yield", "Measure the Yield index.", EXPERIMENTS, rest)
    if options.list:
        return 0
    console = Console()
    console.width = max(console.width, _LEAST_WIDTH)
    with console.status("") as status:
        report = run(options.chosen, QUICK if options.quick else FULL, status.update)
    print_report(report, console)
    if directory is not None:
        write_charts(charts(report.outcomes), directory)
    if options.json is not None:
        options.json.write_text(json.dumps(report.as_dict(), indent=2) + "\n", encoding="utf-8")
    return 1 if report.problems else 0


def _without_pictures(arguments: list[str]) -> tuple[list[str], Path | None]:
    """The other options are those of every kind of benchmark."""
    if _PICTURES not in arguments[:-1]:
        return arguments, None
    at = arguments.index(_PICTURES)
    return arguments[:at] + arguments[at + 2 :], Path(arguments[at + 1])


def run(chosen: Iterable[str], sizes: Sizes, progress: Callable[[str], None] = lambda text: None) -> Report:
    report = Report()
    for name in chosen:
        progress(name)
        found = run_in_process("benchmarks.yield_index.child", name, sizes.name, seconds=_TIME_LIMIT)
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
