"""Choosing workloads by name, running them, and what came out of it all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from benchmarks.experiments import chosen_of, machine
from benchmarks.measurement import Measurement
from benchmarks.peers.environment import MISSING, PEERS, PeerRun, problem_of, run_peer, version_of
from benchmarks.runner import WorkloadFailed, run_workload, seconds_to_start
from benchmarks.targets import Verdict, geometric_mean, times_souffle, verdicts
from benchmarks.throughput import TASKS, Result, measure
from benchmarks.workloads import WORKLOADS, by_name

READING, START = "reading", "start"


@dataclass
class Report:
    """The results of one call. `problems` are wrong numbers of answers and workloads that failed."""

    engine: str
    measurements: dict[str, Measurement] = field(default_factory=dict)
    start: float | None = None
    language: list[Result] = field(default_factory=list)
    peers: list[PeerRun] = field(default_factory=list)
    peer_versions: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def verdicts(self) -> list[Verdict]:
        reading = [
            Verdict(f"{READING}: {result.task}", f"{result.unit}/s", result.per_second, result.target)
            for result in self.language
            if result.target is not None
        ]
        return [*verdicts(self.measurements, self.start), *reading]

    def times_souffle_on_average(self, *, with_rows: bool = False) -> float | None:
        ratios = [times_souffle(one, with_rows=with_rows) for one in self.measurements.values()]
        known = [ratio for ratio in ratios if ratio is not None]
        return geometric_mean(known) if known else None

    def as_dict(self) -> dict[str, Any]:
        return {
            **machine(),
            "engine": self.engine,
            "workloads": [one.as_dict() for one in self.measurements.values()],
            "start_seconds": self.start,
            "language": [result.as_dict() for result in self.language],
            "peer_versions": self.peer_versions,
            "peers": [run.as_dict() for run in self.peers],
            "times_souffle_on_average": self.times_souffle_on_average(),
            "times_souffle_with_rows": self.times_souffle_on_average(with_rows=True),
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "problems": self.problems,
        }


def names() -> list[str]:
    return [*(workload.name for workload in WORKLOADS), START, READING]


def select(wanted: Sequence[str]) -> list[str]:
    """The names that fit names or patterns such as `tc-*`; without any, all but the large ones."""
    if not wanted:
        return [name for name in names() if name not in by_name() or not by_name()[name].large]
    return chosen_of(names(), wanted, "benchmark")


def run(
    chosen: Iterable[str],
    *,
    engine: str = "embedded",
    peers: bool = False,
    runs: int = 3,
    progress: Callable[[str], None] = lambda text: None,
) -> Report:
    report = Report(engine)
    for name in chosen:
        progress(name)
        if name == START:
            report.start = seconds_to_start(runs)
        elif name == READING:
            import_module("benchmarks.language.reading")
            report.language = [measure(task, runs=runs) for task in TASKS]
        else:
            _run_one(report, name, runs)
            if peers:
                _run_peers(report, name, runs, progress)
    return report


def _run_one(report: Report, name: str, runs: int) -> None:
    try:
        measurement = run_workload(by_name()[name], engine=report.engine, runs=runs)
    except WorkloadFailed as failure:
        report.problems.append(str(failure))
    else:
        report.measurements[name] = measurement
        report.problems += [f"{name}: {wrong}" for wrong in measurement.wrong]


def _run_peers(report: Report, name: str, runs: int, progress: Callable[[str], None]) -> None:
    for peer in PEERS:
        if peer.name not in report.peer_versions:
            progress(f"installing {peer.name}")
            report.peer_versions[peer.name] = problem_of(peer) or version_of(peer)
        if peer.tries(name) and not problem_of(peer):
            progress(f"{name} with {peer.name}")
            report.peers.append(run_peer(peer, by_name()[name], runs=runs))
    report.peer_versions |= MISSING
