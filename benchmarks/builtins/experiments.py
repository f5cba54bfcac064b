"""One rule with one built-in over a column of ten million different constants.

What is measured is the time of deriving per row, processor time of all threads on the embedded engine: the rows are in the
engine before. A condition derives the rows that it holds for, a function derives one fact with a new constant per row.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.spark.record import Outcome
from corollary import KnowledgeBase

ROWS = {"full": 10_000_000, "quick": 20_000}
SIZES = tuple(ROWS)
_WARM = 1000  # rows of a first run, for imports and compiled kernels
NUMBERS, TEXTS = 5.0, 1.0  # million rows per second and core


@dataclass(frozen=True)
class Case:
    """`expected` tells how many facts are derived from so many rows."""

    rule: str
    column: str
    target: float
    expected: Callable[[int], int] = lambda rows: rows


CASES = {
    "addition": Case("r(Y) :- n(X), Y = X + 1.", "numbers", NUMBERS),
    "ADD, solved": Case("r(Y) :- n(X), ADD(Y, 1, X).", "numbers", NUMBERS),
    "product of a double": Case("r(Y) :- n(X), Y = X * 0.5e0.", "numbers", NUMBERS),
    "comparison": Case("r(X) :- n(X), X < 100.", "numbers", NUMBERS, lambda rows: 100),
    "comparison of a product": Case("r(X) :- n(X), X * 2 < 100.", "numbers", NUMBERS, lambda rows: 50),
    "pred:numeric-less-than": Case(
        "r(X) :- n(X), pred:numeric-less-than(X, 100).", "numbers", NUMBERS, lambda rows: 100
    ),
    "guard": Case("r(X) :- n(X), not pred:is-literal-integer(X).", "numbers", NUMBERS, lambda rows: 0),
    "pred:contains": Case('r(X) :- n(X), pred:contains(X, "000000").', "texts", TEXTS, lambda rows: min(rows, 100)),
    "pred:matches": Case('r(X) :- n(X), pred:matches(X, "^s-0*7/").', "texts", TEXTS, lambda rows: 1),
    "length": Case("r(X, N) :- n(X), N = length(X).", "texts", TEXTS),
    "upper": Case("r(Y) :- n(X), Y = upper(X).", "texts", TEXTS),
    "concat": Case('r(Y) :- n(X), Y = concat(X, "!").', "texts", TEXTS),
    "substring": Case("r(Y) :- n(X), Y = substring(X, 3, 8).", "texts", TEXTS),
    "xsd:string of a number": Case("r(Y) :- n(X), Y = xsd:string(X).", "numbers", TEXTS),
}


def column(kind: str, rows: int) -> pa.Table:
    numbers = np.random.default_rng(7).permutation(rows)
    if kind == "numbers":
        return pa.table({"n": numbers})
    texts = np.char.add(np.char.add("s-", np.char.zfill(numbers.astype("U8"), 8)), "/temperature")
    return pa.table({"n": pa.array(texts.tolist(), pa.string())})


def run_experiment(name: str, sizes: str) -> Outcome:
    outcome = Outcome(name, sizes)
    EXPERIMENTS[name](outcome, ROWS[sizes])
    return outcome


def embedded(outcome: Outcome, rows: int) -> None:
    """Derived by one core of the embedded engine."""
    tables = {kind: column(kind, rows) for kind in ("numbers", "texts")}
    for name, case in CASES.items():
        _derived(case, tables[case.column].slice(0, _WARM))
        seconds, found = _derived(case, tables[case.column])
        outcome.check(name, found, case.expected(rows))
        speed = rows / seconds / 1e6
        outcome.add(name, "rows per second and core", speed, "million", target=case.target, less=False)


def spark(outcome: Outcome, rows: int) -> None:
    """Derived on Spark with two cores in this process, from the first job to the last fact."""
    from corollary.engines.spark import start_session

    session = start_session("builtins", cores=2, heap_megabytes=4096)
    try:
        tables = {kind: column(kind, rows) for kind in ("numbers", "texts")}
        for name, case in CASES.items():
            _derived(case, tables[case.column].slice(0, _WARM), engine=session)
            seconds, found = _derived(case, tables[case.column], engine=session)
            outcome.check(name, found, case.expected(rows))
            speed = rows / seconds / 1e6 / 2
            outcome.add(name, "rows per second and core", speed, "million", target=case.target, less=False)
    finally:
        session.stop()


def _derived(case: Case, table: pa.Table, engine: Any = "embedded") -> tuple[float, int]:
    """How long deriving takes, and how many facts come out."""
    kb = KnowledgeBase(case.rule, engine=engine, updates=False)
    kb.insert("n", table)
    clock = time.process_time if engine == "embedded" else time.perf_counter
    start = clock()
    kb.materialise()
    found = kb.count("r")
    return clock() - start, found


EXPERIMENTS: dict[str, Callable[[Outcome, int], None]] = {"embedded": embedded, "spark": spark}
