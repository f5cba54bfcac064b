"""Columns of constants as programs write them: what `print_value` gives, for a whole column at a time.

Only texts with control characters and other rarities go through `print_value` one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.embedded.values.constants import text_buffers
from corollary.language import print_value
from corollary.language.literals import STANDARD_PREFIXES
from corollary.program import Iri, Literal

RESERVED_WORDS = ("true", "false", "not", "naf", "and", "div", "mod", "as", "on", "with", "distinct")
_WORDS = pa.array(RESERVED_WORDS)
_SYMBOL = r"^[a-z][A-Za-z0-9_]*\z"
_LOCAL = r"([A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)"
_ODD_IN_IRI = r'[\x00-\x20<>"{}|^`\\]|^=?,|^\z'
_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"))


def strings_in_programs(texts: pa.Array) -> pa.Array:
    bare = pc.and_not(
        pc.match_substring_regex(texts, _SYMBOL), pc.is_in(pc.ascii_lower(texts), value_set=_WORDS.cast(texts.type))
    )
    return pc.if_else(bare, texts, quoted(texts))


def quoted(texts: pa.Array) -> pa.Array:
    """Texts between quotes, with escapes where they are needed, which is seldom."""
    whole = _joined('"', texts, '"')
    plain = _is_plain(texts)
    if plain.all():
        return whole
    odd = pa.array(~plain)
    return pc.replace_with_mask(whole, odd, _escaped(texts.filter(odd)))


def _is_plain(texts: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which texts are printable ASCII without a quote or a backslash."""
    data, offsets = text_buffers(texts)
    printable = pc.ascii_is_printable(texts)
    plain: np.ndarray[Any, np.dtype[np.bool_]] = printable.to_numpy(zero_copy_only=False).astype(np.bool_)
    start = int(offsets[0])
    inside = data[start : int(offsets[-1])]
    signs = np.flatnonzero((inside == ord('"')) | (inside == ord("\\"))) + start
    plain[np.searchsorted(offsets, signs, "right") - 1] = False
    return plain


def _escaped(texts: pa.Array) -> pa.Array:
    escaped = texts
    for character, escape in _ESCAPES:
        escaped = pc.replace_substring(escaped, character, escape)
    plain = pc.utf8_is_printable(escaped)
    whole = _joined('"', escaped, '"')
    # A datatype makes `print_value` write quotes around every text.
    return _rest_by_hand(whole, plain, texts, lambda text: print_value(Literal(text, "t")).removesuffix("^^<t>"))


def iris_in_programs(texts: pa.Array) -> pa.Array:
    plain = pc.invert(pc.match_substring_regex(texts, _ODD_IN_IRI))
    written = _joined("<", texts, ">")
    for prefix, namespace in STANDARD_PREFIXES.items():
        if pc.any(pc.starts_with(texts, namespace)).as_py():
            pattern = f"^<{re.escape(namespace)}{_LOCAL}>\\z"
            written = pc.replace_substring_regex(written, pattern, f"{prefix}:\\1")
    return _rest_by_hand(written, plain, texts, lambda text: print_value(Iri(text)))


def doubles_in_programs(canonical: pa.Array) -> pa.Array:
    special = pc.match_substring_regex(canonical, "[IN]")
    pointed = pc.if_else(pc.match_substring(canonical, "e"), canonical, _joined("", canonical, "e0"))
    return pc.if_else(special, _joined('"', canonical, '"^^xsd:double'), pointed)


def literals_in_programs(lexical: pa.Array, datatypes: pa.Array, languages: pa.Array) -> pa.Array:
    encoded = datatypes.dictionary_encode()
    names = pa.array([print_value(Iri(name)) for name in encoded.dictionary.to_pylist()], lexical.type)
    typed = _joined("^^", names.take(encoded.indices), "")
    tagged = _joined("@", languages, "")
    ends = pc.if_else(pc.equal(languages, ""), typed, tagged)
    return pc.binary_join_element_wise(quoted(lexical), ends, "")


def _joined(before: str, texts: pa.Array, after: str) -> pa.Array:
    ends = (pa.scalar(before, texts.type), pa.scalar(after, texts.type))
    return pc.binary_join_element_wise(ends[0], texts, ends[1], pa.scalar("", texts.type))


def _rest_by_hand(written: pa.Array, plain: pa.Array, texts: pa.Array, write: Callable[[str], str]) -> pa.Array:
    """`written` where it is right; the others are few, and are written one by one."""
    odd = np.flatnonzero(~plain.to_numpy(zero_copy_only=False).astype(np.bool_))
    if not len(odd):
        return written
    by_hand = pa.array([write(text) for text in texts.take(pa.array(odd)).to_pylist()], texts.type)
    return pc.replace_with_mask(written, pc.invert(plain), by_hand)
