"""Lexical forms, canonical forms, equality and order of the datatypes."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.language import parse_program
from corollary.program import Constant, Iri, Literal, Value, compare, equal
from corollary.program.datatypes import DATATYPES, RIF, LiteralError, is_value_of, typed_value
from corollary.program.datatypes.calendar import date_of, days_of
from corollary.program.values import RDF, XSD
from tests.budgets import examples
from tests.builtins.values import typed


def lexical_of(value: Value, datatype: str) -> str:
    return value.lexical if isinstance(value, Literal) else str(value)


@pytest.mark.parametrize(
    ("lexical", "name", "canonical"),
    [
        ("2026-01-31T24:00:00", "dateTime", "2026-02-01T00:00:00"),
        ("2026-01-31T12:00:00.500+00:00", "dateTime", "2026-01-31T12:00:00.5Z"),
        ("2026-01-31T12:00:00-00:00", "dateTime", "2026-01-31T12:00:00Z"),
        ("-0045-03-15", "date", "-0045-03-15"),
        ("12026-01-01+14:00", "date", "12026-01-01+14:00"),
        ("24:00:00", "time", "00:00:00"),
        (" 2026 ", "gYear", "2026"),
        ("2026-02Z", "gYearMonth", "2026-02Z"),
        ("--02-29", "gMonthDay", "--02-29"),
        ("---31", "gDay", "---31"),
        ("--12", "gMonth", "--12"),
        ("P13M", "duration", "P1Y1M"),
        ("P400DT25H", "dayTimeDuration", "P401DT1H"),
        ("-PT90M", "duration", "-PT1H30M"),
        ("PT0.50S", "duration", "PT0.5S"),
        ("P0Y", "duration", "PT0S"),
        ("P1Y2M3DT4H5M6.70S", "duration", "P1Y2M3DT4H5M6.7S"),
        ("1e40", "float", "INF"),
        ("16777217", "float", "1.6777216E7"),
        ("0.10", "float", "1.0E-1"),
        ("aF", "hexBinary", "AF"),
        ("Y Q = =", "base64Binary", "YQ=="),
        (" http://e.org/ ", "anyURI", "http://e.org/"),
    ],
)
def test_a_literal_has_one_canonical_form(lexical: str, name: str, canonical: str) -> None:
    found = typed(lexical, name)
    assert isinstance(found, Literal)
    assert found.lexical == canonical
    assert typed_value(found.lexical, found.datatype) == found


@pytest.mark.parametrize(
    ("lexical", "name"),
    [
        *(("2026-02-29", "date"), ("2026-1-01", "date"), ("226-01-01", "date"), ("2026-01-01+15:00", "date")),
        *(
            ("2026-01-01T25:00:00", "dateTime"),
            ("2026-01-01T24:00:01", "dateTime"),
            ("2026-01-01T12:00:00", "dateTimeStamp"),
        ),
        *(("--02-30", "gMonthDay"), ("--13", "gMonth"), ("---32", "gDay"), ("12:60:00", "time")),
        *(
            ("P", "duration"),
            ("P1YT", "duration"),
            ("1Y", "duration"),
            ("P1Y", "dayTimeDuration"),
            ("P1D", "yearMonthDuration"),
        ),
        *(("abc", "hexBinary"), ("YR==", "base64Binary"), ("a b", "NCName"), ("a:b", "NCName"), ("", "NMTOKEN")),
        *(("300", "unsignedByte"), ("-0.5", "integer"), ("1 2", "decimal"), ("inf", "double"), ("yes", "boolean")),
        *(("abcdefghi", "language"), ("1x", "Name"), ("a:b:c", "QName")),
    ],
)
def test_what_a_datatype_does_not_allow_is_an_error(lexical: str, name: str) -> None:
    with pytest.raises(LiteralError):
        typed(lexical, name)


def test_texts_of_rdf_and_rif() -> None:
    assert typed_value("Haus@de-AT", RDF + "PlainLiteral") == Literal("Haus", RDF + "langString", "de-at")
    assert typed_value("a@b@", RDF + "PlainLiteral") == "a@b"
    assert typed_value("http://e.org/", RIF + "iri") == Iri("http://e.org/")
    assert typed_value("x", RIF + "local") == Literal("x", RIF + "local")
    assert typed_value('<b  x="1" a="2"/>', RDF + "XMLLiteral") == Literal('<b a="2" x="1"></b>', RDF + "XMLLiteral")
    for lexical, datatype in (("Haus", "PlainLiteral"), ("<b>", "XMLLiteral"), ("a@1 2", "PlainLiteral")):
        with pytest.raises(LiteralError):
            typed_value(lexical, RDF + datatype)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('_token(" a  b ")', '"a b"'),
        ('_date("2026-01-31")', "_date(2026, 1, 31)"),
        ('_plainliteral("Haus", "de")', '"Haus"@de'),
        ('_plainliteral("Haus@de")', '"Haus"@de'),
        ('_xmlliteral("<a/>")', '"<a></a>"^^rdf:XMLLiteral'),
        ('_byte("7")', "7"),
        ('_local("x")', '"x"^^rif:local'),
        ("_duration(0, 0, 0, 0, 0, 0, 500)", '"PT0.5S"^^xsd:duration'),
        ("_daytimeduration(1, 0, 0, 0)", '"P1D"^^xsd:duration'),
    ],
)
def test_every_datatype_has_a_typed_term(written: str, meant: str) -> None:
    one, other = (parse_program(f"p({text}).").facts[0].rows[0][0] for text in (written, meant))
    assert Constant(one) == Constant(other)


def test_derived_datatypes_share_their_constants_with_what_they_derive_from() -> None:
    same = [("P1Y", "duration", "P12M", "yearMonthDuration"), ("P1D", "duration", "PT24H", "dayTimeDuration")]
    same += [("a  b", "token", "a b", "string"), ("7", "byte", "7", "decimal"), ("a", "NCName", "a", "string")]
    same += [("2026-01-01T00:00:00Z", "dateTimeStamp", "2026-01-01T00:00:00+00:00", "dateTime")]
    for lexical, name, other, its in same:
        assert Constant(typed(lexical, name)) == Constant(typed(other, its))


def test_moments_are_equal_across_zones_and_stay_different_constants() -> None:
    one, other = typed("2026-01-01T12:00:00+01:00", "dateTime"), typed("2026-01-01T11:00:00Z", "dateTime")
    assert equal(one, other)
    assert Constant(one) != Constant(other)
    assert not equal(one, typed("2026-01-01", "date"))


@pytest.mark.parametrize(
    ("name", "ordered"),
    [
        (
            "dateTime",
            ["-0001-12-31T00:00:00", "0000-01-01T00:00:00", "2026-01-01T00:00:00+14:00", "2026-01-01T00:00:00"],
        ),
        ("date", ["2025-12-31", "2026-01-01+01:00", "2026-01-01", "12026-01-01"]),
        ("time", ["01:00:00", "01:00:00.001", "02:00:00+00:30", "23:59:59"]),
        ("gMonthDay", ["--01-31", "--02-29", "--03-01"]),
        ("yearMonthDuration", ["-P1Y", "P0M", "P1M", "P1Y"]),
        ("dayTimeDuration", ["-PT1S", "PT0S", "PT0.5S", "PT1M", "P1D"]),
    ],
)
def test_what_has_an_order_is_ordered(name: str, ordered: list[str]) -> None:
    for earlier, later in pairwise(ordered):
        if "P0M" not in (earlier, later):  # no time at all is a dayTimeDuration
            assert compare("<", typed(earlier, name), typed(later, name)), (earlier, later)
            assert not compare(">=", typed(earlier, name), typed(later, name))


def test_numbers_compare_by_value_across_all_numeric_types() -> None:
    assert equal(typed("1.5", "float"), Decimal("1.5"))
    assert equal(typed("1.5", "float"), 1.5)
    assert not equal(typed("0.1", "float"), 0.1)
    assert compare("<", 1, typed("1.5", "float"))


# -- generated ---------------------------------------------------------------------------------------------------------

zones = st.one_of(st.none(), st.integers(-14 * 60, 14 * 60))
dates = st.tuples(st.integers(-20_000, 20_000), st.integers(1, 12), st.integers(1, 28))
times = st.tuples(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.integers(0, 10**9))


def date_text(date: tuple[int, int, int]) -> str:
    return f"{'-' * (date[0] < 0)}{abs(date[0]):04}-{date[1]:02}-{date[2]:02}"


def time_text(time: tuple[int, int, int, int]) -> str:
    return f"{time[0]:02}:{time[1]:02}:{time[2]:02}.{time[3]}"


def zone_text(zone: int | None) -> str:
    return "" if zone is None else f"{'-' if zone < 0 else '+'}{abs(zone) // 60:02}:{abs(zone) % 60:02}"


lexical_forms = st.one_of(
    st.builds(lambda d, t, z: (date_text(d) + "T" + time_text(t) + zone_text(z), "dateTime"), dates, times, zones),
    st.builds(lambda d, z: (date_text(d) + zone_text(z), "date"), dates, zones),
    st.builds(lambda t, z: (time_text(t) + zone_text(z), "time"), times, zones),
    st.builds(
        lambda sign, one: (f"{sign}P{one[0]}Y{one[1]}M{one[2]}DT{one[3]}H{one[4]}M{one[5]}.{one[6]}S", "duration"),
        st.sampled_from(["", "-"]), st.tuples(*[st.integers(0, 10**6)] * 7),
    ),
    st.floats(width=32).map(lambda number: (str(number).replace("inf", "INF").replace("nan", "NaN"), "float")),
    st.binary(max_size=9).map(lambda data: (data.hex(), "hexBinary")),
    st.text("ab \t\n", max_size=6).map(lambda text: (text, "token")),
)  # fmt: skip


@settings(max_examples=examples(300), deadline=None)
@given(lexical_forms)
def test_a_canonical_form_means_the_value_that_it_is_the_form_of(form: tuple[str, str]) -> None:
    value = typed(*form)
    again = typed_value(lexical_of(value, form[1]), value.datatype if isinstance(value, Literal) else XSD + form[1])
    assert Constant(again) == Constant(value)
    assert is_value_of(value, XSD + form[1])


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(-(10**7), 10**7))
def test_days_are_numbered_one_after_the_other(number: int) -> None:
    assert days_of(*date_of(number)) == number
    assert date_of(number) < date_of(number + 1)


@settings(max_examples=examples(100), deadline=None)
@given(st.floats(width=32, allow_nan=False))
def test_the_canonical_form_of_a_float_is_exact(number: float) -> None:
    literal = typed(repr(number).replace("inf", "INF"), "float")
    assert isinstance(literal, Literal)
    assert float(literal.lexical.replace("INF", "inf")) == pytest.approx(number, rel=1e-7) or number == 0
    assert equal(literal, number)


def test_every_datatype_of_the_list_has_guards_and_a_cast() -> None:
    assert {XSD + "dateTimeStamp", XSD + "NMTOKEN", RDF + "XMLLiteral"} <= set(DATATYPES)
    assert len(DATATYPES) == len(set(DATATYPES)) == 46
