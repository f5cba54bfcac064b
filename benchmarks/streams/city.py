"""A city map that a vehicle takes along: the pieces of ways within 50 m of it are facts, as in the third test of paper 004.

The streets are a grid. A way leads from one crossing to the next and consists of short pieces, `nextInWay(from, to, way)`.
"""

from __future__ import annotations

import random

import numpy as np

from corollary.transactions import Change

RULES = """
connection(Z1, Z2) :- nextInWay(X, Y1, Z1), nextInWay(X, Y2, Z2), Z1 != Z2.
connection(Z1, Z2) :- nextInWay(X, Y1, Z1), nextInWay(X2, X, Z2), Z1 != Z2.
connection(Z1, Z2) :- nextInWay(X1, Y, Z1), nextInWay(Y, Y2, Z2), Z1 != Z2.
connection(Z1, Z2) :- nextInWay(X1, Y, Z1), nextInWay(X2, Y, Z2), Z1 != Z2.
connection(X, Z) :- connection(X, Y), connection(Y, Z).
"""
BLOCKS, BLOCK, PIECES = 24, 80.0, 16  # streets in each direction, metres and pieces from crossing to crossing
RADIUS = 50.0
# Updates, and metres from one to the next: so that about 18, 14 and 9 facts come and go with each.
TRACKS = {"track 0": (55, 40.0), "track 1": (83, 31.0), "track 2": (114, 20.0)}
LONG = (10_000, 20.0)

Piece = tuple[int, int, int]


def _pieces() -> tuple[np.ndarray, list[Piece]]:
    """Where the middle of each piece is, and its fact. Nodes and ways are numbers."""
    places: list[tuple[float, float]] = []
    facts: list[Piece] = []
    width = BLOCKS * PIECES + 1
    length = BLOCK / PIECES
    way = 0
    for street in range(BLOCKS + 1):
        for block in range(BLOCKS):
            for is_vertical in (False, True):
                way += 1
                for piece in range(block * PIECES, (block + 1) * PIECES):
                    along, across = (piece + 0.5) * length, street * BLOCK
                    ends = [(step, street * PIECES) for step in (piece, piece + 1)]
                    nodes = [y * width + x if not is_vertical else x * width + y for x, y in ends]
                    places.append((across, along) if is_vertical else (along, across))
                    facts.append((nodes[0], nodes[1], way))
    return np.array(places), facts


def track(updates: int, step: float, seed: int) -> list[Change]:
    """What changes around a vehicle that drives so many metres from one update to the next and turns at some crossings."""
    choose = random.Random(seed)
    places, facts = _pieces()
    at = np.array([BLOCKS // 2 * BLOCK, BLOCKS // 2 * BLOCK])
    heading = np.array([1.0, 0.0])
    to_crossing = BLOCK
    known: set[int] = set()
    found = []
    for _ in range(updates):
        left = step
        while left >= to_crossing:
            at, left, to_crossing = at + heading * to_crossing, left - to_crossing, BLOCK
            heading = _turned(at, heading, choose)
        at, to_crossing = at + heading * left, to_crossing - left
        near = set(np.flatnonzero(((places - at) ** 2).sum(axis=1) <= RADIUS**2).tolist())
        insert, delete = ([facts[number] for number in sorted(side)] for side in (near - known, known - near))
        found.append(Change({"nextInWay": insert} if insert else {}, {"nextInWay": delete} if delete else {}))
        known = near
    return found


def _turned(at: np.ndarray, heading: np.ndarray, choose: random.Random) -> np.ndarray:
    """Straight on mostly, to the left or right sometimes, and never out of the city."""
    ways = [heading, heading, np.array([-heading[1], heading[0]]), np.array([heading[1], -heading[0]]), -heading]
    inside = [way for way in ways if ((at + way * BLOCK >= 0) & (at + way * BLOCK <= BLOCKS * BLOCK)).all()]
    return inside[0] if len(inside) == 1 else choose.choice(inside[:-1])
