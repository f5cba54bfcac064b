"""Nothing in a picture covers anything else, neither for the papers' programs nor for random graphs."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.pictures.drawing import concentrated
from corollary.pictures.layout import Curve, Layout, Link, Rectangle, Size, lay_out
from corollary.pictures.model import picture_of
from corollary.pictures.style import monospaced
from corollary.pictures.svg import RULE_SIZE, Drawing, drawing_of
from tests.budgets import examples
from tests.pictures.programs import PROGRAMS, analysed

GRAPHS = ("rules", "hyper-nodes", "both")


def drawing(name: str, graph: str) -> Drawing:
    picture = concentrated(picture_of(analysed(PROGRAMS[name]), graph))  # type: ignore[arg-type]
    return drawing_of(picture, hyper_nodes=graph != "rules")


def overlaps(one: Rectangle, other: Rectangle) -> bool:
    return one.x < other.right and other.x < one.right and one.y < other.bottom and other.y < one.bottom


def samples(curve: Curve, per_piece: int = 16) -> list[tuple[float, float]]:
    """Return points along a curve, from its start to its end."""
    found = [curve.points[0]]
    for piece in curve.pieces():
        for step in range(1, per_piece + 1):
            t = step / per_piece
            u = 1 - t
            weights = (u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t)
            x, y = (sum(w * point[axis] for w, point in zip(weights, piece, strict=True)) for axis in (0, 1))
            found.append((x, y))
    return found


def check(layout: Layout) -> None:
    for one, other in combinations(layout.boxes, 2):
        assert not overlaps(one, other)
    for curve in layout.curves:
        for point in samples(curve):
            assert not any(box.contains(point) for box in layout.boxes)
            assert -1e-6 <= point[0] <= layout.width + 1e-6
            assert -1e-6 <= point[1] <= layout.height + 1e-6


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_box_covers_a_box_and_no_edge_runs_through_one(name: str, graph: str) -> None:
    check(drawing(name, graph).layout)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_edge_begins_and_ends_at_its_boxes(name: str, graph: str) -> None:
    drawn = drawing(name, graph)
    for edge, curve in zip(drawn.picture.edges, drawn.layout.curves, strict=True):
        for end, point in ((edge.source, curve.points[0]), (edge.target, curve.points[-1])):
            box = drawn.layout.boxes[end]
            away = max(box.x - point[0], point[0] - box.right, box.y - point[1], point[1] - box.bottom)
            assert 0 <= away <= 9.001  # the head's length


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_contents_of_a_box_stay_inside_it(name: str, graph: str) -> None:
    for contents in drawing(name, graph).contents:
        width, height = contents.size.width, contents.size.height
        for row in contents.rows:
            assert 0 <= row.chip.x <= row.chip.right <= width
            assert 0 <= row.chip.y <= row.chip.bottom <= height
            for x, y, line in row.lines_at():
                assert x + monospaced(line, RULE_SIZE) <= row.chip.width
                assert y <= row.chip.height
        for one, other in combinations((row.chip for row in contents.rows), 2):
            assert not overlaps(one, other)
        for _, curve in contents.arcs:
            for point in samples(curve):
                assert 0 <= point[0] <= width
                assert 0 <= point[1] <= height
                assert not any(row.chip.contains(point) for row in contents.rows)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_box_stands_in_the_band_of_its_stratum_below_the_boxes_that_feed_it(name: str) -> None:
    drawn = drawing(name, "hyper-nodes")
    for box, place in zip(drawn.picture.boxes, drawn.layout.boxes, strict=True):
        bands = [band for band in drawn.layout.bands if band.top <= place.y and place.bottom <= band.bottom]
        assert [band.stratum for band in bands] == [box.stratum]
    for edge in drawn.picture.edges:
        assert drawn.layout.boxes[edge.source].bottom < drawn.layout.boxes[edge.target].y


def test_bands_of_one_shelf_do_not_overlap() -> None:
    bands = drawing("rule set 3", "both").layout.bands
    assert [band.stratum for band in bands] == [0, 1]
    assert bands[0].bottom < bands[1].top


def test_many_boxes_without_edges_fill_rows_instead_of_one_long_line() -> None:
    layout = lay_out([Size(100, 30)] * 300, [], [0] * 300)
    check(layout)
    assert 0.5 < layout.width / layout.height < 3


def test_no_boxes_make_no_drawing() -> None:
    assert lay_out([], [], []) == Layout((), (), (), 0.0, 0.0)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Size], list[Link], list[int]]:
    count = draw(st.integers(1, 14))
    sizes = draw(st.lists(st.builds(Size, st.integers(20, 400), st.integers(20, 120)), min_size=count, max_size=count))
    strata = sorted(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    pairs = [pair for pair in draw(st.lists(ends, max_size=30)) if strata[pair[0]] <= strata[pair[1]]]
    return sizes, [Link(source, target, 9.0) for source, target in pairs], strata


@given(graphs())
@settings(max_examples=examples(150), deadline=None)
def test_any_graph_is_drawn_without_overlaps(graph: tuple[list[Size], list[Link], list[int]]) -> None:
    check(lay_out(*graph))
