"""`python -m benchmarks builtins` measures built-ins on ten million rows, with `--quick` on small data."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.builtins.experiments import EXPERIMENTS, SIZES
from benchmarks.figures_command import measure


def main(arguments: Sequence[str] | None = None) -> int:
    return measure("builtins", "Measure built-ins.", EXPERIMENTS, SIZES, arguments)
