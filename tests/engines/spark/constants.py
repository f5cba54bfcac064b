"""Constants of every kind, for tests of ids: those at the borders of what an id can hold, and random ones."""

from __future__ import annotations

import math
from decimal import Decimal

from hypothesis import strategies as st

from corollary.program import Iri, Literal, Structure, Value, canonical
from corollary.program.values import RDF, XSD

BORDERS: tuple[Value, ...] = (
    *(0, 1, -1, 2**61 - 1, 2**61, -(2**61), -(2**61) - 1, 2**63 - 1, -(2**63), 2**63, -(2**70), 10**4500),
    *(
        Decimal("0.5"),
        Decimal("-0.001"),
        Decimal(2**55 - 1).scaleb(-1),
        Decimal(2**55).scaleb(-2),
        -Decimal(2**55).scaleb(-1),
    ),
    *(Decimal(1).scaleb(-63), Decimal(1).scaleb(-64), Decimal("123456789012345678901234567890.5")),
    *(0.0, -0.0, 1.0, 1.5, 5e-324, 1e16, 1e-5, math.inf, -math.inf, math.nan, True, False),
    *("", "a", "A", "true", "1", "a b", "é", 'q"\\\n\t\x01', "\0", "日本 🎉", "x" * 40, "@", "NaN"),
    *(
        Iri(""),
        Iri("a"),
        Iri("http://example.org/x"),
        Iri(RDF + "type"),
        Iri(RDF + "a/b"),
        Iri("a b"),
        Iri("=,"),
        Iri("_:b"),
    ),
    *(
        Literal("2026-01-01", XSD + "date"),
        Literal("chat", RDF + "langString", "fr"),
        Literal("a@b", RDF + "langString"),
    ),
    *(Literal("x", "iri"), Literal("x", "term"), Literal("1", XSD + "integer"), Literal("1", XSD + "double")),
    *(Literal("x", "http://example.org/t", "en"), Literal("x", "<a>"), Literal("@", "http://example.org/t")),
    *((), (1,), ((1, "a"), 2.5), Structure("f", ()), Structure("f", (1, Structure("g", (Iri("a"), Decimal("0.5")))))),
)

_texts = st.text(max_size=12).filter(lambda text: "\0" not in text)
simple = st.one_of(
    st.integers(-5, 5),
    st.integers(),
    st.integers(-(2**63), 2**63 - 1),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**20), max_value=10**20).map(canonical),
    st.floats(),
    st.booleans(),
    st.text(max_size=40),
    st.builds(Iri, st.text(max_size=12)),
    st.builds(Iri, _texts.map(lambda text: RDF + text)),
    st.builds(Literal, st.text(max_size=8), _texts),
    st.builds(Literal, st.text(max_size=8), st.just(RDF + "langString"), st.sampled_from([None, "en", "de-at"])),
)
constants = st.one_of(
    st.sampled_from(BORDERS),
    simple,
    st.builds(Structure, st.sampled_from("fg"), st.tuples(simple)),
    st.tuples(simple, simple),
)
