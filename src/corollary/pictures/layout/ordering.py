"""The order of the vertices in each layer: barycentre sweeps and swaps of neighbours, so that few edges cross."""

from __future__ import annotations

from bisect import bisect_right, insort

from corollary.pictures.layout.layers import Layers

_SWEEPS = 24
# Sweeps over a large picture are expensive, and a few crossings less do not matter there.
_WORK = 100_000
_SWAPS_UP_TO = 1_500
_SMALL, _MORE_STARTS = 300, 8


def order_rows(layers: Layers) -> None:
    """Reorder `layers.rows` to the best order that sweeps find from several starting points."""
    best: list[list[int]] = []
    fewest = -1
    for start in _starts(layers):
        _order_by_walk(layers, start)
        found = _improve(layers)
        if fewest < 0 or found < fewest:
            best, fewest = _copy(layers.rows), found
        if fewest == 0:
            break
    layers.rows[:] = best


def _starts(layers: Layers) -> list[int]:
    """Return vertices to start with: the one with the most edges, and in a small picture also each of those at the top."""
    busiest = max(layers.up, key=lambda vertex: (len(layers.up[vertex]) + len(layers.down[vertex]), -vertex))
    return [busiest, *layers.rows[0][:_MORE_STARTS]] if layers.size <= _SMALL else [busiest]


def _order_by_walk(layers: Layers, start: int) -> None:
    """Sort each row by when a depth-first search reaches its vertices, which keeps connected vertices together."""
    met: dict[int, int] = {}
    for root in (start, *(vertex for row in layers.rows for vertex in sorted(row))):
        stack = [root]
        while stack:
            vertex = stack.pop()
            if vertex not in met:
                met[vertex] = len(met)
                stack.extend(reversed([*layers.down[vertex], *layers.up[vertex]]))
    for row in layers.rows:
        row.sort(key=met.__getitem__)


def _improve(layers: Layers) -> int:
    """Sweep over the rows as long as the number of crossings does not increase; return that number."""
    best, fewest = _copy(layers.rows), crossings(layers)
    for sweep in range(max(3, min(_SWEEPS, _WORK // (layers.size + 1)))):
        if fewest == 0:
            break
        # Ties keep their order in one half of the sweeps and are reversed in the other, to escape local minima.
        _sweep(layers, downwards=sweep % 2 == 0, turn_ties=sweep % 4 >= 2)
        if layers.size <= _SWAPS_UP_TO:
            _swap_neighbours(layers)
        if (found := crossings(layers)) < fewest:
            best, fewest = _copy(layers.rows), found
    layers.rows[:] = best
    return fewest


def crossings(layers: Layers) -> int:
    """Return the number of pairs of edges between neighbouring layers that cross."""
    return sum(_crossings_below(layers, row) for row in range(len(layers.rows) - 1))


def _crossings_below(layers: Layers, row: int) -> int:
    position = {vertex: index for index, vertex in enumerate(layers.rows[row + 1])}
    seen: list[int] = []
    count = 0
    for vertex in layers.rows[row]:
        ends = sorted(position[other] for other in layers.down[vertex])
        for end in ends:
            count += len(seen) - bisect_right(seen, end)
        for end in ends:
            insort(seen, end)
    return count


def _sweep(layers: Layers, *, downwards: bool, turn_ties: bool) -> None:
    rows = layers.rows
    order = range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1)
    towards = layers.up if downwards else layers.down
    for row in order:
        fixed = {vertex: index for index, vertex in enumerate(rows[row - 1 if downwards else row + 1])}
        centre = {
            vertex: sum(fixed[other] for other in towards[vertex]) / len(towards[vertex])
            for vertex in rows[row]
            if towards[vertex]
        }
        rows[row] = _sorted_by(rows[row], centre, turn_ties=turn_ties)


def _sorted_by(row: list[int], centre: dict[int, float], *, turn_ties: bool) -> list[int]:
    """Return the vertices sorted by centre; those without a centre stay where they are."""
    movable = [vertex for vertex in row if vertex in centre]
    if turn_ties:
        movable.reverse()
    ordered = iter(sorted(movable, key=centre.__getitem__))
    return [next(ordered) if vertex in centre else vertex for vertex in row]


def _swap_neighbours(layers: Layers) -> None:
    """Swap adjacent vertices as long as their own edges then have fewer crossings."""
    for _ in range(4):
        improved = False
        for index, row in enumerate(layers.rows):
            above = _positions(layers.rows[index - 1]) if index else {}
            below = _positions(layers.rows[index + 1]) if index + 1 < len(layers.rows) else {}
            for place in range(len(row) - 1):
                left, right = row[place], row[place + 1]
                gain = _gain(layers.up, above, left, right) + _gain(layers.down, below, left, right)
                if gain > 0:
                    row[place], row[place + 1] = right, left
                    improved = True
        if not improved:
            return


def _gain(neighbours: dict[int, list[int]], position: dict[int, int], left: int, right: int) -> int:
    """Return how many crossings fewer there are with `right` before `left`."""
    gain = 0
    for one in neighbours[left]:
        for other in neighbours[right]:
            gain += (position[one] > position[other]) - (position[one] < position[other])
    return gain


def _positions(row: list[int]) -> dict[int, int]:
    return {vertex: index for index, vertex in enumerate(row)}


def _copy(rows: list[list[int]]) -> list[list[int]]:
    return [list(row) for row in rows]
