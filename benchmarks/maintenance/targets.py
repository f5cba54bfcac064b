"""What changes are to cost, and whether they do."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.maintenance.published import MODULAR, ZODIAC
from benchmarks.maintenance.record import Outcome, Timing
from benchmarks.targets import Verdict

TIMES_MODULAR = 20.0
OF_SCRATCH = {"dag-r": 1.2, "rule-set-2": 1.1, "rule-set-3": 1.1}
TIMES_ZODIAC = {"rule-set-2": 20.0, "rule-set-3": 20.0, "lubm": 10.0}
SLOW = 0.1  # seconds: only where ZodiacEdge takes longer it can be beaten by a factor
FAST = 10.0  # milliseconds, otherwise
MILLISECONDS = {"lubm": 100.0}  # for a small change of facts
NOTHING = 1.0  # milliseconds
_INSERTED_BACK = ("insert", "25 %")  # not among the figures of the paper


def verdicts(outcomes: Iterable[Outcome]) -> list[Verdict]:
    """Of the experiments in full size: smaller data have no targets."""
    found: list[Verdict] = []
    for outcome in outcomes:
        if outcome.sizes == "full":
            for timing in outcome.timings:
                found += _of_one(timing)
            found += _of_nothing(outcome)
    return found


def _of_one(timing: Timing) -> list[Verdict]:
    found: list[Verdict] = []

    def judge(what: str, value: float, target: float, *, less: bool = False) -> None:
        found.append(Verdict(f"{timing.experiment}: {timing.change}", what, value, target, less_is_better=less))

    name, milliseconds = timing.experiment, timing.seconds * 1000
    if name in OF_SCRATCH and (timing.operation, timing.subject) != _INSERTED_BACK:
        judge("of from scratch", timing.times_scratch, OF_SCRATCH[name], less=True)
    if MODULAR in timing.published:
        judge(f"times {MODULAR}", timing.published[MODULAR] / timing.seconds, TIMES_MODULAR)
    theirs = timing.published.get(ZODIAC)
    if theirs is not None and theirs > SLOW:
        judge(f"times {ZODIAC}", theirs / timing.seconds, TIMES_ZODIAC[name])
    elif theirs is not None:
        judge("ms", milliseconds, FAST, less=True)
    if name in MILLISECONDS and timing.subject.endswith(" facts"):
        judge("ms", milliseconds, MILLISECONDS[name], less=True)
    return found


def _of_nothing(outcome: Outcome) -> list[Verdict]:
    """The slowest of the changes that nobody sees."""
    if not outcome.nothing:
        return []
    slowest = max(outcome.nothing, key=lambda timing: timing.seconds)
    what = f"{outcome.experiment}: {slowest.change} ({slowest.size:,})"
    return [Verdict(what, "ms", slowest.seconds * 1000, NOTHING, less_is_better=True)]
