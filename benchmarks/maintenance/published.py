"""What others need for the same changes, in seconds.

Paper 002 (modular materialisation): its Tables 1 and 2, on a server with 512 GB. Paper 000 (ZodiacEdge): its Tables 2 and 3, on a
notebook; the rule changes of its Figs. 7 and 8, which print no numbers, were measured with ZodiacEdge's own code on a machine
with 2 cores and 24 GB, n = 200; its figures for universities are published beside its code.
"""

from __future__ import annotations

from dataclasses import dataclass

MODULAR, COUNTING = "DRed^c-Mod", "DRed^c"
ZODIAC, ZODIAC_PAPER = "ZodiacEdge", "paper 000"


@dataclass(frozen=True)
class Benchmark:
    """A row of paper 002's Table 1."""

    name: str
    explicit: str
    derived: str
    mat_mod: float
    mat: float


TABLE_1 = (
    Benchmark("Claros-LE", "18.8 M", "533.3 M", 733.55, 3593.32),
    Benchmark("LUBM-LE", "133.6 M", "332.6 M", 291.90, 1100.22),
    Benchmark("DBpedia-SKOS", "5.0 M", "97.0 M", 103.23, 3623.37),
    Benchmark("DAG-R", "0.1 M", "22.9 M", 29.60, 3238.86),
)
# DRed^c-Mod and DRed^c: small deletions, small insertions, large deletions.
TABLE_2 = {
    "Claros-LE": (0.93, 1035.28, 0.17, 0.80, 314.33, 3616.93),
    "LUBM-LE": (0.32, 3.87, 0.01, 0.01, 182.93, 1369.77),
    "DBpedia-SKOS": (21.77, 691.32, 0.20, 2.78, 111.28, 3826.87),
    "DAG-R": (64.92, 3005.11, 14.56, 116.78, 62.48, 4316.71),
}


def of_table_2(benchmark: str, column: int) -> dict[str, float]:
    """Both figures of a kind of change: 0 small deletions, 1 small insertions, 2 large deletions."""
    modular, counting = TABLE_2[benchmark][2 * column : 2 * column + 2]
    return {MODULAR: modular, COUNTING: counting}


@dataclass(frozen=True)
class RuleChange:
    """Seconds to delete rules, derived facts that are left, seconds to add them again."""

    rules: tuple[str, ...]
    delete: float
    left: int
    add: float

    @property
    def name(self) -> str:
        return "+".join(self.rules)


RULE_SET_2 = (
    RuleChange(("r18",), 0.003, 384_500, 0.19),
    RuleChange(("r17",), 0.013, 323_200, 14.9),
    RuleChange(("r15",), 0.008, 344_500, 0.96),
    RuleChange(("r10",), 13.3, 303_900, 6.1),
    RuleChange(("r6",), 16.1, 381_501, 0.22),
    RuleChange(("r4",), 12.3, 203_800, 12.8),
    RuleChange(("r10", "r15", "r17"), 0.71, 183_100, 16.1),
    RuleChange(("r10", "r15", "r18"), 12.1, 224_100, 6.0),
    RuleChange(("r3",), 2.5, 106_097, 71.0),
)
RULE_SET_3 = (
    RuleChange(("r6",), 20.1, 381_501, 0.57),
    RuleChange(("r10",), 12.5, 303_900, 5.2),
)
# Paper 000, Tables 2 and 3: rule, from scratch, incremental.
TABLE_ADD = {"r6": (24.134, 0.2789), "r10": (24.134, 2.335)}
TABLE_DELETE = {"r6": (24.7, 7.304), "r10": (23.347, 6.073)}

# ZodiacEdge on 1,272,575 facts of ten universities: from scratch; groups of rules: delete, add.
UNIVERSITIES_FROM_SCRATCH = 5.3
RULE_GROUPS = {"random": (3.1, 2.3), "late": (0.02, 0.355)}
