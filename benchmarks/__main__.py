"""`python -m benchmarks` runs the benchmarks, `python -m benchmarks 'tc-*' join2` some of them.

`python -m benchmarks compare OTHER` measures another checkout and this one in turn (see `benchmarks.compare`).
`python -m benchmarks cliffs` looks for costs that jump where they should grow slowly (see `benchmarks.cliffs.command`).
`python -m benchmarks maintenance` measures what changes of facts and rules cost (see `benchmarks.maintenance.command`).
`python -m benchmarks modules` measures what modules for closures save (see `benchmarks.modules.command`).
`python -m benchmarks spark` measures the Spark engine (see `benchmarks.spark.command`).
`python -m benchmarks streams` measures streams of updates (see `benchmarks.streams.command`).
`python -m benchmarks store` measures knowledge bases in a directory (see `benchmarks.store.command`).
`python -m benchmarks builtins` measures built-ins on ten million rows (see `benchmarks.builtins.command`).
`python -m benchmarks language` runs the experiments of paper 001 on demand (see `benchmarks.language.command`).
`python -m benchmarks yield` measures the Yield index (see `benchmarks.yield_index.command`).

Exits with 1 when a number of answers is wrong or a workload fails. A missed target is shown, and no more: targets are meant
for one machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console

from benchmarks.experiments import UnknownName
from benchmarks.suite import names, run, select
from benchmarks.table import print_report

KINDS = ("builtins", "cliffs", "language", "maintenance", "modules", "spark", "store", "streams", "yield")
_FOLDERS = {"yield": "yield_index"}  # a word of Python is no name of a package
_LEAST_WIDTH = 200  # of the tables; a narrower terminal breaks their lines


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] == "compare":
        from benchmarks import compare  # which measures by calling this command

        return compare.main(arguments[1:])
    if arguments and arguments[0] in KINDS:
        code: int = import_module(f"benchmarks.{_FOLDERS.get(arguments[0], arguments[0])}.command").main(arguments[1:])
        return code
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="names or patterns; none: all but the large ones")
    parser.add_argument("--engine", default="embedded", help="the engine to measure")
    parser.add_argument("--peers", action="store_true", help="run the engines from PyPI on the same data as well")
    parser.add_argument("--runs", type=int, default=3, help="runs per workload, of which the fastest counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here as well")
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(names()))
        return 0
    try:
        chosen = select(options.names)
    except UnknownName as error:
        parser.error(str(error))
    return run_and_print(chosen, options.engine, options.peers, options.runs, options.json)


def run_and_print(chosen: list[str], engine: str, peers: bool, runs: int, file: Path | None) -> int:
    """Gives the exit code."""
    console = Console()
    console.width = max(console.width, _LEAST_WIDTH)
    with console.status("") as status:
        report = run(chosen, engine=engine, peers=peers, runs=runs, progress=status.update)
    print_report(report, console)
    if file is not None:
        file.write_text(json.dumps(report.as_dict(), indent=2) + "\n", encoding="utf-8")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
