"""clingo: grounding a program without choices derives all of its facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import clingo

from benchmarks.peers.process import main
from benchmarks.workloads import Workload


def run(workload: Workload, directory: Path) -> dict[str, int]:
    control = clingo.Control()
    control.add("base", [], workload.program)
    for file in sorted(directory.iterdir()):
        control.add("base", [], "".join(_facts(file)))
    control.ground([("base", [])])
    return {name: _size(control.symbolic_atoms, name, workload, directory) for name in workload.derived}


def _size(atoms: clingo.SymbolicAtoms, name: str, workload: Workload, directory: Path) -> int:
    signatures = {signature: arity for signature, arity, _ in atoms.signatures}
    if len(workload.derived) == 1:
        # The number of all atoms is there at once, while going through those of one predicate takes long.
        given = [file for file in directory.iterdir() if file.stem != name]
        return len(atoms) - sum(file.read_bytes().count(b"\n") for file in given)
    return sum(1 for _ in atoms.by_signature(name, signatures[name])) if name in signatures else 0


def _facts(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield f"{file.stem}({','.join(line.split())}).\n"


if __name__ == "__main__":
    main(run)
