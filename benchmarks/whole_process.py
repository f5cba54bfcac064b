"""Whole processes, ours and those of others, which do the same work: start, load, derive, write each derived relation as rows.

Whoever starts one takes the time from its start to its end, and counts the rows in the files that it leaves.
"""

from __future__ import annotations

import resource
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.workloads import Workload

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Timed:
    """A process that has ended: the seconds that it took, and those of processors, which other work stretches less."""

    done: subprocess.CompletedProcess[str]
    seconds: float
    cpu: float

    @property
    def last_line(self) -> str:
        return self.done.stdout.splitlines()[-1]


def timed(command: Sequence[str], limit: float) -> Timed:
    """Runs a command in the root folder; raises `TimeoutExpired` at the limit."""
    started, before = time.perf_counter(), _cpu_of_children()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit)
    return Timed(done, time.perf_counter() - started, _cpu_of_children() - before)


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def wrong_rows(workload: Workload, directory: Path) -> list[str]:
    """A sentence for each derived relation whose files hold an unexpected number of rows."""
    rows = rows_written(directory)
    return workload.unexpected({predicate: rows[predicate] for predicate in workload.derived})


def rows_written(directory: Path) -> Counter[str]:
    """The number of rows by predicate, of files of rows such as `path.tsv` and of facts in a program such as `all.lp`."""
    rows: Counter[str] = Counter()
    for file in directory.iterdir():
        with file.open("rb") as lines:
            if file.suffix == ".lp":
                rows.update(line.partition(b"(")[0].decode() for line in lines)
            else:
                rows[file.stem] += sum(1 for _ in lines)
    return rows
