"""The SVG says everything about the program, in a way that every viewer can read."""

import os
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest

from corollary.analysis import Analysis, Dependency
from corollary.pictures import draw
from tests.pictures.programs import FIGURE_1, NASTY, NOT_STRATIFIED, PROGRAMS, RULE_SET_3, SINGLE, analysed

SVG = "{http://www.w3.org/2000/svg}"
GRAPHS = ("rules", "hyper-nodes", "both")


def parsed(analysis: Analysis, graph: str = "both") -> ElementTree.Element:
    return ElementTree.fromstring(draw(analysis, graph=graph, form="svg"))  # type: ignore[arg-type]


def edges_in(root: ElementTree.Element) -> list[tuple[str, str, str]]:
    found = [group for group in root.iter(f"{SVG}g") if group.get("class") == "edge"]
    keys = ("data-source", "data-target", "data-kind")
    return sorted((edge.attrib[keys[0]], edge.attrib[keys[1]], edge.attrib[keys[2]]) for edge in found)


def rules_in(root: ElementTree.Element) -> set[str | None]:
    return {group.get("data-rule") for group in root.iter(f"{SVG}g") if group.get("class") == "rule"}


def words_in(root: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_rule_is_there_with_its_whole_text_as_a_tooltip(name: str, graph: str) -> None:
    analysis = analysed(PROGRAMS[name])
    root = parsed(analysis, graph)
    assert rules_in(root) == set(analysis.graph.rules)
    tooltips = [title.text for title in root.iter(f"{SVG}title")]
    for rule in analysis.as_dict()["rules"]:  # type: ignore[attr-defined]
        assert f"{rule['name']}: {rule['text']}" in tooltips


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rule_graph_has_exactly_the_edges_of_the_analysis(name: str) -> None:
    analysis = analysed(PROGRAMS[name])
    expected = [(s, t, kind.value) for s, t, kinds in analysis.graph.rule_edges.edges() for kind in kinds]
    assert edges_in(parsed(analysis, "rules")) == sorted(expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_hyper_node_graph_has_exactly_the_edges_of_the_analysis(name: str) -> None:
    graph = analysed(PROGRAMS[name]).graph
    found = edges_in(parsed(analysed(PROGRAMS[name]), "hyper-nodes"))
    if max(len(node.rules) for node in graph.hyper_nodes) <= 6:  # larger ones are abbreviated
        expected = [(str(s), str(t), kind.value) for s, t, kinds in graph.hyper_edges.edges() for kind in kinds]
        assert found == sorted(expected)


def test_both_graphs_in_one_picture_have_the_hyper_edges_and_the_rule_edges_inside_hyper_nodes() -> None:
    assert edges_in(parsed(analysed(FIGURE_1))) == [
        ("r2", "r4", "positive"),
        ("r3", "r2", "positive"),
        ("r4", "r3", "positive"),
        ("r5", "r6", "positive"),
        ("r6", "r5", "positive"),
        ("{r1}", "{r2, r3, r4}", "positive"),
        ("{r2, r3, r4}", "{r5, r6}", "negative"),
        ("{r2, r3, r4}", "{r7}", "positive"),
        ("{r5, r6}", "{r7}", "positive"),
    ]


def test_the_three_kinds_of_edges_differ_in_colour_in_dashes_and_in_their_heads() -> None:
    root = parsed(analysed(NOT_STRATIFIED))
    looks: dict[str | None, set[tuple[str | None, ...]]] = {}
    for group in root.iter(f"{SVG}g"):
        if group.get("class") == "edge":
            line = group.find(f"{SVG}path")
            assert line is not None
            look = (line.get("stroke"), bool(line.get("stroke-dasharray")), line.get("marker-end"))
            looks.setdefault(group.get("data-kind"), set()).add(look)  # type: ignore[arg-type]
    assert set(looks) == {kind.value for kind in Dependency}
    assert all(len(same) == 1 for same in looks.values())
    colours, _, heads = zip(*(look for same in looks.values() for look in same), strict=True)
    assert len(set(colours)) == len(set(heads)) == 3
    markers = {f"url(#{marker.get('id')})" for marker in root.iter(f"{SVG}marker")}
    assert set(heads) <= markers


def test_title_counts_modules_strata_and_legend_are_written() -> None:
    words = words_in(parsed(analysed(RULE_SET_3, "examples/rule_set_3.dl")))
    assert words[:2] == ["rule_set_3.dl", "18 rules · 14 hyper-nodes · 2 strata"]
    for expected in ("symmetric-transitive-guarded", "transitive-guarded", "recursive", "stratum 0", "stratum 1"):
        assert expected in words
    assert {"positive: used by", "negative: negated by", "aggregate: aggregated by"} <= set(words)


def test_a_program_that_is_not_stratified_has_a_picture_that_says_so() -> None:
    assert "6 rules · 4 hyper-nodes · 3 strata · not stratified" in words_in(parsed(analysed(NOT_STRATIFIED)))


@pytest.mark.parametrize("text", ["", "edge(1, 2). ?- edge(X, Y)."])
def test_a_program_without_rules_has_a_picture_that_says_so(text: str) -> None:
    for graph in GRAPHS:
        assert words_in(parsed(analysed(text), graph)) == ["program", "", "This program has no rules."]


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_needs_nothing_from_outside(name: str) -> None:
    text = draw(analysed(PROGRAMS[name]), form="svg")
    root = ElementTree.fromstring(text)
    allowed = {"svg", "title", "desc", "style", "defs", "marker", "g", "rect", "path", "circle", "text", "tspan"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
    attributes = {key for element in root.iter() for key in element.attrib}
    assert not [key for key in attributes if key.endswith("href") or key.startswith("on")]
    assert text.count("url(") == text.count("url(#corollary-")


def test_it_is_accessible() -> None:
    root = parsed(analysed(FIGURE_1, "figure_1.dl"))
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert root[0].text == "figure_1.dl: 7 rules · 4 hyper-nodes · 2 strata"
    assert root[1].text is not None
    assert "{r2, r3, r4} is negated by {r5, r6}" in root[1].text


def test_text_that_looks_like_markup_stays_text() -> None:
    text = draw(analysed(NASTY, 'a&b<"c">.dl'), form="svg")
    root = ElementTree.fromstring(text)
    assert "<script" not in text
    assert any("<script>alert('x')</script> & \\\"quoted\\\"" in word for word in words_in(root))
    assert 'a&b<"c">.dl' in words_in(root)


def test_characters_that_xml_cannot_have_are_replaced() -> None:
    root = parsed(analysed(SINGLE, "a\x00b\x1bc\ud800.dl"))
    assert words_in(root)[0] == "a\ufffdb\ufffdc\ufffd.dl"


def test_the_same_program_gives_the_same_picture_whatever_the_hash_seed() -> None:
    script = (
        "from tests.pictures.programs import *\nfrom corollary.pictures import draw\n"
        "for text in PROGRAMS.values():\n  for form in ('svg', 'dot', 'mermaid', 'text'):\n"
        "    for graph in ('rules', 'both'): print(ascii(draw(analysed(text), graph=graph, form=form)))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_three_hundred_rules_are_drawn_in_two_seconds_without_their_texts() -> None:
    rules = [f"p{i}(X) :- e(X)" + "".join(f", p{(i * k) % i}(X)" for k in (7, 11, 13) if i > 10) for i in range(300)]
    analysis = analysed(".\n".join(rules) + ".")
    assert len(analysis.graph.rules) == 300
    start = time.process_time()
    root = parsed(analysis)
    assert time.process_time() - start < 2
    assert rules_in(root) == set(analysis.graph.rules)
    assert not any(":-" in word for word in words_in(root))
