"""The shapes of a layout. x grows to the right, y downwards, as in SVG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Size:
    width: float
    height: float


@dataclass(frozen=True)
class Rectangle:
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    def contains(self, point: Point) -> bool:
        return self.x < point[0] < self.right and self.y < point[1] < self.bottom


@dataclass(frozen=True)
class Curve:
    """Cubic Bézier pieces that share their ends: a start, then three points for each piece."""

    points: tuple[Point, ...]

    def pieces(self) -> list[tuple[Point, Point, Point, Point]]:
        p = self.points
        return [(p[i], p[i + 1], p[i + 2], p[i + 3]) for i in range(0, len(p) - 1, 3)]

    def reversed(self) -> Curve:
        return Curve(self.points[::-1])

    def moved(self, dx: float, dy: float) -> Curve:
        return Curve(tuple((x + dx, y + dy) for x, y in self.points))


def straight(start: Point, end: Point) -> tuple[Point, Point, Point]:
    """Return the three points by which a curve at `start` continues in a straight line to `end`."""
    (x, y), (to_x, to_y) = start, end
    return (x + (to_x - x) / 3, y + (to_y - y) / 3), (x + (to_x - x) * 2 / 3, y + (to_y - y) * 2 / 3), end


def bend(start: Point, end: Point) -> tuple[Point, Point, Point]:
    """Return the three points of an S between two heights that leaves and arrives vertically and stays between its ends."""
    half = (start[1] + end[1]) / 2
    return (start[0], half), (end[0], half), end
