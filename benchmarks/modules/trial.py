"""One algorithm on one benchmark: seconds and rule instances of deriving everything, and of following changes.

Where closures run on components and rows of bits, no rule instance is tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from statistics import mean
from typing import Any

from benchmarks.maintenance.states import Tables, counts, divided
from benchmarks.modules.programs import BENCHMARKS, text_of
from corollary import Change, KnowledgeBase, ProgramError

MAT, MAT_MOD, COUNTING, MODULAR = "Mat", "Mat-Mod", "DRed^c", "DRed^c-Mod"
DERIVE, SMALL_DELETIONS, SMALL_INSERTIONS = "materialisation", "small deletions", "small insertions"
LARGE_DELETIONS = "large deletions"
CHANGES = (SMALL_DELETIONS, SMALL_INSERTIONS, LARGE_DELETIONS)
ALGORITHMS: Mapping[str, Mapping[str, Any]] = {
    MAT: {"updates": False, "strategy": "dred", "without": ["closures"]},
    MAT_MOD: {"updates": False},
    COUNTING: {"strategy": "dred-counting"},
    MODULAR: {"strategy": "dred-counting-modules"},
}
_MOST_SMALL, _SMALL_SHARE, _LARGE_SHARE = 1_000, 100, 4
_OUT_OF_TIME = "E302"


@dataclass(frozen=True)
class Cost:
    """The mean of some runs of one kind; `facts` are visible afterwards, summed over the runs."""

    seconds: float
    instances: int
    facts: int


@dataclass
class Trial:
    """`costs` by what was done: an operation is missing where it, or deriving, took longer than the limit."""

    benchmark: str
    algorithm: str
    explicit: int
    costs: dict[str, Cost] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Trial:
        costs = {name: Cost(**cost) for name, cost in found["costs"].items()}
        return cls(found["benchmark"], found["algorithm"], found["explicit"], costs)


def run_trial(
    benchmark: str, algorithm: str, *, scale: float = 1.0, sets: int = 3, limit: float | None = None
) -> Trial:
    """Derive everything, and where the algorithm follows changes, delete random sets of facts and insert them again.

    `limit` is in seconds, for each operation.
    """
    facts = BENCHMARKS[benchmark].facts(scale)
    trial = Trial(benchmark, algorithm, sum(map(len, facts.values())))
    try:
        kb = KnowledgeBase(text_of(benchmark), limits={"seconds": limit}, **ALGORITHMS[algorithm])
        for predicate, table in facts.items():
            kb.insert(predicate, table)
        derived = _cost(kb, lambda: (node.instances for node in kb.materialise().nodes))
        trial.costs[DERIVE] = derived
        if algorithm in (COUNTING, MODULAR):
            _follow_changes(trial, kb, facts, sets)
    except ProgramError as error:
        if error.diagnostics[0].code != _OUT_OF_TIME:
            raise
    return trial


def _follow_changes(trial: Trial, kb: KnowledgeBase, facts: Tables, sets: int) -> None:
    deletions, insertions = [], []
    for seed in range(sets):
        chosen, _ = divided(facts, min(_MOST_SMALL, max(1, trial.explicit // _SMALL_SHARE)), seed)
        deletions.append(_cost(kb, lambda chosen=chosen: _apply(kb, Change(delete=chosen))))  # type: ignore[misc]
        insertions.append(_cost(kb, lambda chosen=chosen: _apply(kb, Change(insert=chosen))))  # type: ignore[misc]
    trial.costs[SMALL_DELETIONS], trial.costs[SMALL_INSERTIONS] = _together(deletions), _together(insertions)
    chosen, _ = divided(facts, trial.explicit // _LARGE_SHARE, seed=100)
    trial.costs[LARGE_DELETIONS] = _cost(kb, lambda: _apply(kb, Change(delete=chosen)))


def _apply(kb: KnowledgeBase, change: Change) -> Iterable[int]:
    return (step.instances for step in kb.apply(change).report.steps)


def _cost(kb: KnowledgeBase, act: Callable[[], Iterable[int]]) -> Cost:
    started = time.perf_counter()
    instances = act()
    seconds = time.perf_counter() - started
    return Cost(seconds, sum(instances), sum(counts(kb).values()))


def _together(costs: list[Cost]) -> Cost:
    instances = int(mean(cost.instances for cost in costs))
    return Cost(mean(cost.seconds for cost in costs), instances, sum(cost.facts for cost in costs))
