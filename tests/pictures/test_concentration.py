"""Edges that are too many to draw one by one meet in junctions, which say the same."""

from itertools import product

from corollary.pictures import draw
from corollary.pictures.drawing import MANY_EDGES, MAX_EDGES, concentrated
from corollary.pictures.model import Edge, Picture, picture_of
from tests.pictures.programs import RULE_SET_3, analysed

PRODUCERS_AND_CONSUMERS = (
    "\n".join(f"p(X) :- e{i}(X)." for i in range(30))
    + "\n".join(f"q{i}(X) :- p(X)." for i in range(30))
    + "\n".join(f"n{i}(X) :- e(X), not p(X)." for i in range(20))
)


def pairs(picture: Picture) -> set[tuple[int, int, str]]:
    """The edges that a picture stands for, through its junctions."""
    into: dict[int, list[Edge]] = {}
    out: dict[int, list[Edge]] = {}
    found = set()
    for edge in picture.edges:
        if picture.boxes[edge.target].is_junction:
            into.setdefault(edge.target, []).append(edge)
        elif picture.boxes[edge.source].is_junction:
            out.setdefault(edge.source, []).append(edge)
        else:
            found.add((edge.source, edge.target, edge.kind.value))
    for junction, edges in into.items():
        for one, other in product(edges, out[junction]):
            assert one.kind is other.kind
            found.add((one.source, other.target, one.kind.value))
    return found


def test_a_picture_with_few_edges_stays_as_it_is() -> None:
    picture = picture_of(analysed(RULE_SET_3), "rules")
    assert len(picture.edges) <= MANY_EDGES
    assert concentrated(picture) is picture


def test_junctions_stand_for_exactly_the_edges_that_they_replace() -> None:
    picture = picture_of(analysed(PRODUCERS_AND_CONSUMERS), "rules")
    assert len(picture.edges) == 30 * 30 + 30 * 20
    fewer = concentrated(picture)
    assert len(fewer.edges) == 30 + 30 + 30 + 20
    assert pairs(fewer) == pairs(picture)


def test_every_form_can_show_junctions() -> None:
    analysis = analysed(PRODUCERS_AND_CONSUMERS)
    assert draw(analysis, form="svg").count('data-name="junction') == 2
    assert draw(analysis, form="dot").count("shape=point") == 2 + 2
    assert draw(analysis, form="mermaid").count('((" "))') == 2


def test_rules_that_all_depend_on_each_other_are_counted_instead_of_drawn() -> None:
    analysis = analysed("\n".join(f"p(X, Y) :- p(X, Z), e{i}(Z, Y)." for i in range(100)))
    for form in ("svg", "dot", "mermaid", "text"):
        assert "10000 edges among these rules" in draw(analysis, form=form)  # type: ignore[arg-type]
    assert "left-linear ×100" in draw(analysis, form="svg")


def test_more_edges_than_a_picture_can_hold_are_not_drawn_and_the_picture_says_so() -> None:
    rules = [f"p{i}(X) :- e(X)." for i in range(127)]
    rules += [f"q{i}(X) :- " + ", ".join(f"p{(i + k * k) % 127}(X)" for k in range(40)) + "." for i in range(127)]
    picture = picture_of(analysed("\n".join(rules)), "rules")
    assert len(picture.edges) > MAX_EDGES
    assert concentrated(picture).edges == ()
    assert concentrated(picture).counts[-1] == f"{len(picture.edges)} edges are not drawn"
