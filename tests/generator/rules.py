"""Strategies for the rules of one layer: each gives the (head, body) pairs of a few rules that belong together."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import strategies as st

from corollary.program import (
    AggregateOperation,
    AggregateTerm,
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    Term,
    Variable,
)
from tests.generator import vocabulary
from tests.generator.bodies import WILDCARD, BodyBuilder, W, X, Y, Z
from tests.generator.profile import Profile
from tests.generator.values import pick
from tests.generator.vocabulary import SYMBOLS, Symbol

Pair: TypeAlias = tuple[Atom, tuple[BodyElement, ...]]
A, B, N, M = (Variable(name) for name in "ABNM")
# Inside AGGREGATE: X and Y are the groups and may stand outside too, A and B are local.
AGGREGATED = (X, A, B, X, A, Y, A, None, WILDCARD)


def rules(profile: Profile, layer: int) -> st.SearchStrategy[list[Pair]]:
    """Any kind of rules that the profile allows, for one layer."""
    kinds = [plain(profile, layer), plain(profile, layer)]
    if profile.recursion:
        kinds += [closure(layer)] * 2
        if profile.arithmetic and profile.comparisons:
            kinds.append(counter(layer))
    if profile.arithmetic:
        kinds += [computation(profile, layer)]
    if profile.aggregates:
        kinds += [head_aggregate(profile, layer), aggregate_literal(profile, layer)]
    return st.one_of(kinds)


@st.composite
def plain(draw: st.DrawFn, profile: Profile, layer: int) -> list[Pair]:
    """Atoms, comparisons and negations in any combination; recursive where the head's layer occurs in the body."""
    builder = BodyBuilder(draw, profile)
    head = pick(draw, vocabulary.heads(profile, layer))
    if not profile.comparisons or pick(draw, (True,) * 12 + (False,)):
        builder.atoms(vocabulary.positive(profile, layer))
        builder.conditions(vocabulary.below(profile, layer))
    else:
        builder.elements.append(Comparison("=", X, builder.constant()))
        builder.computed.append(X)
    return [(head.atom([builder.simple_term() for _ in range(head.arity)]), builder.body())]


@st.composite
def computation(draw: st.DrawFn, profile: Profile, layer: int) -> list[Pair]:
    """Arithmetic into the layer from below it, so that new values cannot feed themselves."""
    builder = BodyBuilder(draw, profile)
    below = vocabulary.below(profile, layer)
    builder.atoms(below, (1, 1, 2))
    for _ in range(pick(draw, (1, 0, 2))):
        builder.compute()
    builder.conditions(below, (0, 0, 1))
    head = pick(draw, vocabulary.heads(profile, layer))
    terms: list[Term] = [*reversed(builder.computed)][: head.arity]
    while len(terms) < head.arity:
        terms.append(builder.simple_term() if pick(draw, (True, True, False)) else builder.expression())
    return [(head.atom(terms), builder.body())]


# -- recursion -------------------------------------------------------------------------------------------------------------


@st.composite
def closure(draw: st.DrawFn, layer: int) -> list[Pair]:
    """Some of the classic rules over a binary predicate and its edges; together they make every kind of closure."""
    path = pick(draw, vocabulary.binary(layer)) if layer < 3 else SYMBOLS[3][1]
    other = vocabulary.binary(layer)[-1]
    edge = pick(draw, [symbol for lower in range(layer) for symbol in vocabulary.binary(lower)])
    shapes = draw(st.lists(st.integers(0, 8), min_size=1, max_size=3, unique=True))
    return [_closure_rule(shape, path, other, edge) for shape in shapes]


def _closure_rule(shape: int, path: Symbol, other: Symbol, edge: Symbol) -> Pair:
    def link(symbol: Symbol, start: Term, end: Term) -> Atom:
        return symbol.atom((start, end))

    head = link(path, X, Y)
    return (
        (head, (link(edge, X, Y),)),
        (head, (link(path, X, Z), link(edge, Z, Y))),
        (head, (link(edge, X, Z), link(path, Z, Y))),
        (head, (link(path, X, Z), link(path, Z, Y))),
        (head, (link(path, Y, X),)),
        (head, (link(path, X, Z), link(path, Z, Y), Comparison("!=", X, Y))),
        (head, (link(edge, Z, X), link(path, Z, W), link(edge, W, Y))),
        (head, (link(other, X, Z), link(edge, Z, Y))),
        (link(other, X, Y), (link(path, Y, X),)),
    )[shape]


@st.composite
def counter(draw: st.DrawFn, layer: int) -> list[Pair]:
    """Arithmetic through recursion, with a bound that ends it: upward below a bound, or downward above one."""
    binary, unary = SYMBOLS[layer][:2] if layer < 3 else SYMBOLS[layer][1::-1]
    upward = pick(draw, (True, True, False))
    bound = Comparison("<" if upward else ">", X, Constant(pick(draw, (4, 2)) if upward else 0))
    step: Term = Arithmetic("+" if upward else "-", X, Constant(pick(draw, (1, 2))))
    result: Term = N
    computed: tuple[BodyElement, ...] = pick(draw, ((Comparison("=", N, step),), (Assignment(step, N),), ()))
    if not computed:
        result = step
    edge = SYMBOLS[0][0]
    heads_and_atoms: tuple[tuple[Atom, tuple[Atom, ...]], ...] = (
        (unary.atom((result,)), (unary.atom((X,)),)),
        (binary.atom((Y, result)), (binary.atom((Y, X)),)),
        (binary.atom((Z, result)), (binary.atom((Y, X)), edge.atom((Y, Z)))),
    )
    head, atoms = pick(draw, heads_and_atoms)
    return [(head, (*atoms, bound, *computed))]


# -- aggregates ------------------------------------------------------------------------------------------------------------


@st.composite
def head_aggregate(draw: st.DrawFn, profile: Profile, layer: int) -> list[Pair]:
    """`p(X, count(Y)) :- ...` with one or two aggregates at any positions."""
    builder = BodyBuilder(draw, profile)
    below = vocabulary.below(profile, layer)
    _grouped_body(builder, below, X)
    head = pick(draw, [symbol for symbol in vocabulary.heads(profile, layer) if symbol.arity])
    positions = {pick(draw, range(head.arity)), pick(draw, range(head.arity))}
    terms = [
        _head_aggregate(builder) if position in positions else builder.simple_term() for position in range(head.arity)
    ]
    return [(head.atom(terms), builder.body())]


def _grouped_body(builder: BodyBuilder, below: tuple[Symbol, ...], variable: Variable) -> None:
    builder.atoms(below, (1, 1, 2))
    if not builder.limited:
        builder.limit(SYMBOLS[0][1].atom((variable,)))
    if builder.profile.arithmetic and pick(builder.draw, (False, False, False, True)):
        builder.compute()
    builder.conditions(below, (0, 0, 0, 1))


def _head_aggregate(builder: BodyBuilder) -> AggregateTerm:
    function = pick(builder.draw, builder.profile.aggregate_functions)
    return AggregateTerm(function, _aggregated(builder), pick(builder.draw, (False, False, True)))


def _aggregated(builder: BodyBuilder) -> Term:
    if builder.profile.arithmetic and pick(builder.draw, (False,) * 6 + (True,)):
        return builder.expression()
    return pick(builder.draw, builder.known)


@st.composite
def aggregate_literal(draw: st.DrawFn, profile: Profile, layer: int) -> list[Pair]:
    """`p(X, N) :- AGGREGATE(...) ON X WITH COUNT(Y) AS N, ...` among other elements."""
    builder = BodyBuilder(draw, profile)
    below = vocabulary.below(profile, layer)
    builder.atoms(below, (0, 0, 1))
    result = pick(draw, (N, N, N, *builder.limited))
    _aggregation(builder, below, result)
    if pick(draw, (False, False, True)):
        _aggregation(builder, below, M)
    builder.conditions(below, (0, 0, 1))
    head = pick(draw, vocabulary.heads(profile, layer))
    return [(head.atom([builder.simple_term() for _ in range(head.arity)]), builder.body())]


def _aggregation(builder: BodyBuilder, below: tuple[Symbol, ...], result: Variable) -> None:
    """A result that another element limits as well makes the two agree."""
    inner = builder.nested([term for term in AGGREGATED if term != result])
    _grouped_body(inner, below, A)
    function = pick(builder.draw, builder.profile.aggregate_functions)
    distinct = pick(builder.draw, (False, False, True))
    groups = tuple(variable for variable in (X, Y) if variable in inner.limited)
    operation = AggregateOperation(function, _aggregated(inner), result, distinct)
    builder.limit(Aggregation(inner.body(), groups, (operation,)), (*groups, result))
