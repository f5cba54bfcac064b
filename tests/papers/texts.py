"""The rule texts of the papers, as printed (with the full stops that a listing without them needs)."""

# 000 ZodiacEdge, Figure 1 and the rule of section 4.4.1.
FIGURE_1 = """
r1: p1(X,Y) := p0(X,Y).
r2: p2(X,Z) := p1(X,Y) ∧ p3(Y,Z).
r3: p3(X,Y) := p4(X,Y).
r4: p4(X,Y) := p2(X,Y).
r5: p5(X,Y) := p6(Y,Z) ∧ not p2(X,Z).
r6: p6(X,Y) := p5(X,Y).
r7: p7(X,Z) := p3(X,Y) ∧ p5(Y,Z).
"""
RULE_8 = "r8: p2(X, Z) :- p3(X, Y) and p2(Y, Z)."

# 000, appendix A.
RULE_SET_1 = """
r1: hasNeighbour(X, Y) :- hasNeighbour(Y, X).
r2: hasNeighbour(X, Y) :- hasNeighbour(X, Z) ∧ hasNeighbour(Z, Y) ∧ COMP(X, !=, Y) .
r3: hasNeighbourAirTemperatureMeasurementNumber(X, Z) :- aggregate(hasNeighbour(X, Y) ∧
    hasAirTemperatureMesurement(Y, T)) on X with count(T) as Z .
r4: hasMedianAirTemperatureMeasurementNearby(X, Z) :- aggregate(hasNeighbour(X, Y) ∧
    hasAirTemperatureMesurement(Y, T)) on X with Med(T) as Z .
r5: MoreThan3Neighbours(X) :- hasNeighbourAirTemperatureMeasurementNumber(X, N) ∧ Comp(N, >=, 3) .
r6: SensorAnomalyWindTurbine(X) :- hasMedianAirTemperatureMeasurementNearby(X, M) ∧ MoreThan3Neighbours(X) ∧
    hasAirTemperatureMesurement(X, T) and bind(abs(T-M) as D) ∧ Comp(D,>,5).
"""

# 000, appendix B.
RULE_SET_2 = """
r1: p11(X, Y) :- p1(X, Y).
r2: p11(X, Y) :- p11(Y, X).
r3: p11(X, Y) :- p11(X, Z) ∧ p11(Z, Y) ∧ COMP(X,!=, Y).
r4: p12(X, Y) :- p2(X, Y).
r5: p12(X, Y) :- p12(X, Z) ∧ p12(Z, Y) ∧ COMP(X,!=, Y).
r6: p13(X, Y) :- p3(X, Y).
r7: p14(X, Y) :- p13(X, Y).
r8: p13(X, Y) :- p14(Y, X).
r9: p20(X, Y) :- p11(X, Y).
r10: p20(X, Y) :- p12(X, Y).
r11: p20(X, Y) := p13(X, Y).
r12: p21(X, Y) :- p20(X, Y).
r13: p22(X, Y) :- p21(X, Y).
r14: p20(X, Y) := p22(X, Y).
r15: p25(X, Z) :- p11(X, Y) ∧ p12(Y, Z) ∧ not p5(Y, Z).
r16: p26(X, Z) := p12(X, Y) ∧ p13(Z, Y) ∧ not p5(Z, Y).
r17: p30(X, Z) := p22(X, Y) ∧ p21(Y, Z).
r18: p31(X, Y) := p25(X, Y) ∧ p26(Y, Z).
"""

# 000, appendix C: the same with another r10.
RULE_SET_3 = RULE_SET_2.replace("r10: p20(X, Y) :- p12(X, Y).", "r10_new: p20(X, Y) :- p12(X, Y) ∧ not p13(Y, Z).")

# 001 IRIS-RDB, listing 2 (the limit is a parameter of the experiment).
LISTING_2 = """
p(0, 1).
p(?X1, ?Y1) :- p(?X, ?Y), ?X + 1 = ?X1, ?Y + 1 = ?Y1, ?X < 200.

path(?X, ?Y) :- p(?X, ?Y).
path(?X, ?Y) :- path(?X, ?Z), path(?Z, ?Y).

?- path(?X, ?Y).
"""

LISTING_4 = """
a(?X, ?Y) :- b1(?X, ?Z), b2(?Z, ?Y).
b1(?X, ?Y) :- c1(?X, ?Z), c2(?Z, ?Y).
b2(?X, ?Y) :- c3(?X, ?Z), c4(?Z, ?Y).
c1(?X, ?Y) :- d1(?X, ?Z), d2(?Z, ?Y).
"""

LISTING_5 = """
?- a(?X, ?Y).
?- b1(?X, ?Y).
?- b2(?X, ?Y).

?- a(1, ?Y).
?- b1(1, ?Y).
?- b1(1, ?Y).

?- a(?X, 1).
?- b1(?X, 1).
?- b2(?X, 1).
"""

LISTING_6 = """
ra(?A, ?B, ?C, ?D, ?E) :- p(?A), p(?B), p(?C), p(?D), p(?E).
rb(?A, ?B, ?C, ?D, ?E) :- p(?A), p(?B), p(?C), p(?D), p(?E).
r(?A, ?B, ?C, ?D, ?E) :- ra(?A, ?B, ?C, ?D, ?E),
                        rb(?A, ?B, ?C, ?D, ?E).
q(?A) :- r(?A, ?B, ?C, ?D, ?E).
q(?B) :- r(?A, ?B, ?C, ?D, ?E).
q(?C) :- r(?A, ?B, ?C, ?D, ?E).
q(?D) :- r(?A, ?B, ?C, ?D, ?E).
q(?E) :- r(?A, ?B, ?C, ?D, ?E).
"""
