"""Terms: the arguments of atoms and the sides of comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from corollary.diagnostics import Span
from corollary.program.values import Value, canonical, identity


@dataclass(frozen=True, slots=True)
class Variable:
    """A named variable; `?X` and `X` are both `Variable("X")`."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Wildcard:
    """The anonymous variable `_`: each occurrence is a variable of its own, and none of them multiplies an aggregate."""

    span: Span | None = field(default=None, compare=False, repr=False)


class Constant:
    """A constant; equal to another if and only if both are the same constant (see `corollary.program.values`)."""

    __slots__ = ("_identity", "span", "value")

    def __init__(self, value: Value, span: Span | None = None) -> None:
        self.value = canonical(value)
        self.span = span
        self._identity = identity(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left op right` with op one of `+ - * / div %`."""

    operator: str
    left: Term
    right: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Minus:
    """The negated number `-operand` of something that is not a number literal."""

    operand: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionTerm:
    """`name(arguments)`: a built-in function if one has that name, otherwise a function symbol."""

    name: str
    arguments: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send a function of the host program along to other processes."""
        from corollary.program.host_functions import carried

        return _sent_function_term, (self.name, self.arguments, self.span, carried(self.name))


def _sent_function_term(name: str, arguments: tuple[Term, ...], span: Span | None, host: Any) -> FunctionTerm:
    if host is not None:
        from corollary.program.host_functions import install

        install(host)
    return FunctionTerm(name, arguments, span)


@dataclass(frozen=True, slots=True)
class ListTerm:
    """`[a, b]`, or `[a, b | tail]` when `tail` is given."""

    items: tuple[Term, ...]
    tail: Term | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AggregateTerm:
    """`count(T)` or `sum(distinct T)` as an argument of a head."""

    function: str
    argument: Term
    distinct: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a constant of the form `functor(…)`, or of a list if there is no functor.

    The form has `count` arguments or items. An `open` list may have more of them; the position after them is its rest.
    Plans take terms apart with it; no program text contains it.
    """

    term: Term
    functor: str | None
    count: int
    place: int
    open: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


Term: TypeAlias = Variable | Wildcard | Constant | Arithmetic | Minus | FunctionTerm | ListTerm | AggregateTerm | Part


def subterms(term: Term) -> Iterator[Term]:
    """Yield the term and every term inside it, in the order of the text."""
    yield term
    match term:
        case Arithmetic():
            yield from subterms(term.left)
            yield from subterms(term.right)
        case Minus():
            yield from subterms(term.operand)
        case FunctionTerm():
            for argument in term.arguments:
                yield from subterms(argument)
        case ListTerm():
            for item in term.items:
                yield from subterms(item)
            if term.tail is not None:
                yield from subterms(term.tail)
        case AggregateTerm():
            yield from subterms(term.argument)
        case Part():
            yield from subterms(term.term)
        case _:
            pass


def variables_of(term: Term) -> Iterator[Variable]:
    """Yield the named variables of a term, in the order of the text; they may repeat."""
    return (part for part in subterms(term) if isinstance(part, Variable))
