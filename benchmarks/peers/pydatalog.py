"""pyDatalog: the rules in its own notation. It is written in Python and meant for small data."""

from __future__ import annotations

import re
from pathlib import Path

from pyDatalog import pyDatalog

from benchmarks.peers.process import main
from benchmarks.workloads import Workload


def run(workload: Workload, inputs: Path, out: Path) -> None:
    pyDatalog.load("\n".join(_statement(clause) for clause in re.findall(r"[^.]+(?=\.)", workload.program)))
    for file in sorted(inputs.iterdir()):
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                pyDatalog.assert_fact(file.stem, *map(int, line.split()))
    for predicate in workload.derived:
        with (out / f"{predicate}.tsv").open("w", encoding="utf-8") as rows:
            rows.writelines(f"{x}\t{y}\n" for x, y in pyDatalog.ask(f"{predicate}(X, Y)").answers)


def _statement(clause: str) -> str:
    """`p(1).` is `+ p(1)`, and a body is a conjunction of parenthesised parts."""
    head, arrow, body = clause.strip().partition(" :- ")
    if not arrow:
        return f"+ {head}"
    parts = re.split(r",\s*(?![^(]*\))", body)
    return f"{head} <= " + " & ".join(f"({re.sub(r'(?<![<>!=])=(?!=)', '==', part)})" for part in parts)


if __name__ == "__main__":
    main(run)
