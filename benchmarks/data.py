"""The inputs of the workloads: relations of rows, the same ones in every run and on every machine.

Each is drawn from Python's own generator with a fixed seed. The order of the draws is part of the definition: another order
gives other rows, and with them other numbers of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import TypeAlias

Row: TypeAlias = tuple[int | str, ...]
Relations: TypeAlias = Mapping[str, Sequence[Row]]

ZODIAC_CHAIN = 200
TURBINES = 400
ANOMALY_EVERY = 50


def _distinct(count: int, draws: Iterator[Row]) -> list[Row]:
    """The first `count` different rows that are drawn, sorted."""
    found: set[Row] = set()
    while len(found) < count:
        found.add(next(draws))
    return sorted(found)


def graph(nodes: int, edges: int, seed: int, *, acyclic: bool = False) -> list[Row]:
    """Random edges without loops; in an acyclic graph they lead from smaller to larger nodes."""

    def draws() -> Iterator[Row]:
        random = Random(seed)
        while True:
            start, end = random.randrange(nodes), random.randrange(nodes)
            if start < end or (start > end and not acyclic):
                yield start, end

    return _distinct(edges, draws())


def grid(side: int) -> list[Row]:
    """From each point to its right and to its lower neighbour."""
    edges: list[Row] = []
    for point in range(side * side):
        if (point + 1) % side:
            edges.append((point, point + 1))
        if point + side < side * side:
            edges.append((point, point + side))
    return edges


def _chain(edges: int, start: int = 0) -> list[Row]:
    return [(node, node + 1) for node in range(start, start + edges)]


def _ring(nodes: int) -> list[Row]:
    return [(node, (node + 1) % nodes) for node in range(nodes)]


def _tree(nodes: int, seed: int) -> list[Row]:
    """Parent and child; the parent is any earlier node."""
    random = Random(seed)
    return [(random.randrange(child), child) for child in range(1, nodes)]


def _table(rows: int, domain: int, seed: int) -> list[Row]:
    random = Random(seed)
    return _distinct(rows, iter(lambda: (random.randint(1, domain), random.randint(1, domain)), None))


def join1(rows: int) -> Relations:
    return {name: _table(rows, 1000, seed) for seed, name in enumerate(("c2", "c3", "c4", "d1", "d2"), start=50)}


def zodiac(n: int) -> Relations:
    """Four chains laid end to end, and an empty relation for the negation."""
    chains: dict[str, Sequence[Row]] = {f"p{k}": _chain(n, start=(k - 1) * n) for k in (1, 2, 3, 4)}
    return chains | {"p5": []}


def wind_farm(n: int) -> Relations:
    """A chain of turbines of one temperature each, every fiftieth of them too hot."""
    return {
        "hasNeighbour": _chain(n - 1),
        "hasAirTemperatureMeasurement": [(k, 25 if k % ANOMALY_EVERY else 40) for k in range(n)],
    }


def _points_to(assigns: int, loads: int, stores: int) -> Relations:
    """A program of 10,000 variables, 1,000 allocations and 500 fields whose statements mostly connect near variables."""
    variables, allocations, fields = 10_000, 1_000, 500
    random = Random(8)

    def near(variable: int, distance: int) -> int:
        return min(variables - 1, max(0, variable + random.randint(-distance, distance)))

    def assign() -> Iterator[Row]:
        while True:
            to = random.randrange(variables)
            source = random.randrange(variables) if random.random() < 0.1 else near(to, 200)
            if to != source:
                yield to, source

    def load() -> Iterator[Row]:
        while True:
            to = random.randrange(variables)
            yield to, near(to, 500), random.randrange(fields)

    def store() -> Iterator[Row]:
        while True:
            base = random.randrange(variables)
            field = random.randrange(fields)
            yield base, field, near(base, 500)

    return {
        "new": sorted({(random.randrange(variables), allocation) for allocation in range(allocations)}),
        "assign": _distinct(assigns, assign()),
        "load": _distinct(loads, load()),
        "store": _distinct(stores, store()),
    }


INPUTS: dict[str, Callable[[], Relations]] = {
    "tc-small": lambda: {"edge": _chain(200)},
    "tc-random": lambda: {"edge": graph(2130, 6400, seed=1)},
    "tc-grid": lambda: {"edge": grid(100)},
    "tc-chain": lambda: {"edge": _chain(1999)},
    "dag-r": lambda: {"r": graph(10_000, 100_000, seed=3, acyclic=True)},
    "sg-tree": lambda: {"par": _tree(10_000, seed=4)},
    "join1-data0": partial(join1, 10_000),
    "join1-data1": partial(join1, 50_000),
    "join2": lambda: {"p": [(f"abcd{k}",) for k in range(19)]},
    "zodiac": partial(zodiac, ZODIAC_CHAIN),
    "wind-farm": partial(wind_farm, TURBINES),
    "andersen": partial(_points_to, 11_000, 2_000, 1_500),
    "andersen-large": partial(_points_to, 12_000, 4_000, 2_000),
    "stc-ring": lambda: {"r": _ring(2000)},
    "nothing": dict,
}
