"""Which layer each box of a picture is in: below everything that feeds it, and with its own stratum."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Level(NamedTuple):
    """The `step`-th layer of a stratum, from 0."""

    stratum: int
    step: int


@dataclass(frozen=True)
class LayeringProblem:
    """Vertices with their strata and widths, and edges without cycle that never lead to a smaller stratum."""

    vertices: Sequence[int]
    successors: Mapping[int, Sequence[int]]
    predecessors: Mapping[int, Sequence[int]]
    strata: Sequence[int]
    widths: Sequence[float]
    max_width: float


def levels_of(task: LayeringProblem) -> dict[int, Level]:
    """A level for each vertex, above those of its successors; a layer is wider than `max_width` for a lone vertex only.

    The longest way to a vertex gives its level. Where a layer is full, vertices with a short way ahead go lower.
    """
    used: dict[Level, float] = {}
    levels: dict[int, Level] = {}
    order = _topological_order(task)
    for vertex in order:
        stratum = task.strata[vertex]
        above = [levels[other].step for other in task.predecessors[vertex] if levels[other].stratum == stratum]
        level = Level(stratum, max(above, default=-1) + 1)
        while used.get(level) and used[level] + task.widths[vertex] > task.max_width:
            level = Level(stratum, level.step + 1)
        levels[vertex] = level
        used[level] = used.get(level, 0.0) + task.widths[vertex]
    _pull_down(task, order, levels, used)
    return _without_empty_layers(levels)


def _pull_down(task: LayeringProblem, order: Sequence[int], levels: dict[int, Level], used: dict[Level, float]) -> None:
    """Moves vertices that feed more than they need towards what they feed: their edges get shorter."""
    last: dict[int, int] = {}
    for level in levels.values():
        last[level.stratum] = max(last.get(level.stratum, 0), level.step)
    for vertex in reversed(order):
        if len(task.successors[vertex]) <= len(task.predecessors[vertex]):
            continue
        here, width = levels[vertex], task.widths[vertex]
        below = [levels[other].step for other in task.successors[vertex] if levels[other].stratum == here.stratum]
        lowest = min(below, default=last[here.stratum] + 1) - 1
        for step in range(lowest, here.step, -1):
            level = Level(here.stratum, step)
            if used.get(level, 0.0) + width <= task.max_width:
                used[here] -= width
                used[level] = used.get(level, 0.0) + width
                levels[vertex] = level
                break


def _without_empty_layers(levels: dict[int, Level]) -> dict[int, Level]:
    steps: dict[int, dict[int, int]] = {}
    for stratum, step in sorted(set(levels.values())):
        numbered = steps.setdefault(stratum, {})
        numbered[step] = len(numbered)
    return {vertex: Level(level.stratum, steps[level.stratum][level.step]) for vertex, level in levels.items()}


def _topological_order(task: LayeringProblem) -> list[int]:
    """Among the vertices that may come next the one with the longest way ahead of it: it should stand high."""
    plain = _any_topological_order(task)
    ahead: dict[int, int] = {}
    for vertex in reversed(plain):
        ahead[vertex] = 1 + max((ahead[other] for other in task.successors[vertex]), default=0)
    missing = {vertex: len(task.predecessors[vertex]) for vertex in task.vertices}
    ready = [(-ahead[vertex], vertex) for vertex in task.vertices if not missing[vertex]]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, vertex = heapq.heappop(ready)
        order.append(vertex)
        for other in task.successors[vertex]:
            missing[other] -= 1
            if not missing[other]:
                heapq.heappush(ready, (-ahead[other], other))
    return order


def _any_topological_order(task: LayeringProblem) -> list[int]:
    missing = {vertex: len(task.predecessors[vertex]) for vertex in task.vertices}
    order = [vertex for vertex in task.vertices if not missing[vertex]]
    for vertex in order:
        for other in task.successors[vertex]:
            missing[other] -= 1
            if not missing[other]:
                order.append(other)
    return order
