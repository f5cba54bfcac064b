"""How large the experiments are: as the targets have them, small for a first look, tiny for tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """`runs` is how often something is run of which the fastest counts; the plain loop runs for at most `loop_seconds`.

    A number of universities may be 0: the first rows of one.
    """

    name: str
    runs: int
    loop_seconds: float
    random_graph: tuple[int, int]  # nodes and edges
    dag: tuple[int, int]
    tree: int
    grid: int
    rounds: int
    compared_rounds: int  # the first ones and the last ones
    known: int  # facts that rounds find there, for the case with many
    triples: int
    warming_triples: int
    universities: int
    more_universities: tuple[tuple[int, int], ...]
    copies: int
    walkers: int
    steps: int
    maintained_universities: int
    changed_facts: int

    @property
    def is_full(self) -> bool:
        """Whether the targets are about these data."""
        return self.name == "full"


FULL = Sizes(
    name="full",
    runs=3,
    loop_seconds=200.0,
    random_graph=(2130, 6400),
    dag=(10_000, 100_000),
    tree=10_000,
    grid=100,
    rounds=300,
    compared_rounds=50,
    known=1_000_000,
    triples=5_000_000,
    warming_triples=100_000,
    universities=10,
    more_universities=((1, 4), (10, 40)),
    copies=4,
    walkers=4_000_000,
    steps=11,
    maintained_universities=70,
    changed_facts=1_000,
)
QUICK = Sizes(
    name="quick",
    runs=2,
    loop_seconds=120.0,
    random_graph=(700, 2_100),
    dag=(1_000, 10_000),
    tree=2_000,
    grid=40,
    rounds=60,
    compared_rounds=15,
    known=100_000,
    triples=200_000,
    warming_triples=100_000,
    universities=1,
    more_universities=((1, 4),),
    copies=4,
    walkers=200_000,
    steps=5,
    maintained_universities=1,
    changed_facts=1_000,
)
TINY = Sizes(
    name="tiny",
    runs=1,
    loop_seconds=60.0,
    random_graph=(30, 60),
    dag=(40, 90),
    tree=30,
    grid=5,
    rounds=6,
    compared_rounds=2,
    known=100,
    triples=2_000,
    warming_triples=100,
    universities=0,
    more_universities=((0, 0),),
    copies=4,
    walkers=50,
    steps=3,
    maintained_universities=0,
    changed_facts=100,
)
BY_NAME = {sizes.name: sizes for sizes in (FULL, QUICK, TINY)}
