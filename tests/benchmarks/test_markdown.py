"""The table of the documentation, made from reports."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table

SECONDS = {"wall": 0.5, "rows": 0.1, "process": 1.5, "instances": 30_000_000, "instances_per_second": 2e7}
REST = {"facts_derived": 1000, "peak_mb": 250.0, "rows_peak_mb": 260.0, "bytes_per_fact": 30.0}


def report(workload: str, **peer: Any) -> dict[str, Any]:
    runs = [{"workload": workload, "peer": "DuckDB", **peer}] if peer else []
    return {"workloads": [{"workload": workload, **SECONDS, **REST}], "peers": runs}


def test_reports_become_one_table_in_the_order_of_the_workloads() -> None:
    lines = table([report("lubm-1"), report("join2", seconds=2.0, peak_mb=800.0)]).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert lines[2:] == [
        "| join2 | 1,000 | 0.500 | 0.100 | 1.50 | 20.0 | 250 | 260 | 30 | 0.55 / 174 | 1.1 | 2.00 / 800 |  |",
        "| lubm-1 | 1,000 | 0.500 | 0.100 | 1.50 | 20.0 | 250 | 260 | 30 |  |  |  |  |",
    ]


def test_a_peer_that_did_not_finish_shows_why() -> None:
    assert "| > 60 s |" in table([report("tc-grid", seconds=None, peak_mb=None, problem="> 60 s")])
