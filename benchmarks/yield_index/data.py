"""The rules and data of section 6.2 of paper 003.

The paper says how many names there are, but uniform data of these numbers would match next to nothing. What it leaves open is
chosen so that as much matches as its Table 1 tells: 5,000 names for each column of UC (its counts are those of 5,000 names,
1,000 and 8,000 expected; 500,000 would give none), 1,000 friends and 120 towns of Tom for CF, and as many of the places
of RT that have a link as found there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Rows = np.ndarray
SMALL, LARGE = 50_000, 100_000
TOM = 0


@dataclass(frozen=True)
class Case:
    """One rule with its relations; half of the first atom's relation is inserted later in the second experiment."""

    name: str
    rule: str
    relations: dict[str, Rows]

    @property
    def first(self) -> str:
        return next(iter(self.relations))


UC = "uc: canusechannel(X, Y) :- near(X, Z), use(X, Z), request(Z, Y)."
CF = "cf: reserve(0, Y) :- friend(0, X), city(0, C), city(X, C), ticket(X, Y)."
RT = "rt: path(X, Y) :- link(X, Y), located(X)."
RG = "rg: pair(X, Z) :- arc(X, Y), arc(Y, Z)."
RG_PROGRAM = "path(X, Y) :- arc(X, Y). path(X, Y) :- arc(X, Z), path(Z, Y)."
RG_SIZES = (6_000, 8_000, 10_000, 12_000, 15_000)


def _distinct(draw: Callable[[int], Rows], count: int) -> Rows:
    """So many distinct rows, in the order in which they were drawn."""
    rows = draw(count)
    while True:
        _, first = np.unique(rows, axis=0, return_index=True)
        rows = rows[np.sort(first)]
        if len(rows) >= count:
            return rows[:count].astype(np.uint32)
        rows = np.concatenate([rows, draw(count)])


def uc(count: int, seed: int = 1) -> Case:
    random = np.random.default_rng(seed)
    names = 5_000

    def draw(rows: int) -> Rows:
        return random.integers(0, names, (rows, 2))

    relations = {name: _distinct(draw, count) for name in ("near", "use", "request")}
    return Case("UC", UC, relations)


def cf(count: int, seed: int = 2) -> Case:
    random = np.random.default_rng(seed)
    people, towns, flights = 100_000, 1_000, 100
    friends, homes = 1_000, 120

    def pairs(left: int, right: int) -> Callable[[int], Rows]:
        return lambda rows: np.stack([random.integers(1, left, rows), random.integers(0, right, rows)], axis=1)

    of_tom = np.stack([np.zeros(friends, np.int64), random.choice(people, friends, replace=False)], axis=1)
    towns_of_tom = np.stack([np.zeros(homes, np.int64), random.choice(towns, homes, replace=False)], axis=1)
    friend = np.concatenate([of_tom, _distinct(pairs(people, people), count - friends)]).astype(np.uint32)
    city = np.concatenate([towns_of_tom, _distinct(pairs(people, towns), count - homes)]).astype(np.uint32)
    ticket = _distinct(pairs(people, flights), count)
    return Case("CF", CF, {"friend": random.permutation(friend), "city": city, "ticket": ticket})


def rt(count: int, seed: int = 3) -> Case:
    random = np.random.default_rng(seed)
    names = 20_000
    link = _distinct(lambda rows: random.integers(0, names, (rows, 2)), count)
    with_link = 1_054 if count == SMALL else round(855 * count / LARGE)
    here = random.choice(names, with_link, replace=False)
    elsewhere = np.arange(names, names + count - with_link)
    located = random.permutation(np.concatenate([here, elsewhere])).astype(np.uint32).reshape(-1, 1)
    return Case("RT", RT, {"link": link, "located": located})


def rg(count: int, seed: int = 4) -> Rows:
    """Arcs from 200 of 3,000 vertices."""
    random = np.random.default_rng(seed)
    sources = random.choice(3_000, 200, replace=False)

    def draw(rows: int) -> Rows:
        return np.stack([random.choice(sources, rows), random.integers(0, 3_000, rows)], axis=1)

    return _distinct(draw, count)


CASES: dict[str, Callable[[int], Case]] = {"UC": uc, "CF": cf, "RT": rt}
