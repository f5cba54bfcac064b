"""`corollary bench`: run the benchmarks, which live beside the package in its repository."""

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
            help="Names or patterns such as 'tc-*'; none: all but the large ones. `maintenance` or `spark` first: those."
        ),
    ] = None,
    engine: Annotated[str, typer.Option(help="The engine to measure.")] = "embedded",
    peers: Annotated[bool, typer.Option("--peers", help="Run engines from PyPI on the same data as well.")] = False,
    json: Annotated[Path | None, typer.Option(help="Write the results to this file as well.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs per workload, of which the fastest counts.")] = 3,
    show: Annotated[bool, typer.Option("--list", help="List the names and stop.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="With `maintenance` or `spark`: small data, few runs.")
    ] = False,
    svg: Annotated[Path | None, typer.Option(help="With `maintenance`: draw the figures into this folder.")] = None,
) -> None:
    """Run benchmarks, check the numbers of their answers, and compare with other engines.

    The benchmarks are part of the repository and not of the installed package: call this in the root folder of a checkout.
    """
    here = Path.cwd()
    if not (here / "benchmarks" / "workloads.py").is_file():
        typer.echo(
            "There are no benchmarks here. They are part of Corollary's repository, not of the package:", err=True
        )
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
