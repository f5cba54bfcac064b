"""`python -m benchmarks` runs every suite, `python -m benchmarks language` one of them.

Exits with 1 when a workload misses its target.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import WORKLOADS, Result, Workload, measure

SUITES = ("language",)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the benchmarks.")
    parser.add_argument(
        "suites", nargs="*", metavar="SUITE", help=f"one of: {', '.join(SUITES)}; without one, all of them"
    )
    parser.add_argument("--list", action="store_true", help="list the workloads and stop")
    parser.add_argument("--only", metavar="TEXT", default="", help="only workloads with this text in their name")
    parser.add_argument("--runs", type=int, default=3, help="runs per workload, of which the fastest counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here as well")
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"there is no suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    for suite in options.suites or SUITES:
        import_module(f"benchmarks.{suite}")
    chosen = [one for one in WORKLOADS if options.only in one.name]
    if options.list:
        print("\n".join(f"{one.suite}: {one.name}" for one in chosen))
        return
    results = _run(chosen, options.runs)
    if options.json:
        options.json.write_text(json.dumps(_report(results), indent=2) + "\n", encoding="utf-8")
    sys.exit(0 if all(result.reached for result in results) else 1)


def _run(workloads: list[Workload], runs: int) -> list[Result]:
    console = Console()
    results: list[Result] = []
    for suite in dict.fromkeys(one.suite for one in workloads):
        table = _table(suite)
        with console.status(suite) as status:
            for one in (one for one in workloads if one.suite == suite):
                status.update(f"{suite}: {one.name}")
                results.append(measure(one, runs=runs))
                _add_row(table, results[-1])
        console.print(table)
    return results


def _table(suite: str) -> Table:
    table = Table(suite, show_edge=False, pad_edge=False)
    for column in ("items", "seconds", "per second", "target", "peak MB"):
        table.add_column(column, justify="right")
    return table


def _add_row(table: Table, result: Result) -> None:
    table.add_row(
        result.workload,
        f"{result.items:,} {result.unit}",
        f"{result.seconds:.2f}",
        f"{result.per_second:,.0f}",
        "" if result.target is None else f"{result.target:,.0f}",
        f"{result.peak_megabytes:,.0f}",
        style=None if result.reached else "red",
    )
    if not result.reached:
        table.add_row("  (missed its target)", style="red")


def _report(results: list[Result]) -> dict[str, object]:
    machine = {"python": platform.python_version(), "system": platform.system(), "machine": platform.machine()}
    return {**machine, "results": [result.as_dict() for result in results]}


if __name__ == "__main__":
    main()
