"""The results of workloads in the documentation: `python -m benchmarks.markdown report.json …` writes them into its pages."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.sheet import as_markdown, write_results
from benchmarks.suite import Report
from benchmarks.whole_process import ROOT
from benchmarks.workload_sheets import published, warm, whole_processes

PAGE, TABLES = ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "benchmarks" / "workloads.md"
WHOLE, WARM = "whole processes", "warm runs"


def main(*reports: str, page: Path = PAGE, tables: Path = TABLES) -> None:
    """Of the same workload the last report counts."""
    report = Report.of(json.loads(Path(name).read_text(encoding="utf-8")) for name in reports)
    write_results(page, WHOLE, as_markdown(whole_processes(report)))
    write_results(tables, WARM, "\n\n".join(map(as_markdown, (warm(report), published(report)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
