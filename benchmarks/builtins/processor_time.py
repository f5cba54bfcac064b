"""The processor time of this process and of all that it started, such as Java and its Python workers."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def seconds_of_tree() -> float:
    """Processor seconds so far; those of processes that ended count with the one that started them."""
    times: dict[int, float] = {}
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:  # it ended just now
                continue
            parents[int(entry.name)] = int(fields[1])
            times[int(entry.name)] = sum(map(int, fields[11:15])) / _TICKS
    return sum(seconds for process, seconds in times.items() if _is_below(process, os.getpid(), parents))


def _is_below(process: int, root: int, parents: dict[int, int]) -> bool:
    while process != root:
        if process not in parents:
            return False
        process = parents[process]
    return True
