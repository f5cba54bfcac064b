"""A report as tables in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks.figures import PUBLISHED, Figure
from benchmarks.measurement import Measurement
from benchmarks.peers.environment import PeerRun
from benchmarks.suite import Report
from benchmarks.targets import Verdict, times_souffle
from benchmarks.throughput import Result


def print_report(report: Report, console: Console) -> None:
    if report.measurements:
        console.print(_measured(report), _compared(report), sep="\n\n")
    if report.peers:
        console.print("", _peers(report), sep="\n")
        versions = ", ".join(f"{name}: {text}" for name, text in report.peer_versions.items())
        console.print(versions, style="dim", highlight=False)
    if report.language:
        console.print("", _language(report.language), sep="\n")
    if report.verdicts:
        console.print("", targets_table(report.verdicts), sep="\n")
    for problem in report.problems:
        console.print(f"WRONG  {problem}", style="bold red", highlight=False)


def _table(first: str, *columns: str) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _measured(report: Report) -> Table:
    seconds = ("wall s", "cpu", "load", "derive", "rows")
    work = ("rounds", "instances", "M inst/s", "M facts/s")
    memory = ("peak MB", "with rows", "B/fact")
    table = _table(f"engine {report.engine}", "facts in", "derived", *seconds, *work, *memory)
    for one in report.measurements.values():
        table.add_row(
            one.workload,
            f"{one.facts_loaded:,}",
            f"{one.facts_derived:,}",
            *(f"{seconds:.3f}" for seconds in (one.wall, one.cpu, one.load, one.derive, one.rows)),
            f"{one.rounds:,}",
            f"{one.instances:,}",
            f"{one.instances_per_second / 1e6:.1f}",
            f"{one.facts_per_second / 1e6:.1f}",
            f"{one.peak_mb:,.0f}",
            f"{one.rows_peak_mb:,.0f}",
            f"{one.bytes_per_fact:.0f}",
            style="red" if one.wrong else None,
        )
    return table


def _compared(report: Report) -> Table:
    table = _table("figures of others (s / MB)", "ours", *PUBLISHED, "times Soufflé", "with rows")
    for one in report.measurements.values():
        figures = [figures.get(one.workload) for figures in PUBLISHED.values()]
        if any(figures):
            ratios = [_times(times_souffle(one, with_rows=with_rows)) for with_rows in (False, True)]
            table.add_row(one.workload, _ours(one), *map(_figure, figures), *ratios)
    average = [_times(report.times_souffle_on_average(with_rows=with_rows)) for with_rows in (False, True)]
    if any(average):
        table.add_row("geometric mean", *[""] * (len(PUBLISHED) + 1), *average)
    return table


def _ours(one: Measurement) -> str:
    return f"{one.wall:.3f} / {one.peak_mb:,.0f}"


def _figure(figure: Figure | None) -> str:
    if figure is None:
        return ""
    memory = f" / {figure.megabytes:g}" if figure.megabytes is not None else ""
    return f"{figure.seconds:g}{memory}"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:,.0f} x" if ratio >= 100 else f"{ratio:.1f} x"


def _peers(report: Report) -> Table:
    """A peer's whole process, and how many times as long as ours it took: as our warm run, and as our whole process."""
    peers = list(dict.fromkeys(run.peer for run in report.peers))
    runs = {(run.workload, run.peer): run for run in report.peers}
    table = _table("in this run (s / MB)", "ours", "whole process", *peers)
    for one in report.measurements.values():
        cells = [_peer(runs.get((one.workload, peer)), one) for peer in peers]
        if any(cells):
            table.add_row(one.workload, _ours(one), f"{one.process:.2f}", *cells)
    return table


def _peer(run: PeerRun | None, ours: Measurement) -> str:
    if run is None:
        return ""
    if run.seconds is None or run.peak_mb is None or run.problem:
        return run.problem
    ratios = f"{_times(run.seconds / ours.wall)}, {_times(run.seconds / ours.process)}"
    return f"{run.seconds:.2f} / {run.peak_mb:,.0f} ({ratios})"


def _language(results: list[Result]) -> Table:
    table = _table("language", "items", "seconds", "per second", "peak MB")
    for result in results:
        items = f"{result.items:,} {result.unit}"
        rate, memory = f"{result.per_second:,.0f}", f"{result.peak_megabytes:,.0f}"
        table.add_row(result.task, items, f"{result.seconds:.2f}", rate, memory)
    return table


def targets_table(verdicts: list[Verdict]) -> Table:
    """Every target with what was reached."""
    table = Table("target", "", show_edge=False, pad_edge=False)
    for column in ("is", "to reach", ""):
        table.add_column(column, justify="right")
    for verdict in verdicts:
        sign = "≤" if verdict.less_is_better else "≥"
        result = "PASS" if verdict.met else "MISS"
        style = None if verdict.met else "bold red"
        target = f"{sign} {verdict.target:,.2f}"
        table.add_row(verdict.workload, verdict.what, f"{verdict.value:,.2f}", target, result, style=style)
    return table
