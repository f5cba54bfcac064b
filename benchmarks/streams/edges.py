"""The synthetic streams of paper 004: edges that come and go."""

from __future__ import annotations

import random
from collections.abc import Callable

from corollary.transactions import Change

P_TRANS = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z)."
P_SEQ = "edge1(X, Y) :- edge(X, Y). edge2(X, Y) :- edge1(X, Y). edge3(X, Y) :- edge2(X, Y). edge4(X, Y) :- edge3(X, Y)."
P_CLOSED = "path(X, Y) :- edge(X, Y). path(X, Z) :- path(X, Y), path(Y, Z)."
SIZES = (10, 20, 30, 40, 50, 60, 70, 80)
UPDATES, FIRST = 50, 100

Edge = tuple[int, int]


def replacing_edges(*, nodes: int, size: int, seed: int) -> list[Change]:
    """Each update adds as many edges as it deletes; from the third on it deletes those that its predecessor added."""
    choose = random.Random(seed)
    present: set[Edge] = set()

    def new_edges(count: int) -> list[Edge]:
        found: set[Edge] = set()
        while len(found) < count:
            edge = (choose.randrange(nodes), choose.randrange(nodes))
            if edge not in present:
                found.add(edge)
        return sorted(found)

    first = new_edges(FIRST)
    present |= set(first)
    found = [Change(insert={"edge": first})]
    deleted = choose.sample(sorted(present), size)
    for _ in range(UPDATES - 1):
        inserted = new_edges(size)
        found.append(Change(insert={"edge": inserted}, delete={"edge": deleted}))
        present = (present - set(deleted)) | set(inserted)
        deleted = inserted
    return found


def tossed_edges(*, nodes: int, size: int, seed: int) -> list[Change]:
    """As the published counts of P_trans suggest: the edges that are there have an order, and a coin decides which go.

    The numbers of explicit marks and of insertions come out as published with these data, and not with the others.
    """
    choose = random.Random(seed)
    present: set[Edge] = set()
    ranks: dict[Edge, float] = {}

    def new_edges(count: int) -> list[Edge]:
        found: set[Edge] = set()
        for _ in range(count):  # what comes twice counts twice
            edge = (choose.randrange(nodes), choose.randrange(nodes))
            while edge in present:
                edge = (choose.randrange(nodes), choose.randrange(nodes))
            found.add(edge)
            ranks.setdefault(edge, choose.random())
        return sorted(found)

    first = new_edges(FIRST)
    present |= set(first)
    found = [Change(insert={"edge": first})]
    for _ in range(UPDATES - 1):
        inserted = new_edges(size)
        deleted: list[Edge] = []
        for edge in sorted(present, key=ranks.__getitem__):
            if len(deleted) < size and choose.random() < 0.5:
                deleted.append(edge)
        found.append(Change(insert={"edge": inserted}, delete={"edge": deleted}))
        present = (present - set(deleted)) | set(inserted)
    return found


Generator = Callable[..., list[Change]]


def random_edges(*, nodes: int, first: int, updates: int, seed: int) -> list[Change]:
    """Each update replaces one of the edges that are there, however old it is."""
    choose = random.Random(seed)
    known: set[Edge] = set()

    def new_edge() -> Edge:
        while (edge := (choose.randrange(nodes), choose.randrange(nodes))) in known:
            pass
        known.add(edge)
        return edge

    present = [new_edge() for _ in range(first)]
    found = [Change(insert={"edge": list(present)})]
    for _ in range(updates):
        place = choose.randrange(len(present))
        gone, present[place] = present[place], new_edge()
        known.discard(gone)
        found.append(Change(insert={"edge": [present[place]]}, delete={"edge": [gone]}))
    return found
