"""One run of a program by an engine, from files to counts, with the time of each part."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow.dataset as ds

from corollary import KnowledgeBase


@dataclass
class Run:
    """Seconds of the parts, and the number of facts by predicate; with `publish` the facts are counted in the files."""

    seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    strategies: tuple[str, ...] = ()
    rounds: int = 0

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def facts(self) -> int:
        return sum(self.counts.values())


def run_program(
    program: str,
    directory: Path,
    engine: Any,
    predicates: Iterable[str],
    *,
    publishes: bool = False,
    **options: Any,
) -> Run:
    """Loads the files of a directory, derives, and counts; with `publishes`, predicates are written as Parquet as well."""
    run, predicates = Run(), tuple(predicates)
    out = Path(mkdtemp(prefix="corollary-benchmark-")) if publishes else None
    kb = None
    try:
        started = time.perf_counter()
        kb = KnowledgeBase(program, engine=engine, updates=False, **options)
        kb.load_facts(directory)
        run.seconds["load"], started = _since(started)
        report = kb.materialise()
        counts = {predicate: kb.count(predicate) for predicate in predicates}
        run.seconds["derive"], started = _since(started)
        if out is not None:
            for predicate in predicates:
                kb.write(predicate, out / f"{predicate}.parquet")
            run.seconds["publish"], started = _since(started)
            counts = {predicate: written_rows(out / f"{predicate}.parquet") for predicate in predicates}
        run.counts, run.rounds = counts, report.rounds
        run.strategies = tuple(dict.fromkeys(node.strategy for node in report.nodes))
    finally:
        if kb is not None:
            kb.close()
        if out is not None:
            shutil.rmtree(out, ignore_errors=True)
    return run


def fastest(run: Callable[[], Run], runs: int) -> Run:
    return min((run() for _ in range(runs)), key=lambda one: one.total)


def written_rows(path: Path) -> int:
    """The rows of a Parquet file, or of a directory of them."""
    rows: int = ds.dataset(path, format="parquet").count_rows()
    return rows


def _since(started: float) -> tuple[float, float]:
    now = time.perf_counter()
    return now - started, now
