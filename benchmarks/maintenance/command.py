"""`python -m benchmarks maintenance` measures changes, with 'rule-set-*' some of them, with --quick on small data.

Exits with 1 when a state is not what it must be or an experiment fails. A missed target is shown, and no more.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.experiments import UnknownName
from benchmarks.maintenance.experiments import EXPERIMENTS
from benchmarks.maintenance.pictures import charts
from benchmarks.maintenance.sheets import sheets
from benchmarks.maintenance.sizes import FULL, QUICK
from benchmarks.maintenance.suite import Report, run, select
from benchmarks.maintenance.svg import write_charts
from benchmarks.sheet import Sheet, as_markdown, as_table, write_results
from benchmarks.table import targets_table
from benchmarks.targets import summary
from corollary.settings import STRATEGIES

RESULTS = "changes"  # in the documentation
_LEAST_WIDTH = 200  # of the tables; a narrower terminal breaks their lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks maintenance", description="Measure changes.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="names or patterns; none: all")
    parser.add_argument("--quick", action="store_true", help="small data and few runs, without targets")
    parser.add_argument("--strategy", default="auto", choices=STRATEGIES, help="how recursive rules follow changes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here as well")
    parser.add_argument("--svg", type=Path, metavar="DIRECTORY", help="draw the figures into this folder")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the results into this document")
    parser.add_argument(
        "--from", type=Path, nargs="+", metavar="FILE", dest="read", help="show these reports, run none"
    )
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(EXPERIMENTS))
        return 0
    try:
        chosen = select(options.names)
    except UnknownName as error:
        parser.error(str(error))
    console = Console()
    console.width = max(console.width, _LEAST_WIDTH)
    if options.read:
        report = Report.of(json.loads(file.read_text(encoding="utf-8")) for file in options.read)
    else:
        with console.status("") as status:
            sizes = QUICK if options.quick else FULL
            report = run(chosen, sizes=sizes, strategy=options.strategy, progress=status.update)
    print_report(report, console)
    if options.json is not None:
        options.json.write_text(json.dumps(report.as_dict(), indent=2) + "\n", encoding="utf-8")
    if options.svg is not None:
        write_charts(charts(report.outcomes), options.svg)
    if options.markdown is not None:
        write_results(options.markdown, RESULTS, section(report))
    return 1 if report.problems else 0


def print_report(report: Report, console: Console) -> None:
    for sheet in [*sheets(report.outcomes), _slowest(report)]:
        console.print(as_table(sheet), "", sep="\n")
    if report.verdicts:
        console.print(targets_table(report.verdicts))
    checked = sum(outcome.states_checked for outcome in report.outcomes.values())
    console.print(f"{checked:,} states were compared with deriving them from scratch", style="dim", highlight=False)
    for problem in report.problems:
        console.print(f"WRONG  {problem}", style="bold red", highlight=False)


def section(report: Report) -> str:
    """All tables, what was missed, and what was checked, as markdown."""
    checked = sum(outcome.states_checked for outcome in report.outcomes.values())
    judged = f"{checked:,} states were compared with deriving them from scratch. {summary(report.verdicts)}"
    tables = [as_markdown(sheet) for sheet in sheets(report.outcomes)]
    return "\n\n".join([*tables, "## Targets of changes", judged])


def _slowest(report: Report, most: int = 12) -> Sheet:
    """The changes that took longest, and the hyper-node of each that did: where to look first."""
    timings = [timing for outcome in report.outcomes.values() for timing in outcome.timings]
    timings.sort(key=lambda timing: -timing.seconds)
    rows = [
        [
            f"{timing.experiment} ({timing.size:,}): {timing.change}",
            f"{timing.changed:,}",
            f"{timing.seconds * 1000:,.1f}",
            f"{timing.cpu * 1000:,.1f}",
            f"{timing.scratch * 1000:,.1f}",
            f"{timing.scratch_cpu * 1000:,.1f}",
            timing.slowest,
        ]
        for timing in timings[:most]
    ]
    return Sheet("The slowest changes", ("", "changed facts", "ms", "cpu", "from scratch", "cpu", "most of it"), rows)
