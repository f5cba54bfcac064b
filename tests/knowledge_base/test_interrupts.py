"""Ctrl-C at any instant of any operation; `interrupted_operations` does it in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("count", "seed"), [(60, 1), pytest.param(2_000, 7, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_an_interrupt_leaves_the_state_before_or_the_state_after(count: int, seed: int) -> None:
    command = [sys.executable, "-m", "tests.knowledge_base.interrupted_operations"]
    command += ["--count", str(count), "--seed", str(seed)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=3_600, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
