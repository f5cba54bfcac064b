"""`python -m benchmarks language` runs the experiments of paper 001, with `'join1-*'` some of them, with --quick on small data.

Exits with 1 when a number of answers is wrong or an experiment fails. A missed target is shown, and no more.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console

from benchmarks.experiments import machine, parsed, run_in_process
from benchmarks.language.experiments import EXPERIMENTS, Asked, Outcome
from benchmarks.sheet import Sheet, as_table
from benchmarks.table import targets_table

_TIME_LIMIT = 1800.0
_TITLES = {
    "join1-data0": "Join1, data0: five relations of 10,000 rows (paper 001, Tables 3 to 5)",
    "join1-data1": "Join1, data1: five relations of 50,000 rows (Tables 3 to 5)",
    "join1-data2": "Join1, data2: five relations of 250,000 rows (which the paper left out)",
    "join2": "Join2 (Table 6)",
    "listing2": "Paths by built-ins (Listing 2, Table 7)",
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed("language", "Run the experiments of paper 001.", EXPERIMENTS, arguments)
    if options.list:
        return 0
    console = Console()
    outcomes, problems = [], []
    with console.status("") as status:
        for name in options.chosen:
            status.update(name)
            sizes = "quick" if options.quick else "full"
            found = run_in_process("benchmarks.language.child", name, sizes, seconds=_TIME_LIMIT)
            if isinstance(found, str):
                problems.append(found)
            else:
                outcomes.append(Outcome.of(found))
                problems += outcomes[-1].problems
                console.print(as_table(sheet(outcomes[-1])), "", sep="\n")
    verdicts = [verdict for outcome in outcomes for verdict in outcome.verdicts]
    if verdicts:
        console.print(targets_table(verdicts))
    for problem in problems:
        console.print(f"WRONG  {problem}", style="bold red", highlight=False)
    if options.json is not None:
        report = {**machine(), "experiments": [asdict(outcome) for outcome in outcomes]}
        report |= {"verdicts": [verdict.as_dict() for verdict in verdicts], "problems": problems}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 1 if problems else 0


def sheet(outcome: Outcome) -> Sheet:
    """Our times beside the published ones."""
    columns = ("", "answers", "IRIS-RDB s", "IRIS s", "here ms", "times IRIS-RDB")
    note = f"loaded in {outcome.load_seconds:.2f} s" if outcome.load_seconds else ""
    return Sheet(_TITLES[outcome.experiment], columns, [_row(one) for one in outcome.asked], note)


def _row(one: Asked) -> list[str]:
    published = one.rdb is not None
    times = f"{one.rdb / one.seconds:,.0f}" if one.rdb is not None else ""
    iris = f"{one.iris:,.3f}" if one.iris is not None else "out of memory" if published else ""
    rdb = f"{one.rdb:,.3f}" if one.rdb is not None else ""
    return [one.case, f"{one.answers:,}", rdb, iris, f"{one.seconds * 1000:,.2f}", times]
