"""Equality in rule heads (paper 001, section 2.2.3): constants that turn out to be equal stand for each other everywhere.

What `X = Y :- body` derives is closed symmetrically and transitively in an auxiliary predicate, and every predicate gets a rule
for each of its arguments by which a fact about a constant is a fact about all that are equal to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from corollary.analysis.lowering.bodies import variables
from corollary.program import EQUALITY, Atom, Rule, Variable

SAME = "\0same"
_X, _Y, _Z = Variable("X"), Variable("Y"), Variable("Z")


def with_congruence(rules: tuple[Rule, ...], arities: Mapping[str, int]) -> tuple[Rule, ...]:
    """The rules, and where something says that constants are equal those that make them stand for each other."""
    return (*rules, *_equivalence(), *_congruence(arities)) if EQUALITY in arities else rules


def _equivalence() -> Iterator[Rule]:
    yield Rule("same stated", Atom(SAME, (_X, _Y)), (Atom(EQUALITY, (_X, _Y)),))
    yield Rule("same symmetric", Atom(SAME, (_Y, _X)), (Atom(SAME, (_X, _Y)),))
    yield Rule("same transitive", Atom(SAME, (_X, _Z)), (Atom(SAME, (_X, _Y)), Atom(SAME, (_Y, _Z))))


def _congruence(arities: Mapping[str, int]) -> Iterator[Rule]:
    for predicate, arity in arities.items():
        if predicate == EQUALITY:
            continue
        known = variables(arity)
        for position in range(arity):
            other = Variable(f" y{position}")
            head = (*known[:position], other, *known[position + 1 :])
            body = (Atom(predicate, known), Atom(SAME, (known[position], other)))
            yield Rule(f"{predicate} same {position + 1}", Atom(predicate, head), body)
