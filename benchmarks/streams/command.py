"""`python -m benchmarks streams` measures streams of updates, with 'trans*' some of them, with --quick on small data.

Exits with 1 when a state or a count is not what it must be, or an experiment fails. A missed target is shown, and no more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from benchmarks.experiments import parsed
from benchmarks.sheet import Sheet
from benchmarks.sheets_report import SheetsReport
from benchmarks.streams.experiments import EXPERIMENTS, FULL, QUICK
from benchmarks.streams.record import Outcome
from benchmarks.streams.sheets import sheets
from benchmarks.streams.targets import problems, verdicts
from benchmarks.targets import Verdict


class Report(SheetsReport[Outcome]):
    def read(self, document: Mapping[str, Any]) -> Outcome:
        return Outcome.of(document)

    def sheets(self) -> list[Sheet]:
        return sheets(self.outcomes)

    @property
    def verdicts(self) -> list[Verdict]:
        return verdicts(self.outcomes.values())

    def wrong(self, outcome: Outcome) -> list[str]:
        return [*outcome.problems, *problems(outcome)]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed("streams", "Measure streams of updates.", EXPERIMENTS, arguments)
    if options.list:
        return 0
    console, report = Console(), Report()
    with console.status("") as status:
        size = QUICK if options.quick else FULL
        report.run("benchmarks.streams.child", options.chosen, size.name, status.update)
    report.print(console)
    if options.json is not None:
        options.json.write_text(json.dumps(report.as_dict(), indent=2) + "\n", encoding="utf-8")
    return 1 if report.problems else 0
