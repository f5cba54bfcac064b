"""How large the experiments are: as the papers have them, small for a first look, tiny to warm up and for tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """`runs` is how often the same change is made there and back, `sets` how many random sets of facts are tried."""

    name: str
    runs: int
    sets: int
    small_change: int
    dag: tuple[int, int]  # nodes and edges
    grid: int
    random_graph: tuple[int, int]
    edges: int
    chain: int
    memory_chains: tuple[int, ...]
    wind_farms: tuple[int, ...]
    grown_wind_farms: tuple[int, ...]
    shares: tuple[int, ...]  # per cent of a wind farm
    universities: int | None  # None: the first rows of one

    @property
    def is_full(self) -> bool:
        """Whether the figures of others are about the same data."""
        return self.name == "full"


FULL = Sizes(
    name="full",
    runs=5,
    sets=10,
    small_change=1_000,
    dag=(10_000, 100_000),
    grid=100,
    random_graph=(2130, 6400),
    edges=100,
    chain=200,
    memory_chains=(50, 100, 150, 200),
    wind_farms=(50, 100, 200, 300, 400),
    grown_wind_farms=(200, 400),
    shares=(10, 20, 30, 40, 50),
    universities=10,
)
QUICK = Sizes(
    name="quick",
    runs=2,
    sets=3,
    small_change=100,
    dag=(1_000, 10_000),
    grid=30,
    random_graph=(400, 1_200),
    edges=20,
    chain=60,
    memory_chains=(30, 60),
    wind_farms=(50, 100),
    grown_wind_farms=(100,),
    shares=(10, 30, 50),
    universities=1,
)
TINY = Sizes(
    name="tiny",
    runs=1,
    sets=1,
    small_change=10,
    dag=(60, 150),
    grid=6,
    random_graph=(40, 90),
    edges=4,
    chain=8,
    memory_chains=(4, 8),
    wind_farms=(6, 12),
    grown_wind_farms=(12,),
    shares=(50,),
    universities=None,
)
BY_NAME = {sizes.name: sizes for sizes in (FULL, QUICK, TINY)}
