"""The fast path for ground facts: regular expressions read a run of plain facts, without the parser.

Only text that the parser would read in the same way is read here; anything else (variables, arithmetic, mistakes) is
left to it. The three steps differ only in speed: facts of integers, facts of plain constants, facts with lists and
function terms.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from corollary.diagnostics import Source
from corollary.language.lexer import IRI, LANGUAGE, LOCAL, MAX_DEPTH, MAX_TOKEN_LENGTH, NUMBER, STRING, number_value
from corollary.language.literals import LiteralError, typed_value, unescape
from corollary.program import FactBlock, Iri, Literal, Row, Structure, Value, canonical, find_aggregate, find_builtin
from corollary.program.values import RDF

_PREFIXED = rf"(?:[^\W\d_][\w-]*)?:{LOCAL}"
_CONSTANT = rf"(?:(?:{STRING})(?:{LANGUAGE}|\^\^(?:{IRI}|{_PREFIXED}))?|{IRI}|-?{NUMBER}(?![\w.])|{_PREFIXED}|[a-z]\w*)"
_NAME = rf"({IRI}|{_PREFIXED}|[^\W\d_]\w*)\("
_STOP = r"\s*(?::-\s*)?\.(?!\d)"
# White space and line comments; anything else between two facts is for the parser.
_GAP = r"(?>(?:\s+|//[^\n]*|(?<=\s)#[^\n]*|(?<=\n)[ \t]*%[^\n]*)*)"
_FACT = re.compile(rf"{_GAP}{_NAME}\s*({_CONSTANT}(?:\s*,\s*{_CONSTANT})*)?\s*\){_STOP}")
_OPENING = re.compile(rf"{_GAP}{_NAME}")
_END = re.compile(_STOP)
_PIECE = re.compile(rf"\s*(?:([^\W\d_]\w*\(|\[\s*(?!\]))|(?:(\[\s*\])|({_CONSTANT}))\s*([,)\]])?)")
_AFTER = re.compile(r"\s*([,)\]])")
_ARGUMENT = re.compile(_CONSTANT)
_STRING_PART = re.compile(STRING)
_RESERVED = {"not", "naf"}
_MAX_ARGUMENTS = 10_000  # constants of one fact; the parser decides whether more are allowed
_MAX_INTEGER_COLUMNS = 50
_TICK_EVERY = 8_192  # facts


class FactReader:
    """Reads runs of facts of one source; caches the constants of texts."""

    def __init__(self, source: Source, prefixes: dict[str, str], tick: Callable[[], None]) -> None:
        self._source = source
        self._prefixes = prefixes
        self._tick = tick
        self._values: dict[str, Value] = {}
        self._predicates: dict[str, str | None] = {}
        self._is_nested = False  # nested facts are usually adjacent: the last one tells which way to try first

    def forget(self) -> None:
        """Drop the cache after a prefix declaration, which may change the meaning of texts."""
        self._values.clear()
        self._predicates.clear()

    def run(self, start: int) -> tuple[list[FactBlock], int]:
        """Return the facts at `start`, those of one predicate and arity together, and where they end."""
        text = self._source.text
        found: list[FactBlock] = []
        rows: list[Row] = []
        name, arity, begin, end = "", -1, start, start
        while (read := self._fact(text, end)) is not None:
            read_name, row, after = read
            if read_name != name or len(row) != arity:
                self._close(found, name, arity, rows, begin, end)
                name, arity, rows, begin = read_name, len(row), [], end
            rows.append(row)
            end = after
            if len(rows) % _TICK_EVERY == 0:
                self._tick()
            if 0 < arity <= _MAX_INTEGER_COLUMNS and all(type(value) is int for value in row):
                end = self._integer_rows(name, arity, end, rows)
        self._close(found, name, arity, rows, begin, end)
        return found, end

    def _close(self, found: list[FactBlock], name: str, arity: int, rows: list[Row], begin: int, end: int) -> None:
        predicate = self._predicate(name) if rows else None
        if predicate is not None:
            found.append(FactBlock(predicate, arity, rows, self._source.span(begin, end)))

    def _fact(self, text: str, start: int) -> tuple[str, Row, int] | None:
        """Return the name as written, the row and the end of one fact."""
        match = None if self._is_nested else _FACT.match(text, start)
        if match is not None:
            row = self._row(match.group(2)) if self._predicate(match.group(1)) is not None else None
            return (match.group(1), row, match.end()) if row is not None else None
        opening = _OPENING.match(text, start)
        predicate = self._predicate(opening.group(1)) if opening else None
        structured = None
        if opening is not None and predicate is not None and predicate.lower() != "aggregate":
            structured = self._structured_row(opening.end())
        was_nested, self._is_nested = self._is_nested, structured is not None
        if opening is not None and structured is not None:
            return (opening.group(1), *structured)
        return self._fact(text, start) if was_nested else None

    def _structured_row(self, at: int) -> tuple[Row, int] | None:
        """Return the arguments after an opening bracket, including nested ones, and where the fact ends."""
        text = self._source.text
        open_names: list[str] = []
        open_items: list[list[Value]] = [[]]
        for _ in range(_MAX_ARGUMENTS):
            piece = _PIECE.match(text, at)
            if piece is None or len(open_items) > MAX_DEPTH:
                return None
            at = piece.end()
            opening, empty, lexeme, after = piece.groups()
            if opening:
                if opening != "[" and not _is_function_symbol(opening[:-1]):
                    return None
                open_names.append(opening.rstrip())
                open_items.append([])
                continue
            value = () if empty else self._value(lexeme)
            if value is None:
                return None
            open_items[-1].append(value)
            while after != ",":
                if after is None:
                    return None
                items = tuple(open_items.pop())
                if not open_items:
                    end = _END.match(text, at) if after == ")" else None
                    return (items, end.end()) if end else None
                name = open_names.pop()
                if (name == "[") is (after == ")"):
                    return None
                open_items[-1].append(items if name == "[" else Structure(name[:-1], items))
                following = _AFTER.match(text, at)
                after, at = (following.group(1), following.end()) if following else (None, at)
        return None

    def _integer_rows(self, name: str, arity: int, start: int, rows: list[Row]) -> int:
        # A scanner matches each fact right after the previous one; it is part of re, but not of its published types.
        scanner = _integer_fact(name, arity).scanner(self._source.text, start)  # type: ignore[attr-defined]
        found: list[tuple[str, ...]] = []
        end, match = start, scanner.match()
        if match is None:
            return start
        while match:
            found.append(match.groups())
            end, match = match.end(), scanner.match()
            if len(found) == _TICK_EVERY or match is None:
                rows.extend(zip(*(map(int, column) for column in zip(*found, strict=True)), strict=True))
                found.clear()
                self._tick()
        return end

    def _predicate(self, name: str) -> str | None:
        if name not in self._predicates:
            self._predicates[name] = self._resolve_predicate(name)
        return self._predicates[name]

    def _resolve_predicate(self, name: str) -> str | None:
        if name.lower() in _RESERVED or len(name) > MAX_TOKEN_LENGTH:
            return None
        if name.startswith("<"):
            return unescape(name[1:-1]) if "\\" not in name else None
        if ":" in name:  # at the start of a clause an undeclared prefix is the name of a rule
            prefix, local = name.split(":", 1)
            return self._prefixes[prefix] + local if prefix in self._prefixes else None
        return name

    def _row(self, arguments: str | None) -> Row | None:
        if arguments is None:
            return ()
        if arguments.count(",") >= _MAX_ARGUMENTS:
            return None
        row: list[Value] = []
        for lexeme in _ARGUMENT.findall(arguments):
            value = self._value(lexeme)
            if value is None:
                return None
            row.append(value)
        return tuple(row)

    def _value(self, lexeme: str) -> Value | None:
        value = self._values.get(lexeme)
        if value is None:
            value = self._constant(lexeme)
            if value is not None:
                self._values[lexeme] = value
        return value

    def _constant(self, lexeme: str) -> Value | None:
        """Return the value of a constant's text; None if only the parser can read it (or report it)."""
        if len(lexeme) > 3000:
            return None
        first = lexeme[0]
        try:
            if first in "\"'":
                return self._string(lexeme)
            if first == "<":  # `<>`, `<,` and `<=,` may be comparators
                return None if lexeme.startswith(("<>", "<,", "<=,")) else Iri(unescape(lexeme[1:-1]))
            if first.isdigit() or first == "-":
                return canonical(number_value(lexeme)) if lexeme.isascii() else None
            if ":" in lexeme:
                iri = self._expand(lexeme)
                return Iri(iri) if iri is not None else None
        except LiteralError:
            return None
        if lexeme in ("true", "false"):
            return lexeme == "true"
        return None if lexeme.lower() in _RESERVED | {"distinct"} else lexeme

    def _string(self, lexeme: str) -> Value | None:
        match = _STRING_PART.match(lexeme)
        assert match is not None
        text, rest = unescape(match.group()[1:-1]), lexeme[match.end() :]
        if not rest:
            return text
        if rest.startswith("@"):
            return Literal(text, RDF + "langString", rest[1:].lower())
        datatype = unescape(rest[3:-1]) if rest.startswith("^^<") else self._expand(rest[2:])
        return canonical(typed_value(text, datatype)) if datatype is not None else None

    def _expand(self, name: str) -> str | None:
        prefix, local = name.split(":", 1)
        return self._prefixes[prefix] + local if prefix in self._prefixes else None


def _is_function_symbol(name: str) -> bool:
    """Return whether a name is a function symbol; built-in functions and some words are left to the parser."""
    return find_builtin(name) is None and find_aggregate(name) is None and name.lower() not in _RESERVED


@lru_cache(maxsize=64)
def _integer_fact(name: str, arity: int) -> re.Pattern[str]:
    arguments = r"\s*,\s*".join([r"(-?[0-9]{1,18})"] * arity)
    return re.compile(rf"\s*{re.escape(name)}\(\s*{arguments}\s*\){_STOP}")
