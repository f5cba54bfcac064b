"""A report as tables in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks.sheet import Sheet, as_table
from benchmarks.suite import Report
from benchmarks.targets import Verdict
from benchmarks.throughput import Result
from benchmarks.workload_sheets import published, warm, whole_processes


def print_report(report: Report, console: Console) -> None:
    if report.measurements:
        for sheet in (warm(report), published(report), whole_processes(report)):
            console.print(as_table(sheet), "", sep="\n")
    if report.peer_versions:
        versions = ", ".join(f"{name}: {text}" for name, text in report.peer_versions.items())
        console.print(versions, style="dim", highlight=False)
    if report.language:
        console.print("", as_table(_language(report.language)), sep="\n")
    if report.verdicts:
        console.print("", targets_table(report.verdicts), sep="\n")
    for problem in report.problems:
        console.print(f"WRONG  {problem}", style="bold red", highlight=False)


def _language(results: list[Result]) -> Sheet:
    rows = [
        [
            result.task,
            f"{result.items:,} {result.unit}",
            f"{result.seconds:.2f}",
            f"{result.per_second:,.0f}",
            f"{result.peak_megabytes:,.0f}",
        ]
        for result in results
    ]
    return Sheet("Reading", ("language", "items", "seconds", "per second", "peak MB"), rows)


def targets_table(verdicts: list[Verdict]) -> Table:
    """Every target with what was reached."""
    table = Table("target", "", show_edge=False, pad_edge=False)
    for column in ("is", "to reach", ""):
        table.add_column(column, justify="right")
    for verdict in verdicts:
        sign = "≤" if verdict.less_is_better else "≥"
        result = "PASS" if verdict.met else "MISS"
        style = None if verdict.met else "bold red"
        target = f"{sign} {verdict.target:,.2f}"
        table.add_row(verdict.workload, verdict.what, f"{verdict.value:,.2f}", target, result, style=style)
    return table
