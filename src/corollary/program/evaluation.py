"""The value of an expression."""

from __future__ import annotations

from collections.abc import Mapping

from corollary.program.arithmetic import calculate, negate
from corollary.program.builtins import find_builtin
from corollary.program.patterns import joined, part_of
from corollary.program.terms import Arithmetic, Constant, FunctionTerm, ListTerm, Minus, Part, Term, Variable
from corollary.program.values import Structure, Value


def evaluate_term(term: Term, values: Mapping[str, Value]) -> Value:
    """Return the value of a term where its variables have these values. Raise `EvaluationError` where it has none."""
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
