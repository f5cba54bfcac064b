"""One program, two graphs, four forms."""

from __future__ import annotations

from typing import Literal, TypeAlias

from corollary.analysis import Analysis
from corollary.pictures.concentration import concentrated
from corollary.pictures.dot import dot
from corollary.pictures.mermaid import mermaid
from corollary.pictures.model import GraphName, picture_of
from corollary.pictures.svg import drawing_of, svg
from corollary.pictures.text import text

Form: TypeAlias = Literal["svg", "dot", "mermaid", "text"]


def draw(analysis: Analysis, *, graph: GraphName = "both", form: Form) -> str:
    """The rule graph, the hyper-node graph, or both in one picture, as a text in the wanted form.

    The same program always gives the same text. A program with errors has a picture too, as far as it could be read.

    >>> from corollary.analysis import analyse
    >>> from corollary.language import parse_program
    >>> reach = analyse(parse_program("r1: reach(X, Z) :- reach(X, Y), edge(Y, Z)."))
    >>> print(draw(reach, form="text"))
    program · 1 rule · 1 hyper-node · 1 stratum
    <BLANKLINE>
    stratum 0
    <BLANKLINE>
      {r1}  left-linear
        r1: reach(X, Z) :- reach(X, Y), edge(Y, Z).
          ──▶ r1
    <BLANKLINE>
    ──▶ used by   ╌╌○ negated by   ══◆ aggregated by
    <BLANKLINE>
    """
    picture = picture_of(analysis, graph)
    match form:
        case "svg":
            return svg(drawing_of(concentrated(picture), hyper_nodes=graph != "rules"))
        case "dot":
            return dot(concentrated(picture), clusters=graph == "both")
        case "mermaid":
            return mermaid(concentrated(picture), subgraphs=graph == "both")
        case "text":
            return text(picture, hyper_nodes=graph != "rules")
