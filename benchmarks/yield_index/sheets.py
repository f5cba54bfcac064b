"""The results as tables of texts: Table 1 of paper 003 with the published figures, and what its figures show."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.sheet import Sheet
from benchmarks.yield_index.published import CASES, TABLE_1
from benchmarks.yield_index.record import Outcome

_TITLES = {
    "base": "Accesses of an activation on base relations (Table 1, Figs. 12 and 13)",
    "inserted": "Accesses for inserted tuples (Figs. 14 and 15)",
    "construction": "Index accesses during construction, and entries (Figs. 16 and 17)",
}


def sheets(outcomes: Mapping[str, Outcome]) -> list[Sheet]:
    found: list[Sheet] = []
    for outcome in outcomes.values():
        if outcome.accesses:
            found += [_accesses(outcome, on) for on in _TITLES]
        if outcome.closures:
            found.append(_closures(outcome))
        if outcome.runs:
            found.append(_streams(outcome))
    return found


def _accesses(outcome: Outcome, on: str) -> Sheet:
    cases = list(dict.fromkeys(one.case for one in outcome.accesses))
    columns = ["", *cases]
    rows = []
    for structure in dict.fromkeys(one.structure for one in outcome.accesses if one.on == on):
        ours = [outcome.access(case, structure, on) for case in cases]
        second = "tuple" if on != "construction" else "entries"
        rows.append([f"{structure}, index", *(_number(one.index) for one in ours)])
        rows.append([f"{structure}, {second}", *(_number(one.tuples) for one in ours)])
        if on == "base" and structure in TABLE_1:
            for name, figures in zip(("index", "tuple"), TABLE_1[structure], strict=True):
                published = dict(zip(CASES, figures, strict=True))
                cells = [_number(published[case]) if case in published else "" for case in cases]
                rows.append([f"{structure}, {name}, published", *cells])
    if on != "construction":
        rows.append(["results", *(f"{outcome.access(case, 'YI', on).results:,}" for case in cases)])
    return Sheet(_TITLES[on], tuple(columns), rows)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value < 1e7 else f"{value:.2e}"


def _closures(outcome: Outcome) -> Sheet:
    columns = (
        *("", "arcs", "paths", "YI ms", "construction ms", "module ms", "semi-naive ms", "times faster"),
        *("YI accesses", "semi-naive accesses"),
    )
    rows = [
        [
            one.case,
            f"{one.arcs:,}",
            f"{one.paths:,}",
            *(
                f"{seconds * 1000:,.2f}"
                for seconds in (
                    one.index_seconds,
                    one.construction_seconds,
                    one.module_seconds,
                    one.seminaive_seconds,
                )
            ),
            f"{one.seminaive_seconds / one.index_seconds:,.0f}",
            f"{one.index_accesses:,}",
            f"{one.seminaive_accesses:,}",
        ]
        for one in outcome.closures
    ]
    return Sheet("Recursion (Figs. 18 and 19; published: 1,506 to 4,115 times faster)", columns, rows)


def _streams(outcome: Outcome) -> Sheet:
    rows = [
        [
            f"{one.stream}  {one.index}",
            f"{one.rows:,}",
            f"{one.seconds:,.2f}",
            f"{one.rule_seconds:,.2f}",
            f"{one.rows / one.seconds:,.0f}",
            f"{outcome.seconds(one.stream, 'hash') / one.seconds:,.2f}",
            f"{one.heads:,}",
        ]
        for one in outcome.runs
    ]
    columns = ("", "inserts", "seconds", "of them rules", "inserts/s", "times as fast as hash", "heads")
    return Sheet("Streams of inserts", columns, rows)
