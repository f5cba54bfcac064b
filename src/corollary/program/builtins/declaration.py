"""How a built-in is declared: its names, its parameters and result, its meaning, and examples that are tests.

A built-in is a function from constants to a constant. One that returns a boolean may be a condition in a body; any
other is written there as `name(arguments, result)`. If there is no value, for example for arguments of other types, it
raises `EvaluationError`; then a condition does not hold, and its negation does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import DecimalException
from typing import Any

from corollary.program.arithmetic import EvaluationError, number_of
from corollary.program.datatypes import DATATYPES, duration_of, is_value_of, moment_of, single
from corollary.program.values import RDF, XSD, Iri, Literal, Value, canonical

FUNC = "http://www.w3.org/2007/rif-builtin-function#"
PRED = "http://www.w3.org/2007/rif-builtin-predicate#"
HAS_VALUE = "HAS_VALUE"
"""The meaning of `ADD(X, 1, _)`: the sum has a value."""
ROUND_TO_BITS = "ROUND_TO_BITS"
"""The function that the setting `precision` applies to the sides of comparisons."""


Apply = Callable[..., Any]


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function, one type each; those after the `required` ones are optional, and `rest` may be repeated."""

    types: tuple[str, ...]
    required: int
    rest: bool = False

    @classmethod
    def of(cls, text: str) -> Parameters:
        """Return the parameters from a text such as `string, number?` or `string, string…`."""
        words = [word.strip() for word in text.split(",")] if text else []
        required = sum(not word.endswith(("?", "*")) for word in words)
        names = tuple(word.rstrip("?…*") for word in words)
        return cls(names, required, bool(words) and words[-1].endswith(("…", "*")))

    def take(self, count: int) -> bool:
        return self.required <= count and (self.rest or count <= len(self.types))

    def type_of(self, place: int) -> str:
        return self.types[min(place, len(self.types) - 1)]

    @property
    def counts(self) -> str:
        """The allowed numbers of arguments, as text."""
        if self.rest:
            return f"at least {_arguments(self.required)}"
        if self.required < len(self.types):
            return f"{self.required} to {_arguments(len(self.types))}"
        return _arguments(self.required)

    def __str__(self) -> str:
        shown = [name if place < self.required else f"{name}?" for place, name in enumerate(self.types)]
        return ", ".join(shown) + (" …" if self.rest else "")


@dataclass(frozen=True, eq=False)
class Builtin:
    """One built-in. `operator` is the operator of the language with the same meaning, if there is one."""

    name: str
    spellings: tuple[str, ...]
    chapter: str
    parameters: Parameters
    result: str
    summary: str
    meaning: Apply
    examples: tuple[tuple[str, str | None], ...] = ()
    is_predicate: bool = False
    operator: str | None = None
    inverse: str | None = None
    """The function of one argument that leads back from the result to the argument."""
    raw: bool = False
    """Whether the function gets constants unconverted."""
    words: tuple[str, ...] = field(default=())
    """Spellings that may be written in capital or small letters."""

    def apply(self, *arguments: Value) -> Value:
        """Return the value for these arguments; raise `EvaluationError` if there is none."""
        if not self.parameters.take(len(arguments)):
            raise EvaluationError(f"{self.shown} takes {self.parameters.counts}, not {len(arguments)}")
        taken = [self._taken(place, argument) for place, argument in enumerate(arguments)]
        try:
            found = self.meaning(*taken)
        except (OverflowError, ValueError, DecimalException, ZeroDivisionError, IndexError) as error:
            raise EvaluationError(f"{self.shown} has no value here") from error
        if found is None:
            raise EvaluationError(f"{self.shown} has no value here")
        if isinstance(found, float) and not self.raw and _is_single(arguments):
            return single(found)
        return canonical(found)

    def _taken(self, place: int, argument: Value) -> Any:
        wanted = self.parameters.type_of(place)
        found = TAKES[wanted](argument)
        if found is None:
            raise EvaluationError(f"{self.shown} needs {_article(wanted)}")
        return argument if self.raw else found

    @property
    def shown(self) -> str:
        """The name as the printer writes it."""
        return shortened(self.name)

    @property
    def signature(self) -> str:
        return f"{self.shown}({self.parameters}) → {self.result}"


def _arguments(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def _is_single(arguments: Sequence[Value]) -> bool:
    """Return whether xsd:float takes part, and no double."""
    return not any(type(one) is float for one in arguments) and any(
        isinstance(one, Literal) and one.datatype == XSD + "float" for one in arguments
    )


# -- names -------------------------------------------------------------------------------------------------------------

_SPACES = {"func:": FUNC, "pred:": PRED, "xsd:": XSD, "rdf:": RDF}
_SEVERAL_WORDS = re.compile(r"\w+(?:-\w+)+")


def expanded(name: str) -> str:
    """Return the full name of `func:not`; a plain name is its own."""
    for prefix, space in _SPACES.items():
        if name.startswith(prefix):
            return space + name.removeprefix(prefix)
    return name


def shortened(name: str) -> str:
    for prefix, space in _SPACES.items():
        if name.startswith(space):
            return prefix + name.removeprefix(space)
    return name


def words_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return plain spellings that need no prefix: names of several words, with underscores."""
    found = []
    for name in names:
        prefix, _, local = name.rpartition(":")
        if prefix in ("func", "pred") and _SEVERAL_WORDS.fullmatch(local):
            found.append(local.replace("-", "_").lower())
        elif not prefix and not name.isupper():
            found.append(name.lower())
    return tuple(found)


# -- types -------------------------------------------------------------------------------------------------------------


def _moment(name: str) -> Callable[[Value], Any]:
    datatype = XSD + name
    return lambda value: moment_of(value) if isinstance(value, Literal) and value.datatype == datatype else None


def _duration(name: str) -> Callable[[Value], Any]:
    def taken(value: Value) -> Any:
        found = duration_of(value) if isinstance(value, Literal) else None
        return found if found is not None and found.is_a(name) else None

    return taken


def _of(*types: type) -> Callable[[Value], Any]:
    return lambda value: value if type(value) in types else None


def _literal(datatype: str) -> Callable[[Value], Any]:
    return lambda value: value if is_value_of(value, datatype) else None


def is_literal(value: Value) -> bool:
    """Return whether a constant is a value of some datatype, neither an IRI nor a term."""
    return not isinstance(value, (Iri, tuple)) and (
        not isinstance(value, Literal) or value.language is not None or value.datatype in _KNOWN
    ) and type(value).__name__ != "Structure"  # fmt: skip


_KNOWN = frozenset(DATATYPES)

TAKES: dict[str, Callable[[Value], Any]] = {
    "any": lambda value: value,
    "number": number_of,
    "integer": _of(int),
    "boolean": _of(bool),
    "string": _of(str),
    "IRI": _of(Iri),
    "list": _of(tuple),
    "text": _literal(RDF + "PlainLiteral"),
    "XML": _literal(RDF + "XMLLiteral"),
    **{name: _moment(name) for name in ("dateTime", "date", "time")},
    **{name: _duration(name) for name in ("duration", "dayTimeDuration", "yearMonthDuration")},
}
"""Converters of arguments by type; they return None for a constant of another type."""
