"""Strategies for the rules of one layer: each gives the (head, body) pairs of a few rules that belong together."""

from __future__ import annotations

from functools import cache
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
    Negation,
    Term,
    Variable,
)
from tests.generator import vocabulary
from tests.generator.bodies import WILDCARD, BodyBuilder, W, X, Y, Z
from tests.generator.profile import Profile
from tests.generator.values import pick
from tests.generator.vocabulary import LOCAL, SYMBOLS, Symbol

Pair: TypeAlias = tuple[Atom, tuple[BodyElement, ...]]
A, B, N, M = (Variable(name) for name in "ABNM")
# Inside AGGREGATE: X and Y are the groups and may stand outside too, A and B are local.
AGGREGATED = (X, A, B, X, A, Y, A, None, WILDCARD)


@cache
def rules(profile: Profile, layer: int) -> st.SearchStrategy[list[Pair]]:
    """Any kind of rules that the profile allows, for one layer."""
    kinds = [plain(profile, layer)] * 4
    if profile.recursion:
        kinds += [closure(profile, layer)] * 3 + [closures_among_others(profile, layer)] * profile.mixed_closures
        if profile.arithmetic and profile.comparisons:
            kinds += [counter(layer)]
    if profile.arithmetic:
        kinds += [computation(profile, layer)] * 2
    if profile.aggregates:
        kinds += [head_aggregate(profile, layer), aggregate_literal(profile, layer)] * 2
    if profile.local_stratification and profile.negation and layer > 1:
        kinds += [local_negation(profile, layer)]
    return _one_of(tuple(kinds))


@st.composite
def _one_of(draw: st.DrawFn, kinds: tuple[st.SearchStrategy[list[Pair]], ...]) -> list[Pair]:
    """Like `st.one_of`, which would take a strategy that occurs several times for one."""
    return draw(pick(draw, kinds))


@st.composite
def plain(draw: st.DrawFn, profile: Profile, layer: int) -> list[Pair]:
    """Atoms, comparisons and negations in any combination; recursive where the head's layer occurs in the body."""
    builder = BodyBuilder(draw, profile)
    head = pick(draw, vocabulary.heads(profile, layer))
    if not profile.comparisons or pick(draw, (True,) * 8 + (False,)):
        builder.atoms(vocabulary.positive(profile, layer))
        builder.conditions(vocabulary.below(profile, layer))
    else:
        builder.elements.append(Comparison("=", X, builder.constant()))
        builder.computed.append(X)
    return [(builder.head(head), builder.body())]


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
    values: list[Term] = [*reversed(builder.computed)]
    if not values:
        values = [builder.expression()]
    return [(builder.head(head, values), builder.body())]


# -- recursion ----------------------------------------------------------------------------------------------------------


@st.composite
def closure(draw: st.DrawFn, profile: Profile, layer: int) -> list[Pair]:
    """Some of the classic rules over a binary predicate and its edges; together they make every kind of closure."""
    path, other = (*vocabulary.binary(layer), SYMBOLS[layer][0])[:2]
    edge = pick(draw, [symbol for lower in range(layer) for symbol in vocabulary.binary(lower)])
    step, guard = (path.atom((X, Z)), path.atom((Z, Y))), Comparison("!=", X, Y)
    head = path.atom((X, Y))
    shapes: list[list[Pair]] = [
        [(head, (step[0], edge.atom((Z, Y))))],
        [(head, (edge.atom((X, Z)), step[1]))],
        [(head, step)],
        [(head, (path.atom((Y, X)),))],
        [(head, (edge.atom((Z, X)), path.atom((Z, W)), edge.atom((W, Y))))],
    ]
    if profile.comparisons:
        shapes += [[(head, (*step, guard))]] * 2
    if other.arity == 2:
        shapes += [[(head, (other.atom((X, Z)), edge.atom((Z, Y)))), (other.atom((X, Y)), (path.atom((Y, X)),))]]
    pairs: list[Pair] = [(head, (edge.atom((X, Y)),))] * pick(draw, (0, 1, 1, 1, 1))
    for _ in range(3):
        chosen = pick(draw, ([], [], [], *shapes))
        pairs += [pair for pair in chosen if pair not in pairs]
    return pairs


@st.composite
def closures_among_others(draw: st.DrawFn, profile: Profile, layer: int) -> list[Pair]:
    """One or two closures in a hyper-node that other rules share: what they derive comes back to them.

    Some have conditions on one or more nodes of a chain, or a guard.
    """
    path, other = (vocabulary.binary(layer) * 2)[:2]
    edge, mark = SYMBOLS[0][0], SYMBOLS[0][1]
    pairs: list[Pair] = []
    for one in dict.fromkeys((path, other)):
        head, symmetric = one.atom((X, Y)), (one.atom((Y, X)),)
        for count in ((0, 1, 1, 1), (0, 0, 0, 1)):
            conditions = _conditions_of_chains(draw, profile, (path if one is other else other).atom((Z, Z)))
            pairs += [(head, (one.atom((X, Z)), one.atom((Z, Y)), *conditions))] * pick(draw, count)
        pairs += [(head, symmetric)] * pick(draw, (0, 0, 1))
        pairs += [(head, (edge.atom((X, Y)),))] * pick(draw, (0, 1, 1))
    back: tuple[Pair, ...] = (
        (path.atom((X, Y)), (other.atom((Y, X)), mark.atom((X,)))),
        (path.atom((X, Y)), (other.atom((X, Z)), edge.atom((Z, Y)))),
        (path.atom((X, Y)), (other.atom((Z, X)), mark.atom((X,)), other.atom((Z, Y)))),
        (path.atom((X, Y)), (other.atom((Y, X)),)),
    )
    there: tuple[Pair, ...] = (
        (other.atom((X, Y)), (path.atom((X, Y)), mark.atom((Y,)))),
        (other.atom((X, X)), (path.atom((X, Y)),)),
        (other.atom((X, Y)), (path.atom((Y, X)),)),
    )
    for ways in (back, there):
        pairs += pick(draw, ([], *([way] for way in ways)))
    return list(dict.fromkeys(pairs))


def _conditions_of_chains(draw: st.DrawFn, profile: Profile, recursive: Atom) -> tuple[BodyElement, ...]:
    """Conditions of a rule `p(X, Y) :- p(X, Z), p(Z, Y)`; most have none."""
    edge, mark = SYMBOLS[0][0], SYMBOLS[0][1]
    chosen: list[tuple[BodyElement, ...]] = [
        (mark.atom((Z,)),),
        (edge.atom((Z, W)), mark.atom((W,))),
        (recursive,),
        (mark.atom((X,)),),
        (mark.atom((Y,)), edge.atom((WILDCARD, Z))),
        (mark.atom((X,)), mark.atom((Y,))),
    ]
    if profile.negation:
        chosen += [(Negation(mark.atom((Z,))),)]
    if profile.comparisons:
        guard = Comparison("!=", X, Y)
        chosen += [(guard,), (guard,), (guard, mark.atom((Z,))), (mark.atom((X,)), guard)]
    return pick(draw, (*[()] * (3 * len(chosen)), *chosen))


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
    base = (unary.atom((X,)), (SYMBOLS[0][1].atom((X,)),)), (binary.atom((X, X)), (edge.atom((X, Y)),))
    seeds = [base[head.arity - 1]] * pick(draw, (0, 1, 1))
    return [*seeds, (head, (*atoms, bound, *computed))]


@st.composite
def local_negation(draw: st.DrawFn, profile: Profile, layer: int) -> list[Pair]:
    """`l(2, X) :- e1(X), not l(1, X).`: a predicate that negates itself, kept apart by a constant."""
    builder = BodyBuilder(draw, profile)
    builder.limit(SYMBOLS[0][1].atom((X,)))
    builder.elements.append(Negation(LOCAL[pick(draw, range(1, layer))].atom((X,))))
    builder.conditions(vocabulary.below(profile, layer), (0, 0, 1))
    return [(builder.head(LOCAL[layer]), builder.body())]


# -- aggregates ---------------------------------------------------------------------------------------------------------


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
    if builder.profile.arithmetic and pick(builder.draw, (False, False, False, True)):
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
    return [(builder.head(head), builder.body())]


def _aggregation(builder: BodyBuilder, below: tuple[Symbol, ...], result: Variable) -> None:
    """A result that another element limits as well makes the two agree."""
    inner = builder.nested([term for term in AGGREGATED if term != result])
    _grouped_body(inner, below, A)
    function = pick(builder.draw, builder.profile.aggregate_functions)
    distinct = pick(builder.draw, (False, False, True))
    groups = tuple(variable for variable in (X, Y) if variable in inner.limited)
    operation = AggregateOperation(function, _aggregated(inner), result, distinct)
    builder.limit(Aggregation(inner.body(), groups, (operation,)), (*groups, result))
