"""The Mermaid file is a flowchart whose labels survive Mermaid's own markup."""

import re

import pytest

from corollary.pictures import draw
from corollary.pictures.mermaid import label
from tests.pictures.programs import FIGURE_1, PROGRAMS, analysed

LINE = re.compile(
    r"""[ ]{2}(subgraph\ h\d+\["[^"\n]*"\] | end | \ \ r\d+_\d+\["[^"\n]*"\] | h\d+\["[^"\n]*"\]
        | [hr][\d_]+\ (-->|-\.-o\|not\||==>\|aggregate\|)\ [hr][\d_]+
        | classDef\ [a-z_]+\ fill:\#\w{6},stroke:\#\w{6},color:\#\w{6} | class\ [h\d,]+\ [a-z_]+
        | linkStyle\ [\d,]+\ stroke:\#\w{6} )""",
    re.VERBOSE,
)

FIGURE = """\
---
title: "figure_1.dl: 7 rules · 4 hyper-nodes · 2 strata"
---
flowchart TD
  subgraph h0["nonrecursive · stratum 0"]
    r0_0["r1: p1(X, Y) :- p0(X, Y)."]
  end
  subgraph h1["recursive · stratum 0"]
    r1_0["r2: p2(X, Z) :- p1(X, Y), p3(Y, Z)."]
    r1_1["r3: p3(X, Y) :- p4(X, Y)."]
    r1_2["r4: p4(X, Y) :- p2(X, Y)."]
  end
  subgraph h2["recursive · stratum 1"]
    r2_0["r5: p5(X, Y) :- p6(Y, Z), not p2(X, Z)."]
    r2_1["r6: p6(X, Y) :- p5(X, Y)."]
  end
  subgraph h3["nonrecursive · stratum 1"]
    r3_0["r7: p7(X, Z) :- p3(X, Y), p5(Y, Z)."]
  end
  r1_0 --> r1_2
  r1_1 --> r1_0
  r1_2 --> r1_1
  r2_0 --> r2_1
  r2_1 --> r2_0
  h0 --> h1
  h1 -.-o|not| h2
  h1 --> h3
  h2 --> h3
"""


def test_figure_1_has_a_subgraph_for_each_hyper_node() -> None:
    assert draw(analysed(FIGURE_1, "figure_1.dl"), form="mermaid").startswith(FIGURE)


@pytest.mark.parametrize("graph", ["rules", "hyper-nodes", "both"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_line_is_one_that_mermaid_knows(name: str, graph: str) -> None:
    lines = draw(analysed(PROGRAMS[name]), graph=graph, form="mermaid").splitlines()  # type: ignore[arg-type]
    assert lines[0] == lines[2] == "---"
    assert lines[3] == "flowchart TD"
    assert [line for line in lines[4:] if not LINE.fullmatch(line)] == []


def test_nothing_in_a_label_has_a_meaning_to_mermaid() -> None:
    assert label('"<b>" #35; & `x` *y* _z_', "next") == (
        '"#34;#60;b#62;#34; #35;35; #38; #96;x#96; #42;y#42; #95;z#95;<br/>next"'
    )
    assert label("a\nb\x00") == '"a#65533;b#65533;"'


def test_a_program_without_rules_says_so() -> None:
    assert "This program has no rules." in draw(analysed(""), form="mermaid")
