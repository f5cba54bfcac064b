"""What the embedded engine is to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from typing import Any

from benchmarks.figures import ORIGINAL, SOUFFLE, SOUFFLE_EQREL
from benchmarks.measurement import MEGABYTE, Measurement

# How many times as fast as compiled Soufflé, in a warm process and with all rows in memory; not listed: at least as fast.
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


def summary(found: Sequence[Verdict]) -> str:
    """How many targets are met, and a list of those that are not, as markdown."""
    missed = [
        f"- {verdict.workload}: {verdict.value:,.2f} {verdict.what}, to reach {'≤' if verdict.less_is_better else '≥'} "
        f"{verdict.target:,.2f}"
        for verdict in found
        if not verdict.met
    ]
    met = f"{len(found) - len(missed)} of {len(found)} targets are met."
    return "\n".join([f"{met} Missed:\n", *missed] if missed else [met])


def times_souffle(measurement: Measurement, *, whole: bool = False) -> float | None:
    """How many times as fast as compiled Soufflé, which counts tuples in memory, we have rows in memory.

    Ours is a warm process, as Soufflé's starts at once; or it is our `whole` process, which writes the rows to files as well.
    """
    figure = SOUFFLE.get(measurement.workload)
    seconds = measurement.process if whole else measurement.with_rows
    return figure.seconds / seconds if figure and seconds else None


def mean_times_souffle(measurements: Iterable[Measurement], *, whole: bool = False) -> float | None:
    """The geometric mean, without workloads that its `eqrel` does in no time."""
    ratios = [times_souffle(one, whole=whole) for one in measurements if one.workload not in SOUFFLE_EQREL]
    known = [ratio for ratio in ratios if ratio is not None]
    return geometric_mean(known) if known else None


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [log(value) for value in values]
    return exp(sum(logarithms) / len(logarithms))


def verdicts(measurements: Mapping[str, Measurement], start: float | None = None) -> list[Verdict]:
    found = [verdict for measurement in measurements.values() for verdict in _of_one(measurement)]
    mean = mean_times_souffle(measurements.values())
    if mean is not None and len(measurements.keys() & SOUFFLE) >= len(SOUFFLE) - 1:  # the largest one need not be there
        found.append(Verdict("geometric mean", "times Soufflé", mean, TIMES_SOUFFLE_ON_AVERAGE))
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
