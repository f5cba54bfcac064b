"""Texts with a language tag, and XML."""

from __future__ import annotations

from functools import partial

from corollary.program.builtins.registry import declare
from corollary.program.datatypes import plain_literal
from corollary.program.datatypes.texts import LANGUAGE
from corollary.program.values import Literal, Value

_TEXTS = partial(declare, chapter="Texts with a language")
_XML = partial(declare, chapter="XML", of="XML, XML", gives="boolean")


def _parts(value: Value) -> tuple[str, str]:
    return (value.lexical, value.language or "") if isinstance(value, Literal) else (str(value), "")


@_TEXTS(
    "func:PlainLiteral-from-string-lang",
    "TEXT_FROM_STRING_LANG",
    "TEXT_FROM_STRING",
    of="string, string?",
    gives="text",
    summary="the string as a text in a language; without one it stays a string",
    examples=[
        ('func:PlainLiteral-from-string-lang("Haus", "de")', '"Haus"@de'),
        ('func:PlainLiteral-from-string-lang(a, "")', "a"),
        ('func:PlainLiteral-from-string-lang(a, "1 2")', None),
    ],
)
def _from_string(text: str, language: str = "") -> Value | None:
    return plain_literal(text, language) if not language or LANGUAGE.fullmatch(language) else None


@_TEXTS(
    "func:string-from-PlainLiteral",
    "STRING_FROM_TEXT",
    of="text",
    gives="string",
    summary="the text without its language",
    examples=[('func:string-from-PlainLiteral("Haus"@de)', '"Haus"'), ("func:string-from-PlainLiteral(1)", None)],
)
def _string(value: Value) -> str:
    return _parts(value)[0]


@_TEXTS(
    "func:lang-from-PlainLiteral",
    "LANG_FROM_TEXT",
    of="text",
    gives="string",
    summary="the language of a text, in small letters",
    examples=[('func:lang-from-PlainLiteral("Haus"@de-AT)', '"de-at"'), ("func:lang-from-PlainLiteral(a)", '""')],
)
def _language(value: Value) -> str:
    return _parts(value)[1]


@_TEXTS(
    "func:PlainLiteral-compare",
    "TEXT_COMPARE",
    of="text, text",
    gives="integer",
    summary="-1, 0 or 1 for two texts in the same language, as `func:compare`",
    examples=[('func:PlainLiteral-compare("a"@en, "b"@en)', "-1"), ('func:PlainLiteral-compare("a"@en, "a"@de)', None)],
)
def _compare(left: Value, right: Value) -> int | None:
    (mine, language), (theirs, other) = _parts(left), _parts(right)
    return (mine > theirs) - (mine < theirs) if language == other else None


@_TEXTS(
    "func:PlainLiteral-length",
    "TEXT_LENGTH",
    of="text",
    gives="integer",
    summary="the number of characters",
    examples=[('func:PlainLiteral-length("Haus"@de)', "4")],
)
def _length(value: Value) -> int:
    return len(_parts(value)[0])


@_TEXTS(
    "pred:matches-language-range",
    "MATCHES_LANGUAGE_RANGE",
    of="text, string",
    gives="boolean",
    summary="the language of a text is in a range such as `de-*-DE` (extended filtering of RFC 4647)",
    examples=[
        ('pred:matches-language-range("Haus"@de-latn-de, "de-*-DE")', "true"),
        ('pred:matches-language-range(a, "*")', "false"),
    ],
)
def _matches_range(value: Value, wanted: str) -> bool:
    tags, ranges = _parts(value)[1].split("-"), wanted.lower().split("-")
    if not tags[0] or ranges[0] not in ("*", tags[0]):
        return False
    place = 1
    for one in ranges[1:]:
        while one != "*":
            if place >= len(tags) or (len(tags[place]) == 1 and tags[place] != one):
                return False
            place += 1
            if tags[place - 1] == one:
                break
    return True


@_XML(
    "pred:XMLLiteral-equal",
    "XMLLITERAL_EQUAL",
    summary="two pieces of XML are the same",
    examples=[('pred:XMLLiteral-equal("<a/>"^^rdf:XMLLiteral, "<a></a>"^^rdf:XMLLiteral)', "true")],
)
def _xml_equal(left: Literal, right: Literal) -> bool:
    return left.lexical == right.lexical


@_XML(
    "pred:XMLLiteral-not-equal",
    "XMLLITERAL_NOT_EQUAL",
    summary="two pieces of XML differ",
    examples=[('pred:XMLLiteral-not-equal("<a/>"^^rdf:XMLLiteral, "<b/>"^^rdf:XMLLiteral)', "true")],
)
def _xml_not_equal(left: Literal, right: Literal) -> bool:
    return left.lexical != right.lexical
