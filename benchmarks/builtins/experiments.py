"""One built-in over a column of ten million different constants, on both engines.

A built-in is *applied* by a body that keeps few rows, though it is computed for all of them. Where it is a function, it also
*derives* a fact with its value for every row. That adds what facts cost: to find the distinct ones and to write them, and
to give an id to each new constant. Nothing is taken off; how long Spark takes to read the column is shown beside. Facts have
the target only in the embedded engine: on Spark they become files, and to write ten million rows alone takes longer.

Rows are per second of processor time, of all threads and processes: other work on the machine does not matter much. They are in
the engine before, and each body has run before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from benchmarks.builtins.processor_time import seconds_of_tree
from benchmarks.spark.record import Outcome
from corollary import KnowledgeBase

ROWS = {"full": 10_000_000, "quick": 20_000}
SIZES = tuple(ROWS)
_WARM = 1000  # rows of a first run, for imports and compiled kernels
_APPLIED, _DERIVED = "r(X)", "r(X, Y)"
_NEITHER = "X > 5000000, X < 5000100"  # files cannot tell that they have none of these: all rows are read, few are kept
NUMBERS, TEXTS = 5.0, 1.0  # million rows per second and core
COLUMNS = ("numbers", "doubles", "texts")


@dataclass(frozen=True)
class Case:
    """`applied` is a body over `n(X)` and `expected` the number of its answers; `derived` is one that binds `Y` for every row."""

    applied: str
    expected: Callable[[int], int]
    column: str = "numbers"
    derived: str | None = None

    @property
    def target(self) -> float:
        return TEXTS if self.column == "texts" else NUMBERS


def _some(count: int) -> Callable[[int], int]:
    return lambda rows: min(rows, count)


_MADE_ON_SPARK = ("addition", "product of doubles", "length", "upper")
"""Facts with numbers, which are inside their ids, and with new texts; there are more functions, and facts cost the same."""

_TEXT = '"s-00000007/temperature"'
CASES = {
    "addition": Case("X + 1 < 100", _some(99), derived="Y = X + 1"),
    "ADD, solved": Case("ADD(Y, 1, X), Y < 99", _some(100), derived="ADD(Y, 1, X)"),
    "remainder": Case("X % 1000 = 7, X < 100000", lambda rows: min(rows, 100_000) // 1000, derived="Y = X % 1000"),
    "product of a double": Case("X * 0.5e0 < 50", _some(100), derived="Y = X * 0.5e0"),
    "comparison": Case("X < 100", _some(100)),
    "comparison with a double": Case("X < 99.5e0", _some(100)),
    "pred:numeric-less-than": Case("pred:numeric-less-than(X, 100)", _some(100)),
    "guard": Case("not pred:is-literal-integer(X)", _some(0)),
    "comparison of doubles": Case("X < 25", _some(100), "doubles"),
    "sum of doubles": Case("X + 0.5e0 < 25.5e0", _some(100), "doubles", derived="Y = X + 0.5e0"),
    "product of doubles": Case("X * 0.5e0 < 12.5e0", _some(100), "doubles", derived="Y = X * 0.5e0"),
    "pred:contains": Case('pred:contains(X, "-000000")', _some(100), "texts"),
    "pred:matches": Case('pred:matches(X, "^s-0*7/")', _some(1), "texts"),
    "length": Case("length(X) != 22", _some(0), "texts", derived="Y = length(X)"),
    "upper": Case(f"upper(X) = {_TEXT.upper()}", _some(1), "texts", derived="Y = upper(X)"),
    "concat": Case(f'concat(X, "!") = {_TEXT[:-1]}!"', _some(1), "texts", derived='Y = concat(X, "!")'),
    "substring": Case('substring(X, 3, 8) = "00000007"', _some(1), "texts", derived="Y = substring(X, 3, 8)"),
}


def column(kind: str, rows: int) -> pa.Table:
    numbers = np.random.default_rng(7).permutation(rows)
    if kind == "numbers":
        return pa.table({"n": numbers})
    if kind == "doubles":
        return pa.table({"n": numbers * 0.25})
    texts = np.char.add(np.char.add("s-", np.char.zfill(numbers.astype("U8"), 8)), "/temperature")
    return pa.table({"n": pa.array(texts.tolist(), pa.string())})


def run_experiment(name: str, sizes: str) -> Outcome:
    outcome = Outcome(name, sizes)
    EXPERIMENTS[name](outcome, ROWS[sizes])
    return outcome


def embedded(outcome: Outcome, rows: int) -> None:
    """Derived by rules on one core of the embedded engine."""
    for kind in COLUMNS:
        table = column(kind, rows)

        def run(head: str, body: str, table: pa.Table = table) -> tuple[float, int]:
            return _derived(f"{head} :- n(X), {body}.", table)

        for name, case in _cases(kind):
            for head, body in ((_APPLIED, case.applied), (_DERIVED, case.derived)):
                if body is not None:
                    _derived(f"{head} :- n(X), {body}.", table.slice(0, _WARM))
            _measure(outcome, name, case, rows, run, of_facts=case.target)


def _derived(rule: str, table: pa.Table) -> tuple[float, int]:
    """How long deriving takes, and how many facts come out."""
    kb = KnowledgeBase(rule, updates=False)
    kb.insert("n", table)
    start = time.process_time()
    kb.materialise()
    found = kb.count("r")
    return time.process_time() - start, found


def spark(outcome: Outcome, rows: int) -> None:
    """Answers of queries on Spark with two cores in this process, from the first job to the last fact."""
    from corollary.engines.spark_session import start_session

    session = start_session("builtins", cores=2, heap_megabytes=4096)
    try:
        for kind in COLUMNS:
            kb = KnowledgeBase("", engine=session, updates=False)
            kb.insert("n", column(kind, rows))
            kb.materialise()
            if kind == "numbers":
                outcome.add("a column of numbers", "reading it", min(_asked(kb, _NEITHER)[0] for _ in range(3)))

            def run(head: str, body: str, kb: KnowledgeBase = kb) -> tuple[float, int]:
                if head != _APPLIED:
                    return _asked(kb, body)
                runs = [_asked(kb, body) for _ in range(3)]
                return min(seconds for seconds, _ in runs), runs[0][1]

            for name, case in _cases(kind):
                _measure(outcome, name, case if name in _MADE_ON_SPARK else replace(case, derived=None), rows, run)
            kb.close()
    finally:
        session.stop()


def _asked(kb: KnowledgeBase, body: str) -> tuple[float, int]:
    """The processor time of a query, and how many answers it has."""
    start = seconds_of_tree()
    found = len(kb.query(f"n(X), {body}"))
    return seconds_of_tree() - start, found


def _cases(kind: str) -> list[tuple[str, Case]]:
    return [(name, case) for name, case in CASES.items() if case.column == kind]


def _measure(
    outcome: Outcome, name: str, case: Case, rows: int, run: Callable[[str, str], tuple[float, int]],
    of_facts: float | None = None,
) -> None:  # fmt: skip
    seconds, found = run(_APPLIED, case.applied)
    outcome.check(name, found, case.expected(rows))
    speed = rows / max(seconds, 1e-9) / 1e6
    outcome.add(name, "applied, rows per second and core", speed, "million", target=case.target, less=False)
    if case.derived is not None:
        seconds, found = run(_DERIVED, case.derived)
        outcome.check(f"{name}, a fact for every row", found, rows)
        outcome.add(
            name, "a fact for every row", rows / max(seconds, 1e-9) / 1e6, "million", target=of_facts, less=False
        )


EXPERIMENTS: dict[str, Callable[[Outcome, int], None]] = {"embedded": embedded, "spark": spark}
