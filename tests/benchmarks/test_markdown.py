"""The tables of the documentation, made from reports, and the places that they are written to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import markdown
from benchmarks.maintenance import command as maintenance
from benchmarks.measurement import Measurement
from benchmarks.peers.environment import PeerRun
from benchmarks.sheet import write_results
from benchmarks.streams import markdown as streams
from benchmarks.suite import Report
from benchmarks.workload_sheets import published, whole_processes

DOCS = Path(__file__).parents[2] / "docs"


def report(*workloads: str, **peer: object) -> Report:
    seconds = {"wall": 0.5, "load": 0.1, "derive": 0.4, "count": 0.0, "rows": 0.1, "cpu": 0.5, "engine_seconds": 0.4}
    facts = {"rounds": 1, "instances": 0, "facts_loaded": 10, "facts_stored": 1010}
    memory = {"peak_mb": 250.0, "rows_peak_mb": 260.0, "process_mb": 240.0, "process_cpu": 1.5}
    found = {name: Measurement(name, "embedded", **seconds, **facts, **memory, process=2.0) for name in workloads}  # type: ignore[arg-type]
    runs = [PeerRun("DuckDB", name, **peer) for name in workloads if peer]  # type: ignore[arg-type]
    return Report("embedded", found, peers={(run.workload, run.peer): run for run in runs}, conditions=["alone"])


def test_whole_processes_stand_side_by_side_in_the_order_of_the_workloads() -> None:
    sheet = whole_processes(report("stc-ring", "tc-random", seconds=4.0, cpu=6.0, peak_mb=800.0))
    assert sheet.columns[3:] == ("warm, with rows", "whole process", "DuckDB", "Soufflé, counted")
    assert sheet.rows == [
        ["tc-random", "1,000", "0.500", "0.600", "2.00 / 1.50 / 240", "4.00 / 6.00 / 800", "0.69 / 69"],
        ["stc-ring", "1,000", "0.500", "0.600", "2.00 / 1.50 / 240", "4.00 / 6.00 / 800", "87.5 / 76; eqrel < 0.01"],
        ["geometric mean, of ours", "", "", "", "", "2 x / 4 x", ""],
    ]
    assert sheet.note.endswith("MB. alone.")


def test_a_peer_that_did_not_finish_shows_why_and_has_no_column_of_its_own() -> None:
    several = report("tc-grid", "join2", seconds=4.0, cpu=6.0, peak_mb=800.0)
    several.peers["tc-grid", "DuckDB"] = PeerRun("DuckDB", "tc-grid", problem="> 60 s")
    assert [row[5] for row in whole_processes(several).rows] == ["> 60 s", "4.00 / 6.00 / 800", "2 x / 4 x"]
    assert "DuckDB" not in whole_processes(report("tc-grid", problem="> 60 s")).columns


def test_published_figures_are_compared_with_rows_in_memory_and_with_the_whole_process() -> None:
    (row, mean) = published(report("tc-random")).rows
    assert row[1:3] == ["0.600 / 260", "2.00 / 240"]
    assert row[-2:] == mean[-2:] == ["1.1 x", "0.34 x"]


def test_reports_are_written_into_the_pages(tmp_path: Path) -> None:
    page, tables, first, second = (tmp_path / name for name in ("page.md", "tables.md", "1.json", "2.json"))
    page.write_text(f"before\n{places(markdown.WHOLE)}\nafter\n")
    tables.write_text(places(markdown.WARM))
    first.write_text(json.dumps(report("join2", "tc-grid").as_dict()))
    second.write_text(json.dumps(report("tc-random").as_dict()))
    markdown.main(str(first), str(second), page=page, tables=tables)
    text = page.read_text()
    assert text.startswith("before\n<!-- results of whole processes: begin -->\n\n## Whole processes")
    assert text.endswith("<!-- results of whole processes: end -->\nafter\n")
    assert [name for name in ("tc-random", "tc-grid", "join2") if f"| {name} |" in text and name in tables.read_text()]
    assert "old" not in text


def places(name: str) -> str:
    return f"<!-- results of {name}: begin -->\nold\n<!-- results of {name}: end -->"


def test_a_document_without_a_place_is_a_mistake(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(places("another"))
    with pytest.raises(ValueError, match="has no place for results: <!-- results of streams: begin -->"):
        write_results(document, "streams", "new")


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (markdown.PAGE, markdown.WHOLE),
        (markdown.TABLES, markdown.WARM),
        (DOCS / "benchmarks" / "maintenance.md", maintenance.RESULTS),
        (DOCS / "benchmarks" / "streams.md", streams.RESULTS),
    ],
)
def test_the_documentation_has_a_place_for_each_command_that_writes_results(
    document: Path, name: str, tmp_path: Path
) -> None:
    copy = tmp_path / document.name
    copy.write_text(document.read_text(encoding="utf-8"), encoding="utf-8")
    write_results(copy, name, "new")
    assert "begin -->\n\nnew\n\n<!--" in copy.read_text(encoding="utf-8")
