"""Random queries about generated programs: constants where they meet something, conjunctions, negation, comparisons."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from corollary.language import parse_program, parse_query, print_element, print_program
from corollary.program import (
    EQUALITY,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    Negation,
    Program,
    Query,
    Term,
    Variable,
    Wildcard,
    atoms_of,
)
from tests.generator import EVERYTHING, Profile, programs

_NAMES = ("X", "Y", "Z")


@dataclass(frozen=True)
class Asked:
    """A program and a query about it; shown as text that can be pasted into a file."""

    program: Program
    query: Query

    def __repr__(self) -> str:
        return f"\n{print_program(self.program)}?- {', '.join(map(print_element, self.query.body))}."


@st.composite
def asked(draw: st.DrawFn, profile: Profile = EVERYTHING) -> Asked:
    program = draw(programs(profile))
    return Asked(program, draw(query_about(program, profile)))


@st.composite
def query_about(draw: st.DrawFn, program: Program, profile: Profile = EVERYTHING) -> Query:
    """A query that uses the predicates and constants of a program."""
    arities = _arities(program)
    constants = _constants(program)
    derived = [name for name in arities if any(rule.head.predicate == name for rule in program.rules)]

    def atom(likely: list[str]) -> Atom:
        name = draw(st.sampled_from([*likely * 3, *arities] or ["e2"]))
        return Atom(name, tuple(draw(_terms(constants)) for _ in range(arities.get(name, 2))))

    body: list[BodyElement] = [atom(derived) for _ in range(draw(st.sampled_from((1, 1, 1, 2, 2, 3))))]
    bound = [argument for one in body if isinstance(one, Atom) for argument in one.arguments]
    variables = sorted({argument.name for argument in bound if isinstance(argument, Variable)})
    if profile.negation and draw(st.booleans()):
        negated = atom(derived)
        arguments = (
            one if not isinstance(one, Variable) or one.name in variables else Wildcard() for one in negated.arguments
        )
        body.append(Negation(Atom(negated.predicate, tuple(arguments))))
    if variables and draw(st.sampled_from((False, False, True))):
        operator = draw(st.sampled_from(("=", "!=", "<", ">=")))
        sides = st.sampled_from([Variable(name) for name in variables]) | st.sampled_from(constants)
        body.append(Comparison(operator, Variable(draw(st.sampled_from(variables))), draw(sides)))
    return Query(tuple(draw(st.permutations(body))))


def _terms(constants: list[Constant]) -> st.SearchStrategy[Term]:
    variables = st.sampled_from([Variable(name) for name in _NAMES])
    return st.one_of([variables, variables, st.sampled_from(constants), st.just(Wildcard())])


def _arities(program: Program) -> dict[str, int]:
    rules = program.rules
    atoms = [atom for rule in rules for atom in (rule.head, *(one for one, _ in atoms_of(rule.body)))]
    found = {**{atom.predicate: atom.arity for atom in atoms}, **{one.predicate: one.arity for one in program.facts}}
    return {name: arity for name, arity in found.items() if name != EQUALITY}


def _constants(program: Program) -> list[Constant]:
    values = [value for block in program.facts for row in block.rows for value in row]
    return list(dict.fromkeys(map(Constant, [*values, 1, 2])))


# -- numbers and terms that recursion makes -------------------------------------------------------------------------------

_NUMBERS = ("0", "1", "2", "3", "1.0e0", "2.0e0", "-0.0e0", "0.5", "1.5", '"1"^^xsd:float', '"0"^^xsd:float')
_TERMS = ("z", "s(z)", "s(s(z))", "s(s(s(z)))", "[]", "[z]", "[1, z]", "s([z])")
_MADE_BY = (
    "p(N, F) :- N > 0, M = N - 1, p(M, G), F = G + N, N <= 3, F < 9.",
    "p(N, F) :- n(N), N > 0, M = N - 1, p(M, G), F = G + 1, F < 9.",
    "p(N, F) :- p(M, F), M = N + 1, N >= 0, n(M).",
    "p(N, F) :- p(M, G), N = M + 1, N <= 3, F = N * G, F < 9.",
    "p(N, G) :- N != 0, M = N - 1, p(M, G), c(T), u(N, T).",
    "q(N) :- n(N), M = N - 1, p(M, _).",
    "q(N) :- n(N), M = N - 1, not p(M, _).",
    "q(N) :- q(M), M = N - 1, 3 >= N, 0 < N.",
    "a(N, count(F)) :- n(N), M = N - 1, p(M, F).",
    "t(s(X)) :- t(X), c(s(X)).",
    "t([H | T]) :- t(T), c([H | T]).",
    "t(X) :- t(s(X)).",
    "u(N, s(X)) :- N > 0, M = N - 1, u(M, X), N < 4.",
    "u(N + 1, X) :- n(N), c(s(X)).",
    "u(N, X) :- q(N), c(X), not t(s(X)).",
)
_ABOUT = ("p({n}, F)", "p(N, {n})", "q({n})", "a({n}, C)", "t({t})", "t(s(X))", "u({n}, {t})", "u({n}, X)", "u(N, {t})")


@st.composite
def asked_about_growth(draw: st.DrawFn) -> Asked:
    """Rules that compute with what they derive, over numbers of several types and over terms."""
    numbers, terms = st.sampled_from(_NUMBERS), st.sampled_from(_TERMS)
    facts = [f"n({one})." for one in draw(st.lists(numbers, unique=True, min_size=2, max_size=6))]
    facts += [f"p({draw(numbers)}, {draw(numbers)})." for _ in range(draw(st.integers(1, 3)))]
    facts += [f"c({one})." for one in draw(st.lists(terms, unique=True, min_size=3))]
    facts += [f"t({draw(terms)}).", f"u(0, {draw(terms)}).", f"q({draw(numbers)})."]
    rules = draw(st.lists(st.sampled_from(_MADE_BY), unique=True, min_size=2, max_size=6))
    query = ", ".join(
        draw(st.sampled_from(_ABOUT)).format(n=draw(numbers), t=draw(terms))
        for _ in range(draw(st.sampled_from((1, 2))))
    )
    return Asked(parse_program("\n".join([*facts, *rules])), parse_query(query))
