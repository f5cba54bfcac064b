"""The section "Streams" of `docs/benchmarks.md`: `python -m benchmarks.streams.markdown docs/benchmarks.md report.json …`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.maintenance.render import as_markdown
from benchmarks.streams.command import Report
from benchmarks.streams.record import Outcome
from benchmarks.streams.sheets import sheets

BEGIN, END = "<!-- results of streams: begin -->", "<!-- results of streams: end -->"


def report_of(documents: Iterable[Mapping[str, Any]]) -> Report:
    """One report of several; a later one replaces experiments of an earlier one."""
    report = Report()
    for document in documents:
        report.outcomes |= {one["experiment"]: Outcome.of(one) for one in document["experiments"]}
    return report


def section(report: Report) -> str:
    missed = [verdict for verdict in report.verdicts if not verdict.met]
    lines = [
        f"- {verdict.workload}: {verdict.value:,.2f} {verdict.what}, to reach {'≤' if verdict.less_is_better else '≥'} "
        f"{verdict.target:,.2f}"
        for verdict in missed
    ]
    judged = f"{len(report.verdicts) - len(missed)} of {len(report.verdicts)} targets are met."
    tables = [as_markdown(sheet) for sheet in sheets(report.outcomes)]
    return "\n\n".join([*tables, judged + (" Missed:" if lines else ""), *(["\n".join(lines)] if lines else [])])


def main(document: str, *reports: str) -> None:
    """Replaces what stands between the two comments."""
    path = Path(document)
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"{document} has no place for the section: {BEGIN} … {END}")
    found = section(report_of(json.loads(Path(one).read_text(encoding="utf-8")) for one in reports))
    path.write_text(pattern.sub(lambda _: f"{BEGIN}\n\n{found}\n\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
