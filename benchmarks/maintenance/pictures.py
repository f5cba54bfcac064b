"""The figures of paper 000, and how the time of a change follows its size, as charts."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.maintenance.published import ZODIAC
from benchmarks.maintenance.record import Outcome, Timing
from benchmarks.maintenance.sheets import FIGURE_9, MEGABYTE
from benchmarks.maintenance.svg import Chart, Series


def charts(outcomes: Mapping[str, Outcome]) -> dict[str, Chart]:
    """By name of the file, those that the outcomes have something for."""
    found: dict[str, Chart] = {}
    for name in ("tc-grid", "tc-random"):
        if name in outcomes:
            found[name] = _edges(outcomes[name])
    if "rule-set-2" in outcomes:
        found["figure-6"] = _figure_6(outcomes["rule-set-2"])
        found["figure-7"] = _rules(outcomes["rule-set-2"], "add", "Fig. 7: adding rules to rule set 2")
        found["figure-8"] = _rules(outcomes["rule-set-2"], "delete", "Fig. 8: deleting rules of rule set 2")
    if "rule-set-1" in outcomes:
        found["figure-9"] = _figure_9(outcomes["rule-set-1"])
        found |= _figures_10(outcomes["rule-set-1"])
    return found


def _edges(outcome: Outcome) -> Chart:
    series = [
        Series(operation, [(one.changed, one.seconds * 1000) for one in outcome.timings if one.operation == operation])
        for operation in ("delete", "insert")
    ]
    scratch = [(one.changed, one.scratch * 1000) for one in outcome.timings if one.operation == "delete"]
    series.append(Series("from scratch", scratch))
    title = f"{outcome.experiment}: one edge at a time"
    return Chart(title, "visible facts that change", "milliseconds", series, log_x=True, log_y=True)


def _figure_6(outcome: Outcome) -> Chart:
    """Against the number of facts, as the data grow."""
    sizes = sorted({one.size for one in outcome.memory})
    lines: dict[str, list[tuple[float, float]]] = {"stores": [], "largest store": [], "largest bag": []}
    for size in sizes:
        nodes = [one for one in outcome.memory if one.size == size]
        facts = sum(one.facts for one in nodes)
        stores, bags = [one.store for one in nodes], [one.bag for one in nodes]
        for name, value in zip(lines, (sum(stores), max(stores), max(bags)), strict=True):
            lines[name].append((facts, value / MEGABYTE))
    series = [Series(name, points, line=True) for name, points in lines.items()]
    return Chart("Fig. 6: memory of rule set 2", "facts that hyper-nodes support", "MB", series)


def _rules(outcome: Outcome, operation: str, title: str) -> Chart:
    timings = [one for one in outcome.timings if one.operation == operation]
    published = [(place, one.published[ZODIAC]) for place, one in enumerate(timings) if ZODIAC in one.published]
    series = [
        Series("ours", list(enumerate(one.seconds for one in timings))),
        Series("ours from scratch", list(enumerate(one.scratch for one in timings))),
        Series(ZODIAC, published),
    ]
    names = [one.subject for one in timings]
    return Chart(title, "rules", "seconds", [one for one in series if one.points], log_y=True, names=names)


def _figure_9(outcome: Outcome) -> Chart:
    series = [Series("from scratch", [(one.size, one.seconds) for one in outcome.materialised], line=True)]
    for change in FIGURE_9:
        if not change.startswith("add"):  # the paper deletes rules only
            series.append(_line(change, [one for one in outcome.timings if one.change == change]))
    return Chart("Fig. 9: rule set 1", "turbines", "seconds", series, log_y=True)


def _line(name: str, timings: list[Timing]) -> Series:
    return Series(name, [(one.size, one.seconds) for one in timings], line=True)


def _figures_10(outcome: Outcome) -> dict[str, Chart]:
    shares = [one for one in outcome.timings if one.subject.endswith(" %")]
    found = {}
    for size in dict.fromkeys(one.size for one in shares):
        series = [
            Series(operation, [(_share(one), one.seconds) for one in shares if _is(one, size, operation)], line=True)
            for operation in ("insert", "delete")
        ]
        scratch = [(_share(one), one.scratch) for one in shares if _is(one, size, "insert")]
        series.append(Series("from scratch", scratch, line=True))
        title = f"Fig. 10: more turbines in a wind farm of {size}"
        found[f"figure-10-{size}"] = Chart(title, "per cent", "seconds", series)
    return found


def _is(timing: Timing, size: int, operation: str) -> bool:
    return timing.size == size and timing.operation == operation


def _share(timing: Timing) -> float:
    return float(timing.subject.removesuffix(" %"))
