"""What one run of one workload took and gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

MEGABYTE = 1 << 20


@dataclass
class Measurement:
    """Seconds, facts and megabytes of one run in a process of its own.

    `wall` is reading the files, deriving and counting, `cpu` the processor time of that, which a busy machine does not
    stretch as much; `engine_seconds` is the time inside hyper-nodes. `rows` is what it
    takes after that to have every counted relation as rows: closures are kept in a smaller form until somebody reads them.
    `baseline_mb` is what the warm process held before the run, `peak_mb` the most that it held up to the counting,
    `rows_peak_mb` up to the rows. `process` is what `corollary run` takes from its start to its end, when it loads, derives and
    writes each derived relation as a file of rows, `process_cpu` its processor time, `process_mb` the most that it holds. `wrong`
    tells of unexpected numbers.
    """

    workload: str
    engine: str
    wall: float
    load: float
    derive: float
    count: float
    rows: float
    cpu: float
    engine_seconds: float
    rounds: int
    instances: int
    facts_loaded: int
    facts_stored: int
    baseline_mb: float = 0.0
    peak_mb: float = 0.0
    rows_peak_mb: float = 0.0
    process: float = 0.0
    process_cpu: float = 0.0
    process_mb: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Measurement:
        """From `as_dict`, which tells more than the fields."""
        return cls(**{one.name: document[one.name] for one in fields(cls)})

    @property
    def facts_derived(self) -> int:
        return self.facts_stored - self.facts_loaded

    @property
    def with_rows(self) -> float:
        """Seconds in a warm process until every derived relation is there as rows, in memory."""
        return self.wall + self.rows

    @property
    def instances_per_second(self) -> float:
        return self.instances / max(self.engine_seconds, 1e-9)

    @property
    def facts_per_second(self) -> float:
        """Derived, and there as rows."""
        return self.facts_derived / max(self.derive + self.rows, 1e-9)

    @property
    def bytes_per_fact(self) -> float:
        """Of all facts as rows, with everything that was needed to derive them."""
        return (self.rows_peak_mb - self.baseline_mb) * MEGABYTE / max(self.facts_stored, 1)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "facts_derived": self.facts_derived,
            "instances_per_second": self.instances_per_second,
            "facts_per_second": self.facts_per_second,
            "bytes_per_fact": self.bytes_per_fact,
        }


def best(measurements: list[Measurement]) -> Measurement:
    """The fastest of some runs. A wrong one is worse than any other, and the most memory of all of them counts."""
    fastest = min(measurements, key=lambda one: (not one.wrong, one.wall))
    fastest.peak_mb = max(one.peak_mb for one in measurements)
    fastest.rows_peak_mb = max(one.rows_peak_mb for one in measurements)
    return fastest
