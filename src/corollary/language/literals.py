"""Lexical forms of constants: escapes, prefixes that need no declaration, and typed literals."""

from __future__ import annotations

import re

from corollary.program.builtins.declaration import FUNC, PRED
from corollary.program.datatypes import RIF, LiteralError, typed_value
from corollary.program.values import RDF, XSD

__all__ = ["STANDARD_PREFIXES", "EscapeError", "LiteralError", "typed_value", "unescape"]

STANDARD_PREFIXES = {
    "func": FUNC,
    "pred": PRED,
    "rif": RIF,
    "xs": XSD,
    "xsd": XSD,  # after xs, because names are printed with the last prefix
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
}


class EscapeError(LiteralError):
    """Raised for an escape without a character; `start` and `end` are its position in the text."""

    def __init__(self, message: str, match: re.Match[str]) -> None:
        super().__init__(message)
        self.start, self.end = match.span()


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)


def unescape(text: str) -> str:
    r"""Return the string for a text with escapes such as `\n`, `\"`, `\u00e9`."""

    def replace(match: re.Match[str]) -> str:
        escape = match.group(1)
        if len(escape) > 1:
            code = int(escape[1:], 16)
            if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                raise EscapeError(f"\\{escape} is not a character", match)
            return chr(code)
        if escape not in _ESCAPES:
            raise EscapeError(f"unknown escape \\{escape}", match)
        return _ESCAPES[escape]

    return _ESCAPE.sub(replace, text)
