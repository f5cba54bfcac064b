"""Times of two checkouts, found in the reports that they write."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import compare
from benchmarks.compare import Compared, markdown, mean_ratio, times_in


def test_times_of_all_kinds_of_reports_are_found_under_their_names() -> None:
    report = {
        "workloads": [{"workload": "tc", "engine": "embedded", "wall": 2.0, "rounds": 7, "process": 3.0}],
        "experiments": [
            {"experiment": "save", "figures": [{"case": "tc", "what": "one fact", "value": 4.0, "unit": "ms"}]},
            {"experiment": "graph", "timings": [{"operation": "delete", "subject": "r1", "seconds": 0.5}]},
            {"experiment": "size", "figures": [{"case": "", "what": "a fact", "value": 9.0, "unit": "bytes"}]},
        ],
    }
    assert dict(times_in(report)) == {
        "tc embedded wall": 2.0,
        "save tc one fact": 0.004,
        "graph delete r1 seconds": 0.5,
    }


def test_what_is_slower_is_named() -> None:
    found = {"store": [Compared("open", 2.0, 1.0), Compared("save", 1.0, 2.0), Compared("one fact", 1.0, 1.05)]}
    assert mean_ratio(found["store"]) == pytest.approx(1.05 ** (1 / 3))
    assert markdown(found).splitlines()[2] == "| store | 3 | 1.02 | save 2.00 |"


def test_the_fastest_run_counts_and_what_only_one_measures_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter([{"a": 3.0, "b": 1.0}, {"a": 2.0, "c": 1.0}, {"a": 1.0, "b": 1.0}, {"a": 4.0, "c": 1.0}])
    monkeypatch.setattr(compare, "run", lambda *_: next(runs))
    assert compare.compare("store", Path("other"), (), False, 2) == [Compared("a", 1.0, 2.0)]
