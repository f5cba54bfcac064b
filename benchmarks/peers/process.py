"""What the process of a peer does before and after its own work. Needs nothing but Python."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.workloads import Workload, by_name

MOST_CPU = 120  # seconds of processors, of which there are two: a minute for an engine that uses both
_MOST_MEMORY = 12 << 30


def main(run: Callable[[Workload, Path, Path], None]) -> None:
    """`python -m benchmarks.peers.NAME WORKLOAD INPUTS OUT`: writes each derived relation into OUT, prints the peak memory."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, MOST_CPU + 1))
    name, inputs, out = sys.argv[1:]
    run(by_name()[name], Path(inputs), Path(out))
    print(json.dumps({"peak_mb": _peak_megabytes()}))


def _peak_megabytes() -> float:
    """Not `ru_maxrss`, which starts from what the parent process held."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
