"""Figures 12 to 19 of paper 003 as charts."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.maintenance.svg import Chart, Series
from benchmarks.yield_index.published import CASES, TABLE_1
from benchmarks.yield_index.record import Outcome

_COMPARED = ("AAI", "FI", "YI")
_FIGURES = {
    "figure-12": ("base", "index", "Fig. 12: index accesses on base relations"),
    "figure-13": ("base", "tuples", "Fig. 13: tuple accesses on base relations"),
    "figure-14": ("inserted", "index", "Fig. 14: index accesses for inserted tuples"),
    "figure-15": ("inserted", "tuples", "Fig. 15: tuple accesses for inserted tuples"),
    "figure-16": ("construction", "index", "Fig. 16: index accesses during construction"),
    "figure-17": ("construction", "tuples", "Fig. 17: index entries"),
}


def charts(outcomes: Mapping[str, Outcome]) -> dict[str, Chart]:
    """By name of the file, those that the outcomes have something for."""
    found: dict[str, Chart] = {}
    for outcome in outcomes.values():
        if outcome.accesses:
            found |= {name: _accesses(outcome, *figure) for name, figure in _FIGURES.items()}
        if outcome.closures:
            found |= _closures(outcome)
    return found


def _accesses(outcome: Outcome, on: str, what: str, title: str) -> Chart:
    cases = list(dict.fromkeys(one.case for one in outcome.accesses))
    names = (*_COMPARED, "YI_SI") if on == "construction" else _COMPARED
    series = [
        Series(name, [(at, getattr(outcome.access(case, name, on), what)) for at, case in enumerate(cases)])
        for name in names
    ]
    if on == "base":
        for name in _COMPARED:
            published = dict(zip(CASES, TABLE_1[name][what == "tuples"], strict=True))
            points = [(at + 0.15, published[case]) for at, case in enumerate(cases) if case in published]
            if points:
                series.append(Series(f"{name}, published", points))
    return Chart(title, "rules and data", "accesses", series, log_y=True, names=cases)


def _closures(outcome: Outcome) -> dict[str, Chart]:
    names = [one.case for one in outcome.closures]
    accesses = [
        Series("YI", [(at, one.index_accesses) for at, one in enumerate(outcome.closures)], line=True),
        Series("semi-naive", [(at, one.seminaive_accesses) for at, one in enumerate(outcome.closures)], line=True),
    ]
    seconds = [
        Series("YI", [(at, one.index_seconds * 1000) for at, one in enumerate(outcome.closures)], line=True),
        Series(
            "closure module", [(at, one.module_seconds * 1000) for at, one in enumerate(outcome.closures)], line=True
        ),
        Series(
            "semi-naive", [(at, one.seminaive_seconds * 1000) for at, one in enumerate(outcome.closures)], line=True
        ),
    ]
    return {
        "figure-18": Chart("Fig. 18: entries looked at", "graphs", "accesses", accesses, log_y=True, names=names),
        "figure-19": Chart("Fig. 19: running time", "graphs", "milliseconds", seconds, log_y=True, names=names),
    }
