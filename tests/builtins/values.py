"""Constants of every kind, with those that are easily mistaken for each other."""

from __future__ import annotations

from decimal import Decimal

from corollary.program import Iri, Literal, Structure, Value
from corollary.program.datatypes import typed_value
from corollary.program.values import RDF, XSD


def typed(lexical: str, name: str) -> Value:
    return typed_value(lexical, XSD + name)


POOL: list[Value] = [
    *(0, 1, -1, 7, -7, 2**62, -(2**63), 2**63, 10**20),
    *(1.5, -2.5, 0.0, -0.0, float("inf"), float("nan"), 1e300, Decimal("1.5"), Decimal("-0.25"), True, False),
    *("", "abc", "ABC", "a-b-c", "straße", "12", "+5", "-", " 1 ", "1e3", "😀x", "http://a", Iri("http://a")),
    *(typed("2026-01-31", "date"), typed("2026-01-31T00:00:00Z", "dateTime"), typed("P1D", "duration")),
    *(typed("1.5", "float"), typed("P2M", "yearMonthDuration"), typed("12:00:00", "time"), typed("ff", "hexBinary")),
    *((1, 2), (), Structure("f", (1,)), Literal("chat", RDF + "langString", "fr")),
]
