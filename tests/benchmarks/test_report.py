"""Choosing benchmarks, judging them, and the report as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from benchmarks.__main__ import main
from benchmarks.experiments import UnknownName
from benchmarks.figures import SOUFFLE
from benchmarks.measurement import MEGABYTE, Measurement, best
from benchmarks.peers.environment import PeerRun
from benchmarks.suite import Report, names, select
from benchmarks.targets import Verdict, geometric_mean, mean_times_souffle, summary, verdicts
from benchmarks.workloads import by_name
from corollary.cli.bench import bench

ROOT = Path(__file__).parents[2]

OF_A_REPORT = {
    *("date", "commit", "python", "system", "machine", "cores", "memory_mb", "conditions", "engine", "workloads"),
    *("start_seconds", "language", "peer_versions", "peers", "times_peers", "times_souffle_with_rows"),
    *("times_souffle_whole_process", "verdicts", "problems"),
}
OF_A_WORKLOAD = {
    *("workload", "engine", "wall", "cpu", "load", "derive", "count", "rows", "engine_seconds", "rounds", "instances"),
    *("instances_per_second", "facts_loaded", "facts_derived", "facts_stored", "facts_per_second", "baseline_mb"),
    *("peak_mb", "rows_peak_mb", "process", "process_cpu", "process_mb", "bytes_per_fact", "counts", "wrong"),
}
OF_A_VERDICT = {"workload", "what", "value", "target", "less_is_better", "met"}


def measured(workload: str, wall: float, **more: float) -> Measurement:
    figures = {"load": 0.0, "derive": wall, "count": 0.0, "rows": 0.0, "cpu": wall, "engine_seconds": wall} | more
    facts = {"rounds": 1, "instances": 30_000_000, "facts_loaded": 10, "facts_stored": 1_000_000}
    return Measurement(workload, "embedded", wall, **figures, **facts)  # type: ignore[arg-type]


def missed(*measurements: Measurement, start: float | None = None) -> list[tuple[str, str]]:
    found = verdicts({one.workload: one for one in measurements}, start)
    return [(verdict.workload, verdict.what) for verdict in found if not verdict.met]


def test_without_names_everything_runs_but_the_large() -> None:
    assert set(names()) - set(select([])) == {"andersen-large", "lubm-100"}


def test_names_and_patterns_choose_in_the_order_of_the_list() -> None:
    assert select(["start", "zodiac-*", "tc-grid"]) == ["tc-grid", "zodiac-rs1", "zodiac-rs2", "zodiac-rs3", "start"]
    assert select(["lubm-100"]) == ["lubm-100"]


def test_an_unknown_name_is_a_mistake_that_lists_the_names() -> None:
    with pytest.raises(UnknownName, match="there is no benchmark 'tc-gird'; there are tc-small, tc-random"):
        select(["tc-gird"])


def test_a_workload_must_not_be_slower_than_compiled_souffle() -> None:
    assert missed(measured("tc-random", 0.3)) == []
    assert missed(measured("tc-random", 0.7)) == [("tc-random", "times Soufflé")]
    assert missed(measured("tc-random", 0.3, rows=0.4)) == [("tc-random", "times Soufflé")]
    assert ("join2", "times Soufflé") not in missed(measured("join2", 0.7))
    assert ("tc-grid", "times Soufflé") in missed(measured("tc-grid", 1.2))


def test_the_average_is_judged_when_everything_was_measured() -> None:
    slow = [measured(name, figure.seconds) for name, figure in SOUFFLE.items()]
    assert ("geometric mean", "times Soufflé") in missed(*slow)
    assert ("geometric mean", "times Soufflé") not in missed(*slow[:5])


def test_an_average_leaves_out_what_an_equivalence_relation_does_in_no_time() -> None:
    ring, random = measured("stc-ring", 0.1), measured("tc-random", 0.69)
    assert mean_times_souffle([ring, random]) == pytest.approx(1.0)
    assert mean_times_souffle([ring]) is None


def test_whole_processes_are_compared_with_whole_processes() -> None:
    ours = measured("tc-random", 0.1, process=2.0, process_cpu=1.5)
    runs = [PeerRun("DuckDB", "tc-random", 8.0, 12.0), PeerRun("Nemo", "tc-random", problem="> 60 s")]
    report = Report("embedded", {"tc-random": ours}, peers={(run.workload, run.peer): run for run in runs})
    assert report.times_peers() == {"DuckDB": pytest.approx((4.0, 8.0))}
    assert mean_times_souffle([ours], whole=True) == pytest.approx(0.69 / 2.0)


def test_rates_memory_and_seconds_have_targets_too() -> None:
    assert missed(measured("sg-tree", 1.0, engine_seconds=2.5)) == [("sg-tree", "million instances/s")]
    heavy = measured("tc-small", 0.1, rows_peak_mb=300 + 61e6 / MEGABYTE)
    assert missed(heavy) == [("tc-small", "peak MB")]
    assert missed(measured("lubm-10", 3.0, derive=2.1)) == [("lubm-10", "seconds to derive")]
    assert missed(start=0.9) == [("start", "seconds")]


def test_the_geometric_mean_of_ratios() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)


def test_the_best_run_is_the_fastest_but_a_wrong_one_and_the_most_memory_count() -> None:
    slow, fast = measured("join2", 2.0, peak_mb=10), measured("join2", 1.0, peak_mb=5)
    assert (best([slow, fast]).wall, best([slow, fast]).peak_mb) == (1.0, 10)
    slow.wrong = ["p: 1 answers, not 2"]
    assert best([slow, fast]).wrong == ["p: 1 answers, not 2"]


def test_the_report_as_json_has_these_fields() -> None:
    report = Report("embedded", {"join2": measured("join2", 0.5)}, start=0.5, conditions=["on a Thursday"])
    document = json.loads(json.dumps(report.as_dict()))
    assert set(document) == OF_A_REPORT
    assert set(document["workloads"][0]) == OF_A_WORKLOAD
    assert {frozenset(verdict) for verdict in document["verdicts"]} == {frozenset(OF_A_VERDICT)}
    assert document["times_souffle_with_rows"] == pytest.approx(1.1)
    again = Report.of([document])
    assert (again.measurements, again.start, again.conditions) == (report.measurements, 0.5, ["on a Thursday"])


def test_the_command_prints_tables_writes_json_and_exits_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.json"
    assert main(["tc-small", "--runs", "1", "--json", str(file)]) == 0
    assert "tc-small" in capsys.readouterr().out
    (workload,) = json.loads(file.read_text())["workloads"]
    assert (workload["workload"], workload["counts"]) == ("tc-small", {"path": 20_100})


def test_a_wrong_number_of_answers_makes_the_command_exit_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = measured("tc-small", 0.1)
    wrong.wrong = ["path: 1 answers, not 20,100"]
    monkeypatch.setattr("benchmarks.suite.run_workload", lambda *_, **__: wrong)
    assert main(["tc-small"]) == 1
    assert "WRONG  tc-small: path: 1 answers, not 20,100" in capsys.readouterr().out


def test_list_shows_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [*by_name(), "start", "reading"]


def test_corollary_bench_says_where_the_benchmarks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(typer.Exit) as stopped:
        bench()
    assert stopped.value.exit_code == 2
    assert "run `corollary bench` in the root folder of a checkout" in capsys.readouterr().err


def test_corollary_bench_runs_in_a_checkout() -> None:
    code = "import typer; from corollary.cli.bench import bench; typer.run(bench)"
    command = [sys.executable, "-c", code, "tc-small", "--runs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "tc-small" in done.stdout


def test_a_verdict_is_about_a_lower_or_an_upper_bound() -> None:
    assert Verdict("a", "times", 2.0, 2.0).met
    assert not Verdict("a", "times", 1.9, 2.0).met
    assert Verdict("a", "seconds", 1.9, 2.0, less_is_better=True).met


def test_a_summary_lists_what_was_missed() -> None:
    met, missed = Verdict("a", "times", 2.0, 2.0), Verdict("b", "seconds", 3.0, 1.0, less_is_better=True)
    assert summary([met]) == "1 of 1 targets are met."
    assert summary([met, missed]) == "1 of 2 targets are met. Missed:\n\n- b: 3.00 seconds, to reach ≤ 1.00"
