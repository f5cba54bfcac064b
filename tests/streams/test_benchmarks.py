"""The benchmarks of streams: their data are what the paper says, tiny experiments run and check themselves."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.streams import city
from benchmarks.streams.command import Report
from benchmarks.streams.edges import replacing_edges, tossed_edges
from benchmarks.streams.experiments import EXPERIMENTS, Sizes, run_experiment
from benchmarks.streams.published import SEQ, TRANS
from benchmarks.streams.record import Latency, Outcome, Run
from benchmarks.streams.targets import problems, verdicts
from corollary.transactions import Change

TINY = Sizes("tiny", 1, 1, (10,), 40)


def facts(updates: list[Change], side: str) -> list[set]:
    return [{row for rows in getattr(update, side).values() for row in rows} for update in updates]


def check_stream(updates: list[Change]) -> None:
    """Nothing is deleted that is not there, and nothing inserted that is."""
    present: set = set()
    for deleted, inserted in zip(facts(updates, "delete"), facts(updates, "insert"), strict=True):
        assert deleted <= present
        assert not inserted & present
        present = (present - deleted) | inserted


@pytest.mark.parametrize("size", [10, 80])
def test_each_update_deletes_what_the_one_before_added(size: int) -> None:
    updates = replacing_edges(nodes=100, size=size, seed=1)
    check_stream(updates)
    inserted, deleted = facts(updates, "insert"), facts(updates, "delete")
    assert (len(updates), len(inserted[0]), len(deleted[0])) == (50, 100, 0)
    assert deleted[2:] == inserted[1:-1]
    assert {len(one) for one in inserted[1:] + deleted[1:]} == {size}
    assert updates == replacing_edges(nodes=100, size=size, seed=1)


@pytest.mark.parametrize("size", [10, 50, 80])
def test_tossed_edges_have_the_published_numbers_of_explicit_marks(size: int) -> None:
    found = []
    for seed in (1, 2, 3):
        updates = tossed_edges(nodes=20, size=size, seed=seed)
        check_stream(updates)
        found.append(sum(map(len, facts(updates, "delete")[2:])))
    assert mean(found) == pytest.approx(TRANS[size].marks[0], rel=0.02)


@pytest.mark.parametrize(("name", "around"), [("track 0", 18), ("track 1", 14), ("track 2", 9)])
def test_tracks_are_about_as_lively_as_the_published_ones(name: str, around: int) -> None:
    length, step = city.TRACKS[name]
    updates = city.track(length, step, 1)
    check_stream(updates)
    assert len(updates) == length
    assert mean(map(len, facts(updates[1:], "insert"))) == pytest.approx(around, rel=0.35)
    assert len(facts(updates, "insert")[0]) > 30


_ON_SPARK = (pytest.mark.slow, pytest.mark.spark)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=_ON_SPARK if name == "structured" else ()) for name in EXPERIMENTS]
)
def test_tiny_experiments_give_the_right_states(name: str) -> None:
    outcome = run_experiment(name, TINY)
    assert [*outcome.problems, *problems(outcome)] == []
    assert Outcome.of(json.loads(json.dumps(outcome.as_dict()))) == outcome
    assert verdicts([outcome]) == []  # tiny data have no targets
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    Report({name: outcome}).print(console)
    shown = console.export_text()
    assert {"structured": "changes/s", "closures": "sets"}.get(name, "bf-marking") in shown
    if name == "seq":
        assert [outcome.run("10", strategy).deletions for strategy in ("bf", "bf-marking")] == list(SEQ[10].deletions)
        assert "published, new" in shown


def test_targets_are_judged_and_wrong_counts_are_problems() -> None:
    old = Run("10", "bf", 50, 1.0, 1960, 0, 0, 2360, 0, 0)
    literal = Run("10", "bf-marking-literal", 50, 1.0, 1480, 0, 0, 2360, 480, 480)
    new = Run("10", "bf-marking", 50, 1.2, 1500, 0, 0, 2360, 480, 480)
    outcome = Outcome("seq", "full", [old, literal, new], [Latency("bf", 100, 0.05, 1, 2, 3, 4, 100, 130)])
    assert problems(outcome) == [
        "seq 10, bf-marking: 460 saved, 480 implicit marks",
        "seq 10, bf-marking: deletions 1,960 and 1,500",
    ]
    assert [(verdict.what, verdict.met) for verdict in verdicts([outcome])] == [
        ("of the time without marks", False),
        ("updates/s", True),
        ("MB more at the end", False),
    ]


def test_the_command_knows_its_experiments(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["streams", "--list"]) == 0
    assert capsys.readouterr().out.split() == list(EXPERIMENTS)
    with pytest.raises(SystemExit):
        main(["streams", "nothing-of-that-name"])
