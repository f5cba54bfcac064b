"""Table 1 of paper 003: index and tuple accesses of an activation on base relations."""

from __future__ import annotations

CASES = ("UC_s", "UC_l", "CF_s", "CF_l", "RT_s", "RT_l")
TABLE_1: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "No index": ((0, 0, 0, 0, 0, 0), (1.25e14, 1e15, 1.25e14, 1e15, 2.5e9, 1e10)),
    "FAI": ((50126, 108327, 53224, 153556, 89359, 190723), (1.19e14, 4.9e13, 52183, 145428, 65994, 147498)),
    "AAI": ((55277, 123790, 51114, 141917, 74305, 147017), (55277, 123790, 51115, 131786, 63294, 132743)),
    "AMEM": ((0, 0, 63657, 124248, 52634, 104274), (1.25e14, 1e15, 6.8e6, 2.48e7, 1.32e8, 4.27e8)),
    "FI": ((55277, 123790, 73756, 174248, 79355, 160715), (55277, 123790, 117, 342, 60564, 32282)),
    "YI": ((51026, 108327, 50086, 100268, 52634, 104274), (1026, 8327, 34, 106, 2634, 4274)),
}
RG_FASTER = (1_506, 4_115)  # times faster than semi-naive evaluation with a B+-tree, least and most of RG1 to RG5
