"""The value of an expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from corollary.program.arithmetic import calculate, negate
from corollary.program.atoms import Comparison
from corollary.program.builtins import find_builtin
from corollary.program.patterns import joined, part_of
from corollary.program.terms import (
    Arithmetic,
    Constant,
    FunctionTerm,
    ListTerm,
    Minus,
    Part,
    Term,
    Variable,
    variables_of,
)
from corollary.program.values import Structure, Value


def evaluate_term(term: Term, values: Mapping[str, Value]) -> Value:
    """Return the value of a term, given values of its variables. Raise `EvaluationError` if it has none."""
    match term:
        case Variable():
            return values[term.name]
        case Constant():
            return term.value
        case Arithmetic():
            return calculate(term.operator, evaluate_term(term.left, values), evaluate_term(term.right, values))
        case Minus():
            return negate(evaluate_term(term.operand, values))
        case FunctionTerm():
            function = find_builtin(term.name)
            arguments = tuple(evaluate_term(argument, values) for argument in term.arguments)
            return Structure(term.name, arguments) if function is None else function.apply(*arguments)
        case ListTerm():
            items = tuple(evaluate_term(item, values) for item in term.items)
            return items if term.tail is None else joined(items, evaluate_term(term.tail, values))
        case Part():
            return part_of(evaluate_term(term.term, values), term)
        case _:
            raise AssertionError(f"{term} has no value")


# -- solving -----------------------------------------------------------------------------------------------------------

# Equalities solved for a variable inside an expression: `X + 1 = Y` gives X if Y has a value.
#
# The solution is only a candidate: the equality itself is compared afterwards, so that rounding never invents an answer.


def solutions_of(equality: Comparison) -> Iterator[tuple[Variable, Term]]:
    """Yield each variable that occurs once in the equality, inside an invertible expression, with the term it must equal."""
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
