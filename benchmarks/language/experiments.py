"""The experiments of paper 001, section 4: time from asking a query to having counted its answers, on a base that was loaded.

Nothing is derived before: each query is answered on demand, and keeps nothing for the next one. Indexes on facts stay, as in any
database. The numbers of answers of Join1 are compared with products of matrices.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import data, rules
from benchmarks.language.published import JOIN1, JOIN2, LISTING2, Published
from benchmarks.targets import Verdict
from benchmarks.workloads import JOIN1_QUERIES
from corollary import KnowledgeBase

_ROWS = {"join1-data0": 10_000, "join1-data1": 50_000, "join1-data2": 250_000}
_VALUES = 1000
TIMES_RDB = 100.0
BOUND_SECONDS = 0.05
LISTING2_SECONDS = {1000: 1.0}


@dataclass
class Asked:
    """A query, or a size of an experiment: the best time of some runs."""

    case: str
    answers: int
    seconds: float
    rdb: float | None = None
    iris: float | None = None
    most: float | None = None


@dataclass
class Outcome:
    experiment: str
    is_full: bool
    load_seconds: float = 0.0
    asked: list[Asked] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, one: Asked, expected: int, published: Published | None) -> None:
        if one.answers != expected:
            self.problems.append(f"{self.experiment}, {one.case}: {one.answers:,} answers, not {expected:,}")
        if published is not None:
            one.rdb, one.iris = published.rdb, published.iris
        self.asked.append(one)

    @property
    def verdicts(self) -> list[Verdict]:
        if not self.is_full:
            return []
        faster = [
            Verdict(f"{self.experiment}: {one.case}", "times IRIS-RDB", one.rdb / one.seconds, TIMES_RDB)
            for one in self.asked
            if one.rdb is not None
        ]
        within = [
            Verdict(f"{self.experiment}: {one.case}", "ms", one.seconds * 1000, one.most * 1000, less_is_better=True)
            for one in self.asked
            if one.most is not None
        ]
        return [*faster, *within]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Outcome:
        asked = [Asked(**one) for one in document["asked"]]
        return cls(**{**document, "asked": asked})


def run_experiment(name: str, *, quick: bool) -> Outcome:
    outcome = Outcome(name, not quick)
    if name in _ROWS:
        _join1(outcome, 500 if quick else _ROWS[name], runs=1 if quick else 5)
    elif name == "join2":
        _join2(outcome, 4 if quick else 19, runs=1 if quick else 3)
    else:
        _listing2(outcome, (10, 20) if quick else (200, 400, 600, 800, 1000, 4000), runs=1 if quick else 3)
    return outcome


EXPERIMENTS = (*_ROWS, "join2", "listing2")


def _join1(outcome: Outcome, rows: int, runs: int) -> None:
    tables = {name: np.array(table) for name, table in data.join1(rows).items()}
    kb = KnowledgeBase(rules.JOIN1, updates=False)
    started = time.perf_counter()
    for name, table in tables.items():
        kb.insert(name, table)
    outcome.load_seconds = time.perf_counter() - started
    expected = _join1_answers(tables)
    for query in JOIN1_QUERIES:
        seconds, answers = _best(lambda query=query: len(kb.query(query, mode="demand")), runs)  # type: ignore[misc]
        most = BOUND_SECONDS if "1" in query.partition("(")[2] and outcome.experiment == "join1-data1" else None
        published = JOIN1.get(outcome.experiment, {}).get(query)
        outcome.add(Asked(query, answers, seconds, most=most), expected[query], published)


def _join1_answers(tables: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, int]:
    """The numbers of answers by products of matrices of zeros and ones."""

    def matrix(name: str) -> np.ndarray[Any, Any]:
        found = np.zeros((_VALUES + 1, _VALUES + 1), np.float32)
        found[tables[name][:, 0], tables[name][:, 1]] = 1
        return found

    def joined(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return (left @ right > 0).astype(np.float32)

    b2 = joined(matrix("c3"), matrix("c4"))
    b1 = joined(joined(matrix("d1"), matrix("d2")), matrix("c2"))
    relations = {"a": joined(b1, b2), "b1": b1, "b2": b2}
    counts = {f"{name}(X, Y)": found.sum() for name, found in relations.items()}
    counts |= {f"{name}(1, Y)": found[1].sum() for name, found in relations.items()}
    counts |= {f"{name}(X, 1)": found[:, 1].sum() for name, found in relations.items()}
    return {query: int(count) for query, count in counts.items()}


def _join2(outcome: Outcome, facts: int, runs: int) -> None:
    kb = KnowledgeBase(rules.JOIN2, updates=False)
    kb.insert("p", [(f"abcd{k}",) for k in range(facts)])
    seconds, answers = _best(lambda: len(kb.query("q(X)", mode="demand")), runs)
    outcome.add(Asked("q(X)", answers, seconds), facts, JOIN2)


def _listing2(outcome: Outcome, limits: tuple[int, ...], runs: int) -> None:
    KnowledgeBase(rules.counting_path(9), updates=False).query("path(X, Y)")  # compiles what is compiled
    for limit in limits:
        kb = KnowledgeBase(rules.counting_path(limit), updates=False)
        seconds, answers = _best(lambda kb=kb: len(kb.query("path(X, Y)", mode="demand")), runs)  # type: ignore[misc]
        most, expected = LISTING2_SECONDS.get(limit), (limit + 1) * (limit + 2) // 2
        outcome.add(Asked(f"N = {limit:,}", answers, seconds, most=most), expected, LISTING2.get(limit))


def _best(act: Callable[[], int], runs: int) -> tuple[float, int]:
    """The shortest time of some runs, and what they gave; the first run compiles kernels and is not counted."""
    found = act()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        act()
        times.append(time.perf_counter() - started)
    return min(times), found
