"""`python -m benchmarks compare OTHER` measures another checkout and this one in turn, and compares every time of both.

OTHER is the root folder of a checkout, such as a worktree of an earlier commit; it runs with this Python and its own sources.
Each kind of benchmark runs in both, one after the other, `--runs` times, and the fastest run of each figure counts. What only
one of the two measures is left out, and so are times too short to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

WORKLOADS = "workloads"
KINDS = (WORKLOADS, "maintenance", "streams", "store", "spark")
SLOWER = 1.1
_LEAST_SECONDS = 0.002
_NAMES = ("experiment", "workload", "engine", "case", "operation", "subject", "size", "strategy", "what")
# Not `process`: whole processes have come to write their rows, which earlier checkouts did not.
_TIMES = ("wall", "rows", "seconds", "scratch", "plain", "p50", "p99", "median")
_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}

Times = dict[str, float]
"""Seconds by what was measured."""


@dataclass(frozen=True)
class Compared:
    """One figure of both checkouts, in seconds."""

    name: str
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """Above 1 where this checkout is slower."""
        return self.after / self.before


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description="Compare two checkouts.")
    parser.add_argument("other", type=Path, help="the root folder of the other checkout")
    parser.add_argument("kinds", nargs="*", default=KINDS, metavar="KIND", help=f"of {', '.join(KINDS)}; none: all")
    parser.add_argument("--names", nargs="*", default=(), metavar="NAME", help="names or patterns of each kind")
    parser.add_argument("--quick", action="store_true", help="small data; workloads have one size")
    parser.add_argument("--runs", type=int, default=2, help="how often both run; the fastest counts (default 2)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the comparison here as well")
    options = parser.parse_args(arguments)
    if unknown := sorted({*options.kinds}.difference(KINDS)):
        parser.error(f"there is no kind {unknown[0]}; there are {', '.join(KINDS)}")
    if not (options.other / "benchmarks" / "__main__.py").is_file():
        parser.error(f"{options.other} is no checkout with benchmarks")
    console = Console()
    found: dict[str, list[Compared]] = {}
    for kind in options.kinds:
        with console.status(kind):
            found[kind] = compare(kind, options.other.resolve(), options.names, options.quick, options.runs)
        console.print(table_of(kind, found[kind]))
    summary = markdown(found)
    print(summary)
    if options.markdown is not None:
        options.markdown.write_text(summary, encoding="utf-8")
    return 0


def compare(kind: str, other: Path, names: Sequence[str], quick: bool, runs: int) -> list[Compared]:
    """Return the figures that both checkouts measured, each the fastest of its runs."""
    here = Path(__file__).parents[1]
    before: Times = {}
    after: Times = {}
    for _ in range(runs):
        for root, times in ((other, before), (here, after)):
            for name, seconds in run(kind, root, names, quick).items():
                times[name] = min(seconds, times.get(name, seconds))
    return [
        Compared(name, before[name], after[name])
        for name in sorted(before.keys() & after.keys())
        if min(before[name], after[name]) >= _LEAST_SECONDS
    ]


def run(kind: str, root: Path, names: Sequence[str], quick: bool) -> Times:
    """Run the benchmarks of one kind in a checkout, and return its times."""
    with TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        command = [sys.executable, "-m", "benchmarks", *([] if kind == WORKLOADS else [kind]), *names]
        command += ["--json", str(report), *(["--runs", "1"] if kind == WORKLOADS else ["--quick"] if quick else [])]
        environment = os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
        if not report.exists():
            raise RuntimeError(f"{' '.join(command)} in {root} wrote no report:\n{done.stderr[-2000:]}")
        return dict(times_in(json.loads(report.read_text(encoding="utf-8"))))


def times_in(document: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[str, float]]:
    """Yield every time in a report with its name, in seconds: reports of all kinds are records in records."""
    if isinstance(document, Mapping):
        names += tuple(str(document[name]) for name in _NAMES if isinstance(document.get(name), str | int))
        unit = _UNITS.get(str(document.get("unit")))
        if unit is not None and "value" in document:
            yield " ".join(dict.fromkeys(names)), document["value"] * unit
        for name, value in document.items():
            if name in _TIMES and isinstance(value, float):
                yield " ".join(dict.fromkeys((*names, name))), value
            elif name not in ("verdicts", "peers", "published", "steps"):
                yield from times_in(value, names)
    elif isinstance(document, list):
        for item in document:
            yield from times_in(item, names)


def mean_ratio(found: Sequence[Compared]) -> float:
    """Return the geometric mean of how many times as long this checkout takes."""
    return exp(sum(log(one.ratio) for one in found) / len(found)) if found else 1.0


def table_of(kind: str, found: Sequence[Compared]) -> Table:
    table = Table("figure", "other, s", "this, s", "ratio", title=f"{kind}: this checkout beside the other one")
    for one in sorted(found, key=lambda one: -one.ratio):
        style = "red" if one.ratio > SLOWER else None
        table.add_row(one.name, f"{one.before:.4g}", f"{one.after:.4g}", f"{one.ratio:.2f}", style=style)
    return table


def markdown(found: Mapping[str, Sequence[Compared]]) -> str:
    """Return the comparison in short: a row for each kind, and the figures that are slower."""
    lines = ["| kind | figures | geometric mean | slower than 1.1 times |", "| --- | ---: | ---: | --- |"]
    for kind, figures in found.items():
        slower = [f"{one.name} {one.ratio:.2f}" for one in figures if one.ratio > SLOWER]
        lines.append(f"| {kind} | {len(figures)} | {mean_ratio(figures):.2f} | {'; '.join(slower) or 'none'} |")
    return "\n".join(lines) + "\n"
