"""The programs whose pictures the tests look at."""

from corollary.analysis import Analysis, analyse_texts
from corollary.diagnostics import Source

FIGURE_1 = """
r1: p1(X, Y) :- p0(X, Y).
r2: p2(X, Z) :- p1(X, Y) and p3(Y, Z).
r3: p3(X, Y) :- p4(X, Y).
r4: p4(X, Y) :- p2(X, Y).
r5: p5(X, Y) :- p6(Y, Z) and not p2(X, Z).
r6: p6(X, Y) :- p5(X, Y).
r7: p7(X, Z) :- p3(X, Y) and p5(Y, Z).
"""

RULE_SET_1 = """
r1: hasNeighbour(X, Y) :- hasNeighbour(Y, X).
r2: hasNeighbour(X, Y) :- hasNeighbour(X, Z) and hasNeighbour(Z, Y) and COMP(X, !=, Y).
r3: hasNeighbourAirTemperatureMeasurementNumber(X, Z) :-
    aggregate(hasNeighbour(X, Y) and hasAirTemperatureMesurement(Y, T)) on X with count(T) as Z.
r4: hasMedianAirTemperatureMeasurementNearby(X, Z) :-
    aggregate(hasNeighbour(X, Y) and hasAirTemperatureMesurement(Y, T)) on X with Med(T) as Z.
r5: MoreThan3Neighbours(X) :- hasNeighbourAirTemperatureMeasurementNumber(X, N) and Comp(N, >=, 3).
r6: SensorAnomalyWindTurbine(X) :- hasMedianAirTemperatureMeasurementNearby(X, M) and MoreThan3Neighbours(X)
    and hasAirTemperatureMesurement(X, T) and bind(abs(T-M) as D) and Comp(D, >, 5).
"""

RULE_SET_2 = """
r1: p11(X, Y) :- p1(X, Y).
r2: p11(X, Y) :- p11(Y, X).
r3: p11(X, Y) :- p11(X, Z) and p11(Z, Y) and COMP(X, !=, Y).
r4: p12(X, Y) :- p2(X, Y).
r5: p12(X, Y) :- p12(X, Z) and p12(Z, Y) and COMP(X, !=, Y).
r6: p13(X, Y) :- p3(X, Y).
r7: p14(X, Y) :- p13(X, Y).
r8: p13(X, Y) :- p14(Y, X).
r9: p20(X, Y) :- p11(X, Y).
r10: p20(X, Y) :- p12(X, Y).
r11: p20(X, Y) :- p13(X, Y).
r12: p21(X, Y) :- p20(X, Y).
r13: p22(X, Y) :- p21(X, Y).
r14: p20(X, Y) :- p22(X, Y).
r15: p25(X, Z) :- p11(X, Y) and p12(Y, Z) and not p5(Y, Z).
r16: p26(X, Z) :- p12(X, Y) and p13(Z, Y) and not p5(Z, Y).
r17: p30(X, Z) :- p22(X, Y) and p21(Y, Z).
r18: p31(X, Y) :- p25(X, Y) and p26(Y, Z).
"""

RULE_SET_3 = RULE_SET_2.replace("r10: p20(X, Y) :- p12(X, Y).", "r10: p20(X, Y) :- p12(X, Y) and not p13(Y, Z).")

NOT_STRATIFIED = """
r1: win(X) :- move(X, Y), not win(Y).
r2: draw(X) :- position(X), not win(X), not lose(X).
r3: lose(X) :- position(X), not win(X), not draw(X).
r4: best(X, max(S)) :- score(X, S), draw(X).
r5: score(X, S) :- best(X, S), lose(X).
r6: score(X, S) :- given(X, S).
"""

NASTY = r"""
r1: p("<script>alert('x')</script> & \"quoted\" ]]> --> \\N \\l &lt;", X) :- q(X, _), X < 3, X >= 1.
r2: 名前(X, "日本語のとても長い文字列がここにあります、そして続く") :- p(_, X), not 表(X).
r3: <http://example.org/a?b=c&d=e>(X) :-
    名前(X, "😀 \u0001 \u009b \n # `tick` *bold* _x_ $$ [a](b) {c} |d| %%{init}%%").
"""

SINGLE = "path(X, Z) :- path(X, Y), edge(Y, Z)."
CHAIN_60 = "\n".join(f"q{i + 1}(X, Y) :- q{i}(X, Y)." for i in range(60))
FAN = "\n".join(f"s{i}(X) :- e{i}(X)." for i in range(30)) + f"all(X) :- {', '.join(f's{i}(X)' for i in range(30))}."
PARTS = "\n".join(f"c{part}_{i + 1}(X) :- c{part}_{i}(X)." for part in range(20) for i in range(3)) + "lone(X) :- e(X)."
LARGE_CYCLE = "\n".join(f"a{(i + 1) % 40}(X) :- a{i}(X), not b{i % 7}(X)." for i in range(40))

PROGRAMS = {
    "figure 1": FIGURE_1,
    "rule set 1": RULE_SET_1,
    "rule set 2": RULE_SET_2,
    "rule set 3": RULE_SET_3,
    "not stratified": NOT_STRATIFIED,
    "nasty": NASTY,
    "single": SINGLE,
    "chain of 60": CHAIN_60,
    "fan": FAN,
    "parts": PARTS,
    "large cycle": LARGE_CYCLE,
}


def analysed(text: str, name: str = "<text>") -> Analysis:
    """The analysis of a program that is allowed to have errors, as r5 of figure 1 has one."""
    return analyse_texts(Source(text, name))
