"""Choosing workloads by name, running them, and what came out of it all."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks.experiments import chosen_of, machine
from benchmarks.measurement import Measurement
from benchmarks.peers.environment import PEERS, PeerRun, problem_of, run_peer, version_of
from benchmarks.runner import WorkloadFailed, run_workload, seconds_to_start
from benchmarks.targets import Verdict, geometric_mean, mean_times_souffle, verdicts
from benchmarks.throughput import TASKS, Result, measure
from benchmarks.workloads import WORKLOADS, by_name

READING, START = "reading", "start"


class TimesPeer(NamedTuple):
    """How many times as long as ours, on the clock and of processors."""

    seconds: float
    cpu: float


@dataclass
class Report:
    """The results of one call. `problems` are wrong numbers of answers and workloads that failed."""

    engine: str
    measurements: dict[str, Measurement] = field(default_factory=dict)
    start: float | None = None
    language: list[Result] = field(default_factory=list)
    peers: dict[tuple[str, str], PeerRun] = field(default_factory=dict)  # by workload and peer
    peer_versions: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, documents: Iterable[Mapping[str, Any]]) -> Report:
        """The measurements of reports as JSON; those of a later one replace those of an earlier one."""
        report = cls("embedded")
        for document in documents:
            runs = [PeerRun(**run) for run in document["peers"]]
            report.measurements |= {one["workload"]: Measurement.of(one) for one in document["workloads"]}
            report.peers |= {(run.workload, run.peer): run for run in runs}
            report.peer_versions |= document["peer_versions"]
            report.conditions += document["conditions"]
            report.start = document["start_seconds"] or report.start
        return report

    @property
    def verdicts(self) -> list[Verdict]:
        reading = [
            Verdict(f"{READING}: {result.task}", f"{result.unit}/s", result.per_second, result.target)
            for result in self.language
            if result.target is not None
        ]
        return [*verdicts(self.measurements, self.start), *reading]

    def times_peers(self) -> dict[str, TimesPeer]:
        """What the whole processes of each peer took beside ours, all of them writing the same rows: geometric means."""
        pairs: dict[str, list[tuple[PeerRun, Measurement]]] = defaultdict(list)
        for (workload, peer), run in self.peers.items():
            if run.finished and workload in self.measurements:
                pairs[peer].append((run, self.measurements[workload]))
        return {
            peer: TimesPeer(
                geometric_mean(run.seconds / ours.process for run, ours in found),
                geometric_mean(run.cpu / ours.process_cpu for run, ours in found),
            )
            for peer, found in pairs.items()
        }

    def as_dict(self) -> dict[str, Any]:
        return {
            **machine(),
            "conditions": self.conditions,
            "engine": self.engine,
            "workloads": [one.as_dict() for one in self.measurements.values()],
            "start_seconds": self.start,
            "language": [result.as_dict() for result in self.language],
            "peer_versions": self.peer_versions,
            "peers": [run.as_dict() for run in self.peers.values()],
            "times_peers": {peer: times._asdict() for peer, times in self.times_peers().items()},
            "times_souffle_with_rows": mean_times_souffle(self.measurements.values()),
            "times_souffle_whole_process": mean_times_souffle(self.measurements.values(), whole=True),
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
    here = machine()
    condition = f"{here['date']}, commit {here['commit']}, {here['cores']} cores, load before: {os.getloadavg()[0]:.1f}"
    report = Report(engine, conditions=[condition])
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
        progress(f"{name} with {peer.name}")
        report.peers[name, peer.name] = run_peer(peer, by_name()[name], runs=runs)
