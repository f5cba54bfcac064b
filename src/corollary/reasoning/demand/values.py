"""Values that equalities give: with `M = N - 1`, what is demanded about N is a demand about M.

`=` compares numbers by value across their types, and facts are looked up as the constants that they have. So a demand for a
computed number is one for that number in each type. Only arithmetic is computed with: it gives numbers and nothing else.

A demand that is computed from another demand of the same recursion might go on for ever. It is made where it walks towards a
bound: `N > 0` with `M = N - 1` comes to an end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corollary.program import Arithmetic, BodyElement, Comparison, Constant, FunctionTerm, Minus, Term, Variable
from corollary.program.arithmetic import is_number
from corollary.program.datatypes import single
from corollary.program.terms import variables_of
from corollary.program.values import XSD

_TYPES = ("decimal", "double", "float")
_ZEROS = (Constant(-0.0), Constant(single(-0.0)))
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


def expressions_of(variable: Variable, body: Sequence[BodyElement]) -> Iterator[Arithmetic | Minus]:
    """The arithmetic that equalities of a body compare with a variable."""
    for one in body:
        if isinstance(one, Comparison) and one.operator == "=":
            for side, other in ((one.left, one.right), (one.right, one.left)):
                if side == variable and isinstance(other, (Arithmetic, Minus)) and variable not in variables_of(other):
                    yield other


def comes_to_an_end(expression: Term, body: Sequence[BodyElement]) -> bool:
    """Whether one step after the other by this expression runs into a bound of the body.

    "Different from" is one only where nothing bounds the other direction: there, without the demand nothing would end.
    """
    step = _step(expression)
    if step is None:
        return False
    variable, is_upwards = step
    bounds = {operator for one in body if (operator := _bound_of(variable, one)) is not None}
    lower, upper = bool(bounds & {">", ">="}), bool(bounds & {"<", "<="})
    ahead, behind = (upper, lower) if is_upwards else (lower, upper)
    return ahead or ("!=" in bounds and not behind)


def is_bound_test(element: BodyElement) -> bool:
    """Whether an element compares, and gives no variable a value."""
    return isinstance(element, Comparison) and element.operator in _TURNED


def types_of(expression: Term) -> Iterator[tuple[Term, tuple[BodyElement, ...]]]:
    """The number as a constant of each type, and the condition for it; zero has a sign in two of them."""
    yield from ((FunctionTerm(XSD + name, (expression,)), ()) for name in _TYPES)
    yield from ((zero, (Comparison("=", expression, Constant(0)),)) for zero in _ZEROS)


def _step(expression: Term) -> tuple[Variable, bool] | None:
    """The variable that the expression steps from by a constant, and whether it steps upwards."""
    match expression:
        case Arithmetic(operator="+", left=Variable() as variable, right=Constant(value=by)):
            sign = 1
        case Arithmetic(operator="+", left=Constant(value=by), right=Variable() as variable):
            sign = 1
        case Arithmetic(operator="-", left=Variable() as variable, right=Constant(value=by)):
            sign = -1
        case _:
            return None
    return (variable, sign * by > 0) if is_number(by) and by != 0 else None  # type: ignore[operator]


def _bound_of(variable: Variable, element: BodyElement) -> str | None:
    """How the element compares the variable with a number."""
    if isinstance(element, Comparison) and element.operator in _TURNED:
        for side, other, operator in (
            (element.left, element.right, element.operator),
            (element.right, element.left, _TURNED[element.operator]),
        ):
            if side == variable and isinstance(other, Constant) and is_number(other.value):
                return operator
    return None
