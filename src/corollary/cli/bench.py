"""`corollary bench`: run the benchmarks, which are in the repository beside the package."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names or patterns such as 'tc-*' (default: all but the large ones); or `maintenance` or `spark`."
        ),
    ] = None,
    engine: Annotated[str, typer.Option(help="The engine to measure.")] = "embedded",
    peers: Annotated[bool, typer.Option("--peers", help="Also run other engines from PyPI on the same data.")] = False,
    json: Annotated[Path | None, typer.Option(help="Also write the results to this file.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs per workload; the fastest counts.")] = 3,
    show: Annotated[bool, typer.Option("--list", help="List the names and exit.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="With `maintenance` or `spark`: small data, few runs.")
    ] = False,
    svg: Annotated[Path | None, typer.Option(help="With `maintenance`: draw the figures into this folder.")] = None,
) -> None:
    """Run benchmarks, check their numbers of answers, and compare with other engines.

    The benchmarks are in the repository, not in the installed package: run this in the root folder of a checkout.
    """
    here = Path.cwd()
    if not (here / "benchmarks" / "workloads.py").is_file():
        typer.echo("There are no benchmarks here. They are in Corollary's repository, not in the package:", err=True)
        typer.echo("run `corollary bench` in the root folder of a checkout, the one that holds `benchmarks`.", err=True)
        raise typer.Exit(2)
    sys.path.insert(0, str(here))
    arguments = [*(names or ())]
    if not arguments or arguments[0] not in ("maintenance", "spark"):
        arguments += ["--engine", engine, "--runs", str(runs), *(["--peers"] if peers else [])]
    arguments += ["--quick"] if quick else []
    arguments += ["--svg", str(svg)] if svg else []
    arguments += ["--json", str(json)] if json else []
    arguments += ["--list"] if show else []
    raise typer.Exit(import_module("benchmarks.__main__").main(arguments))
