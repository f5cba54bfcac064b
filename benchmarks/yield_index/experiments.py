"""The experiments by name: accesses (UC, CF, RT), recursion (RG), streams."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np

from benchmarks.baselines.index_closure import IndexClosure
from benchmarks.yield_index import btree, streams
from benchmarks.yield_index.data import CASES, LARGE, RG, RG_SIZES, SMALL, Case, rg
from benchmarks.yield_index.record import Access, Closure, Outcome, StreamRun
from benchmarks.yield_index.structures import (
    KNOWN,
    activate,
    construction,
    inserted,
    yield_construction,
    yield_on_base,
    yield_on_inserted,
)
from corollary.engines.embedded.closures.closure import LinearClosure
from corollary.engines.embedded.yield_index.index import YieldIndex
from corollary.language import parse_program
from corollary.planning import normalise

T = TypeVar("T")


@dataclass(frozen=True)
class Sizes:
    name: str
    rows: dict[str, int]
    arcs: tuple[int, ...]
    inserts: int
    repetitions: int


FULL = Sizes("full", {"s": SMALL, "l": LARGE}, RG_SIZES, 1_000_000, 3)
QUICK = Sizes("quick", {"s": 5_000}, (1_500,), 30_000, 1)
BY_NAME = {sizes.name: sizes for sizes in (FULL, QUICK)}


def run_experiment(name: str, sizes: Sizes) -> Outcome:
    outcome = Outcome(name, sizes.name)
    EXPERIMENTS[name](outcome, sizes)
    return outcome


# -- accesses ----------------------------------------------------------------------------------------------------------


def _accesses(outcome: Outcome, sizes: Sizes) -> None:
    for make in CASES.values():
        for letter, rows in sizes.rows.items():
            case = make(rows)
            _count(outcome, f"{case.name}_{letter}", case)


def _count(outcome: Outcome, name: str, case: Case) -> None:
    results: set[tuple[str, int]] = set()
    for structure in KNOWN.values():
        for on, counts in (("base", activate(case, structure)), ("inserted", inserted(case, structure))):
            tuples: float = counts.tuples
            if structure.name == "No index":  # nested loops over whole relations
                tuples = float(prod(map(len, case.relations.values()))) / (1 if on == "base" else 2)
            outcome.accesses.append(Access(name, structure.name, on, counts.index, tuples, counts.results))
            results.add((on, counts.results))
        outcome.accesses.append(Access(name, structure.name, "construction", *construction(case, structure)))
    for on, (counts, done) in (("base", yield_on_base(case)), ("inserted", yield_on_inserted(case))):
        outcome.accesses.append(Access(name, "YI", on, counts.index, counts.tuples, counts.results))
        results.add((on, counts.results))
        if done.wasted:
            outcome.problems.append(f"{name}: YI looked at {done.wasted:,} facts in vain")
    if len(results) != 2:
        outcome.problems.append(f"{name}: the structures find different results: {sorted(results)}")
    total, semantic, data_entries, semantic_entries = yield_construction(case)
    outcome.accesses.append(Access(name, "YI", "construction", total, data_entries + semantic_entries))
    outcome.accesses.append(Access(name, "YI_SI", "construction", semantic, semantic_entries))


# -- recursion ---------------------------------------------------------------------------------------------------------


def _closures(outcome: Outcome, sizes: Sizes) -> None:
    rule = normalise(parse_program(RG).rules[0])
    for number, count in enumerate(sizes.arcs, 1):
        arcs = rg(count)
        module_seconds, module = _fastest(lambda arcs=arcs: LinearClosure(arcs, arcs, 3_000), 10)
        built_seconds, index = _fastest(lambda arcs=arcs: _index(rule, arcs), 3)
        index_seconds, found = _fastest(lambda index=index: IndexClosure(index, "rg"), 10)
        seen = np.zeros(1, np.int64)
        semi_seconds, paths = _fastest(lambda arcs=arcs, most=module.count, seen=seen: _seminaive(arcs, most, seen), 2)
        if not (module.count == found.count == paths):
            outcome.problems.append(f"RG{number}: {module.count:,}, {found.count:,} and {paths:,} paths")
        outcome.closures.append(
            Closure(
                f"RG{number}",
                count,
                paths,
                index_seconds,
                built_seconds,
                module_seconds,
                semi_seconds,
                found.accesses,
                int(seen[0]),
            )
        )


def _index(rule: object, arcs: np.ndarray) -> YieldIndex:
    index = YieldIndex([rule], lambda constant: 0)  # type: ignore[list-item]
    index.load("arc", arcs)
    return index


def _seminaive(arcs: np.ndarray, most: int, seen: np.ndarray) -> int:
    seen[0] = 0
    trees = btree.new_tree(len(arcs)), btree.new_tree(most)
    return int(btree.closure(arcs, *trees, np.empty(most, np.int64), seen))


def _fastest(work: Callable[[], T], times: int) -> tuple[float, T]:
    best, found = float("inf"), work()  # the first time compiles
    for _ in range(times):
        started = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - started)
    return best, found


# -- streams -----------------------------------------------------------------------------------------------------------


def _streams(outcome: Outcome, sizes: Sizes) -> None:
    """The ways take turns, so that they meet the same machine; the fastest run of each counts."""
    for make in (streams.few_match, streams.all_match):
        for index in ("hash", "yield"):
            streams.run(make(20_000), index)  # kernels are ready
        stream = make(sizes.inserts)
        best: dict[str, streams.Run] = {}
        for _ in range(sizes.repetitions):
            for index in ("hash", "yield", "auto"):
                run = streams.run(stream, index)
                if index not in best or run.seconds < best[index].seconds:
                    best[index] = run
        if len({run.heads for run in best.values()}) != 1:
            outcome.problems.append(f"{stream.name}: not the same heads with and without the index")
        outcome.runs += [
            StreamRun(stream.name, run.index, stream.rows, run.seconds, run.step_seconds, run.heads)
            for run in best.values()
        ]


EXPERIMENTS: dict[str, Callable[[Outcome, Sizes], None]] = {
    "accesses": _accesses,
    "recursion": _closures,
    "streams": _streams,
}
