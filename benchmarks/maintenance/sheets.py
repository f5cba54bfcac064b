"""The results as tables of texts, which a terminal and the documentation show alike: the papers' tables, ours beside theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import numpy as np

from benchmarks.maintenance.published import (
    COUNTING,
    MODULAR,
    TABLE_1,
    TABLE_2,
    TABLE_ADD,
    TABLE_DELETE,
    UNIVERSITIES_FROM_SCRATCH,
    ZODIAC,
)
from benchmarks.maintenance.record import Materialised, Outcome, Timing
from benchmarks.sheet import Sheet

NO_DATA = "no data"
MEGABYTE = 1 << 20


def sheets(outcomes: Mapping[str, Outcome]) -> list[Sheet]:
    """Those that the outcomes have something for."""
    found = [
        _table_1(outcomes),
        _table_2(outcomes),
        _one_edge(outcomes),
        *_rule_changes(outcomes),
        _tables_2_and_3(outcomes),
        _memory(outcomes),
        _figure_9(outcomes),
        _figure_10(outcomes),
        _universities(outcomes),
        _nothing(outcomes),
    ]
    return [sheet for sheet in found if sheet is not None]


def seconds(value: float | None) -> str:
    """Three digits that matter, and two behind the point as the papers have them."""
    if value is None:
        return ""
    return f"{value:,.2f}" if value >= 1 else f"{value:#.3g}"


def times(theirs: float | None, ours: float) -> str:
    if theirs is None:
        return ""
    ratio = theirs / max(ours, 1e-9)
    return f"{ratio:,.0f} x" if ratio >= 10 else f"{ratio:.2f} x"


# -- paper 002 -------------------------------------------------------------------------------------------------------

_OURS = {"DAG-R": "dag-r", "LUBM-like": "lubm"}


def _table_1(outcomes: Mapping[str, Outcome]) -> Sheet | None:
    if not _any(outcomes, _OURS.values()):
        return None
    rows = []
    for row in TABLE_1:
        ours = _materialised(outcomes, _OURS.get(row.name, ""))
        rows.append([row.name, row.explicit, row.derived, seconds(row.mat_mod), seconds(row.mat), *ours])
    like = _first(outcomes, "lubm")
    if like is not None:
        facts = [f"{like.explicit / 1e6:.2f} M", f"{(like.facts - like.explicit) / 1e6:.2f} M"]
        rows.append(["LUBM-like", *facts, "", "", seconds(like.seconds), seconds(like.plain)])
    columns = ("benchmark", "E", "I", "Mat-Mod", "Mat", "ours", "ours, no updates")
    return Sheet("Paper 002, Table 1: materialisation (seconds)", columns, rows, _missing_data())


def _missing_data() -> str:
    return "The data of Claros-LE, LUBM-LE and DBpedia-SKOS are not here; LUBM-like are our ten universities."


def _materialised(outcomes: Mapping[str, Outcome], name: str) -> list[str]:
    found = _first(outcomes, name)
    return [NO_DATA, NO_DATA] if found is None else [seconds(found.seconds), seconds(found.plain)]


def _table_2(outcomes: Mapping[str, Outcome]) -> Sheet | None:
    if not _any(outcomes, _OURS.values()):
        return None
    columns = ["benchmark"]
    for kind in ("small deletions", "small insertions", "large deletions"):
        columns += [f"{kind}: {MODULAR}", COUNTING, "ours", "from scratch"]
    rows = []
    for benchmark in (*TABLE_2, "LUBM-like"):
        figures = TABLE_2.get(benchmark)
        ours = _kinds(outcomes.get(_OURS.get(benchmark, "")))
        cells = [benchmark]
        for place in range(3):
            cells += map(seconds, figures[2 * place : 2 * place + 2]) if figures else ["", ""]
            timing = ours[place] if ours else None
            cells += [seconds(timing.seconds), seconds(timing.scratch)] if timing else [NO_DATA, NO_DATA]
        rows.append(cells)
    return Sheet("Paper 002, Table 2: 1,000 facts and 25 % of all (seconds)", columns, rows)


def _kinds(outcome: Outcome | None) -> list[Timing] | None:
    """Small deletions, small insertions, large deletions."""
    if outcome is None:
        return None
    small = [timing for timing in outcome.timings if timing.subject.endswith(" facts")]
    large = [timing for timing in outcome.timings if timing.change == "delete 25 %"]
    return [*small, *large]


# -- one edge --------------------------------------------------------------------------------------------------------


def _one_edge(outcomes: Mapping[str, Outcome]) -> Sheet | None:
    rows = []
    for name in ("tc-grid", "tc-random"):
        for operation in ("delete", "insert") if name in outcomes else ():
            timings = [timing for timing in outcomes[name].timings if timing.operation == operation]
            if timings:
                rows.append([f"{name}: {operation} one edge", *_spread(timings)])
    columns = ("", "edges", "changed, median", "most", "median ms", "slowest ms", "from scratch ms", "rank correlation")
    note = "Rank correlation of the time with the number of visible facts that change (Spearman)."
    return Sheet("One edge of a graph", columns, rows, note) if rows else None


def _spread(timings: list[Timing]) -> list[str]:
    changed, taken = [timing.changed for timing in timings], [timing.seconds for timing in timings]
    varies = len(set(changed)) > 1
    return [
        f"{len(timings):,}",
        f"{median(changed):,.0f}",
        f"{max(changed):,}",
        _ms(median(taken)),
        _ms(max(taken)),
        _ms(median(timing.scratch for timing in timings)),
        f"{_rank_correlation(changed, taken):.2f}" if varies else "",
    ]


def _rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's coefficient: 1 where the second always grows with the first. Equal values share the mean of their ranks."""
    ranks = []
    for values in (first, second):
        _, group, size = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(size) - (size - 1) / 2)[group])
    return float(np.corrcoef(*ranks)[0, 1])


def _ms(value: float) -> str:
    return f"{value * 1000:,.2f}"


# -- paper 000 -------------------------------------------------------------------------------------------------------


def _rule_changes(outcomes: Mapping[str, Outcome]) -> list[Sheet]:
    found = []
    for name in ("rule-set-2", "rule-set-3"):
        if name in outcomes:
            rows = [_rule_change(*pair) for pair in pairs(outcomes[name].timings)]
            columns = ["rules", "facts left"]
            for kind in ("delete", "add"):
                columns += [f"{kind}: {ZODIAC}", "ours", "from scratch", f"times {ZODIAC}"]
            number = name.removeprefix("rule-set-")
            title = f"Paper 000, Figs. 7 and 8: rules of rule set {number} go and come back (seconds)"
            found.append(Sheet(title, columns, rows, f"{ZODIAC}: its own code, measured on a machine with 2 cores."))
    return found


def pairs(timings: Sequence[Timing]) -> list[tuple[Timing, Timing]]:
    """There and back."""
    return list(zip(timings[::2], timings[1::2], strict=True))


def _rule_change(there: Timing, back: Timing) -> list[str]:
    cells = [there.subject, f"{there.facts:,}"]
    for timing in (there, back):
        theirs = timing.published.get(ZODIAC)
        cells += [seconds(theirs), seconds(timing.seconds), seconds(timing.scratch), times(theirs, timing.seconds)]
    return cells


def _tables_2_and_3(outcomes: Mapping[str, Outcome]) -> Sheet | None:
    if "rule-set-3" not in outcomes:
        return None
    rows = []
    for there, back in pairs(outcomes["rule-set-3"].timings):
        for timing, figures in ((back, TABLE_ADD), (there, TABLE_DELETE)):
            scratch, incremental = figures[timing.subject]
            ours = [seconds(timing.scratch), seconds(timing.seconds), times(incremental, timing.seconds)]
            rows.append([timing.change, seconds(scratch), seconds(incremental), *ours])
    rows.sort()
    columns = ("rule set 3", "paper: from scratch", "incremental", "ours: from scratch", "incremental", "times")
    return Sheet("Paper 000, Tables 2 and 3: insertion and deletion on rule set 3 (seconds)", columns, rows)


def _memory(outcomes: Mapping[str, Outcome]) -> Sheet | None:
    found = outcomes["rule-set-2"].memory if "rule-set-2" in outcomes else []
    if not found:
        return None
    sizes = sorted({one.size for one in found})
    by_place = {(one.node, one.size): one for one in found}
    rows = []
    for node in dict.fromkeys(one.node for one in found):
        ours = [by_place[node, size] for size in sizes]
        cells = [cell for one in ours for cell in (_mb(one.store), _mb(one.bag))]
        rows.append([node, f"{ours[-1].facts:,}", *cells])
    totals = [_mb(sum(one.store for one in found if one.size == size)) for size in sizes]
    rows.append(["all", "", *(cell for total in totals for cell in (total, ""))])
    columns = ["hyper-node", f"facts, n = {sizes[-1]}"]
    for size in sizes:
        columns += [f"n = {size}: store", "bag"]
    note = "A store is what a hyper-node derives; a bag is what it reads, shared with those that derive it: no copy."
    return Sheet("Paper 000, Fig. 6: memory of stores and bags, rule set 2 (MB)", columns, rows, note)


def _mb(count: int) -> str:
    return f"{count / MEGABYTE:.2f}"


FIGURE_9 = ("insert one turbine", "delete one turbine", "delete r1", "add r1", "delete r2", "add r2")


def _figure_9(outcomes: Mapping[str, Outcome]) -> Sheet | None:
    if "rule-set-1" not in outcomes:
        return None
    outcome = outcomes["rule-set-1"]
    rows = []
    for first in outcome.materialised:
        by_change = {timing.change: timing for timing in outcome.timings if timing.size == first.size}
        rows.append(
            [
                f"{first.size}",
                f"{first.facts:,}",
                seconds(first.seconds),
                *(seconds(by_change[one].seconds) for one in FIGURE_9),
            ]
        )
    columns = ("turbines", "visible facts", "from scratch", *FIGURE_9)
    note = "r1 makes hasNeighbour symmetric, r2 transitive. The paper's figure prints no numbers."
    return Sheet("Paper 000, Fig. 9: rule set 1 (seconds)", columns, rows, note)


def _figure_10(outcomes: Mapping[str, Outcome]) -> Sheet | None:
    if "rule-set-1" not in outcomes:
        return None
    shares = [timing for timing in outcomes["rule-set-1"].timings if timing.subject.endswith("%")]
    rows = []
    for there, back in pairs(shares):
        cells = [seconds(value) for one in (there, back) for value in (one.seconds, one.scratch)]
        rows.append([f"n = {there.size}, {there.subject}", f"{there.changed:,}", *cells])
    columns = ("turbines", "changed facts", "insert", "from scratch", "delete", "from scratch")
    note = "The paper's figure prints no numbers."
    return Sheet("Paper 000, Fig. 10: more turbines, and fewer again (seconds)", columns, rows, note) if rows else None


# -- universities, nothing -------------------------------------------------------------------------------------------


def _universities(outcomes: Mapping[str, Outcome]) -> Sheet | None:
    first = _first(outcomes, "lubm")
    if first is None:
        return None
    outcome = outcomes["lubm"]
    theirs = UNIVERSITIES_FROM_SCRATCH if outcome.sizes == "full" else None
    rows = [["from scratch", "", seconds(theirs), seconds(first.seconds), "", times(theirs, first.seconds)]]
    for timing in outcome.timings:
        theirs = timing.published.get(ZODIAC)
        ours = [seconds(timing.seconds), seconds(timing.scratch), times(theirs, timing.seconds)]
        rows.append([timing.change, f"{timing.changed:,}", seconds(theirs), *ours])
    columns = (f"{first.explicit:,} facts", "changed facts", ZODIAC, "ours", "from scratch", f"times {ZODIAC}")
    note = "`random` are 8 rules of the ontology, `late` 16."
    return Sheet("Universities (seconds)", columns, rows, note)


def _nothing(outcomes: Mapping[str, Outcome]) -> Sheet | None:
    rows = []
    for name, outcome in outcomes.items():
        largest = max((timing.size for timing in outcome.nothing), default=0)
        for timing in outcome.nothing:
            if timing.size == largest:
                rows.append(
                    [f"{name}: {timing.change}", f"{timing.facts:,}", _ms(timing.seconds), _ms(max(timing.runs))]
                )
    columns = ("", "derived facts", "median ms", "slowest ms")
    return Sheet("Changes of nothing that can be seen", columns, rows) if rows else None


def _first(outcomes: Mapping[str, Outcome], name: str) -> Materialised | None:
    return outcomes[name].materialised[0] if name in outcomes else None


def _any(outcomes: Mapping[str, Outcome], names: Iterable[str]) -> bool:
    return any(name in outcomes for name in names)
