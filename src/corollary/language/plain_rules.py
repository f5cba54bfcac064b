"""The fast path for plain rules: atoms over variables and plain constants, negated or not, and simple comparisons.

Only text that the parser would read in the same way is read here; anything else (arithmetic, aggregates, terms,
comments inside a rule, mistakes) is left to it. Most rules of a long program are plain, and the parser takes ten times
as long for them.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from corollary.diagnostics import Source, Span
from corollary.program import Atom, BodyElement, Clause, Comparison, Constant, Negation, Term, Variable, Wildcard
from corollary.program.builtins import find_condition

_ARGUMENTS = r'((?>(?:[^()\[\]"\'\\]|"[^"\\\n]*")*))'
_TERM = r'(?:[A-Z]\w*|_|-?[0-9]{1,18}|[a-z]\w*|"[^"\\\n]*")'
_HEAD = re.compile(rf"(?:([A-Za-z]\w*)\s*:(?![-=])\s*)?([A-Za-z]\w*)\({_ARGUMENTS}\)\s*:-", re.ASCII)
_ELEMENT = re.compile(
    rf"\s*(?:(?:(not)\s+)?([A-Za-z]\w*)\({_ARGUMENTS}\)|([A-Z]\w*)\s*(<=|>=|!=|<(?![-<>\w])|>|=(?![<>=]))\s*({_TERM}))\s*(,|\.(?=\s|\Z))",
    re.ASCII,
)
_PIECE = re.compile(r'\s*("[^"\\\n]*"|[^,"]*?)\s*(?:,|\Z)')
_VARIABLE = re.compile(r"[A-Z]\w*", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_WORD = re.compile(r"[a-z]\w*", re.ASCII)
_RESERVED = frozenset(
    ("not", "naf", "distinct", "true", "false", "and", "div", "mod", "as", "on", "with", "comp", "bind", "aggregate")
)
_NO_TERM = (0, None)
_IS_VARIABLE, _IS_CONSTANT, _IS_WILDCARD = 1, 2, 3


class RuleReader:
    """Reads plain rules of one source; caches the terms of texts."""

    def __init__(self, source: Source, prefixes: Collection[str]) -> None:
        self._source = source
        self._prefixes = prefixes
        self._terms: dict[str, tuple[int, str | int | None]] = {}
        self._names: dict[str, bool] = {}

    def read(self, start: int) -> tuple[Clause, int] | None:
        """Return the rule at `start` and where it ends; None if it is left to the parser."""
        text, source = self._source.text, self._source
        found = _HEAD.match(text, start)
        if found is None:
            return None
        label = found.group(1)
        head = self._atom(found, 2)
        if head is None or (label is not None and (label in self._prefixes or label.lower() in _RESERVED)):
            return None
        body: list[BodyElement] = []
        at, stop = found.end(), ","
        while stop == ",":
            found = _ELEMENT.match(text, at)
            element = None if found is None else self._element(found)
            if found is None or element is None:
                return None
            body.append(element)
            if len(body) > _MOST_ELEMENTS:
                return None
            at, stop = found.end(), found.group(7)
        return Clause((head,), tuple(body), label, Span(source, start, at)), at

    def _element(self, found: re.Match[str]) -> BodyElement | None:
        if found.group(4) is not None:
            left = self._term(found.group(4), found.start(4), found.end(4))
            right = self._term(found.group(6), found.start(6), found.end(6))
            # The character after a word may make it another term: a bracket, a colon, an exponent.
            if left is None or right is None or isinstance(right, Wildcard):
                return None
            return Comparison(found.group(5), left, right, Span(self._source, found.start(4), found.end(6)))
        atom = self._atom(found, 2)
        if atom is None or found.group(1) is None:
            return atom
        return Negation(atom, Span(self._source, found.start(1), found.end(3) + 1))

    def _atom(self, found: re.Match[str], group: int) -> Atom | None:
        name = found.group(group)
        is_plain = self._names.get(name)
        if is_plain is None:
            is_plain = self._names[name] = name.lower() not in _RESERVED and find_condition(name) is None
        written, start = found.group(group + 1), found.start(group + 1)
        if not is_plain or not written or len(written) > _LONGEST:
            return None
        arguments: list[Term] = []
        if '"' in written:
            at = 0
            while at <= len(written):
                piece = _PIECE.match(written, at)
                if piece is None:
                    return None
                argument = self._term(piece.group(1), start + piece.start(1), start + piece.end(1))
                if argument is None:
                    return None
                arguments.append(argument)
                at = piece.end() if written[piece.end() - 1 : piece.end()] == "," else len(written) + 1
        else:
            for part in written.split(","):
                stripped = part.strip()
                begin = start if stripped == part else start + part.index(stripped)
                argument = self._term(stripped, begin, begin + len(stripped))
                if argument is None:
                    return None
                arguments.append(argument)
                start += len(part) + 1
        return Atom(name, tuple(arguments), Span(self._source, found.start(group), found.end(group + 1) + 1))

    def _term(self, text: str, start: int, end: int) -> Term | None:
        known = self._terms.get(text)
        if known is None:
            known = self._terms[text] = _meaning(text)
        kind, value = known
        if kind == _IS_VARIABLE:
            return Variable(value, Span(self._source, start, end))  # type: ignore[arg-type]
        if kind == _IS_CONSTANT:
            return Constant(value, Span(self._source, start, end))  # type: ignore[arg-type]
        return Wildcard(Span(self._source, start, end)) if kind == _IS_WILDCARD else None


_LONGEST, _MOST_ELEMENTS = (
    10_000,
    1_000,
)  # characters of arguments, elements of a body; the parser decides whether more are allowed


def _meaning(text: str) -> tuple[int, str | int | None]:
    if _VARIABLE.fullmatch(text):
        return _IS_VARIABLE, text
    if _NUMBER.fullmatch(text):
        return _IS_CONSTANT, int(text)
    if _WORD.fullmatch(text) and text not in _RESERVED:
        return _IS_CONSTANT, text
    if len(text) > 1 and text[0] == '"' == text[-1] and '"' not in text[1:-1]:
        return _IS_CONSTANT, text[1:-1]
    return (_IS_WILDCARD, None) if text == "_" else _NO_TERM
