"""The setting `precision`: comparisons in bodies use only this many significant bits of doubles.

`X < Y` becomes `ROUND_TO_BITS(X, 20) < ROUND_TO_BITS(Y, 20)`. An equality that gives a variable its value stays as it
is, and so does identity: joins, function terms, lists. Which equality gives a value is settled here, as the language
defines it: atoms first, then the first equality in the text that can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from corollary.analysis.lowering.bodies import inside_aggregations
from corollary.program import (
    AggregateTerm,
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    FunctionTerm,
    ListTerm,
    Minus,
    Negation,
    Query,
    Rule,
    Term,
    Variable,
    Wildcard,
    element_variables,
    evaluate_term,
    find_builtin,
    subterms,
    variables_of,
)
from corollary.program.arithmetic import COMPARISON_OPERATORS, number_of
from corollary.program.builtins.declaration import PRED, ROUND_TO_BITS
from corollary.program.evaluation import solutions_of
from corollary.program.patterns import computed_parts, is_pattern, pairs, pattern_variables
from corollary.settings import ALL_BITS

_NUMERIC = PRED + "numeric-"


def with_precision(rules: tuple[Rule, ...], bits: int) -> tuple[Rule, ...]:
    """Return the rules with comparisons that use only this many bits of doubles."""
    return rules if bits == ALL_BITS else tuple(_Rounding(bits).rule(rule) for rule in rules)


def query_with_precision(query: Query, bits: int) -> Query:
    return query if bits == ALL_BITS else replace(query, body=_Rounding(bits).body(query.body))


class _Rounding:
    def __init__(self, bits: int) -> None:
        self._bits = Constant(bits)

    def rule(self, rule: Rule) -> Rule:
        head = replace(rule.head, arguments=tuple(map(self.term, rule.head.arguments)))
        found = replace(rule, head=head, body=self.body(rule.body))
        return rule if found == rule else found

    def body(self, body: tuple[BodyElement, ...]) -> tuple[BodyElement, ...]:
        compared, solved = _settled(body)
        return (*(self._element(element, compared) for element in body), *solved)

    def _element(self, element: BodyElement, compared: set[int]) -> BodyElement:
        match element:
            case Comparison():
                sides = self.term(element.left), self.term(element.right)
                if id(element) in compared and _may_be_doubles(*sides):
                    sides = self._rounded(sides[0]), self._rounded(sides[1])
                return replace(element, left=sides[0], right=sides[1])
            case Negation():
                inner = self._element(element.element, {id(element.element)})
                assert isinstance(inner, (Atom, Comparison))
                return replace(element, element=inner)
            case Atom():
                return replace(element, arguments=tuple(map(self.term, element.arguments)))
            case Assignment():
                return replace(element, expression=self.term(element.expression))
            case Aggregation():
                ranged = [replace(one, argument=self.term(one.argument)) for one in element.operations]
                return inside_aggregations(replace(element, operations=tuple(ranged)), self.body)

    def term(self, term: Term) -> Term:
        """Return the term with rounded comparisons inside it."""
        match term:
            case FunctionTerm():
                arguments = tuple(map(self.term, term.arguments))
                if _is_comparison(term.name):
                    arguments = tuple(map(self._rounded, arguments))
                return replace(term, arguments=arguments)
            case Arithmetic():
                return replace(term, left=self.term(term.left), right=self.term(term.right))
            case Minus():
                return replace(term, operand=self.term(term.operand))
            case ListTerm():
                tail = None if term.tail is None else self.term(term.tail)
                return replace(term, items=tuple(map(self.term, term.items)), tail=tail)
            case AggregateTerm():
                return replace(term, argument=self.term(term.argument))
            case _:
                return term

    def _rounded(self, term: Term) -> Term:
        if is_pattern(term):
            return term
        rounded = FunctionTerm(ROUND_TO_BITS, (term, self._bits), term.span)
        return Constant(evaluate_term(rounded, {}), term.span) if isinstance(term, Constant) else rounded


def _is_comparison(name: str) -> bool:
    function = find_builtin(name)
    return function is not None and (function.operator in COMPARISON_OPERATORS or function.name.startswith(_NUMERIC))


def _may_be_doubles(left: Term, right: Term) -> bool:
    """Return whether rounding may make a difference; with a text, a function term or a list on one side it does not."""
    return not any(is_pattern(side) or _is_no_number(side) for side in (left, right))


def _is_no_number(term: Term) -> bool:
    return isinstance(term, Constant) and number_of(term.value) is None


# -- what gives a value, and what compares -----------------------------------------------------------------------------

_Pair: TypeAlias = tuple[Term, Term]
_Waiting: TypeAlias = Comparison | Assignment | _Pair


def _settled(body: Sequence[BodyElement]) -> tuple[set[int], list[Assignment]]:
    """Return the comparisons between existing values, by identity, and the equalities solved for a variable."""
    bound = {variable.name for element in body for variable in _at_once(element)}
    waiting = [one for element in body for one in _waiting(element)]
    compared: set[int] = set()
    solved: list[Assignment] = []
    while waiting:
        place = next((place for place, one in enumerate(waiting) if _given(one, bound) is not None), None)
        if place is None and (solution := _solution(waiting, bound)) is not None:
            solved.append(solution)
            bound.add(solution.variable.name)
            continue  # now the equality can be a comparison
        element = waiting.pop(place or 0)
        given = _given(element, bound) or set()
        if isinstance(element, Comparison) and not given:
            compared.add(id(element))
        bound |= given
    return compared, solved


def _at_once(element: BodyElement) -> Iterable[Variable]:
    if isinstance(element, Atom):
        return [variable for argument in element.arguments for variable in pattern_variables(argument)]
    return element_variables(element) if isinstance(element, Aggregation) else ()


def _waiting(element: BodyElement) -> Sequence[_Waiting]:
    if isinstance(element, Comparison) and element.operator == "=" and _has_pattern(element):
        return pairs(element.left, element.right) or ()
    return (element,) if isinstance(element, (Comparison, Assignment)) else ()


def _has_pattern(comparison: Comparison) -> bool:
    return is_pattern(comparison.left) or is_pattern(comparison.right)


def _given(one: _Waiting, bound: set[str]) -> set[str] | None:
    """Return the variables that an element gives values, given those with values; None if it must wait for more of them."""
    if isinstance(one, Assignment):
        return {one.variable.name} - bound if _is_known(one.expression, bound) else None
    left, right = (one.left, one.right) if isinstance(one, Comparison) else one
    if _is_known(left, bound) and _is_known(right, bound):
        return set()
    if isinstance(one, Comparison) and one.operator != "=":
        return None
    for side, other in ((left, right), (right, left)):
        is_matched = isinstance(other, Variable) or not isinstance(one, Comparison)
        if is_matched and _is_known(side, bound) and all(_is_known(part, bound) for part in computed_parts(other)):
            return {variable.name for variable in pattern_variables(other)} - bound
    return None


def _is_known(term: Term, bound: set[str]) -> bool:
    has_value = not any(isinstance(part, Wildcard) for part in subterms(term))
    return has_value and all(variable.name in bound for variable in variables_of(term))


def _solution(waiting: Sequence[_Waiting], bound: set[str]) -> Assignment | None:
    for element in waiting:
        for variable, term in solutions_of(element) if isinstance(element, Comparison) else ():
            if variable.name not in bound and _is_known(term, bound):
                return Assignment(term, variable)
    return None
