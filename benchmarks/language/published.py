"""Tables 3 to 7 of paper 001: seconds for a query after loading; None where there was no result."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.workloads import JOIN1_QUERIES


@dataclass(frozen=True)
class Published:
    rdb: float | None
    iris: float | None


def _join1(rdb: tuple[float, ...], iris: tuple[float | None, ...]) -> dict[str, Published]:
    return {query: Published(*both) for query, both in zip(JOIN1_QUERIES, zip(rdb, iris, strict=True), strict=True)}


JOIN1: dict[str, dict[str, Published]] = {
    "join1-data0": _join1(
        (1068.875, 67.726, 7.112, 13.275, 0.475, 0.178, 164.119, 21.497, 1.061),
        (None, 19.069, 1.417, 1.332, 0.135, 0.112, 34.725, 1.404, 0.063),
    ),
    "join1-data1": _join1(
        (16685.639, 474.931, 74.71, 186.372, 0.749, 0.187, 735.923, 454.904, 18.611),
        (None, None, 45.16, 53.711, 0.593, 0.172, None, 62.681, 0.625),
    ),
}
JOIN2 = Published(1773.478, None)
LISTING2 = {
    200: Published(14.365, 9.92),
    400: Published(100.216, 86.623),
    800: Published(1056.399, 825.255),
    1000: Published(2439.453, 1897.620),
}
