"""How many items a second a piece of the language works through: tasks, measured inside this process."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeAlias

Work: TypeAlias = Callable[[], object]
# Prepares the input and gives how many items there are and the work that is measured.
Prepare: TypeAlias = Callable[[], tuple[int, Work]]


@dataclass(frozen=True)
class Task:
    """Something to measure. `target` is the least number of items per second that is acceptable."""

    suite: str
    name: str
    unit: str
    target: float | None
    prepare: Prepare


@dataclass(frozen=True)
class Result:
    """The best time of some runs, and the most memory that one more run held at a time."""

    suite: str
    task: str
    unit: str
    items: int
    seconds: float
    peak_megabytes: float
    target: float | None

    @property
    def per_second(self) -> float:
        return self.items / self.seconds

    @property
    def reached(self) -> bool:
        return self.target is None or self.per_second >= self.target

    def as_dict(self) -> dict[str, object]:
        return {**asdict(self), "per_second": self.per_second, "reached": self.reached}


TASKS: list[Task] = []


def task(suite: str, name: str, *, unit: str = "facts", target: float | None = None) -> Callable[[Prepare], Prepare]:
    """Declares a task by the function that prepares it."""

    def declare(prepare: Prepare) -> Prepare:
        TASKS.append(Task(suite, name, unit, target, prepare))
        return prepare

    return declare


def measure(one: Task, *, runs: int = 3) -> Result:
    items, work = one.prepare()
    seconds = min(_timed(work) for _ in range(runs))
    return Result(one.suite, one.name, one.unit, items, seconds, _peak_megabytes(work), one.target)


def _timed(work: Work) -> float:
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _peak_megabytes(work: Work) -> float:
    """In a run of its own, since counting allocations slows everything down."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
