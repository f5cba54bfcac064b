"""Rule bodies, element by element: every variable that an element needs has been limited before by another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TypeVar

from hypothesis import strategies as st

from corollary.program import (
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    FunctionTerm,
    Minus,
    Negation,
    Term,
    Variable,
    Wildcard,
)
from corollary.program.builtins.declaration import FUNC, PRED
from corollary.program.values import XSD
from tests.generator.profile import Profile
from tests.generator.values import INTEGERS, pick, pool
from tests.generator.vocabulary import Symbol

T = TypeVar("T")

X, Y, Z, W = (Variable(name) for name in "XYZW")
WILDCARD = Wildcard()
COMPARISONS = ("!=", "<", "=", "<=", ">", ">=")
FUNCTIONS = (
    "abs",
    "floor",
    "round",
    "length",
    "upper",
    "concat",
    XSD + "string",
    XSD + "integer",
    f"{FUNC}year-from-date",
)
CONDITIONS = (f"{PRED}is-literal-decimal", f"{PRED}is-literal-not-string", f"{PRED}is-literal-date", "IS_NUMERIC")
# Variables likely meet, so that bodies join; a cartesian product still comes up.
ARGUMENTS = (X, Y, Z, X, Y, Z, X, Y, W, None, WILDCARD)


class BodyBuilder:
    """Draws elements one after the other.

    `limited` are the variables of positive atoms and aggregations, `computed` those that an expression gave a value.
    A computed variable is never compared by `=`: which of two equalities gives the value would be a matter of order.
    """

    def __init__(self, draw: st.DrawFn, profile: Profile) -> None:
        self.draw = draw
        self.profile = profile
        self.elements: list[BodyElement] = []
        self.limited: list[Variable] = []
        self.computed: list[Variable] = []
        self._arguments: Sequence[Term | None] = ARGUMENTS
        self._fresh = "NMK"
        self._existential: Iterator[Variable] = (Variable(f"U{number or ''}") for number in count())

    def nested(self, arguments: Sequence[Term | None]) -> BodyBuilder:
        """A builder for the body of an aggregation inside this one, whose own variables have names of their own."""
        inner = BodyBuilder(self.draw, self.profile)
        inner._arguments, inner._fresh, inner._existential = arguments, "CDE", self._existential
        return inner

    # -- elements ----------------------------------------------------------------------------------------------------

    def atoms(self, symbols: Sequence[Symbol], sizes: Sequence[int] = (1, 2, 2, 3)) -> None:
        for _ in range(self._pick(sizes)):
            symbol = self._pick(symbols)
            arguments: list[Term] = []
            for _ in range(symbol.arity):
                arguments.append(self._argument(arguments))
            self.limit(symbol.atom(arguments))

    def limit(self, element: BodyElement, variables: Iterable[Term] = ()) -> None:
        """Adds an atom, or another element that gives values to `variables`."""
        self.elements.append(element)
        for term in element.arguments if isinstance(element, Atom) else variables:
            if isinstance(term, Variable) and term not in self.limited:
                self.limited.append(term)

    def conditions(self, below: Sequence[Symbol], sizes: Sequence[int] = (0, 1, 1, 2)) -> None:
        """Comparisons, negations (of symbols below only) and atoms with expressions."""
        kinds = [self._comparison] * (3 * self.profile.comparisons)
        kinds += [lambda: self._negation(below)] * (4 * self.profile.negation)
        kinds += [lambda: self._atom_of_expression(below)] * self.profile.arithmetic
        for _ in range(self._pick(sizes) if kinds else 0):
            self._pick(kinds)()

    def compute(self) -> Variable:
        """Gives an expression's value to a new variable, by BIND or by `=`."""
        variable = Variable(self._fresh[len(self.computed)])
        value = self.expression() if self._pick((True, True, True, False)) else self.simple_term()
        forms: tuple[BodyElement, ...] = (
            Comparison("=", variable, value),
            Comparison("=", value, variable),
            Assignment(value, variable),
        )
        self.elements.append(self._pick(forms))
        self.computed.append(variable)
        return variable

    def body(self) -> tuple[BodyElement, ...]:
        """The elements, sometimes in another order: no element has to stand before another."""
        turn = self._pick(range(len(self.elements))) if len(self.elements) > 1 else 0
        return tuple(self.elements[turn:] + self.elements[:turn])

    def _condition(self) -> Comparison:
        """A built-in that is said to be true of a variable."""
        call = FunctionTerm(self._pick(CONDITIONS), (self._pick(self.known),))
        return Comparison("=", call, Constant(True))

    def _comparison(self) -> None:
        operator = self._pick(COMPARISONS)
        known = self.limited if operator == "=" else self.known
        left = self._side(known, (0, 0, 0, 1, 2))
        right = self._side([variable for variable in known if variable != left], (0, 0, 1, 1, 2))
        comparison = Comparison(operator, left, right)
        if (
            self.known
            and self.profile.arithmetic
            and not self.profile.integers_only
            and self._pick((False,) * 4 + (True,))
        ):
            comparison = self._condition()
        negated = self.profile.negation and self._pick((False,) * 5 + (True,))
        self.elements.append(Negation(comparison) if negated else comparison)

    def _side(self, known: Sequence[Variable], kinds: Sequence[int]) -> Term:
        kind = self._pick(kinds)
        if kind == 2 and self.profile.arithmetic and known:
            return self.expression()
        return self._pick(known) if kind == 0 and known else self.constant()

    def _negation(self, below: Sequence[Symbol]) -> None:
        symbol = self._pick(below)
        existential = next(self._existential)
        terms: list[Term] = []
        for _ in range(symbol.arity):
            options = (*self.known, *self.known[:2], existential, WILDCARD, None, None)
            terms.append(self._pick(options) or self._constant_or_sum())
        self.elements.append(Negation(symbol.atom(terms)))

    def _constant_or_sum(self) -> Term:
        if self.known and self.profile.arithmetic and self._pick((False, True)):
            return Arithmetic("+", self._pick(self.known), Constant(1))
        return self.constant()

    def _atom_of_expression(self, symbols: Sequence[Symbol]) -> None:
        """An atom such as `p(X + 1, Y)`: an argument that is computed and looked up."""
        symbol = self._pick(symbols)
        if self.limited and symbol.arity:
            options: tuple[Term, ...] = (WILDCARD, *self.limited)
            rest = [self._pick(options) for _ in range(symbol.arity - 1)]
            self.elements.append(symbol.atom([self.expression(), *rest]))

    # -- terms -------------------------------------------------------------------------------------------------------

    @property
    def known(self) -> list[Variable]:
        return self.limited + self.computed

    def constant(self) -> Constant:
        return Constant(self._pick(pool(self.profile)))

    def simple_term(self) -> Term:
        """A variable that has a value, now and then a constant."""
        if not self.known:
            return self.constant()
        return self._pick((*self.known * 3, None)) or self.constant()

    def head(self, symbol: Symbol, first: Sequence[Term] = ()) -> Atom:
        """An atom of simple terms, seldom the same one twice, behind the given ones."""
        terms: list[Term] = list(first)[: symbol.arity]
        while len(terms) < symbol.arity:
            unused = [variable for variable in self.known if variable not in terms]
            terms.append(self._pick((*unused * 4, *self.known, None)) or self.constant())
        return symbol.atom(terms)

    def expression(self) -> Term:
        """Arithmetic over known variables; `/` and `%` may divide by zero, and then have no value."""
        kind = self._pick((0, 0, 0, 0, 1, 2, 3))
        left = self._operand()
        if kind == 1:
            return Minus(left) if isinstance(left, Variable) else left
        if kind == 2:
            return self._function(left)
        simple = Arithmetic(self._pick(self.profile.operators), left, self._operand())
        return simple if kind == 0 else Arithmetic(self._pick(self.profile.operators), simple, self._operand())

    def _operand(self) -> Term:
        options = (*self.known, *self.known, None)
        return self._pick(options) or Constant(self._pick(INTEGERS))

    def _function(self, argument: Term) -> Term:
        name = self._pick(("abs",) if self.profile.integers_only else FUNCTIONS)
        return FunctionTerm(name, (argument, argument) if name == "concat" else (argument,))

    def _argument(self, before: Sequence[Term]) -> Term:
        """An argument of an atom; a variable seldom stands twice in one atom."""
        options = [term for term in self._arguments if term not in before]
        return self._pick((*options, *before[:1])) or self.constant()

    def _pick(self, options: Sequence[T]) -> T:
        return pick(self.draw, options)
