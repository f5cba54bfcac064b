"""A knowledge base that is changed there and back; every state on the way is compared with deriving it from scratch."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.maintenance.record import Materialised, Outcome, StepTime, Timing
from benchmarks.maintenance.sizes import Sizes
from benchmarks.maintenance.states import Scratch, State, counts, from_scratch, head
from corollary.transactions import Change

_REPEATED_NOTHING = 15


@dataclass(frozen=True)
class Move:
    """A change with its name, what others need for it, and what is known of the state after it.

    `expected` are numbers of visible facts by predicate, `left` is the number of all derived facts.
    """

    operation: str
    subject: str
    change: Change
    published: Mapping[str, float] = field(default_factory=dict)
    expected: Mapping[str, int] = field(default_factory=dict)
    left: int | None = None


@dataclass(frozen=True)
class _Made:
    seconds: float
    cpu: float
    deleted: int
    inserted: int
    steps: list[StepTime]


class Trial:
    """Starts from a state and comes back to it after every change."""

    def __init__(self, outcome: Outcome, sizes: Sizes, start: State, size: int) -> None:
        gc.collect()
        gc.freeze()  # imported modules are many objects: collecting before each change would take longer than the change
        self._outcome = outcome
        self._sizes = sizes
        self._size = size
        self.start = start
        self._derived = {head(rule) for rule in start.rules.values()}
        self._scratch = self._judged(start, runs=sizes.runs)
        self.kb = start.loaded(strategy=outcome.strategy)
        self.kb.materialise()
        self._check("start", self._scratch)
        plain = from_scratch(start, updates=False, runs=sizes.runs)
        total = sum(self._scratch.counts.values())
        outcome.materialised.append(
            Materialised(outcome.experiment, size, start.explicit, total, self._scratch.seconds, plain.seconds)
        )

    def there_and_back(
        self, there: Move, back: Move, after: State, *, runs: int | None = None, scratch_runs: int | None = None
    ) -> tuple[Timing, Timing]:
        """Both directions, the same change again and again; the fastest counts."""
        runs = runs or self._sizes.runs
        scratch = self._judged(after, runs=scratch_runs or runs)
        found: dict[str, list[_Made]] = {"there": [], "back": []}
        for _ in range(runs):
            gc.collect()
            found["there"].append(self._made(there))
            self._check(f"{there.operation} {there.subject}", scratch, there)
            gc.collect()
            found["back"].append(self._made(back))
            self._check(f"{back.operation} {back.subject}", self._scratch, back)
        return self._timing(there, found["there"], scratch), self._timing(back, found["back"], self._scratch)

    def nothing_visible(self, moves: Sequence[Move]) -> None:
        """Changes after which everything that can be seen is as before; the median of many, for they are short."""
        made: list[list[_Made]] = [[] for _ in moves]
        gc.collect()
        for _ in range(_REPEATED_NOTHING):
            for number, move in enumerate(moves):
                made[number].append(self._made(move))
        for move, found in zip(moves, made, strict=True):
            timing = self._timing(move, found, self._scratch)
            timing.seconds = median(timing.runs)
            timing.changed = max(one.deleted + one.inserted for one in found)
            if timing.changed:
                self._tell(f"{timing.change}: {timing.changed:,} visible facts changed, not 0")
            self._outcome.nothing.append(timing)
        self._check("changes of nothing", self._scratch)

    # -- one change --------------------------------------------------------------------------------------------------

    def _made(self, move: Move) -> _Made:
        started, cpu = time.perf_counter(), time.process_time()
        result = self.kb.apply(move.change)
        deleted, inserted = (sum(map(len, facts.values())) for facts in (result.deleted, result.inserted))
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        steps = [StepTime(step.owner, step.strategy, step.seconds) for step in result.report.steps]
        return _Made(seconds, cpu, deleted, inserted, steps)

    def _timing(self, move: Move, made: list[_Made], scratch: Scratch) -> Timing:
        best = min(made, key=lambda one: one.seconds)
        return Timing(
            self._outcome.experiment,
            move.operation,
            move.subject,
            self._size,
            best.seconds,
            scratch.seconds,
            scratch.load,
            best.deleted + best.inserted,
            self._total(scratch.counts),
            [one.seconds for one in made],
            best.steps,
            dict(move.published) if self._sizes.is_full else {},
            min(one.cpu for one in made),
            scratch.cpu,
        )

    # -- checks ------------------------------------------------------------------------------------------------------

    def _judged(self, state: State, runs: int) -> Scratch:
        """Derived in the mode that is maintained, for the time, and once more without, for the numbers."""
        scratch = from_scratch(state, strategy=self._outcome.strategy, runs=runs)
        plain = from_scratch(state, updates=False)
        self._compare("from scratch in both modes", plain.counts, scratch.counts)
        return scratch

    def _check(self, what: str, scratch: Scratch, move: Move | None = None) -> None:
        found = counts(self.kb)
        self._outcome.states_checked += 1
        self._compare(what, scratch.counts, found)
        if move is not None and self._sizes.is_full:
            self._compare(what, move.expected, {name: found.get(name, 0) for name in move.expected})
            if move.left is not None and self._total(found) != move.left:
                self._tell(f"{what}: {self._total(found):,} facts left, not {move.left:,}")

    def _total(self, found: Mapping[str, int]) -> int:
        return sum(found.get(predicate, 0) for predicate in self._derived)

    def _compare(self, what: str, expected: Mapping[str, int], found: Mapping[str, int]) -> None:
        for predicate in sorted({*expected, *found}):
            right, ours = expected.get(predicate, 0), found.get(predicate, 0)
            if right != ours:
                self._tell(f"{what}: {ours:,} facts of {predicate}, not {right:,}")

    def _tell(self, problem: str) -> None:
        self._outcome.problems.append(f"{self._outcome.experiment} ({self._size:,}): {problem}")


def deletion_and_insertion(
    subject: str, facts: Mapping[str, object], published: tuple[Mapping[str, float], Mapping[str, float]] = ({}, {})
) -> tuple[Move, Move]:
    """Facts go and come back."""
    return (
        Move("delete", subject, Change(delete=facts), published[0]),
        Move("insert", subject, Change(insert=facts), published[1]),
    )


def moves_of_nothing(explicit: tuple[str, object], derived: tuple[str, object]) -> list[Move]:
    """What changes nothing that can be seen, given a fact that is explicit and one that is only derived."""
    there, conclusion = dict([explicit]), dict([derived])
    return [
        Move("insert", "what is there", Change(insert=there)),
        Move("delete", "what is only derived", Change(delete=conclusion)),
        Move("insert", "what is derived", Change(insert=conclusion)),
        Move("delete", "what is derived, too", Change(delete=conclusion)),
    ]
