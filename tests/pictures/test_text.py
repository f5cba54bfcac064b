"""The listing for a terminal."""

from corollary.pictures import draw
from tests.pictures.programs import FIGURE_1, NASTY, NOT_STRATIFIED, analysed

FIGURE = """\
figure_1.dl · 7 rules · 4 hyper-nodes · 2 strata

stratum 0

  {r1}  nonrecursive
    r1: p1(X, Y) :- p0(X, Y).
    feeds ──▶ {r2, r3, r4}

  {r2, r3, r4}  recursive
    r2: p2(X, Z) :- p1(X, Y), p3(Y, Z).
      ──▶ r4
    r3: p3(X, Y) :- p4(X, Y).
      ──▶ r2
    r4: p4(X, Y) :- p2(X, Y).
      ──▶ r3
    needs {r1} ──▶
    feeds ──▶ {r7}
    feeds ╌╌○ {r5, r6}

stratum 1

  {r5, r6}  recursive
    r5: p5(X, Y) :- p6(Y, Z), not p2(X, Z).
      ──▶ r6
    r6: p6(X, Y) :- p5(X, Y).
      ──▶ r5
    needs {r2, r3, r4} ╌╌○
    feeds ──▶ {r7}

  {r7}  nonrecursive
    r7: p7(X, Z) :- p3(X, Y), p5(Y, Z).
    needs {r2, r3, r4}, {r5, r6} ──▶

──▶ used by   ╌╌○ negated by   ══◆ aggregated by
"""

RULES = """\
program · 6 rules · 4 hyper-nodes · 3 strata · not stratified

stratum 0

  r1: win(X) :- move(X, Y), not win(Y).
    needs r1 ╌╌○
    feeds ╌╌○ r1, r2, r3

  r6: score(X, S) :- given(X, S).
    feeds ══◆ r4

stratum 1

  r2: draw(X) :- position(X), not win(X), not lose(X).
    needs r1, r3 ╌╌○
    feeds ╌╌○ r3
    feeds ══◆ r4

  r3: lose(X) :- position(X), not win(X), not draw(X).
    needs r1, r2 ╌╌○
    feeds ──▶ r5
    feeds ╌╌○ r2

stratum 2

  r4: best(X, max(S)) :- score(X, S), draw(X).
    needs r2, r6, r5 ══◆
    feeds ──▶ r5

  r5: score(X, S) :- best(X, S), lose(X).
    needs r3, r4 ──▶
    feeds ══◆ r4

──▶ used by   ╌╌○ negated by   ══◆ aggregated by
"""


def test_figure_1_lists_hyper_nodes_in_topological_order_with_their_rules_and_edges() -> None:
    assert draw(analysed(FIGURE_1, "figure_1.dl"), form="text") == FIGURE


def test_the_rule_graph_lists_rules_with_what_each_needs_and_feeds() -> None:
    assert draw(analysed(NOT_STRATIFIED), graph="rules", form="text") == RULES


def test_the_hyper_node_graph_leaves_out_the_edges_inside() -> None:
    inside = [f"      ──▶ r{number}" for number in range(1, 8)]
    expected = [line for line in FIGURE.splitlines() if line not in inside]
    assert draw(analysed(FIGURE_1, "figure_1.dl"), graph="hyper-nodes", form="text").splitlines() == expected


def test_long_lists_are_cut() -> None:
    text = "p(X) :- e(X).\n" + "\n".join(f"q{i}(X) :- p(X)." for i in range(20))
    assert "{r13}, … 8 more\n" in draw(analysed(text), form="text")


def test_nothing_in_a_rule_moves_the_cursor_of_the_terminal() -> None:
    listing = draw(analysed(NASTY), form="text")
    assert all(character.isprintable() or character == "\n" for character in listing)


def test_a_program_without_rules_says_so() -> None:
    assert draw(analysed(""), form="text") == "program\n\nThis program has no rules.\n"
