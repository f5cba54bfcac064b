"""kill -9 at any moment: what is there afterwards is exactly the last version, and verifies."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.killed import check


def kill(folder: Path, kills: int) -> str:
    seed = os.environ.get("COROLLARY_SEED", str(os.getpid()))
    command = [sys.executable, "-m", "tests.store.killed", str(folder / "kb"), str(kills), seed]
    run = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert run.returncode == 0, f"seed {seed}: {run.stderr}\n{run.stdout[-300:]}"
    return run.stdout


def test_a_killed_process_leaves_its_last_version(tmp_path: Path) -> None:
    found = kill(tmp_path, 10)
    assert found.count("kill") == 10


@pytest.mark.slow
def test_two_hundred_killed_processes_leave_their_last_versions(tmp_path: Path) -> None:
    found = kill(tmp_path, 200)
    assert found.count("kill") == 200
    assert int(found.split()[-1]) > 50, "most of them died before they did anything"


@pytest.mark.slow
@pytest.mark.spark
def test_twenty_processes_on_spark_leave_their_last_versions(tmp_path: Path) -> None:
    """Each of them starts Spark, so that they take minutes."""
    chance = random.Random(os.environ.get("COROLLARY_SEED", "20"))
    version = 1
    for _ in range(20):
        step = chance.randrange(1, 120)
        command = [sys.executable, "-m", "tests.store.killed_on_spark", str(tmp_path / "kb"), str(step)]
        run = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
        assert run.returncode == -signal.SIGKILL, run.stderr[-2000:]
        told = run.stdout.split()
        version = check(tmp_path / "kb", max(version, int(told[-1]) if told else 0))
    assert version > 20, "most of them died before they did anything"
