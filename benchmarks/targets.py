"""What the embedded engine is to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from math import exp, log
from typing import Any

from benchmarks.figures import ORIGINAL, SOUFFLE
from benchmarks.measurement import MEGABYTE, Measurement

# How many times as fast as compiled Soufflé; workloads that are not listed: at least as fast.
TIMES_SOUFFLE = {
    "join2": 1 / 1.3,
    "andersen-large": 1 / 1.3,
    "tc-grid": 10.0,
    "dag-r": 10.0,
    "stc-ring": 10.0,
    "tc-random-nonlinear": 10.0,
    "join1-data1": 10.0,
}
TIMES_SOUFFLE_ON_AVERAGE = 2.0
INSTANCES_PER_SECOND = {"sg-tree": 15e6, "andersen": 15e6}
TIMES_ORIGINAL = {"zodiac-rs2": 200.0, "zodiac-rs3": 200.0}
SECONDS_TO_DERIVE = {"lubm-10": 2.0, "lubm-100": 25.0}
SECONDS_TO_START = 0.8
BYTES_PER_FACT, BASE_MB = 60, 300


@dataclass(frozen=True)
class Verdict:
    """`value` must not be below `target`, or not above it where less is better."""

    workload: str
    what: str
    value: float
    target: float
    less_is_better: bool = False

    @property
    def met(self) -> bool:
        return self.value <= self.target if self.less_is_better else self.value >= self.target

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"met": self.met}


def times_souffle(measurement: Measurement, *, with_rows: bool = False) -> float | None:
    """How many times as fast as compiled Soufflé we were, counting or up to having all derived facts as rows."""
    figure = SOUFFLE.get(measurement.workload)
    seconds = measurement.wall + (measurement.rows if with_rows else 0.0)
    return figure.seconds / seconds if figure else None


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [log(value) for value in values]
    return exp(sum(logarithms) / len(logarithms))


def verdicts(measurements: Mapping[str, Measurement], start: float | None = None) -> list[Verdict]:
    found = [verdict for measurement in measurements.values() for verdict in _of_one(measurement)]
    ratios = {name: ratio for name, one in measurements.items() if (ratio := times_souffle(one)) is not None}
    if len(ratios) >= len(SOUFFLE) - 1:  # the largest one need not be there
        found.append(
            Verdict("geometric mean", "times Soufflé", geometric_mean(ratios.values()), TIMES_SOUFFLE_ON_AVERAGE)
        )
    if start is not None:
        found.append(Verdict("start", "seconds", start, SECONDS_TO_START, less_is_better=True))
    return found


def _of_one(measurement: Measurement) -> list[Verdict]:
    name = measurement.workload
    found = []
    ratio = times_souffle(measurement)
    if ratio is not None:
        found.append(Verdict(name, "times Soufflé", ratio, TIMES_SOUFFLE.get(name, 1.0)))
    if name in INSTANCES_PER_SECOND:
        rate, target = measurement.instances_per_second, INSTANCES_PER_SECOND[name]
        found.append(Verdict(name, "million instances/s", rate / 1e6, target / 1e6))
    if name in TIMES_ORIGINAL:
        found.append(Verdict(name, "times ZodiacEdge", ORIGINAL[name].seconds / measurement.wall, TIMES_ORIGINAL[name]))
    if name in SECONDS_TO_DERIVE:
        found.append(
            Verdict(name, "seconds to derive", measurement.derive, SECONDS_TO_DERIVE[name], less_is_better=True)
        )
    allowed = BASE_MB + BYTES_PER_FACT * measurement.facts_stored / MEGABYTE
    found.append(Verdict(name, "peak MB", measurement.rows_peak_mb, allowed, less_is_better=True))
    return found
