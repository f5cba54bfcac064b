"""The command of a kind of experiments that give figures: each runs in a process of its own, figures and verdicts are printed.

It ends with 1 when a number of answers is wrong or an experiment fails. A missed target is shown, and no more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence

from rich.console import Console

from benchmarks.experiments import machine, parsed, run_in_process
from benchmarks.spark.command import figures_table
from benchmarks.spark.record import Outcome
from benchmarks.table import targets_table

_TIME_LIMIT = 3600.0


def measure(
    kind: str, description: str, experiments: Collection[str], sizes: Collection[str], arguments: Sequence[str] | None
) -> int:
    """Runs `benchmarks.KIND.child` for each chosen experiment; one of the two sizes is "quick"."""
    options = parsed(kind, description, experiments, arguments)
    if options.list:
        return 0
    size = next(name for name in sizes if (name == "quick") == options.quick)
    console = Console()
    load = os.getloadavg()[0]
    outcomes, problems = [], []
    with console.status("") as status:
        for name in options.chosen:
            status.update(name)
            found = run_in_process(f"benchmarks.{kind}.child", name, size, seconds=_TIME_LIMIT)
            if isinstance(found, str):
                problems.append(found)
            else:
                outcomes.append(Outcome.of(found))
                problems += outcomes[-1].problems
                console.print(figures_table(outcomes[-1]), "", sep="\n")
    verdicts = [verdict for outcome in outcomes for verdict in outcome.verdicts]
    if verdicts:
        console.print(targets_table(verdicts))
    console.print(f"load of the machine before: {load:.1f}", style="dim", highlight=False)
    for problem in problems:
        console.print(f"WRONG  {problem}", style="bold red", highlight=False)
    if options.json is not None:
        report = {**machine(), "load_before": load, "experiments": [outcome.as_dict() for outcome in outcomes]}
        report |= {"verdicts": [verdict.as_dict() for verdict in verdicts], "problems": problems}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 1 if problems else 0
