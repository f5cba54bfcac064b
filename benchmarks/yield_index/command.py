"""`python -m benchmarks yield` measures the Yield index, with 'acc*' some of it, with --quick on small data.

Exits with 1 when results are not what they must be, or an experiment fails. A missed target is shown, and no more. With
`--pictures DIRECTORY` the figures of the paper are drawn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.experiments import parsed
from benchmarks.maintenance.svg import write_charts
from benchmarks.sheet import Sheet
from benchmarks.sheets_report import SheetsReport
from benchmarks.targets import Verdict
from benchmarks.yield_index.experiments import EXPERIMENTS, FULL, QUICK
from benchmarks.yield_index.pictures import charts
from benchmarks.yield_index.record import Outcome
from benchmarks.yield_index.sheets import sheets
from benchmarks.yield_index.targets import verdicts

_PICTURES = "--pictures"


class Report(SheetsReport[Outcome]):
    def read(self, document: Mapping[str, Any]) -> Outcome:
        return Outcome.of(document)

    def sheets(self) -> list[Sheet]:
        return sheets(self.outcomes)

    @property
    def verdicts(self) -> list[Verdict]:
        return verdicts(self.outcomes.values())


def main(arguments: Sequence[str] | None = None) -> int:
    rest, directory = _without_pictures(list(arguments or ()))
    options = parsed("yield", "Measure the Yield index.", EXPERIMENTS, rest)
    if options.list:
        return 0
    console, report = Console(), Report()
    with console.status("") as status:
        size = QUICK if options.quick else FULL
        report.run("benchmarks.yield_index.child", options.chosen, size.name, status.update)
    report.print(console)
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
