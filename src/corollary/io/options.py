"""How a data file is to be read: what `@input` and `KnowledgeBase.load` may say about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue, did_you_mean

TYPES = ("any", "integer", "decimal", "double", "boolean", "string", "iri", "date", "dateTime", "time")
DATABASE = ("table", "query", "user", "password", "driver", "jar")
"""Options that only tables of databases have."""
_ABSOLUTE_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*')
_RUNS_SOMETHING = ("query", "driver", "jar")
"""What would let the text of a program run SQL or Java of its author's choosing."""


@dataclass(frozen=True)
class ReadOptions:
    """`header`: the first row names the columns. `delimiter`: one character. `types`: one of each column. `columns`: which, by
    name and in this order. `format`: where the ending of the file does not tell. `base`: the IRI that relative IRIs of RDF are
    resolved against. `span` is where an `@input` says so, and `roots`
    are the folders and addresses below which all of its files must be.

    For databases: `table` or `query`, `user` and `password`, the class of the `driver` and the `jar` that has it.
    """

    header: bool = False
    delimiter: str | None = None
    types: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    format: str | None = None
    base: str | None = None
    table: str | None = None
    query: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    driver: str | None = None
    jar: str | None = None
    span: Span | None = None
    roots: tuple[str, ...] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], span: Span | None = None, *, written: bool = False) -> ReadOptions:
        """The options by name; raises `ProgramError` for one that makes no sense, or that the text of a program may not say."""
        checks = {
            "header": _flag,
            "delimiter": _character,
            "types": _types,
            "columns": _names,
            "format": _text,
            "base": _absolute_iri,
            **dict.fromkeys(DATABASE, _text),
        }
        found: dict[str, Any] = {}
        for name, value in options.items():
            if name not in checks:
                known = [one for one in checks if one not in DATABASE]
                hint = did_you_mean(name, checks) or f"there are {', '.join(known)}"
                raise option_error(f"there is no option '{name}'", span, hint)
            if written and name in _RUNS_SOMETHING:
                hint = "KnowledgeBase.load and KnowledgeBase.write accept it"
                raise option_error(f"a program cannot set the option '{name}'", span, hint)
            if value is not None:
                try:
                    found[name] = checks[name](value)
                except ValueError as error:
                    raise option_error(f"{name} = {_shown(value)}: {error}", span) from None
        return cls(**found, span=span)

    def error(self, message: str, hint: str | None = None) -> ProgramError:
        return option_error(message, self.span, hint)


def option_error(message: str, span: Span | None, hint: str | None = None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.BAD_OPTION, message, span, hint)])


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("write true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("this must be a string")
    return value


def _absolute_iri(value: Any) -> str:
    if not _ABSOLUTE_IRI.fullmatch(_text(value)):
        raise ValueError("a base is an IRI with a scheme, such as 'http://example.org/'")
    return str(value)


def _character(value: Any) -> str:
    text = {"tab": "\t", "\\t": "\t"}.get(_text(value), value)
    if len(text) != 1 or not text.isascii() or text in '"\r\n':
        raise ValueError("a delimiter is one character, such as ';', but not a quote or a line break")
    return str(text)


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(","))
    if isinstance(value, Sequence) and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise ValueError('write the names in one string, such as "a, b"')


def _types(value: Any) -> tuple[str, ...]:
    names = _names(value)
    for name in names:
        if name not in TYPES:
            raise ValueError(f"'{name}' is not one of {', '.join(TYPES)}")
    return names
