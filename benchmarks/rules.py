"""The programs of the workloads, in the part of the language that other Datalog engines read as well."""

TRANSITIVE = """\
path(X, Y) :- edge(X, Y).
path(X, Z) :- edge(X, Y), path(Y, Z).
"""

TRANSITIVE_NONLINEAR = """\
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), path(Y, Z).
"""

TRANSITIVE_ITSELF = """\
r(X, Z) :- r(X, Y), r(Y, Z).
"""

SYMMETRIC_TRANSITIVE = """\
r(Y, X) :- r(X, Y).
r(X, Z) :- r(X, Y), r(Y, Z).
"""

SAME_GENERATION = """\
sg(X, Y) :- par(P, X), par(P, Y), X != Y.
sg(X, Y) :- par(A, X), sg(A, B), par(B, Y).
"""

JOIN1 = """\
a(X, Y) :- b1(X, Z), b2(Z, Y).
b1(X, Y) :- c1(X, Z), c2(Z, Y).
b2(X, Y) :- c3(X, Z), c4(Z, Y).
c1(X, Y) :- d1(X, Z), d2(Z, Y).
"""

JOIN2 = """\
ra(A, B, C, D, E) :- p(A), p(B), p(C), p(D), p(E).
rb(A, B, C, D, E) :- p(A), p(B), p(C), p(D), p(E).
r(A, B, C, D, E) :- ra(A, B, C, D, E), rb(A, B, C, D, E).
q(A) :- r(A, B, C, D, E).
q(B) :- r(A, B, C, D, E).
q(C) :- r(A, B, C, D, E).
q(D) :- r(A, B, C, D, E).
q(E) :- r(A, B, C, D, E).
"""

POINTS_TO = """\
vpt(V, H) :- new(V, H).
vpt(V, H) :- assign(V, W), vpt(W, H).
vpt(V, H) :- load(V, B, F), vpt(B, C), hpt(C, F, H).
hpt(C, F, H) :- store(B, F, W), vpt(B, C), vpt(W, H).
"""

_ZODIAC = """\
p11(X, Y) :- p1(X, Y).
p11(X, Y) :- p11(Y, X).
p11(X, Y) :- p11(X, Z), p11(Z, Y), X != Y.
p12(X, Y) :- p2(X, Y).
p12(X, Y) :- p12(X, Z), p12(Z, Y), X != Y.
p13(X, Y) :- p3(X, Y).
p14(X, Y) :- p13(X, Y).
p13(X, Y) :- p14(Y, X).
p20(X, Y) :- p11(X, Y).
{r10}
p20(X, Y) :- p13(X, Y).
p21(X, Y) :- p20(X, Y).
p22(X, Y) :- p21(X, Y).
p20(X, Y) :- p22(X, Y).
p25(X, Z) :- p11(X, Y), p12(Y, Z), not p5(Y, Z).
p26(X, Z) :- p12(X, Y), p13(Z, Y), not p5(Z, Y).
p30(X, Z) :- p22(X, Y), p21(Y, Z).
p31(X, Y) :- p25(X, Y), p26(Y, Z).
"""
RULE_SET_2 = _ZODIAC.format(r10="p20(X, Y) :- p12(X, Y).")
RULE_SET_3 = _ZODIAC.format(r10="p20(X, Y) :- p12(X, Y), not p13(Y, _).")

RULE_SET_1 = """\
hasNeighbour(X, Y) :- hasNeighbour(Y, X).
hasNeighbour(X, Y) :- hasNeighbour(X, Z), hasNeighbour(Z, Y), COMP(X, !=, Y).
measurementsNearby(X, N) :-
    AGGREGATE(hasNeighbour(X, Y) and hasAirTemperatureMeasurement(Y, T)) ON X WITH COUNT(T) AS N.
medianNearby(X, M) :-
    AGGREGATE(hasNeighbour(X, Y) and hasAirTemperatureMeasurement(Y, T)) ON X WITH MED(T) AS M.
moreThan3Neighbours(X) :- measurementsNearby(X, N), COMP(N, >=, 3).
anomaly(X) :-
    medianNearby(X, M), moreThan3Neighbours(X), hasAirTemperatureMeasurement(X, T), BIND(abs(T - M) AS D), COMP(D, >, 5).
"""


def counting_path(limit: int) -> str:
    """Numbers in a row by arithmetic, and all the ways along them."""
    return f"""\
p(0, 1).
p(X1, Y1) :- p(X, Y), X1 = X + 1, Y1 = Y + 1, X < {limit}.
path(X, Y) :- p(X, Y).
path(X, Y) :- path(X, Z), path(Z, Y).
"""
