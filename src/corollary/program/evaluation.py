"""The value of an expression."""

from __future__ import annotations

from collections.abc import Mapping

from corollary.program.arithmetic import calculate, negate
from corollary.program.functions import find_function
from corollary.program.terms import Arithmetic, Constant, FunctionTerm, Minus, Term, Variable
from corollary.program.values import Value


def evaluate_term(term: Term, values: Mapping[str, Value]) -> Value:
    """What a term means where its variables have these values; raises `EvaluationError` where it means nothing."""
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
            function = find_function(term.name)
            assert function is not None, f"'{term.name}' is not a built-in function"
            return function.apply(*(evaluate_term(argument, values) for argument in term.arguments))
        case _:
            raise AssertionError(f"{term} has no value")
