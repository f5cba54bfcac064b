"""What a picture shows, before it has a form."""

import doctest

import pytest

from corollary.analysis import analyse_texts
from corollary.diagnostics import Source
from corollary.pictures import drawing
from corollary.pictures.model import picture_of
from corollary.pictures.style import PALETTES, cells, kind_of, shortened
from corollary.program import Program
from tests.pictures.programs import FIGURE_1, RULE_SET_1, SINGLE, analysed


def test_the_example_of_the_documentation_is_right() -> None:
    assert doctest.testmod(drawing).failed == 0
    assert doctest.testmod(drawing).attempted == 4


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["<text>"], "program"),
        (["rules/a.dl"], "a.dl"),
        (["rules/a.dl", "b.dl"], "a.dl and b.dl"),
        (["a.dl", "b.dl", "c.dl"], "a.dl and 2 more"),
    ],
)
def test_the_title_names_the_files(names: list[str], title: str) -> None:
    sources = [Source(f"p{number}(X) :- q(X).", name) for number, name in enumerate(names)]
    assert picture_of(analyse_texts(*sources), "both").title == title


def test_a_program_made_without_text_has_a_title_too() -> None:
    from corollary.analysis import analyse

    assert picture_of(analyse(Program()), "both").title == "program"


def test_boxes_are_in_topological_order_and_say_why_there_is_an_edge() -> None:
    picture = picture_of(analysed(FIGURE_1), "both")
    assert [box.name for box in picture.boxes] == ["{r1}", "{r2, r3, r4}", "{r5, r6}", "{r7}"]
    assert [edge.reason for edge in picture.edges] == [
        "r1 → r2 by p1",
        "r2 → r5 by p2",
        "r3 → r7 by p3",
        "r5 → r7 by p5",
    ]


def test_an_edge_of_two_kinds_is_drawn_twice() -> None:
    picture = picture_of(analysed("p(X) :- e(X). q(X) :- p(X), not p(Y), e(Y)."), "hyper-nodes")
    assert [edge.kind.value for edge in picture.edges] == ["positive", "negative"]


def test_headings_name_the_modules() -> None:
    headings = [box.heading for box in picture_of(analysed(RULE_SET_1), "both").boxes]
    assert headings == ["symmetric-transitive-guarded", "aggregate", "aggregate", "nonrecursive", "nonrecursive"]
    linear = analysed(SINGLE + "path(X, Z) :- path(X, Y), road(Y, Z). path(X, Y) :- path(Y, X), e(X), e(Y).")
    assert picture_of(linear, "both").boxes[0].heading == "left-linear ×2 + recursive"


def test_every_kind_of_module_has_its_own_colours() -> None:
    assert len({palette.light for palette in PALETTES.values()}) == len(PALETTES)
    assert kind_of("symmetric-transitive-guarded+recursive").value == "symmetric-transitive"


def test_texts_are_measured_and_cut_in_cells() -> None:
    assert cells("abc") == 3
    assert cells("日本") == 4
    assert cells("e\u0301") == 1
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abcde…"
    assert shortened("日本語", 5) == "日本…"
