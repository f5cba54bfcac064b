"""What one strategy made of one stream, and the outcome of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Run:
    """`case` is the size of the updates or the track. The counts are means over the seeds, the time is the median."""

    case: str
    strategy: str
    updates: int
    seconds: float
    deletions: float
    backward: float
    forward: float
    insertions: float
    explicit_marks: float
    implicit_marks: float


@dataclass
class Latency:
    """A long stream: seconds of its updates, and the memory after a fifth of it and at its end."""

    strategy: str
    updates: int
    seconds: float
    p50: float
    p99: float
    longest: float
    facts: int
    megabytes_early: float
    megabytes: float


@dataclass
class BatchLatency:
    """Micro-batches of one size on Spark: changes a second with all that Spark does, and seconds of a batch."""

    size: int
    batches: int
    facts: int
    changes: int
    per_second: float
    median: float
    longest: float


@dataclass
class Outcome:
    experiment: str
    sizes: str
    runs: list[Run] = field(default_factory=list)
    latencies: list[Latency] = field(default_factory=list)
    batches: list[BatchLatency] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def run(self, case: str, strategy: str) -> Run:
        (found,) = (run for run in self.runs if (run.case, run.strategy) == (case, strategy))
        return found

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Outcome:
        runs = [Run(**run) for run in document["runs"]]
        latencies = [Latency(**latency) for latency in document["latencies"]]
        batches = [BatchLatency(**one) for one in document["batches"]]
        return cls(document["experiment"], document["sizes"], runs, latencies, batches, list(document["problems"]))
