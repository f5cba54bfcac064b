"""Reports as results in the documentation: `python -m benchmarks.streams.markdown docs/benchmarks/streams.md report.json …`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.sheet import as_markdown, write_results
from benchmarks.streams.command import Report
from benchmarks.streams.record import Outcome
from benchmarks.streams.sheets import sheets
from benchmarks.targets import summary

RESULTS = "streams"


def report_of(documents: Iterable[Mapping[str, Any]]) -> Report:
    """One report of several; a later one replaces experiments of an earlier one."""
    report = Report()
    for document in documents:
        report.outcomes |= {one["experiment"]: Outcome.of(one) for one in document["experiments"]}
    return report


def section(report: Report) -> str:
    return "\n\n".join([*(as_markdown(sheet) for sheet in sheets(report.outcomes)), summary(report.verdicts)])


def main(document: str, *reports: str) -> None:
    found = section(report_of(json.loads(Path(one).read_text(encoding="utf-8")) for one in reports))
    write_results(Path(document), RESULTS, found)


if __name__ == "__main__":
    main(*sys.argv[1:])
