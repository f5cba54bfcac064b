"""What the index is to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.targets import Verdict
from benchmarks.yield_index.record import Outcome

TIMES_HASH, LOST_AT_MOST, TIMES_MODULE, TIMES_SEMINAIVE = 3.0, 1.10, 1.5, 100.0


def verdicts(outcomes: Iterable[Outcome]) -> list[Verdict]:
    """Of the experiments in full size: smaller data have no targets."""
    found: list[Verdict] = []
    for outcome in outcomes:
        if outcome.sizes == "full":
            found += _of_accesses(outcome) + _of_closures(outcome) + _of_streams(outcome)
    return found


def _of_accesses(outcome: Outcome) -> list[Verdict]:
    found = []
    for case in dict.fromkeys(one.case for one in outcome.accesses):
        for on in ("base", "inserted"):
            ours = outcome.access(case, "YI", on)
            others = [one for one in outcome.accesses if (one.case, one.on) == (case, on) and one.structure != "YI"]
            least = min(one.tuples for one in others)
            found.append(Verdict(f"{case}, {on}", "tuple accesses", ours.tuples, least, less_is_better=True))
            allowed = outcome.access(case, "AAI", on).index
            found.append(Verdict(f"{case}, {on}", "index accesses", ours.index, allowed, less_is_better=True))
    return found


def _of_closures(outcome: Outcome) -> list[Verdict]:
    found = []
    for one in outcome.closures:
        ratio = one.index_seconds / one.module_seconds
        found.append(Verdict(one.case, "of the closure module's time", ratio, TIMES_MODULE, less_is_better=True))
        faster = one.seminaive_seconds / one.index_seconds
        found.append(Verdict(one.case, "times faster than semi-naive with a B+-tree", faster, TIMES_SEMINAIVE))
    return found


def _of_streams(outcome: Outcome) -> list[Verdict]:
    found = []
    for stream in dict.fromkeys(one.stream for one in outcome.runs):
        by_hash = outcome.seconds(stream, "hash")
        if stream.startswith("1 %"):
            faster = by_hash / outcome.seconds(stream, "yield")
            found.append(Verdict(stream, "times faster than by hash", faster, TIMES_HASH))
        else:
            ratio = outcome.seconds(stream, "auto") / by_hash
            found.append(Verdict(f"{stream}, auto", "of the time by hash", ratio, LOST_AT_MOST, less_is_better=True))
    return found
