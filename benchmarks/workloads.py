"""The workloads: program, input, and how many answers there must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from benchmarks import ontology, rules
from benchmarks.data import ANOMALY_EVERY, TURBINES, ZODIAC_CHAIN

JOIN1_QUERIES = (
    "a(X, Y)",
    "b1(X, Y)",
    "b2(X, Y)",
    "a(1, Y)",
    "b1(1, Y)",
    "b2(1, Y)",
    "a(X, 1)",
    "b1(X, 1)",
    "b2(X, 1)",
)


@dataclass(frozen=True)
class Workload:
    """`counts` are visible facts by predicate, `queries` answers by query, `total` is the sum of all `counted` predicates.

    `input` names an entry of `data.INPUTS`, or `lubm-N`. What takes minutes is `large` and runs only when it is named.
    """

    name: str
    program: str
    input: str
    counts: Mapping[str, int] = field(default_factory=dict)
    queries: Mapping[str, int] = field(default_factory=dict)
    total: int | None = None
    counted: tuple[str, ...] = ()
    large: bool = False
    sample_program: str | None = None

    @property
    def sample(self) -> str:
        """The program of the run that warms up; its data are the first rows of each relation."""
        return self.sample_program or self.program

    @property
    def derived(self) -> tuple[str, ...]:
        """The predicates whose facts are counted together."""
        return self.counted or tuple(self.counts)

    def unexpected(self, counts: Mapping[str, int]) -> list[str]:
        """A sentence for each number that is not what it must be; what was not counted is not looked at."""
        expected = {**self.counts, **self.queries}
        wrong = [
            f"{name}: {found:,} answers, not {expected[name]:,}"
            for name, found in counts.items()
            if found != expected.get(name, found)
        ]
        total = sum(counts.get(predicate, 0) for predicate in self.derived)
        if self.total is not None and total != self.total:
            wrong.append(f"{total:,} facts in all, not {self.total:,}")
        return wrong


def zodiac_counts(n: int, *, negation: bool) -> dict[str, int]:
    """Rule sets 2 and 3 over chains of n edges, in closed form; with `negation` r10 asks for what is not in p13."""
    united = 3 * n * (n + 1) // 2 + 2 * n - negation * n
    return {
        "p11": n * (n + 1),
        "p12": n * (n + 1) // 2,
        "p13": 2 * n,
        "p14": 2 * n,
        "p20": united,
        "p21": united,
        "p22": united,
        "p25": n * n,
        "p26": n,
        "p30": (n + 1) ** 2 + n * n + n * (n + 1) // 2 + 3 * n - 1 - negation * (3 * n - 1),
        "p31": n * (n - 1),
    }


def wind_farm_counts(n: int) -> dict[str, int]:
    """Rule set 1 over a chain of n turbines."""
    return {
        "hasNeighbour": n * (n - 1),
        "measurementsNearby": n,
        "medianNearby": n,
        "moreThan3Neighbours": n,
        "anomaly": n // ANOMALY_EVERY,
    }


def _join1(name: str, *answers: int) -> Workload:
    queries = dict(zip(JOIN1_QUERIES, answers, strict=True))
    counts = dict(zip(("a", "b1", "b2"), answers, strict=False))  # of c1 no number is published
    return Workload(name, rules.JOIN1, name, counts, queries, counted=("a", "b1", "b2", "c1"))


def _counting_path(limit: int) -> Workload:
    counts = {"p": limit + 1, "path": (limit + 1) * (limit + 2) // 2}
    program = rules.counting_path(limit)
    return Workload(f"builtins-path-{limit}", program, "nothing", counts, sample_program=rules.counting_path(9))


def _lubm(universities: int, total: int, *counts: int, large: bool = False) -> Workload:
    """`total` is the number of all facts of the ontology's own predicates."""
    name = f"lubm-{universities}"
    some = dict(zip(("Person", "Employee", "Chair", "Organization", "degreeFrom", "memberOf"), counts, strict=True))
    return Workload(name, ontology.program(), name, some, total=total, counted=ontology.derived(), large=large)


WORKLOADS = (
    Workload("tc-small", rules.TRANSITIVE, "tc-small", {"path": 20_100}),
    Workload("tc-random", rules.TRANSITIVE, "tc-random", {"path": 3_967_931}),
    Workload("tc-random-nonlinear", rules.TRANSITIVE_NONLINEAR, "tc-random", {"path": 3_967_931}),
    Workload("tc-grid", rules.TRANSITIVE, "tc-grid", {"path": 25_492_500}),
    Workload("tc-chain", rules.TRANSITIVE, "tc-chain", {"path": 1_999_000}),
    Workload("dag-r", rules.TRANSITIVE_ITSELF, "dag-r", {"r": 22_567_289}),
    Workload("sg-tree", rules.SAME_GENERATION, "sg-tree", {"sg": 11_319_334}),
    _join1("join1-data0", 1_000_000, 597_703, 94_753, 1000, 719, 95, 1000, 334, 97),
    _join1("join1-data1", 1_000_000, 1_000_000, 917_855, 1000, 1000, 942, 1000, 1000, 952),
    Workload("join2", rules.JOIN2, "join2", {"ra": 19**5, "rb": 19**5, "r": 19**5, "q": 19}),
    *(_counting_path(limit) for limit in (200, 400, 800, 1000)),
    Workload("zodiac-rs1", rules.RULE_SET_1, "wind-farm", wind_farm_counts(TURBINES)),
    Workload("zodiac-rs2", rules.RULE_SET_2, "zodiac", zodiac_counts(ZODIAC_CHAIN, negation=False), total=424_300),
    Workload("zodiac-rs3", rules.RULE_SET_3, "zodiac", zodiac_counts(ZODIAC_CHAIN, negation=True), total=423_101),
    Workload("andersen", rules.POINTS_TO, "andersen", {"vpt": 399_191, "hpt": 2_453_509}),
    Workload("andersen-large", rules.POINTS_TO, "andersen-large", {"vpt": 2_964_855, "hpt": 95_346_230}, large=True),
    Workload("stc-ring", rules.SYMMETRIC_TRANSITIVE, "stc-ring", {"r": 4_000_000}),
    _lubm(1, 135_175, 8_151, 528, 15, 1_182, 3_424, 8_151),
    _lubm(10, 1_735_182, 106_276, 6_851, 191, 4_010, 44_549, 106_276),
    _lubm(100, 18_359_626, 1_125_496, 72_610, 2_016, 33_101, 471_866, 1_125_496, large=True),
)


@cache
def by_name() -> dict[str, Workload]:
    return {workload.name: workload for workload in WORKLOADS}
