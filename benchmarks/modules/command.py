"""`python -m benchmarks modules` measures what modules save (paper 002, Tables 1 and 2), on all benchmarks or those named.

Exits with 1 when algorithms disagree on a number of facts or a trial fails.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.experiments import UnknownName, chosen_of, machine, run_in_process
from benchmarks.maintenance.published import TABLE_1, TABLE_2
from benchmarks.modules.programs import BENCHMARKS, text_of
from benchmarks.modules.trial import ALGORITHMS, CHANGES, COUNTING, DERIVE, MAT, MAT_MOD, MODULAR, Cost, Trial
from benchmarks.sheet import Sheet, as_markdown, as_table, write_results
from corollary import KnowledgeBase

RESULTS = "modules"  # in the documentation
_OPERATIONS = 10  # at most so many of a trial may take as long as the limit
_START = 300.0  # seconds: kernels are compiled, data are made
_LEAST_WIDTH = 200  # of the tables; a narrower terminal breaks their lines

Trials = dict[tuple[str, str], Trial]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks modules", description="Measure what modules save.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="names or patterns; none: all")
    parser.add_argument("--scale", type=float, default=1.0, help="of the data; with 10, dag-r is that of the paper")
    parser.add_argument("--sets", type=int, default=3, help="how many random sets of facts go and come back")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that an operation may take")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here as well")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the results into this document")
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(BENCHMARKS))
        return 0
    try:
        chosen = chosen_of(BENCHMARKS, options.names, "benchmark")
    except UnknownName as error:
        parser.error(str(error))
    console = Console()
    console.width = max(console.width, _LEAST_WIDTH)
    load = os.getloadavg()[0]
    trials, problems = _run(chosen, options, console)
    problems += _disagreements(trials)
    found = sheets(trials, options.limit)
    for sheet in found:
        console.print(as_table(sheet), "", sep="\n")
    console.print(f"load of the machine before: {load:.1f}", style="dim", highlight=False)
    for problem in problems:
        console.print(f"WRONG  {problem}", style="bold red", highlight=False)
    if options.json is not None:
        report: dict[str, Any] = {**machine(), "load_before": load, "scale": options.scale, "limit": options.limit}
        report |= {"trials": [trial.as_dict() for trial in trials.values()], "problems": problems}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if options.markdown is not None:
        write_results(options.markdown, RESULTS, "\n\n".join(map(as_markdown, found)))
    return 1 if problems else 0


def _run(chosen: Sequence[str], options: argparse.Namespace, console: Console) -> tuple[Trials, list[str]]:
    trials: Trials = {}
    problems = []
    sizes = [str(options.scale), str(options.sets), str(options.limit)]
    with console.status("") as status:
        for name in chosen:
            for algorithm in ALGORITHMS:
                status.update(f"{name}: {algorithm}")
                seconds = _START + _OPERATIONS * options.limit
                found = run_in_process("benchmarks.modules.child", name, algorithm, *sizes, seconds=seconds)
                if isinstance(found, str):
                    problems.append(f"{algorithm}: {found}")
                else:
                    trials[name, algorithm] = Trial.of(found)
    return trials, problems


def _disagreements(trials: Trials) -> list[str]:
    found = []
    for name in dict.fromkeys(name for name, _ in trials):
        for operation in (DERIVE, *CHANGES):
            facts = {
                algorithm: trial.costs[operation].facts
                for (benchmark, algorithm), trial in trials.items()
                if benchmark == name and operation in trial.costs
            }
            if len(set(facts.values())) > 1:
                found.append(f"{name}, {operation}: {facts}")
    return found


# -- tables ------------------------------------------------------------------------------------------------------------


def sheets(trials: Trials, limit: float) -> list[Sheet]:
    names = [name for name in BENCHMARKS if any(one == name for one, _ in trials)]
    return [_table_1(trials, names, limit), *(_table_2(trials, names, limit, place) for place in range(len(CHANGES)))]


def _table_1(trials: Trials, names: Sequence[str], limit: float) -> Sheet:
    columns = ["benchmark", "E", "I", "rules", "TC", "STC"]
    for algorithm in (MAT_MOD, MAT):
        columns += [f"{algorithm}: seconds", "instances", "paper"]
    published = {row.name: row for row in TABLE_1}
    rows = []
    for name in names:
        paper = published[BENCHMARKS[name].published]
        known = next(trial for (one, _), trial in trials.items() if one == name)
        facts = next((trial.costs[DERIVE].facts for trial in _of(trials, name) if DERIVE in trial.costs), None)
        derived = "" if facts is None else f"{facts - known.explicit:,}"
        row = [name, f"{known.explicit:,}", derived, *_shape(name)]
        row += [*_cells(trials, name, MAT_MOD, DERIVE, limit), f"{paper.mat_mod:,.2f}"]
        rows.append([*row, *_cells(trials, name, MAT, DERIVE, limit), f"{paper.mat:,.2f}"])
    return Sheet("Paper 002, Table 1: materialisation", columns, rows, _paper_note(names))


def _table_2(trials: Trials, names: Sequence[str], limit: float, place: int) -> Sheet:
    operation, rows = CHANGES[place], []
    for name in names:
        modular, counting = TABLE_2[BENCHMARKS[name].published][2 * place : 2 * place + 2]
        row = [name, *_cells(trials, name, MODULAR, operation, limit), f"{modular:,.2f}"]
        rows.append([*row, *_cells(trials, name, COUNTING, operation, limit), f"{counting:,.2f}"])
    columns = ["benchmark", f"{MODULAR}: seconds", "instances", "paper", f"{COUNTING}: seconds", "instances", "paper"]
    return Sheet(f"Paper 002, Table 2: {operation}", columns, rows)


def _of(trials: Trials, name: str) -> list[Trial]:
    return [trial for (one, _), trial in trials.items() if one == name]


def _shape(name: str) -> list[str]:
    """The numbers of rules and of modules for closures."""
    analysis = KnowledgeBase(text_of(name)).analysis
    modules = [one for names in analysis.modules for one in names.split("+")]
    return [str(len(analysis.rules)), str(modules.count("transitive")), str(modules.count("symmetric-transitive"))]


def _cells(trials: Trials, name: str, algorithm: str, operation: str, limit: float) -> list[str]:
    trial = trials.get((name, algorithm))
    cost: Cost | None = trial.costs.get(operation) if trial else None
    if cost is not None:
        return [f"{cost.seconds:#,.3g}" if cost.seconds < 1 else f"{cost.seconds:,.2f}", f"{cost.instances:,}"]
    return ["failed" if trial is None else f"> {limit:g}", ""]


def _paper_note(names: Sequence[str]) -> str:
    beside = ", ".join(f"{name} beside {BENCHMARKS[name].published}" for name in names if name != "dag-r")
    data = f" Our data are built like those of the paper, and smaller: {beside}." if beside else ""
    return f"Closures on components and rows of bits try no rule instance.{data}"
