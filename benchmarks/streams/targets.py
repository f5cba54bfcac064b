"""What streams are to reach, and whether they do."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.streams.record import Outcome
from benchmarks.targets import Verdict

SAVED = 70.0  # percent of the deletion rule applications of P_trans
TIMES_UNMARKED = 1.05
UPDATES_PER_SECOND = 1000.0
MEGABYTES_GROWN = 16.0
SEQ_OF_SIZE_10 = (1960.0, 1480.0)


def verdicts(outcomes: Iterable[Outcome]) -> list[Verdict]:
    """Of the experiments in full size: smaller data have no targets."""
    found: list[Verdict] = []
    for outcome in outcomes:
        if outcome.sizes == "full":
            found += _of_runs(outcome)
            found += _of_latencies(outcome)
    return found


def problems(outcome: Outcome) -> list[str]:
    """Counts that follow from the data alone, and are not what they must be."""
    found: list[str] = []
    if outcome.experiment == "seq":
        for case in dict.fromkeys(run.case for run in outcome.runs):
            old = outcome.run(case, "bf")
            for strategy in ("bf-marking-literal", "bf-marking"):
                new = outcome.run(case, strategy)
                if old.deletions - new.deletions != new.implicit_marks:
                    saved = old.deletions - new.deletions
                    found.append(
                        f"seq {case}, {strategy}: {saved:,.0f} saved, {new.implicit_marks:,.0f} implicit marks"
                    )
                if case == "10" and (old.deletions, new.deletions) != SEQ_OF_SIZE_10:
                    found.append(f"seq 10, {strategy}: deletions {old.deletions:,.0f} and {new.deletions:,.0f}")
    return found


def _of_runs(outcome: Outcome) -> list[Verdict]:
    found: list[Verdict] = []
    for case in dict.fromkeys(run.case for run in outcome.runs):
        old, new = outcome.run(case, "bf"), outcome.run(case, "bf-marking")
        name = f"{outcome.experiment}: {case}"
        if outcome.experiment == "trans":
            saved = 100 * (1 - new.deletions / old.deletions)
            found.append(Verdict(name, "% fewer deletion applications", saved, SAVED))
        ratio = new.seconds / old.seconds
        found.append(Verdict(name, "of the time without marks", ratio, TIMES_UNMARKED, less_is_better=True))
    return found


def _of_latencies(outcome: Outcome) -> list[Verdict]:
    found: list[Verdict] = []
    for one in outcome.latencies:
        name = f"{outcome.experiment}: {one.strategy}"
        found.append(Verdict(name, "updates/s", one.updates / one.seconds, UPDATES_PER_SECOND))
        grown = one.megabytes - one.megabytes_early
        found.append(Verdict(name, "MB more at the end", grown, MEGABYTES_GROWN, less_is_better=True))
    return found
