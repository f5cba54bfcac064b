"""A thousand facts of the universities go and come back: how long that takes beside deriving everything anew.

All of it happens in one session. Deriving anew is measured where nobody promised changes, which is the faster way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import ontology
from benchmarks.spark.inputs import universities_directory
from benchmarks.spark.record import Outcome
from benchmarks.spark.runs import run_program
from benchmarks.spark.sizes import Sizes
from corollary import KnowledgeBase
from corollary.transactions import Change, TransactionResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARE = 0.2
_SEED = 17


def run(outcome: Outcome, sizes: Sizes, session: Callable[[], SparkSession]) -> None:
    spark = session()
    predicates = ontology.derived()
    directory = universities_directory(sizes.maintained_universities)
    case = f"{sizes.maintained_universities} universities"
    run_program(ontology.program(), universities_directory(0), spark, predicates)
    _Trial(outcome, "warm up", universities_directory(0), spark, predicates, sizes).measure(anew=None, tells=False)
    anew = run_program(ontology.program(), directory, spark, predicates)
    outcome.add(case, "derive anew", anew.seconds["derive"])
    _Trial(outcome, case, directory, spark, predicates, sizes).measure(anew=anew.seconds["derive"], tells=True)


class _Trial:
    """One knowledge base whose facts change."""

    def __init__(
        self,
        outcome: Outcome,
        case: str,
        directory: Path,
        spark: SparkSession,
        predicates: tuple[str, ...],
        sizes: Sizes,
    ) -> None:
        self._outcome = outcome
        self._case = case
        self._directory = directory
        self._spark = spark
        self._predicates = predicates
        self._changes = sizes.changed_facts
        self._runs = sizes.runs

    def measure(self, *, anew: float | None, tells: bool) -> None:
        with KnowledgeBase(ontology.program(), engine=self._spark) as kb:
            kb.load_facts(self._directory)
            started = time.perf_counter()
            kb.materialise()
            counting = time.perf_counter() - started
            before = self._counts(kb)
            chosen = chosen_facts(self._directory, self._changes)
            there = back = float("inf")
            for _ in range(self._runs):
                seconds, deleted = _timed(kb, Change(delete=chosen))
                there, between = min(there, seconds), self._counts(kb)
                seconds, inserted = _timed(kb, Change(insert=chosen))
                back = min(back, seconds)
            if not tells:
                return
            self._outcome.add(self._case, "facts", sum(before.values()), "")
            self._outcome.add(self._case, "derive with counts", counting)
            for what, seconds, result in (("delete", there, deleted), ("insert", back, inserted)):
                rows = sum(map(len, (result.deleted if what == "delete" else result.inserted).values()))
                self._outcome.add(self._case, f"{what} {self._changes:,} facts: visible changes", rows, "")
                self._outcome.add(self._case, f"{what} {self._changes:,} facts", seconds)
                if anew is not None:
                    self._outcome.add(
                        self._case, f"{what} {self._changes:,} facts, share of anew", seconds / anew, "x", target=SHARE
                    )
            self._check(kb, before, between, deleted)

    def _counts(self, kb: KnowledgeBase) -> dict[str, int]:
        return {name: kb.count(name) for name in self._predicates}

    def _check(
        self, kb: KnowledgeBase, before: dict[str, int], between: dict[str, int], deleted: TransactionResult
    ) -> None:
        """What went is what is missing, and all of it came back."""
        gone = {name: len(deleted.deleted[name]) for name in self._predicates}
        for name, count in before.items():
            self._outcome.check(f"{self._case}, {name} without the facts", between[name], count - gone[name])
            self._outcome.check(f"{self._case}, {name} with them again", kb.count(name), count)


def _timed(kb: KnowledgeBase, change: Change) -> tuple[float, TransactionResult]:
    started = time.perf_counter()
    result = kb.apply(change)
    return time.perf_counter() - started, result


def chosen_facts(directory: Path, count: int) -> dict[str, pa.Table]:
    """Random facts of all files, the same ones in every run; of few facts a quarter."""
    files = sorted(directory.iterdir())
    sizes = np.array([pq.read_metadata(file).num_rows for file in files])
    ends = np.cumsum(sizes)
    count = min(count, int(ends[-1]) // 4)
    drawn = np.random.RandomState(_SEED).permutation(int(ends[-1]))[:count]
    places = np.searchsorted(ends, drawn, side="right")
    chosen = {}
    for place, file in enumerate(files):
        rows = np.sort(drawn[places == place] - (ends[place] - sizes[place]))
        if len(rows):
            chosen[file.stem] = pq.read_table(file).take(pa.array(rows))
    return chosen
