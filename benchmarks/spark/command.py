"""`python -m benchmarks spark` measures the Spark engine, `python -m benchmarks spark rounds --quick` a part on small data.

Exits with 1 when a number of answers is wrong or an experiment fails. A missed target is shown, and no more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.experiments import parsed
from benchmarks.spark.experiments import EXPERIMENTS
from benchmarks.spark.record import Outcome
from benchmarks.spark.sizes import FULL, QUICK
from benchmarks.spark.suite import Report, run
from benchmarks.table import targets_table

_LEAST_WIDTH = 120  # of the tables; a narrower terminal breaks their lines


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed("spark", "Measure the Spark engine.", EXPERIMENTS, arguments)
    if options.list:
        return 0
    console = Console()
    console.width = max(console.width, _LEAST_WIDTH)

    def finished(report: Report, outcome: Outcome) -> None:
        console.print(figures_table(outcome), "", sep="\n")
        write(report)

    def write(report: Report) -> None:
        if options.json is not None:
            options.json.write_text(json.dumps(report.as_dict(), indent=2) + "\n", encoding="utf-8")

    with console.status("") as status:
        sizes = QUICK if options.quick else FULL
        report = run(options.chosen, sizes=sizes, progress=status.update, finished=finished)
    print_verdicts(report, console)
    write(report)
    return 1 if report.problems else 0


def print_verdicts(report: Report, console: Console) -> None:
    if report.verdicts:
        console.print(targets_table(report.verdicts))
    console.print(f"load of the machine before: {report.load:.1f}", style="dim", highlight=False)
    for problem in report.problems:
        console.print(f"WRONG  {problem}", style="bold red", highlight=False)


def figures_table(outcome: Outcome) -> Table:
    """The figures of one experiment; a case is named in its first line."""
    table = Table(
        title=f"{outcome.experiment} ({outcome.sizes})", title_justify="left", show_edge=False, pad_edge=False
    )
    table.add_column("", no_wrap=True)
    table.add_column("")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    before = None
    for figure in outcome.figures:
        is_whole = figure.unit == "MB" or (not figure.unit and figure.value >= 100)
        value = f"{figure.value:,.0f}" if is_whole else f"{figure.value:,.2f}"
        table.add_row(figure.case if figure.case != before else "", figure.what, value, figure.unit)
        before = figure.case
    return table
