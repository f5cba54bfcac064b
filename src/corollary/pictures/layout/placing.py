"""The horizontal positions of the vertices of each layer, given their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from corollary.pictures.layout.layers import Layers

_ROUNDS = 120
_WORK = 250_000
# A long edge should be straight where it passes other layers, even if boxes have to move.
_BETWEEN_WAYPOINTS, _AT_BOX = 8.0, 1.0
_STAY = 0.01

Gap = Callable[[int, int], float]


def place(layers: Layers, gap: Gap) -> dict[int, float]:
    """Return the middle of each vertex; neighbours in a row are at least `gap(left, right)` apart."""
    x: dict[int, float] = {}
    gaps = [[gap(left, right) for left, right in pairwise(row)] for row in layers.rows]
    for row, apart in zip(layers.rows, gaps, strict=True):
        x.update(zip(row, accumulate(apart, initial=-sum(apart) / 2), strict=True))
    rounds = max(4, min(_ROUNDS, _WORK // (layers.size + 1)))
    for number in range(rounds):
        downwards = number % 2 == 0
        # At first a row follows the previous one; after the big moves, it is placed between its neighbours.
        sides = [layers.up if downwards else layers.down]
        if number >= rounds * 2 // 3:
            sides = [layers.up, layers.down]
        for index in range(len(layers.rows)) if downwards else reversed(range(len(layers.rows))):
            _settle_row(layers, layers.rows[index], sides, gaps[index], x)
    _straighten(layers, gap, x)
    return x


def settle(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return the positions nearest to the wanted ones (weighted least squares) that keep the order and the gaps.

    Without the gaps this is isotonic regression, for which pooling adjacent violators is exact.
    """
    shifts = list(accumulate(gaps, initial=0.0))
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of members
    for place, weight, moved in zip(wanted, weights, shifts, strict=True):
        mean, total, members = place - moved, weight, 1
        while pools and pools[-1][0] > mean:
            other, other_weight, other_members = pools.pop()
            mean = (mean * total + other * other_weight) / (total + other_weight)
            total, members = total + other_weight, members + other_members
        pools.append((mean, total, members))
    means = [mean for mean, _, members in pools for _ in range(members)]
    return [mean + moved for mean, moved in zip(means, shifts, strict=True)]


def _settle_row(
    layers: Layers, row: list[int], sides: Sequence[dict[int, list[int]]], gaps: Sequence[float], x: dict[int, float]
) -> None:
    wanted: list[float] = []
    weights: list[float] = []
    for vertex in row:
        total, weighted = _STAY, _STAY * x[vertex]
        passing = layers.is_waypoint(vertex)
        for side in sides:
            for other in side[vertex]:
                weight = _BETWEEN_WAYPOINTS if passing and layers.is_waypoint(other) else _AT_BOX
                total += weight
                weighted += weight * x[other]
        wanted.append(weighted / total)
        weights.append(total)
    x.update(zip(row, settle(wanted, weights, gaps), strict=True))


def _straighten(layers: Layers, gap: Gap, x: dict[int, float]) -> None:
    """Align the waypoints of an edge, as many in a row as their neighbours leave room for."""
    around: dict[int, tuple[int | None, int | None]] = {}
    for row in layers.rows:
        padded = [None, *row, None]
        for left, vertex, right in zip(padded, row, padded[2:], strict=False):
            around[vertex] = (left, right)

    def room(waypoint: int) -> tuple[float, float]:
        left, right = around[waypoint]
        low = -math.inf if left is None else x[left] + gap(left, waypoint)
        return low, math.inf if right is None else x[right] - gap(waypoint, right)

    for route in layers.routes.values():
        run: list[int] = []
        low, high = -math.inf, math.inf
        for waypoint in route[1:-1]:
            least, most = room(waypoint)
            if max(low, least) > min(high, most):
                _align(run, low, high, x)
                run, low, high = [], -math.inf, math.inf
            run.append(waypoint)
            low, high = max(low, least), min(high, most)
        _align(run, low, high, x)


def _align(run: Sequence[int], low: float, high: float, x: dict[int, float]) -> None:
    if len(run) > 1:
        middle = sorted(x[waypoint] for waypoint in run)[len(run) // 2]
        x.update(dict.fromkeys(run, min(max(middle, low), high)))
