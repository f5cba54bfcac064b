"""IRIs without a scheme in RDF: resolved against a base, or kept as they are written where there is none.

The parser knows absolute IRIs only. Before it sees a text, relative IRIs get a scheme of their own, or the base; that scheme is
taken off again from the terms that it gives back.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_SCHEME = "corollary-no-base:"
_TOKEN = re.compile(
    rb'"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'|"(?:[^"\\\n\r]|\\.)*"|\'(?:[^\'\\\n\r]|\\.)*\''
    rb"|#[^\n\r]*|\\.|(?P<base>(?:@base|(?<![\w:.@-])[Bb][Aa][Ss][Ee])\s*)?<(?P<iri>[^\x00-\x20<>\"{}|^`]*)>",
    re.DOTALL,
)
"""Strings and comments, in which nothing is an IRI, and IRIs."""
_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*:")
_RELATIVE = re.compile(rb"[^:/?#]*(?:[/?#].*)?\Z", re.DOTALL)
_MARKED = re.compile(rf'(\A|"\^\^)<{_SCHEME}([^"<>]*>)\Z')


def with_absolute_iris(text: bytes, base: str | None, oxigraph: Any) -> bytes:
    """Return the text with each relative IRI resolved against the base, or marked where there is none.

    From a `@base` of the text on, the parser resolves them itself.
    """
    has_own_base = False

    def one(match: re.Match[bytes]) -> bytes:
        nonlocal has_own_base
        iri = match["iri"]
        if iri is None or has_own_base:
            return match[0]
        if match["base"] is not None:
            has_own_base = True
        if _ABSOLUTE.match(iri) or not _RELATIVE.match(iri):
            return match[0]
        whole = _resolved(iri, base, oxigraph) if base is not None else _SCHEME.encode() + iri
        return (match["base"] or b"") + b"<" + whole + b">"

    return _TOKEN.sub(one, text)


def as_written(term: str) -> str:
    """Return a term of the parser with the relative IRI that its text has.

    >>> as_written("<corollary-no-base:turbine_1>"), as_written('"5"^^<corollary-no-base:metres>')
    ('<turbine_1>', '"5"^^<metres>')
    """
    return _MARKED.sub(r"\1<\2", term) if _SCHEME in term else term


def without_marks(message: str) -> str:
    """Return what the parser says about a text in the words of that text."""
    return message.replace(_SCHEME, "")


@lru_cache(maxsize=4096)
def _resolved(iri: bytes, base: str, oxigraph: Any) -> bytes:
    """Return the absolute IRI; one that cannot be resolved stays as it is, and the parser says why."""
    try:
        (quad,) = oxigraph.parse(b"<> <> <" + iri + b"> .", format=oxigraph.RdfFormat.TURTLE, base_iri=base)
    except (SyntaxError, ValueError):
        return iri
    return str(quad.object.value).encode()
