"""Reports as the table of `docs/benchmarks.md`: `python -m benchmarks.markdown report.json …`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.figures import SOUFFLE
from benchmarks.workloads import by_name

_PEERS = ("DuckDB", "clingo")
_COLUMNS = ("derived", "wall s", "rows s", "whole process s", "M inst/s", "peak MB", "with rows", "B/fact")
_FEW_INSTANCES = 100_000


def table(reports: Iterable[dict[str, Any]]) -> str:
    """One row for each workload, in the order in which workloads are listed."""
    measured: dict[str, dict[str, Any]] = {}
    peers: dict[tuple[str, str], dict[str, Any]] = {}
    for report in reports:
        measured |= {one["workload"]: one for one in report["workloads"]}
        peers |= {(run["workload"], run["peer"]): run for run in report["peers"]}
    others = ("Soufflé compiled", "times Soufflé", *(f"{peer} here" for peer in _PEERS))
    lines = [_line("workload", *_COLUMNS, *others), _line("---", *["---:"] * (len(_COLUMNS) + len(others)))]
    for name in by_name():
        if name in measured:
            found = [_peer(peers.get((name, peer))) for peer in _PEERS]
            lines.append(_line(name, *_ours(measured[name]), *_souffle(measured[name]), *found))
    return "\n".join(lines)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _ours(one: dict[str, Any]) -> list[str]:
    rate = f"{one['instances_per_second'] / 1e6:.1f}" if one["instances"] > _FEW_INSTANCES else ""
    return [
        f"{one['facts_derived']:,}",
        f"{one['wall']:.3f}",
        f"{one['rows']:.3f}",
        f"{one['process']:.2f}",
        rate,
        f"{one['peak_mb']:,.0f}",
        f"{one['rows_peak_mb']:,.0f}",
        f"{one['bytes_per_fact']:.0f}",
    ]


def _souffle(one: dict[str, Any]) -> list[str]:
    figure = SOUFFLE.get(one["workload"])
    if figure is None:
        return ["", ""]
    ratio = figure.seconds / one["wall"]
    return [f"{figure.seconds:g} / {figure.megabytes:g}", f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}"]


def _peer(run: dict[str, Any] | None) -> str:
    if run is None:
        return ""
    return f"{run['seconds']:.2f} / {run['peak_mb']:,.0f}" if run["seconds"] is not None else str(run["problem"])


if __name__ == "__main__":
    print(table(json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]))
