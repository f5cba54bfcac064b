"""Saving, opening and changing a large knowledge base in a directory, and changing it ten thousand times.

The facts are paper 002's dag-r: a closure of 22 million pairs. Once it is kept as a closure, once fact by fact, as facts are that
other rules derive. Directories are below the system's place for temporary files: `TMPDIR` says on which disk.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import data
from benchmarks.spark.record import Outcome
from corollary import KnowledgeBase

RULE = "r(X, Z) :- r(X, Y), r(Y, Z)."
LINEAR_RULES = "r(X, Y) :- e(X, Y).  r(X, Z) :- r(X, Y), e(Y, Z)."


@dataclass(frozen=True)
class Sizes:
    """`nodes` and `edges` of the graph, and how many small transactions follow each other."""

    nodes: int
    edges: int
    pairs: int
    transactions: int


SIZES = {"full": Sizes(10_000, 100_000, 22_567_289, 10_000), "quick": Sizes(300, 1_000, 0, 600)}


def run_experiment(name: str, sizes: str) -> Outcome:
    outcome = Outcome(name, sizes)
    with _directory() as folder:
        EXPERIMENTS[name](outcome, SIZES[sizes], folder)
    return outcome


def closure(outcome: Outcome, sizes: Sizes, folder: Path) -> None:
    """A closure of 20 million pairs is saved, opened and changed."""
    _save_open_change(outcome, sizes, folder, KnowledgeBase(RULE), "r")


def one_by_one(outcome: Outcome, sizes: Sizes, folder: Path) -> None:
    """The same facts, derived and kept fact by fact."""
    _save_open_change(outcome, sizes, folder, KnowledgeBase(LINEAR_RULES, without=["closures"]), "e")


def _save_open_change(outcome: Outcome, sizes: Sizes, folder: Path, kb: KnowledgeBase, stated: str) -> None:
    """`stated` is the predicate of the edges, and r the one that is derived from them."""
    kb.insert(stated, _edges(sizes))
    kb.materialise()
    facts = kb.count("r")
    outcome.check("derived", facts, sizes.pairs or facts)
    outcome.add("save", "facts", facts, "")
    outcome.add("save", "time", _seconds(lambda: kb.save(folder / "kb")), target=20)
    outcome.add("save", "bytes per fact", _size(folder / "kb") / facts, "B", target=12)
    answers = len(kb.query("r(5, X)"))
    del kb
    opened: list[KnowledgeBase] = []

    def open_and_ask() -> None:
        opened.append(KnowledgeBase.open(folder / "kb"))
        outcome.check("query", len(opened[0].query("r(5, X)")), answers)

    outcome.add("open", "time until a query is answered", _seconds(open_and_ask), target=5)
    (kb,) = opened
    outcome.check("opened", kb.count("r"), facts)
    outcome.add("change", "the first after opening", _seconds(lambda: kb.insert(stated, [(-1, -2)])))
    for rows, target in ((1, 0.03), (1_000, 0.15)):
        times = list(_changes(kb, stated, rows, 15))
        case = "one fact" if rows == 1 else f"{rows:,} facts"
        outcome.add(case, "median of 30 transactions", statistics.median(times) * 1000, "ms", target=target * 1000)
        outcome.add(case, "slowest of them", max(times) * 1000, "ms")
    outcome.check("reopened", KnowledgeBase.open(folder / "kb").count("r"), kb.count("r"))


def _changes(kb: KnowledgeBase, stated: str, rows: int, times: int) -> Iterator[float]:
    """Seconds of transactions that insert and delete so many facts."""
    for number in range(times):
        first = -1_000_000 - 2 * rows * number
        some = np.stack([np.arange(first, first - rows, -1), np.arange(first - rows, first - 2 * rows, -1)], axis=1)
        yield _seconds(lambda some=some: kb.insert(stated, some))  # type: ignore[misc]
        yield _seconds(lambda some=some: kb.delete(stated, some))  # type: ignore[misc]


def history(outcome: Outcome, sizes: Sizes, folder: Path) -> None:
    """Ten thousand small transactions, one after the other, with all compaction."""
    kb = KnowledgeBase.create(folder / "kb", RULE)
    kb.insert("r", _edges(sizes))
    times = []
    for number in range(sizes.transactions):
        # A new node before one that has few behind it; every third goes again.
        place = number if number % 3 < 2 else number - 2
        fact, act = [(-place - 1, sizes.nodes - 1 - place % 50)], kb.insert if number % 3 < 2 else kb.delete
        times.append(_seconds(lambda act=act, fact=fact: act("r", fact)))  # type: ignore[misc]
    tenth = len(times) // 10
    first, last = (statistics.mean(part) * 1000 for part in (times[tenth : 2 * tenth], times[-tenth:]))
    outcome.add("all", "transactions", len(times), "")
    outcome.add("all", "mean, with compaction", statistics.mean(times) * 1000, "ms")
    outcome.add("all", "slowest", max(times) * 1000, "ms")
    outcome.add("last tenth", "mean", last, "ms")
    outcome.add("last tenth", "times of the second tenth", last / first, "", target=1.5)
    kb.save(folder / "fresh")
    outcome.add("disk", "times of a fresh save", _size(folder / "kb") / _size(folder / "fresh"), "", target=3)
    outcome.check("reopened", KnowledgeBase.open(folder / "kb").count("r"), kb.count("r"))


EXPERIMENTS = {"closure": closure, "one-by-one": one_by_one, "history": history}


def _edges(sizes: Sizes) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(data.graph(sizes.nodes, sizes.edges, seed=3, acyclic=True))


def _seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def _size(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


@contextmanager
def _directory() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="corollary-store-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
