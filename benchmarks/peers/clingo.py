"""clingo: grounding a program without choices derives all of its facts, which it prints as a program."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import clingo

from benchmarks.peers.process import main
from benchmarks.workloads import Workload


class _Grounding(clingo.Application):
    def __init__(self, workload: Workload, inputs: Path) -> None:
        self._workload = workload
        self._inputs = inputs

    def main(self, control: clingo.Control, files: Sequence[str]) -> None:
        control.add("base", [], self._workload.program)
        for file in sorted(self._inputs.iterdir()):
            control.add("base", [], "".join(_facts(file)))
        control.ground([("base", [])])


def run(workload: Workload, inputs: Path, out: Path) -> None:
    """clingo prints to the standard output only, which leads to a file meanwhile."""
    terminal = os.dup(1)
    with (out / "all.lp").open("wb") as file:
        os.dup2(file.fileno(), 1)
        code = clingo.clingo_main(_Grounding(workload, inputs), ["--mode=gringo", "--text", "--warn=none"])
        os.dup2(terminal, 1)
    assert code == 0


def _facts(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield f"{file.stem}({','.join(line.split())}).\n"


if __name__ == "__main__":
    main(run)
