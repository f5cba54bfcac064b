"""The workloads as tables: whole processes of everybody, our warm runs, and figures of others that were measured once."""

from __future__ import annotations

from benchmarks.figures import PUBLISHED, SOUFFLE, SOUFFLE_EQREL, Figure
from benchmarks.measurement import Measurement
from benchmarks.peers.environment import PeerRun
from benchmarks.sheet import Sheet
from benchmarks.suite import Report
from benchmarks.targets import mean_times_souffle, times_souffle
from benchmarks.workloads import by_name

_FEW_INSTANCES = 100_000


def whole_processes(report: Report) -> Sheet:
    """Ours beside those of the peers that finished some workload, and our warm runs; the last row says who took how long."""
    times = report.times_peers()
    rows = [
        [
            one.workload,
            f"{one.facts_derived:,}",
            f"{one.wall:.3f}",
            f"{one.with_rows:.3f}",
            f"{one.process:.2f} / {one.process_cpu:.2f} / {one.process_mb:,.0f}",
            *(_peer(report.peers.get((one.workload, peer))) for peer in times),
            _souffle(one.workload),
        ]
        for one in _in_order(report)
    ]
    if times:
        means = [f"{_times(mean.seconds)} / {_times(mean.cpu)}" for mean in times.values()]
        rows.append(["geometric mean, of ours", *[""] * 4, *means, ""])
    columns = ("derived", "warm, counted", "warm, with rows", "whole process", *times, "Soufflé, counted")
    note = f"Whole processes: seconds / seconds of processors / MB; Soufflé: seconds / MB. {_conditions(report)}"
    return Sheet("Whole processes, from files to files of rows", ("workload", *columns), rows, note)


def warm(report: Report) -> Sheet:
    """What our warm runs consist of."""
    rows = [
        [
            one.workload,
            f"{one.facts_loaded:,}",
            f"{one.facts_derived:,}",
            *(f"{seconds:.3f}" for seconds in (one.wall, one.cpu, one.load, one.derive, one.rows)),
            f"{one.rounds:,}",
            *(
                (f"{one.instances:,}", f"{one.instances_per_second / 1e6:.1f}")
                if one.instances > _FEW_INSTANCES
                else ("", "")
            ),
            f"{one.facts_per_second / 1e6:.1f}",
            f"{one.peak_mb:,.0f}",
            f"{one.rows_peak_mb:,.0f}",
            f"{one.bytes_per_fact:.0f}",
        ]
        for one in _in_order(report)
    ]
    seconds = ("wall s", "cpu", "load", "derive", "rows")
    work = ("rounds", "instances", "M inst/s", "M facts/s")
    memory = ("peak MB", "with rows", "B/fact")
    columns = ("workload", "facts in", "derived", *seconds, *work, *memory)
    return Sheet(f"Warm runs, engine {report.engine}", columns, rows, _conditions(report))


def published(report: Report) -> Sheet:
    """Figures that were measured once, of processes that only count, beside ours that have rows in memory or write them."""
    rows = []
    for one in _in_order(report):
        figures = [figures.get(one.workload) for figures in PUBLISHED.values()]
        if any(figures):
            ours = (f"{one.with_rows:.3f} / {one.rows_peak_mb:,.0f}", f"{one.process:.2f} / {one.process_mb:,.0f}")
            ratios = [_times(times_souffle(one, whole=whole)) for whole in (False, True)]
            rows.append([one.workload, *ours, *map(_figure, figures), *ratios])
    means = [_times(mean_times_souffle(report.measurements.values(), whole=whole)) for whole in (False, True)]
    if any(means):
        rows.append(["geometric mean", *[""] * (len(PUBLISHED) + 2), *means])
    columns = ("workload", "warm, with rows", "whole process", *PUBLISHED, "times Soufflé: warm", "whole process")
    note = (
        "Seconds / MB. Others load, derive and count on a quiet machine, and write nothing. "
        f"The mean leaves out what eqrel does in no time. Ours: {_conditions(report)}"
    )
    return Sheet("Figures of others, measured once", columns, rows, note)


def _conditions(report: Report) -> str:
    return f"{'; '.join(report.conditions)}."


def _in_order(report: Report) -> list[Measurement]:
    return [report.measurements[name] for name in by_name() if name in report.measurements]


def _peer(run: PeerRun | None) -> str:
    if run is None:
        return ""
    return f"{run.seconds:.2f} / {run.cpu:.2f} / {run.peak_mb:,.0f}" if run.finished else run.problem


def _souffle(workload: str) -> str:
    eqrel = SOUFFLE_EQREL.get(workload)
    return _figure(SOUFFLE.get(workload)) + (f"; eqrel < {eqrel.seconds:g}" if eqrel else "")


def _figure(figure: Figure | None) -> str:
    if figure is None:
        return ""
    memory = f" / {figure.megabytes:g}" if figure.megabytes is not None else ""
    return f"{figure.seconds:g}{memory}"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:,.0f} x" if ratio >= 100 else f"{ratio:.2g} x"
