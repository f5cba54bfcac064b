"""What the process of a peer does before and after its own work. Needs nothing but Python."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.workloads import Workload, by_name

_MOST_MEMORY = 12 << 30


def main(run: Callable[[Workload, Path], Mapping[str, int]]) -> None:
    """`python -m benchmarks.peers.NAME WORKLOAD DIRECTORY`: prints counts and peak memory as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    name, directory = sys.argv[1:]
    counts = dict(run(by_name()[name], Path(directory) / "full"))
    print(json.dumps({"counts": counts, "peak_mb": _peak_megabytes()}))


def _peak_megabytes() -> float:
    """Not `ru_maxrss`, which starts from what the parent process held."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
