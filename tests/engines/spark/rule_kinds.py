"""Small programs, each about one kind of rule and what goes wrong with it on relations."""

FACTS = """
e(1, 2). e(2, 3). e(3, 4). e(4, 1). e(5, 5). e(2, 7).
k(1, "a", 10). k(1, "b", 20). k(2, "a", 10). k(3, "c", 2.5). k(4, "d", 1.0e0). k(5, "e", true).
s("a"). s("b"). s("ä"). s("Z"). s(""). s(<http://example.org/x>).
d(1). d(2.5). d(1.0e0). d(2.0e0). d("1"). d(true). d(12345678901234567890). d("NaN"^^<http://www.w3.org/2001/XMLSchema#double>).
z().
"""

KINDS = {
    "constants and repeated variables": """
        a(X) :- e(X, X). b(Y) :- e(2, Y). c(X, 9, "new") :- e(X, _). f(1) :- e(7, 7). g("a", X) :- k(X, "a", 10).
        h(X) :- k(X, "missing", _). i(X) :- k(X, _, 2.5).""",
    "joins": """
        a(X, Z) :- e(X, Y), e(Y, Z). b(X) :- e(X, Y), e(Y, X). c(X, A) :- e(X, Y), k(Y, A, _).
        f(X, W) :- e(X, Y), e(Y, Z), e(Z, W), X != W. g(A) :- k(X, A, V), k(Y, A, V), X < Y.""",
    "cartesian products": """
        a(X, A) :- e(X, X), s(A). b(X) :- e(X, _), s("a"). c(X) :- e(X, _), s("missing"). f(X) :- e(X, Y), e(_, _).
        g(A, B, X) :- s(A), e(X, X), s(B), A != B.""",
    "predicates without arguments": """
        a() :- e(1, 2). b() :- e(2, 1). c(X) :- a(), e(X, _). f(X) :- b(), e(X, _). g() :- a(), z(), not b().
        h(X) :- e(X, _), not a(). i(X) :- e(X, _), not b(). j() :- not b(). l() :- not a(). m(1) :- not b().""",
    "negation": """
        a(X) :- e(X, Y), not e(Y, X). b(X) :- e(X, _), not k(X, _, _). c(X) :- e(X, _), not k(X, "a", V), not e(X, X).
        f(X) :- e(X, _), not k(_, "a", X). g(X, Y) :- e(X, Y), not e(Y, Y). h(X) :- e(X, _), not e(Z, Z).
        i(X) :- e(X, _), not e(X, X), not k(Y, Y, Y). j(X) :- e(X, _), not e(7, _). l(X) :- e(X, _), not e(1, _).""",
    "negation of computed arguments": """
        a(X) :- e(X, _), not e(X + 1, _). b(X) :- e(X, _), not e(10 / (X - 2), _). c(X) :- s(X), not e(X + 1, _).
        f(X) :- k(X, A, _), not s(concat(A, A)). g(X) :- d(X), not d(X * 2).""",
    "comparisons of integers": """
        a(X, Y) :- e(X, Y), X < Y. b(X, Y) :- e(X, Y), not X < Y. c(X) :- e(X, _), X >= 3. f(X) :- e(X, Y), X = Y.
        g(X) :- e(X, Y), X != Y, Y <= 3. h(X) :- e(X, _), 2 < X. i(X) :- e(X, _), X != 2.5. j(X) :- e(X, _), X < 2.5.""",
    "comparisons of all kinds": """
        a(X, Y) :- d(X), d(Y), X = Y. b(X, Y) :- d(X), d(Y), X != Y. c(X, Y) :- d(X), d(Y), X < Y.
        f(X, Y) :- d(X), d(Y), not X <= Y. g(X) :- d(X), X = 1. h(X) :- d(X), X != 2. i(X) :- d(X), X = "1".
        j(X, Y) :- s(X), s(Y), X < Y. l(X) :- d(X), not X = X. m(X) :- k(X, "a", V), V > 9.9.""",
    "computations": """
        a(X, X + Y) :- e(X, Y). b(X, X * 1000000000000 * 1000000000) :- e(X, _). c(X / Y) :- e(X, Y).
        f(X div 2, X % 2) :- e(X, _).
        g(X, V * 2) :- k(X, _, V). h(concat(A, "!")) :- s(A). i(X) :- e(X, Y), Y = X + 1. j(X) :- e(X + 1, X).
        l(Z) :- e(X, Y), BIND(X + Y AS Z), Z > 5. m(Y) :- e(X, _), Y = X. n(X) :- X = 3. o(X) :- X = 3, e(X, _).
        p(upper(A), length(A)) :- s(A). q(-X, abs(-X)) :- e(X, _). t(1 / (X - 1)) :- e(X, _). u(X, Y) :- e(X, Z), Y = "const".""",
    "counts and sums": """
        a(X, count(Y)) :- e(X, Y). b(count(X)) :- e(X, _). c(sum(X)) :- e(X, Y). f(X, sum(V)) :- k(X, _, V).
        g(count(distinct V), count(V)) :- k(_, A, V). h(sum(distinct V)) :- k(X, _, V), X < 4. i(count(X)) :- e(X, 99).
        j(A, count(X)) :- k(X, A, _). l(sum(1)) :- e(X, _). m(sum(Y)) :- e(X, _), Y = X * 1000000000000000000.
        n(N) :- e(N, _), AGGREGATE(e(X, Y)) WITH COUNT(Y) AS N.
        o(X, N) :- e(X, X), AGGREGATE(e(Y, Z)) ON Z WITH COUNT(Y) AS N, X = Z.""",
    "other aggregates": """
        a(X, min(Y), max(Y)) :- e(X, Y). b(min(V)) :- d(V). c(max(A)) :- k(_, A, _). f(avg(X)) :- e(X, _).
        g(median(X)) :- e(X, Y).
        h(X, median(V), avg(V)) :- k(X, _, V), X < 4. i(min(X), max(X), avg(X), sum(X), count(X)) :- d(X), X < 100.
        j(median(distinct Y)) :- e(_, Y). l(avg(X)) :- e(X, 99). m(min(X)) :- e(X, _), X > 2. n(max(X + 1)) :- e(X, _).
        o(A, min(V)) :- k(_, A, V), not e(V, _).""",
    "heads that are there already": """
        e(X, Y) :- f(X, Y). f(1, 2). f(9, 9). e(5, 5) :- z(). s(A) :- k(_, A, _).""",
}

RECURSIVE = {
    "linear": "p(X, Y) :- e(X, Y). p(X, Z) :- e(X, Y), p(Y, Z).",
    "left linear": "p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z).",
    "not linear": "e(X, Z) :- e(X, Y), e(Y, Z).",
    "guarded": "e(X, Z) :- e(X, Y), e(Y, Z), X != Z.",
    "symmetric and transitive": "e(Y, X) :- e(X, Y). e(X, Z) :- e(X, Y), e(Y, Z).",
    "closure of numbers of all types": "d2(X, Y) :- d(X), d(Y), X < Y. d2(X, Z) :- d2(X, Y), d2(Y, Z), X != Z.",
    "mutual": """
        even(X, X) :- e(X, _). odd(X, Z) :- even(X, Y), e(Y, Z). even(X, Z) :- odd(X, Y), e(Y, Z).""",
    "three atoms": """
        sg(X, Y) :- e(P, X), e(P, Y). sg(X, Y) :- e(A, X), sg(A, B), e(B, Y).""",
    "two deltas": """
        v(X, H) :- e(X, H). v(X, H) :- k(X, A, _), v(B, C), h(C, A, H). h(C, A, H) :- k(B, A, W), v(B, C), v(W, H).
        h(C, A, 1) :- v(C, _), k(C, A, _).""",
    "counter": "c(0). c(N + 1) :- c(N), N < 12.",
    "texts that grow": 't("a"). t(concat(X, "b")) :- t(X), length(X) < 6.',
    "decimals and doubles that grow": "t(1). t(1.0e0). t(X / 2) :- t(X), X > 0.1.",
    "negation and comparison inside": "p(X) :- e(1, X). p(Y) :- p(X), e(X, Y), not k(Y, \"a\", _), Y != 4.",
    "negation of computed arguments inside": "p(1). p(Y) :- p(X), e(X, Y), not e(Y + 3, _).",
    "an aggregate inside": "p(1). p(Y) :- p(X), e(X, Y), AGGREGATE(e(A, B)) ON A WITH COUNT(B) AS N, A = Y, N < 3.",
    "without arguments": "go() :- e(1, 2). p(X) :- e(1, X), go(). go() :- p(3). p(Y) :- go(), p(X), e(X, Y).",
    "products inside": "p(X, Y) :- e(X, 2), s(Y). p(Y, X) :- p(X, Y).",
    "growing facts of the text": "p(X, Z) :- p(X, Y), e(Y, Z). p(5, 1). p(5, 3).",
    "nothing to do": "p(X) :- q(X). q(X) :- p(X).",
}  # fmt: skip
