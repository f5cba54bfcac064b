"""`python -m benchmarks cliffs` looks for costs that jump where they should grow slowly, with `--quick` on small data."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.cliffs.experiments import EXPERIMENTS, SIZES
from benchmarks.figures_command import measure


def main(arguments: Sequence[str] | None = None) -> int:
    return measure("cliffs", "Look for costs that jump.", EXPERIMENTS, SIZES, arguments)
