"""Nemo: the same rules in its notation, between imports and exports of files."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.peers.process import main
from benchmarks.workloads import Workload


def run(workload: Workload, inputs: Path, out: Path) -> None:
    # Its bindings are in the peers' environment alone; the translation below is tested where they are not.
    from nmo_python import NemoEngine, NemoOutputManager, load_string

    engine = NemoEngine(load_string(translated(workload, inputs)))
    engine.reason()
    files = NemoOutputManager(str(out))
    for predicate in workload.derived:
        engine.write_result(predicate, files)


def translated(workload: Workload, inputs: Path) -> str:
    """A variable is `?X`, a negated atom `~p(?X)`; files are named in the program."""
    imports = [_import(file) for file in sorted(inputs.iterdir())]
    rules = re.sub(r"\b[A-Z]\w*", r"?\g<0>", workload.program).replace("not ", "~")
    exports = [f"@export {predicate} :- tsv {{}} ." for predicate in workload.derived]
    return "\n".join([*imports, rules, *exports])


def _import(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        cells = next(lines, "0\t0").split("\t")
    columns = ", ".join("int" if cell.strip().isdigit() else "any" for cell in cells)
    return f'@import {file.stem} :- tsv {{ resource = "{file}", format = ({columns}) }} .'


if __name__ == "__main__":
    main(run)
