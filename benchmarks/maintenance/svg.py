"""Charts as SVG, by hand: points and lines over numbers or names, with linear or logarithmic axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 50, 70
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#b8860b", "#6a4c93", "#555555", "#0aa1a1")


@dataclass(frozen=True)
class Series:
    """Points of one kind; `line` connects them."""

    name: str
    points: Sequence[tuple[float, float]]
    line: bool = False


@dataclass(frozen=True)
class Chart:
    """`names` stand below the places 0, 1, 2 … of the x axis; otherwise it is an axis of numbers."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    names: Sequence[str] = ()


class _Axis:
    """Takes a number to its place on the picture, from `low` pixels to `high`."""

    def __init__(self, values: Sequence[float], low: float, high: float, *, logarithmic: bool) -> None:
        self._log, self._low, self._high = logarithmic, low, high
        least, most = min(values), max(values)
        self._from, self._to = min(0.0, least), most
        if logarithmic:
            self._from, self._to = float(floor(log10(least))), float(ceil(log10(most)))
        if self._from == self._to:
            self._to += 1

    def place(self, value: float) -> float:
        number = log10(value) if self._log else value
        return self._low + (number - self._from) / (self._to - self._from) * (self._high - self._low)

    def ticks(self) -> list[float]:
        if self._log:
            return [10.0**power for power in range(int(self._from), int(self._to) + 1)]
        rough = (self._to - self._from) / 5
        unit = 10 ** floor(log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
        return [number * step for number in range(ceil(self._from / step), floor(self._to / step) + 1)]


def write_charts(charts: Mapping[str, Chart], directory: Path) -> list[Path]:
    """Draws charts into files by their names."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in charts.items():
        file = directory / f"{name}.svg"
        file.write_text(draw(chart), encoding="utf-8")
        written.append(file)
    return written


def draw(chart: Chart) -> str:
    """The chart as a document. On a logarithmic axis what is not above zero is left out."""
    series = [Series(one.name, _drawable(chart, one.points), one.line) for one in chart.series]
    points = [point for one in series for point in one.points] or [(1.0, 1.0)]
    if chart.names:
        across = _Axis([-0.5, len(chart.names) - 0.5], LEFT, WIDTH - RIGHT, logarithmic=False)
    else:
        across = _Axis([x for x, _ in points], LEFT, WIDTH - RIGHT, logarithmic=chart.log_x)
    upward = _Axis([y for _, y in points], HEIGHT - BOTTOM, TOP, logarithmic=chart.log_y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(chart.title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(WIDTH / 2, 20, chart.title, size=15),
        *_grid(chart, across, upward),
        *(part for number, one in enumerate(series) for part in _series(one, number, across, upward)),
        *_legend(series),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _drawable(chart: Chart, points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(x, y) for x, y in points if (x > 0 or not chart.log_x) and (y > 0 or not chart.log_y)]


def _grid(chart: Chart, across: _Axis, upward: _Axis) -> list[str]:
    parts = []
    for tick in upward.ticks():
        y = upward.place(tick)
        parts += [_rule(LEFT, y, WIDTH - RIGHT, y), _text(LEFT - 6, y + 4, _label(tick), anchor="end")]
    bottom = HEIGHT - BOTTOM
    if chart.names:
        for number, name in enumerate(chart.names):
            parts.append(_text(across.place(number), bottom + 16, name, size=11 if len(name) < 8 else 9))
    else:
        for tick in across.ticks():
            x = across.place(tick)
            parts += [_rule(x, TOP, x, bottom), _text(x, bottom + 16, _label(tick))]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 28, chart.x))
    middle = (TOP + bottom) / 2
    parts.append(f'<g transform="rotate(-90 18 {middle:.1f})">{_text(18, middle, chart.y)}</g>')
    return parts


def _series(one: Series, number: int, across: _Axis, upward: _Axis) -> list[str]:
    colour = COLOURS[number % len(COLOURS)]
    places = [(across.place(x), upward.place(y)) for x, y in one.points]
    parts = []
    if one.line and len(places) > 1:
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}" fill-opacity="0.75"/>' for x, y in places]
    return parts


def _legend(series: Sequence[Series]) -> list[str]:
    """In one line below the axis."""
    parts, x = [], float(LEFT)
    for number, one in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<circle cx="{x:.1f}" cy="{HEIGHT - 12}" r="4" fill="{colour}"/>')
        parts.append(_text(x + 8, HEIGHT - 8, one.name, anchor="start", size=11))
        x += 22 + 6.2 * len(one.name)
    return parts


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "middle", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _label(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.6g}"
