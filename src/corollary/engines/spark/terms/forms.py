"""The forms of a constant in the universe: common form, canonical form and datatype; from codes, and back to codes.

Canonical form and datatype together identify the constant: no two constants share both. The common form is for people.
Plain kinds are converted by columns; structures and lists, which are rare as constants, one by one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.encoder import encode_constants, text_buffers
from corollary.engines.embedded.values.tables import kinds_of
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.language import print_value
from corollary.language.literals import STANDARD_PREFIXES
from corollary.program import Iri, Literal, Structure, Value
from corollary.program.values import RDF, XSD

# -- common texts ------------------------------------------------------------------------------------------------------

# Columns of constants as programs write them: the text of `print_value`, for a whole column at a time.
#
# Only texts with control characters and other rarities go through `print_value` one by one.

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
    """Return texts between quotes, with escapes where needed, which is rare."""
    whole = _joined('"', texts, '"')
    plain = _is_plain(texts)
    if plain.all():
        return whole
    odd = pa.array(~plain)
    return pc.replace_with_mask(whole, odd, _escaped(texts.filter(odd)))


def _is_plain(texts: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which texts are printable ASCII without a quote or a backslash."""
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
    # With a datatype, `print_value` writes quotes around every text.
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
    """Return the column `written`, with the few texts that are not `plain` written one by one."""
    odd = np.flatnonzero(~plain.to_numpy(zero_copy_only=False).astype(np.bool_))
    if not len(odd):
        return written
    by_hand = pa.array([write(text) for text in texts.take(pa.array(odd)).to_pylist()], texts.type)
    return pc.replace_with_mask(written, pc.invert(plain), by_hand)


# -- forms -------------------------------------------------------------------------------------------------------------

STRING, DOUBLE, INTEGER = XSD + "string", XSD + "double", XSD + "integer"
DECIMAL, BOOLEAN = XSD + "decimal", XSD + "boolean"
IRI, TERM = "iri", "term"
TAGGED = RDF + "langString"
"""Datatypes with a meaning of their own; every other is that of a literal. The canonical form of a tagged text ends in `@tag`."""

_RESERVED = [STRING, DOUBLE, INTEGER, DECIMAL, BOOLEAN, IRI, TERM]
_PIECE = 1 << 20
_FORM_FIELDS = pa.schema([("common", pa.string()), ("canonical", pa.string()), ("datatype", pa.string())])


# -- from codes --------------------------------------------------------------------------------------------------------


def form_table(universe: Universe, codes: Codes) -> pa.Table:
    """Return the columns common, canonical and datatype of codes; none of them is opaque."""
    pieces = [_forms(universe, codes[start : start + _PIECE]) for start in range(0, len(codes), _PIECE)]
    return pa.Table.from_batches(pieces, _FORM_FIELDS)


def _forms(universe: Universe, codes: Codes) -> pa.RecordBatch:
    kinds = universe.kinds[codes]
    parts, places = [], []
    for kind in sorted(kinds_of(universe, codes)):
        chosen = np.flatnonzero(kinds == kind)
        columns = _FORMS[kind](universe, codes[chosen])
        parts.append(pa.Table.from_arrays([column.cast(pa.string()) for column in columns], schema=_FORM_FIELDS))
        places.append(chosen)
    table = pa.concat_tables(parts).combine_chunks()
    if len(parts) > 1:
        table = table.take(pa.array(np.argsort(np.concatenate(places), kind="stable"))).combine_chunks()
    return table.to_batches()[0]


def _texts(universe: Universe, codes: Codes) -> pa.Array:
    data, offsets = universe.text_column(codes)
    return pa.LargeStringArray.from_buffers(len(codes), pa.py_buffer(offsets), pa.py_buffer(data)).cast(pa.string())


def _all(datatype: str, like: pa.Array) -> pa.Array:
    return pa.repeat(pa.scalar(datatype), len(like))


def _integers(universe: Universe, codes: Codes) -> list[pa.Array]:
    texts = pc.cast(pa.array(universe.words[codes]), pa.string())
    return [texts, texts, _all(INTEGER, texts)]


def _booleans(universe: Universe, codes: Codes) -> list[pa.Array]:
    texts = pc.cast(pa.array(universe.words[codes].astype(np.bool_)), pa.string())
    return [texts, texts, _all(BOOLEAN, texts)]


def _doubles(universe: Universe, codes: Codes) -> list[pa.Array]:
    texts = pa.array(universe.words[codes].view(np.float64).astype(np.str_))  # the shortest text, as in Python
    texts = pc.replace_substring(pc.replace_substring(texts, "inf", "INF"), "nan", "NaN")
    return [doubles_in_programs(texts), texts, _all(DOUBLE, texts)]


def _strings(universe: Universe, codes: Codes) -> list[pa.Array]:
    texts = _texts(universe, codes)
    return [strings_in_programs(texts), texts, _all(STRING, texts)]


def _iris(universe: Universe, codes: Codes) -> list[pa.Array]:
    texts = _texts(universe, codes)
    return [iris_in_programs(texts), texts, _all(IRI, texts)]


def _decimals(universe: Universe, codes: Codes) -> list[pa.Array]:
    texts = _texts(universe, codes)
    return [texts, texts, _all(DECIMAL, texts)]


def _large_integers(universe: Universe, codes: Codes) -> list[pa.Array]:
    # Python refuses to print integers with many digits, but not decimals.
    texts = pa.array([format(Decimal(value), "f") for value in universe.values(codes.tolist())], pa.string())  # type: ignore[arg-type]
    return [texts, texts, _all(INTEGER, texts)]


def _literals(universe: Universe, codes: Codes) -> list[pa.Array]:
    parts = pc.split_pattern(_texts(universe, codes), "\0", max_splits=2)
    datatypes, languages, lexical = (pc.list_element(parts, place) for place in range(3))
    common = literals_in_programs(lexical, datatypes, languages)
    tagged = pc.equal(datatypes, TAGGED)
    odd = pc.or_(pc.is_in(datatypes, value_set=pa.array(_RESERVED)), pc.starts_with(datatypes, "<"))
    odd = pc.or_(odd, pc.and_not(pc.not_equal(languages, ""), tagged))
    bracketed = pc.binary_join_element_wise("<", datatypes, ">", languages, "")
    return [
        common,
        pc.if_else(tagged, pc.binary_join_element_wise(lexical, languages, "@"), lexical),
        pc.if_else(odd, bracketed, datatypes),
    ]


def _terms(universe: Universe, codes: Codes) -> list[pa.Array]:
    values = universe.values(codes.tolist())
    texts = pa.array(map(term_text, values), pa.string())
    return [pa.array(map(print_value, values), pa.string()), texts, _all(TERM, texts)]


_FORMS: dict[Kind, Callable[[Universe, Codes], list[pa.Array]]] = {
    Kind.INTEGER: _integers,
    Kind.DOUBLE: _doubles,
    Kind.BOOLEAN: _booleans,
    Kind.STRING: _strings,
    Kind.IRI: _iris,
    Kind.DECIMAL: _decimals,
    Kind.LARGE_INTEGER: _large_integers,
    Kind.LITERAL: _literals,
    Kind.TERM: _terms,
}


def term_text(value: Value) -> str:
    """Return the canonical form of a structure or list: the forms of its parts, as JSON."""
    return json.dumps(_nested(value), ensure_ascii=False, separators=(",", ":"))


def _nested(value: Value) -> Any:
    if isinstance(value, Structure):
        return {"name": value.name, "of": [_nested(item) for item in value.arguments]}
    if isinstance(value, tuple):
        return {"of": [_nested(item) for item in value]}
    universe = Universe()
    form = form_table(universe, encode_constants(universe, [value])).to_pylist()[0]
    return [form["canonical"], form["datatype"]]


# -- back to codes -----------------------------------------------------------------------------------------------------


def codes_of_forms(universe: Universe, canonical: pa.Array, datatype: pa.Array) -> Codes:
    """Return the codes of constants; new ones are added to the universe."""
    codes = np.empty(len(canonical), np.uint32)
    encoded = datatype.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    groups = np.array([_group(name) for name in names], np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
    if len(groups) and (groups == groups[0]).all():
        return _READERS[int(groups[0])](universe, canonical, datatype)
    for group in np.unique(groups).tolist():
        chosen = pa.array(np.flatnonzero(groups == group))
        codes[chosen.to_numpy()] = _READERS[group](universe, canonical.take(chosen), datatype.take(chosen))
    return codes


def _group(datatype: str) -> int:
    known = _RESERVED.index(datatype) if datatype in _RESERVED else None
    return known if known is not None else 7 if datatype == TAGGED else 8 if datatype.startswith("<") else 9


def _encode_texts(universe: Universe, kind: Kind, texts: pa.Array) -> Codes:
    return universe.encode_texts(kind, *text_buffers(texts))


def _read_integers(universe: Universe, texts: pa.Array, _: pa.Array) -> Codes:
    try:
        return universe.encode_integers(pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # beyond 63 bits
        return encode_constants(universe, [int(Decimal(text)) for text in texts.to_pylist()])


def _read_doubles(universe: Universe, texts: pa.Array, _: pa.Array) -> Codes:
    return universe.encode_doubles(pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False))


def _read_booleans(universe: Universe, texts: pa.Array, _: pa.Array) -> Codes:
    return universe.encode_booleans(pc.equal(texts, "true").to_numpy(zero_copy_only=False))


def _read_literals(universe: Universe, texts: pa.Array, datatypes: pa.Array) -> Codes:
    return _encode_texts(universe, Kind.LITERAL, pc.binary_join_element_wise(datatypes, "", texts, "\0"))


def _read_tagged(universe: Universe, texts: pa.Array, datatypes: pa.Array) -> Codes:
    parts = pc.extract_regex(texts, r"(?s)^(?P<lexical>.*)@(?P<language>[^@]*)\z")
    lexical, language = parts.field("lexical"), parts.field("language")
    return _encode_texts(universe, Kind.LITERAL, pc.binary_join_element_wise(datatypes, language, lexical, "\0"))


def _read_odd(universe: Universe, texts: pa.Array, datatypes: pa.Array) -> Codes:
    parts = pc.extract_regex(datatypes, r"(?s)^<(?P<name>.*)>(?P<language>[^>]*)\z")
    name, language = parts.field("name"), parts.field("language")
    return _encode_texts(universe, Kind.LITERAL, pc.binary_join_element_wise(name, language, texts, "\0"))


def _read_terms(universe: Universe, texts: pa.Array, _: pa.Array) -> Codes:
    return np.array([universe.encode(_unnested(json.loads(text))) for text in texts.to_pylist()], np.uint32)


def _unnested(part: Any) -> Value:
    if isinstance(part, dict):
        items = tuple(_unnested(item) for item in part["of"])
        return Structure(part["name"], items) if "name" in part else items
    return value_of_form(part[0], part[1])


def value_of_form(canonical: str, datatype: str) -> Value:
    """Return the constant of one row of the universe.

    >>> value_of_form("chat@fr", TAGGED)
    Literal(lexical='chat', datatype='http://www.w3.org/1999/02/22-rdf-syntax-ns#langString', language='fr')
    """
    universe = Universe()
    forms = pa.array([canonical], pa.string()), pa.array([datatype], pa.string())
    return universe.value(int(codes_of_forms(universe, *forms)[0]))


_READERS: list[Callable[[Universe, pa.Array, pa.Array], Codes]] = [
    lambda universe, texts, _: _encode_texts(universe, Kind.STRING, texts),
    _read_doubles,
    _read_integers,
    lambda universe, texts, _: _encode_texts(universe, Kind.DECIMAL, texts),
    _read_booleans,
    lambda universe, texts, _: _encode_texts(universe, Kind.IRI, texts),
    _read_terms,
    _read_tagged,
    _read_odd,
    _read_literals,
]
