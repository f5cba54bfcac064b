"""Datatypes whose values are texts, bytes or XML: their lexical forms and the meaning of these."""

from __future__ import annotations

import base64
import re

_START = (
    r":A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C\u200D\u2070-\u218F"
    r"\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
_NAME = rf"{_START}\-.0-9\u00B7\u0300-\u036F\u203F\u2040"
_NC_START, _NC_NAME = _START.removeprefix(":"), _NAME.replace(":", "", 1)
LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_NC = rf"[{_NC_START}][{_NC_NAME}]*"
# Stored as texts: few programs need them, and compiling each takes milliseconds (once, at first use).
_WORDS: dict[str, str] = {
    "language": LANGUAGE.pattern,
    "Name": rf"[{_START}][{_NAME}]*",
    "NMTOKEN": rf"[{_NAME}]+",
    "NCName": _NC,
    "ID": _NC,
    "IDREF": _NC,
    "ENTITY": _NC,
}
_QNAME = rf"(?:{_NC}:)?{_NC}"
_SPACE = re.compile(r"[ \t\n\r]+")
_BREAKS = re.compile(r"[\t\n\r]")
_BASE64 = re.compile(r"(?:(?:[A-Za-z0-9+/] ?){4})*(?:(?:[A-Za-z0-9+/] ?){2}= ?=|(?:[A-Za-z0-9+/] ?){3}=)?")

STRING_TYPES = ("string", "normalizedString", "token", *_WORDS)
"""Datatypes of strings: their values are strings like any other."""
OTHER_TEXTS = ("anyURI", "QName", "NOTATION", "hexBinary", "base64Binary")


def collapsed(lexical: str) -> str:
    """Return the text without surrounding white space, and with a single space for white space inside."""
    return _SPACE.sub(" ", lexical).strip(" ")


def parse_string(lexical: str, name: str) -> str | None:
    """Return the string for a lexical form of a string datatype; None if it is invalid."""
    if name == "string":
        return lexical
    if name == "normalizedString":
        return _BREAKS.sub(" ", lexical)
    text = collapsed(lexical)
    return text if name == "token" or re.fullmatch(_WORDS[name], text) else None


def is_string_of(text: str, name: str) -> bool:
    """Return whether a string is a value of a string datatype."""
    return parse_string(text, name) == text


def parse_text(lexical: str, name: str) -> str | None:
    """Return the canonical form of a value of `OTHER_TEXTS`."""
    text = collapsed(lexical)
    if name == "anyURI":
        return text
    if name == "hexBinary":
        return text.upper() if re.fullmatch(r"(?:[0-9A-Fa-f]{2})*", text) else None
    if name == "base64Binary":
        return _base64(text)
    return text if re.fullmatch(_QNAME, text) else None


def bytes_of(canonical: str, name: str) -> bytes:
    """Return the bytes of a canonical hexBinary or base64Binary."""
    return bytes.fromhex(canonical) if name == "hexBinary" else base64.b64decode(canonical)


def binary_text(data: bytes, name: str) -> str:
    return data.hex().upper() if name == "hexBinary" else base64.b64encode(data).decode()


def _base64(text: str) -> str | None:
    if not _BASE64.fullmatch(text):
        return None
    compact = text.replace(" ", "")
    canonical = base64.b64encode(base64.b64decode(compact)).decode()
    return canonical if canonical == compact else None  # the unused bits of the padding must be 0


def canonical_xml(lexical: str) -> str | None:
    """Return the canonical form of a piece of XML; None if it is not well-formed."""
    from xml.etree import ElementTree  # few programs need it

    try:
        whole = ElementTree.canonicalize(f"<x>{lexical}</x>", with_comments=True)
    except (ElementTree.ParseError, ValueError):
        return None
    return whole.removeprefix("<x>").removesuffix("</x>")


def plain_literal_parts(lexical: str) -> tuple[str, str] | None:
    """Return text and language tag of an rdf:PlainLiteral, `text@tag`; the tag may be empty, but the `@` is required."""
    text, sign, tag = lexical.rpartition("@")
    if not sign or (tag and not LANGUAGE.fullmatch(tag)):
        return None
    return text, tag.lower()
