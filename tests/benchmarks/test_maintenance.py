"""The experiments with changes: tiny versions run and check themselves, and their results become tables and pictures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import rules
from benchmarks.__main__ import main
from benchmarks.data import zodiac
from benchmarks.experiments import UnknownName
from benchmarks.maintenance import suite
from benchmarks.maintenance.command import RESULTS
from benchmarks.maintenance.experiments import EXPERIMENTS, run_experiment
from benchmarks.maintenance.pictures import charts
from benchmarks.maintenance.published import MODULAR, RULE_SET_2, RULE_SET_3, ZODIAC
from benchmarks.maintenance.record import Outcome, Timing, typical
from benchmarks.maintenance.sheets import NO_DATA, sheets
from benchmarks.maintenance.sizes import FULL, TINY
from benchmarks.maintenance.states import State, counts, divided, from_scratch, named, table, tables
from benchmarks.maintenance.suite import Report, select
from benchmarks.maintenance.svg import Chart, Series, draw, write_charts
from benchmarks.maintenance.targets import verdicts
from benchmarks.maintenance.trial import Move, Trial
from benchmarks.sheet import Sheet
from benchmarks.workloads import zodiac_counts
from corollary.transactions import Change

ROOT = Path(__file__).parents[2]
CHAIN = State(named(rules.TRANSITIVE), {"edge": table([(1, 2), (2, 3), (3, 4)])})
every_experiment = pytest.mark.parametrize("name", EXPERIMENTS)


@cache
def tiny(name: str) -> Outcome:
    return run_experiment(name, TINY)


def all_tiny() -> dict[str, Outcome]:
    return {name: tiny(name) for name in EXPERIMENTS}


def timing(experiment: str, change: str, seconds: float, scratch: float = 1.0, **published: float) -> Timing:
    operation, _, subject = change.partition(" ")
    figures = {MODULAR if name == "modular" else ZODIAC: value for name, value in published.items()}
    return Timing(experiment, operation, subject, 1, seconds, scratch, 0.0, 5, 10, [seconds], published=figures)


def missed(*timings: Timing, sizes: str = "full", nothing: tuple[Timing, ...] = ()) -> list[tuple[str, str]]:
    outcome = Outcome(timings[0].experiment, sizes, "auto", list(timings), list(nothing))
    return [(verdict.workload, verdict.what) for verdict in verdicts([outcome]) if not verdict.met]


# -- experiments -----------------------------------------------------------------------------------------------------


@every_experiment
def test_every_state_after_a_change_is_what_deriving_it_anew_gives(name: str) -> None:
    outcome = tiny(name)
    assert outcome.problems == []
    assert outcome.states_checked >= len(outcome.timings)
    assert all(one.seconds > 0 and one.scratch > 0 and one.runs for one in outcome.timings)


@every_experiment
def test_there_and_back_changes_the_same_number_of_facts(name: str) -> None:
    timings = tiny(name).timings
    assert [one.changed for one in timings[::2]] == [one.changed for one in timings[1::2]]
    assert any(one.changed for one in timings)


@every_experiment
def test_changes_of_nothing_change_nothing(name: str) -> None:
    assert {one.changed for one in tiny(name).nothing} == {0}


def test_the_rule_changes_leave_the_facts_of_closed_forms() -> None:
    first = tiny("rule-set-2").materialised[0]
    assert first.facts - first.explicit == sum(zodiac_counts(TINY.chain, negation=False).values())
    assert [one.subject for one in tiny("rule-set-2").timings[::2]] == [change.name for change in RULE_SET_2]
    assert [one.subject for one in tiny("rule-set-3").timings[::2]] == [change.name for change in RULE_SET_3]


@pytest.mark.parametrize(("text", "changes"), [(rules.RULE_SET_2, RULE_SET_2), (rules.RULE_SET_3, RULE_SET_3)])
def test_the_published_numbers_of_facts_left_are_right(text: str, changes: tuple) -> None:  # type: ignore[type-arg]
    start = State(named(text), tables(zodiac(FULL.chain)))
    for change in changes:
        left = from_scratch(start.without_rules(change.rules), updates=False).counts
        assert sum(left.values()) - start.explicit == change.left, change.name


def test_stores_of_hyper_nodes_add_up_to_no_more_than_they_are() -> None:
    memory = [one for one in tiny("rule-set-2").memory if one.size == TINY.memory_chains[-1]]
    assert len(memory) == 14
    assert all(one.store > 0 and one.bag > 0 for one in memory)


# -- states and trials -----------------------------------------------------------------------------------------------


def test_rules_are_named_in_their_order_whatever_their_lines() -> None:
    assert list(named(rules.RULE_SET_1)) == ["r1", "r2", "r3", "r4", "r5", "r6"]
    assert named(rules.TRANSITIVE) == {
        "r1": "path(X, Y) :- edge(X, Y).",
        "r2": "path(X, Z) :- edge(X, Y), path(Y, Z).",
    }


def test_a_division_is_of_all_facts_and_the_same_every_time() -> None:
    whole = {"p": table([(k,) for k in range(10)]), "q": table([(k, k) for k in range(5)])}
    chosen, others = divided(whole, 6, seed=1)
    assert sum(map(len, chosen.values())) == 6
    assert {name: len(rows) + len(chosen.get(name, ())) for name, rows in others.items()} == {"p": 10, "q": 5}
    assert divided(whole, 6, seed=1)[0] == chosen != divided(whole, 6, seed=2)[0]


def test_a_trial_tells_of_states_that_are_not_what_they_must_be() -> None:
    outcome = Outcome("chain", "full", "auto")
    trial = Trial(outcome, FULL, CHAIN, 3)
    there = Move("delete", "an edge", Change(delete={"edge": [(2, 3)]}), left=7)
    back = Move("insert", "an edge", Change(insert={"edge": [(2, 3)]}), expected={"path": 5})
    wrong_state = CHAIN.with_tables({"edge": table([(1, 2)])})
    trial.there_and_back(there, back, wrong_state, runs=1)
    assert outcome.problems == [
        "chain (3): delete an edge: 2 facts of edge, not 1",
        "chain (3): delete an edge: 2 facts of path, not 1",
        "chain (3): delete an edge: 2 facts left, not 7",
        "chain (3): insert an edge: 6 facts of path, not 5",
    ]
    outcome.problems.clear()
    trial.nothing_visible([Move("insert", "an edge", Change(insert={"edge": [(4, 5)]}))])
    assert outcome.problems[0] == "chain (3): insert an edge: 5 visible facts changed, not 0"


def test_both_modes_count_alike() -> None:
    assert from_scratch(CHAIN).counts == from_scratch(CHAIN, updates=False).counts == {"edge": 3, "path": 6}
    assert counts(CHAIN.loaded()) == {"edge": 3, "path": 6}


def test_several_sets_become_their_median() -> None:
    found = typical([timing("dag-r", "delete 10 facts", seconds) for seconds in (3.0, 1.0, 2.0)])
    assert (found.seconds, found.runs, found.change) == (2.0, [3.0, 1.0, 2.0], "delete 10 facts")


# -- targets ---------------------------------------------------------------------------------------------------------


def test_a_change_of_dag_r_may_not_take_longer_than_deriving_and_beats_the_paper() -> None:
    assert missed(timing("dag-r", "delete 1,000 facts", 1.1, modular=30)) == []
    assert missed(timing("dag-r", "delete 1,000 facts", 1.3, modular=20)) == [
        ("dag-r: delete 1,000 facts", "of from scratch"),
        ("dag-r: delete 1,000 facts", "times DRed^c-Mod"),
    ]


def test_rule_changes_beat_zodiac_edge_by_a_factor_or_are_done_at_once() -> None:
    assert missed(timing("rule-set-2", "add r3", 0.5, zodiac=9.0)) == [("rule-set-2: add r3", "times ZodiacEdge")]
    assert missed(timing("rule-set-2", "delete r18", 0.011, zodiac=0.003)) == [("rule-set-2: delete r18", "ms")]
    assert missed(timing("rule-set-2", "delete r18", 0.009, zodiac=0.003)) == []
    assert missed(timing("lubm", "add random", 0.2, zodiac=2.3)) == []
    assert missed(timing("lubm", "delete 1,000 facts", 0.11)) == [("lubm: delete 1,000 facts", "ms")]


def test_what_nobody_sees_takes_less_than_a_millisecond_and_small_data_have_no_targets() -> None:
    slow = timing("tc-grid", "insert what is there", 0.0011)
    assert missed(slow, nothing=(slow,)) == [("tc-grid: insert what is there (1)", "ms")]
    assert missed(timing("rule-set-2", "add r3", 50.0, zodiac=9.0), sizes="quick") == []


# -- tables and pictures ---------------------------------------------------------------------------------------------


def sheet(outcomes: Mapping[str, Outcome], beginning: str) -> Sheet:
    (found,) = (one for one in sheets(outcomes) if one.title.startswith(beginning))
    return found


def test_all_tables_are_made_and_have_as_many_cells_as_columns() -> None:
    found = sheets(all_tiny())
    assert len(found) == 11
    for one in found:
        assert {len(row) for row in one.rows} == {len(one.columns)}, one.title


def test_rows_without_data_say_so_and_published_figures_stand_beside_ours() -> None:
    rows = {row[0]: row for row in sheet(all_tiny(), "Paper 002, Table 2").rows}
    assert rows["Claros-LE"][1:5] == ["0.930", "1,035.28", NO_DATA, NO_DATA]
    assert rows["DAG-R"][1:3] == ["64.92", "3,005.11"]
    assert NO_DATA not in rows["DAG-R"]
    table_2 = sheet(all_tiny(), "Paper 000, Tables 2 and 3").rows
    assert table_2[0][:3] == ["add r10", "24.13", "2.33"]


def test_tables_are_made_of_what_was_run() -> None:
    titles = [one.title for one in sheets({"tc-grid": tiny("tc-grid")})]
    assert titles == ["One edge of a graph", "Changes of nothing that can be seen"]
    assert sheets({}) == []


def test_pictures_are_well_formed_and_show_every_point(tmp_path: Path) -> None:
    written = write_charts(charts(all_tiny()), tmp_path / "pictures")
    names = ["tc-grid", "tc-random", "figure-6", "figure-7", "figure-8", "figure-9", "figure-10-12"]
    assert [file.stem for file in written] == names
    for file, chart in zip(written, charts(all_tiny()).values(), strict=True):
        root = ElementTree.parse(file).getroot()
        circles = root.findall(".//{http://www.w3.org/2000/svg}circle")
        assert len(circles) == sum(len(series.points) for series in chart.series) + len(chart.series)


def test_a_picture_escapes_its_texts_and_leaves_out_what_a_logarithm_cannot_show() -> None:
    chart = Chart("a < b & c", "x", "y", [Series("s", [(0.0, 1.0), (10.0, 5.0)], line=True)], log_x=True)
    root = ElementTree.fromstring(draw(chart))
    assert [text.text for text in root.iter("{http://www.w3.org/2000/svg}title")] == ["a < b & c"]
    assert len(root.findall(".//{http://www.w3.org/2000/svg}circle")) == 2
    ElementTree.fromstring(draw(Chart("nothing", "x", "y", [], log_y=True)))


# -- the command -----------------------------------------------------------------------------------------------------


def test_a_report_goes_through_json_and_into_the_documentation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, document = tmp_path / "report.json", tmp_path / "page.md"
    file.write_text(json.dumps(Report("auto", all_tiny()).as_dict()))
    begin, end = f"<!-- results of {RESULTS}: begin -->", f"<!-- results of {RESULTS}: end -->"
    document.write_text(f"# Before\n{begin}\nold\n{end}\nafter\n")
    arguments = ["maintenance", "--from", str(file), "--svg", str(tmp_path), "--markdown", str(document)]
    assert main(arguments) == 0
    assert "Paper 002, Table 2" in capsys.readouterr().out
    text = document.read_text()
    assert "## Paper 000, Fig. 9" in text
    assert "old" not in text
    assert text.startswith("# Before\n")
    assert text.endswith(f"{end}\nafter\n")
    assert (tmp_path / "figure-9.svg").exists()
    assert Report.of([json.loads(file.read_text())]).outcomes == all_tiny()


def test_a_wrong_state_makes_the_command_exit_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = Outcome("tc-grid", "quick", "auto", problems=["tc-grid (5): 1 facts of path, not 2"])
    monkeypatch.setattr(suite, "_run_one", lambda *_: wrong)
    assert main(["maintenance", "tc-grid", "--quick"]) == 1
    assert "WRONG  tc-grid (5): 1 facts of path, not 2" in capsys.readouterr().out


def test_an_experiment_runs_in_a_process_of_its_own() -> None:
    report = suite.run(["rule-set-3"], sizes=TINY)
    assert report.problems == []
    assert report.outcomes["rule-set-3"].sizes == "tiny"
    failed = suite.run(["rule-set-3"], sizes=TINY, strategy="steam")
    assert "there is no strategy 'steam'" in failed.problems[0]


def test_names_and_patterns_choose_experiments() -> None:
    assert select([]) == list(EXPERIMENTS)
    assert select(["rule-set-*", "dag-r"]) == ["dag-r", "rule-set-1", "rule-set-2", "rule-set-3"]
    with pytest.raises(UnknownName, match="there is no experiment 'steam'"):
        select(["steam"])


def test_corollary_bench_knows_maintenance() -> None:
    code = "import typer; from corollary.cli.bench import bench; typer.run(bench)"
    command = [sys.executable, "-c", code, "maintenance", "--list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"})
    assert (done.returncode, done.stderr, done.stdout.split()) == (0, "", list(EXPERIMENTS))
