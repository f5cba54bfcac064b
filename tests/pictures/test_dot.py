"""The DOT file is what Graphviz expects, whatever stands in the rules."""

import re
import shutil
import subprocess

import pytest

from corollary.pictures import draw
from corollary.pictures.dot import quoted
from tests.pictures.programs import FIGURE_1, NASTY, NOT_STRATIFIED, PROGRAMS, analysed

GRAPHS = ("rules", "hyper-nodes", "both")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_strings_end_where_they_should_and_braces_match(name: str, graph: str) -> None:
    text = draw(analysed(PROGRAMS[name]), graph=graph, form="dot")  # type: ignore[arg-type]
    bare = STRING.sub("S", text)
    assert '"' not in bare
    assert bare.isascii()
    assert bare.count("{") == bare.count("}")
    assert bare.count("[") == bare.count("]")
    for line in bare.splitlines():
        assert line.endswith((";", "{", "}", ","))


def test_hyper_nodes_are_clusters_and_edges_between_them_end_at_their_borders() -> None:
    text = draw(analysed(FIGURE_1), form="dot")
    assert text.count("subgraph cluster_") == 4
    assert 'label="recursive · stratum 1"' in text
    assert 'r1_0 [label="r2  p2(X, Z) :- p1(X, Y), p3(Y, Z)."' in text
    assert re.search(r"r1_2 -> r2_0 \[style=dashed, arrowhead=odot, .*ltail=cluster_1, lhead=cluster_2\];", text)
    assert re.search(r"r1_0 -> r1_2 \[style=solid, arrowhead=normal", text)


def test_the_three_kinds_of_edges_have_three_styles() -> None:
    text = draw(analysed(NOT_STRATIFIED), graph="rules", form="dot")
    assert set(re.findall(r"style=(\w+).* arrowhead=(\w+)", text)) == {
        ("solid", "normal"),
        ("dashed", "odot"),
        ("dotted", "diamond"),
    }


def test_nothing_in_a_label_has_a_meaning_to_graphviz() -> None:
    assert quoted('a "b" \\N &lt; \n') == '"a \\"b\\" \\\\N &amp;lt; \ufffd"'
    assert quoted("a", "b") == '"a\\lb\\l"'


def test_a_program_without_rules_says_so() -> None:
    assert "This program has no rules." in draw(analysed(""), form="dot")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("text", ["", FIGURE_1, NASTY, NOT_STRATIFIED])
def test_graphviz_reads_it(text: str, graph: str) -> None:
    source = draw(analysed(text), graph=graph, form="dot")  # type: ignore[arg-type]
    run = subprocess.run(["dot", "-Tsvg"], input=source, capture_output=True, text=True, check=True, timeout=600)
    assert run.stderr == ""
    assert "</svg>" in run.stdout
