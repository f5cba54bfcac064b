"""Equalities solved for a variable inside an expression: `X + 1 = Y` gives X where Y has a value.

The solution is a candidate only: the equality itself is compared afterwards, so that rounding never invents an answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from corollary.program.atoms import Comparison
from corollary.program.builtins import find_builtin
from corollary.program.terms import Arithmetic, FunctionTerm, Minus, Term, Variable, variables_of


def solutions_of(equality: Comparison) -> Iterator[tuple[Variable, Term]]:
    """Each variable that stands once in the equality, inside an expression that can be undone, with what it must be."""
    if equality.operator != "=":
        return
    names = [variable.name for side in (equality.left, equality.right) for variable in variables_of(side)]
    for side, other in ((equality.left, equality.right), (equality.right, equality.left)):
        for variable, term in _solved(side, other):
            if names.count(variable.name) == 1:
                yield variable, term


def _solved(side: Term, other: Term) -> Iterator[tuple[Variable, Term]]:
    match side:
        case Minus():
            yield from _below(side.operand, Minus(other, side.span))
        case Arithmetic(operator="+"):
            yield from _below(side.left, Arithmetic("-", other, side.right, side.span))
            yield from _below(side.right, Arithmetic("-", other, side.left, side.span))
        case Arithmetic(operator="-"):
            yield from _below(side.left, Arithmetic("+", other, side.right, side.span))
            yield from _below(side.right, Arithmetic("-", side.left, other, side.span))
        case Arithmetic(operator="*"):
            yield from _below(side.left, Arithmetic("/", other, side.right, side.span))
            yield from _below(side.right, Arithmetic("/", other, side.left, side.span))
        case Arithmetic(operator="/"):
            yield from _below(side.left, Arithmetic("*", other, side.right, side.span))
            yield from _below(side.right, Arithmetic("/", side.left, other, side.span))
        case FunctionTerm(arguments=(argument,)):
            function = find_builtin(side.name)
            if function is not None and function.inverse is not None:
                yield from _below(argument, FunctionTerm(function.inverse, (other,), side.span))
        case _:
            pass


def _below(part: Term, value: Term) -> Iterator[tuple[Variable, Term]]:
    if isinstance(part, Variable):
        yield part, value
    else:
        yield from _solved(part, value)
