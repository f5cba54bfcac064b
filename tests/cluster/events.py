"""What Spark has told about its tasks and executors: proof that a kill hit something that was running."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class EventLog:
    """The log of one application, from where it is now."""

    def __init__(self, path: Path) -> None:
        self._path = next(iter(sorted(path.parent.glob(f"{path.name}*"))), path)
        self._start = self._path.stat().st_size if self._path.exists() else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self._path.open("rb") as file:
            file.seek(self._start)
            for line in file.read().splitlines():
                try:
                    yield json.loads(line)
                except ValueError:  # the first or the last line, of which only a part is there yet
                    continue

    @property
    def lost_executors(self) -> int:
        return self._count()["SparkListenerExecutorRemoved"]

    @property
    def ends_of_tasks(self) -> Counter[str]:
        """How often tasks ended in which way: Success, ExecutorLostFailure, FetchFailed, Resubmitted …"""
        return Counter(one["Task End Reason"]["Reason"] for one in self if one["Event"] == "SparkListenerTaskEnd")

    @property
    def jobs_after_the_loss(self) -> int:
        """How many jobs ended after the last executor was lost."""
        events = [one["Event"] for one in self]
        if "SparkListenerExecutorRemoved" not in events:
            return 0
        last = len(events) - 1 - events[::-1].index("SparkListenerExecutorRemoved")
        return events[last:].count("SparkListenerJobEnd")

    def _count(self) -> Counter[str]:
        return Counter(one["Event"] for one in self)
