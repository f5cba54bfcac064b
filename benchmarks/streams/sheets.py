"""The results as tables of texts: those of paper 004, ours beside the published figures."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.sheet import Sheet
from benchmarks.streams.published import SEQ, TRACKS, TRANS, Published
from benchmarks.streams.record import Outcome

_TITLES = {
    "trans": "P_trans, each update deletes what the one before added (paper 004, Table 1)",
    "trans-tossed": "P_trans, a coin decides what is deleted, as the published counts suggest (Table 1)",
    "seq": "P_seq, each update deletes what the one before added (Table 2)",
    "tracks": "A vehicle in a city (Table 3: other tracks, on a real map)",
}
_PUBLISHED: dict[str, dict[str, Published]] = {
    "trans": {str(size): one for size, one in TRANS.items()},
    "trans-tossed": {str(size): one for size, one in TRANS.items()},
    "seq": {str(size): one for size, one in SEQ.items()},
    "tracks": TRACKS,
}
_COLUMNS = ("", "ms", "deletions", "backward", "forward", "insertions", "marks ex.", "marks im.")


def sheets(outcomes: Mapping[str, Outcome]) -> list[Sheet]:
    found = [_table(outcome) for name, outcome in outcomes.items() if name in _TITLES]
    found += [_latencies(outcome) for outcome in outcomes.values() if outcome.latencies]
    return [*found, *(_batches(outcome) for outcome in outcomes.values() if outcome.batches)]


def _table(outcome: Outcome) -> Sheet:
    rows: list[list[str]] = []
    published = _PUBLISHED[outcome.experiment]
    before = ""
    for run in outcome.runs:
        if run.case != before and run.case in published:
            rows += _published_rows(run.case, published[run.case])
            before = run.case
        counts = (run.deletions, run.backward, run.forward, run.insertions, run.explicit_marks, run.implicit_marks)
        rows.append(
            [f"{run.case}  {run.strategy}", f"{run.seconds * 1000:,.1f}", *(f"{count:,.0f}" for count in counts)]
        )
    return Sheet(_TITLES[outcome.experiment], _COLUMNS, rows)


def _published_rows(case: str, one: Published) -> list[list[str]]:
    found = []
    for place, name in enumerate(("published, old", "published, new")):
        counts = (one.deletions[place], one.backward[place], one.forward[place], one.insertions)
        marks = one.marks if place else (0, 0)
        cells = [f"{count:,}" for count in (*counts, *marks)]
        found.append([f"{case}  {name}", f"{one.seconds[place] * 1000:,.0f}", *cells])
    return found


def _batches(outcome: Outcome) -> Sheet:
    columns = ("changes a batch", "batches", "changes/s", "median s", "max s", "facts")
    rows = [
        [
            f"{one.size:,}",
            f"{one.batches:,}",
            f"{one.per_second:,.1f}",
            f"{one.median:,.2f}",
            f"{one.longest:,.2f}",
            f"{one.facts:,}",
        ]
        for one in outcome.batches
    ]
    return Sheet("Structured Streaming: facts of universities go and come back", columns, rows)


def _latencies(outcome: Outcome) -> Sheet:
    columns = ("", "updates", "updates/s", "p50 ms", "p99 ms", "max ms", "facts", "MB after a fifth", "MB")
    rows = [
        [
            one.strategy,
            f"{one.updates:,}",
            f"{one.updates / one.seconds:,.0f}",
            *(f"{seconds * 1000:,.2f}" for seconds in (one.p50, one.p99, one.longest)),
            f"{one.facts:,}",
            f"{one.megabytes_early:,.0f}",
            f"{one.megabytes:,.0f}",
        ]
        for one in outcome.latencies
    ]
    return Sheet(_OF_ONE_BY_ONE[outcome.experiment], columns, rows)


_OF_ONE_BY_ONE = {"long": "A long drive through the city", "closures": "Edges of a closure"}
