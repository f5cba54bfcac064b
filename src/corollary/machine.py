"""The cores and the memory of this machine that this process may use."""

import os
import resource
import sys
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def usable_cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_megabytes() -> int:
    """The physical memory, or less where a container limits it."""
    total = _PAGE * os.sysconf("SC_PHYS_PAGES")
    for limit in _CONTAINER_LIMITS:
        try:
            total = min(total, int(limit.read_text()))
        except (OSError, ValueError):  # no container, or "max"
            continue
    return total // 2**20


def resident_megabytes() -> float:
    """The memory that this process holds now; where the system does not say, the most that it ever held."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE / 2**20
    except OSError:  # macOS has no /proc, and counts in bytes
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
