"""`python -m benchmarks store` measures knowledge bases in a directory, with `--quick` on small data."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.figures_command import measure
from benchmarks.store.experiments import EXPERIMENTS, SIZES


def main(arguments: Sequence[str] | None = None) -> int:
    return measure("store", "Measure stored knowledge bases.", EXPERIMENTS, SIZES, arguments)
