"""`corollary stream`: updates from files and from the standard input, what is printed, written and logged, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from corollary.cli.stream import Policy, StreamStrategy
from corollary.settings import STREAM_STRATEGIES as STRATEGIES
from corollary.streams.stream import POLICIES
from tests.cli.command import COMMAND, ENVIRONMENT, PATHS, corollary, write

UPDATES = (
    '{"insert": {"edge": [[2, 3]]}}\n'
    '{"insert": {"edge": [[3, 4]]}, "delete": {"edge": [[2, 3]]}}\n'
    '{"delete": {"edge": [[8, 9]]}}\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, p_dl=PATHS, u_jsonl=UPDATES)
    (tmp_path / "facts").mkdir()
    write(tmp_path / "facts", edge_csv="1,2\n")
    return tmp_path


def changes(stdout: str) -> list[dict]:
    return [json.loads(line) for line in stdout.splitlines()]


def test_the_options_name_all_strategies_and_policies() -> None:
    assert tuple(strategy.value for strategy in StreamStrategy) == STRATEGIES
    assert tuple(policy.value for policy in Policy) == POLICIES


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_changes_are_printed_and_statistics_written(folder: Path, strategy: str) -> None:
    options = ["--facts", "facts", "--updates", "u.jsonl", "--strategy", strategy, "--changes", "--stats", "stats.json"]
    run = corollary("stream", "p.dl", *options, cwd=folder)
    assert run.returncode == 0
    assert changes(run.stdout) == [
        {"update": 1, "inserted": {"edge": [[2, 3]], "path": [[1, 3], [2, 3]]}, "deleted": {}},
        {
            "update": 2,
            "inserted": {"edge": [[3, 4]], "path": [[3, 4]]},
            "deleted": {"edge": [[2, 3]], "path": [[1, 3], [2, 3]]},
        },
        {"update": 3, "rejected": "E452: u.jsonl:3: edge(8, 9) cannot be deleted: it is not an explicit fact"},
    ]
    assert "1 update was rejected" in run.stderr
    stats = json.loads((folder / "stats.json").read_text(encoding="utf-8"))
    assert (stats["updates"], stats["rejected"], len(stats["per_update"])) == (3, 1, 3)
    assert set(stats["applications"]) == {"deletions", "backward", "forward", "insertions"}
    assert set(stats["marks"]) == {"explicit", "implicit"}
    assert stats["seconds"] == pytest.approx(sum(update["seconds"] for update in stats["per_update"]))
    for part in ("applications", "marks"):
        for name, count in stats[part].items():
            assert count == sum(update[part][name] for update in stats["per_update"])
    if strategy == "bf-marking":
        assert stats["marks"] == {"explicit": 1, "implicit": 1}  # path(1, 3) follows from edge(1, 2), which stays
        assert stats["applications"]["insertions"] == 3


def test_updates_come_from_the_standard_input(folder: Path) -> None:
    text = "add(edge(2, 3)).\nadd(edge(1, 2)).\n\ndelete(edge(1, 2)).\n"
    run = corollary("stream", "p.dl", "--updates", "-", "--changes", cwd=folder, stdin=text)
    assert [sorted(change["deleted"]) for change in changes(run.stdout)] == [[], ["edge", "path"]]


def test_a_bad_update_is_an_exit_code_where_none_may_be_rejected(folder: Path) -> None:
    options = ["--facts", "facts", "--updates", "u.jsonl", "--policy", "fail", "--stats", "stats.json", "--changes"]
    run = corollary("stream", "p.dl", *options, cwd=folder)
    assert run.returncode == 3
    assert len(changes(run.stdout)) == 2
    assert "error[E452]: u.jsonl:3: edge(8, 9) cannot be deleted" in run.stderr
    assert json.loads((folder / "stats.json").read_text(encoding="utf-8"))["updates"] == 2


def test_rejected_updates_and_large_ones_are_logged(folder: Path) -> None:
    options = ["--facts", "facts", "--updates", "u.jsonl", "--largest", "1", "--rejects", "rejects.jsonl"]
    assert corollary("stream", "p.dl", *options, cwd=folder).returncode == 0
    lines = [json.loads(line) for line in (folder / "rejects.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(line["update"], line["codes"]) for line in lines] == [(2, ["E453"]), (3, ["E452"])]
    assert lines[0]["place"] == "u.jsonl:2"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["p.dl", "--updates", "missing.jsonl"], 3, "E454"),
        (["missing.dl", "--updates", "u.jsonl"], 1, "missing.dl"),
        (["p.dl"], 2, "--updates"),
        (["p.dl", "--updates", "u.jsonl", "--strategy", "magic"], 2, "magic"),
        (["-", "--updates", "-"], 2, "both the program and the updates"),
    ],
)
def test_mistakes_are_exit_codes(folder: Path, arguments: list[str], code: int, message: str) -> None:
    run = corollary("stream", *arguments, cwd=folder)
    assert run.returncode == code
    assert message in run.stderr


def test_a_growing_file_is_followed_until_it_is_interrupted(folder: Path) -> None:
    command = [*COMMAND, "stream", "p.dl", "--updates", "u.jsonl", "--follow", "--changes", "--stats", "stats.json"]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it otherwise
    ) as process:  # fmt: skip
        assert process.stdout is not None
        first = [json.loads(process.stdout.readline()) for _ in range(3)]
        with open(folder / "u.jsonl", "a", encoding="utf-8") as file:
            file.write('{"insert": {"edge": [[4, 5]]}}\n')
        more = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == 130, errors
    assert [one["update"] for one in first] == [1, 2, 3]
    assert more["inserted"] == {"edge": [[4, 5]], "path": [[3, 5], [4, 5]]}
    assert json.loads((folder / "stats.json").read_text(encoding="utf-8"))["updates"] == 4
