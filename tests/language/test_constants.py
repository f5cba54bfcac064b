"""Constants: how they are written, and which texts are the same one."""

from decimal import Decimal

import pytest

from corollary.language import parse, parse_program
from corollary.program import Constant, FunctionTerm, Iri, ListTerm, Literal, Structure, Value, Variable, datatype_of
from corollary.program.values import RDF, XSD
from tests.language.helpers import codes, same, term, value


def typed(lexical: str, datatype: str) -> Literal:
    return Literal(lexical, XSD + datatype)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 5),
        ("-5", -5),
        ("0", 0),
        ("007", 7),
        ("12345678901234567890", 12345678901234567890),
        ("2.50", Decimal("2.5")),
        ("-0.1", Decimal("-0.1")),
        ("2.0", 2),
        ("1e3", 1000.0),
        ("2.5E-1", 0.25),
        ("1e0", 1.0),
        ("true", True),
        ("false", False),
        ("abc", "abc"),
        ("aBC_1", "aBC_1"),
        ('"two words"', "two words"),
        ("'two words'", "two words"),
        ('""', ""),
        ("größe", "größe"),
    ],
)
def test_a_constant_has_the_value_and_the_type_that_its_text_says(text: str, expected: Value) -> None:
    found = value(text)
    assert (type(found), found) == (type(expected), expected)


def test_a_lower_case_word_and_both_kinds_of_quotes_are_one_constant() -> None:
    assert same("p(abc).", 'p("abc").')
    assert same("p(abc).", "p('abc').")
    assert same("h :- p(abc).", "h :- p('abc').")


@pytest.mark.parametrize(("one", "other"), [("1", "1.0"), ("1", "1.00"), ("2.5", "2.50"), ("-0", "0"), ("1", "01")])
def test_integers_and_decimals_of_one_value_are_one_constant(one: str, other: str) -> None:
    assert term(one) == term(other)


def test_numbers_doubles_booleans_strings_and_iris_are_different_constants() -> None:
    assert len({term(text) for text in ("1", "1e0", "true", '"1"', "<1>", '"1"@en', '"1"^^<t>')}) == 7


def test_true_and_false_are_booleans_in_small_letters_only() -> None:
    assert value("true") is True
    assert value('"true"') == "true"
    assert term("True") == Variable("True")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'"a\nb"', "a\nb"),
        (r'"\t\r\b\f"', "\t\r\b\f"),
        (r'"say \"hi\""', 'say "hi"'),
        (r"'it\'s'", "it's"),
        (r'"back\\slash"', "back\\slash"),
        (r'"\u00e9"', "é"),
        (r'"\U0001F600"', "😀"),
        ('"it\'s"', "it's"),
        ("'say \"hi\"'", 'say "hi"'),
        ('"tab\there"', "tab\there"),
    ],
)
def test_escapes_in_strings_stand_for_their_characters(text: str, expected: str) -> None:
    assert value(text) == expected


@pytest.mark.parametrize("text", [r'"\q"', r'"\u12"', r'"\ud800"', r'"\U00110000"', r"<a\nb>", r"<a\u12>"])
def test_an_unknown_escape_is_an_error_at_the_escape(text: str) -> None:
    (found,) = parse(f"p({text}).").diagnostics
    assert found.code == "E106"
    assert found.span is not None
    assert found.span.text.startswith("\\")


def test_iris_know_unicode_escapes() -> None:
    assert value(r"<http://a/\u00e9\U0001F600>") == Iri("http://a/é😀")


def test_prefixed_names_are_the_iris_that_they_stand_for() -> None:
    text = "@prefix ex: <http://e/> . @prefix : <http://d/> . p({}). h :- p({})."
    for name, iri in [
        ("ex:a", "http://e/a"),
        (":a", "http://d/a"),
        ("ex:a-b.c", "http://e/a-b.c"),
        ("ex:1", "http://e/1"),
    ]:
        program = parse_program(text.format(name, name))
        assert program.facts[0].rows == [(Iri(iri),)]
        assert program.rules[0].body[0].arguments == (Constant(Iri(iri)),)  # type: ignore[union-attr]


def test_four_prefixes_are_known_from_the_start() -> None:
    assert value("xsd:integer") == Iri(XSD + "integer")
    assert value("rdf:type") == Iri(RDF + "type")
    assert value("rdfs:label") == Iri("http://www.w3.org/2000/01/rdf-schema#label")
    assert value("owl:Thing") == Iri("http://www.w3.org/2002/07/owl#Thing")


def test_a_full_stop_behind_a_prefixed_name_ends_the_clause() -> None:
    assert same("@prefix e: <http://e/> . p(X) :- X = e:a.", "@prefix e: <http://e/> . p(X) :- X = <http://e/a> .")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"7"^^xsd:integer', 7),
        ('"+7"^^xsd:int', 7),
        ('"7"^^<http://www.w3.org/2001/XMLSchema#integer>', 7),
        ('"1.50"^^xsd:decimal', Decimal("1.5")),
        ('"1.0"^^xsd:decimal', 1),
        ('"1"^^xsd:double', 1.0),
        ('"INF"^^xsd:double', float("inf")),
        ('"1"^^xsd:boolean', True),
        ('"false"^^xsd:boolean', False),
        ('"x"^^xsd:string', "x"),
        ('"2026-01-31"^^xsd:date', typed("2026-01-31", "date")),
        ('"2026-01-31T12:00:00Z"^^xsd:dateTime', typed("2026-01-31T12:00:00Z", "dateTime")),
        ('"P1D"^^xsd:duration', typed("P1D", "dayTimeDuration")),
        ('"5"^^<http://e/metre>', Literal("5", "http://e/metre")),
    ],
)
def test_a_typed_literal_is_the_constant_of_its_datatype(text: str, expected: Value) -> None:
    found = value(text)
    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(
    "text",
    [
        '"abc"^^xsd:integer',
        '"1.5"^^xsd:integer',
        '"128"^^xsd:byte',
        '"-1"^^xsd:nonNegativeInteger',
        '"maybe"^^xsd:boolean',
        '"2026-02-30"^^xsd:date',
        '"2026-13-01"^^xsd:date',
        '"25:00"^^xsd:time',
        '"1,5"^^xsd:decimal',
        '"one"^^xsd:double',
    ],
)
def test_a_lexical_form_that_the_datatype_does_not_allow_is_an_error(text: str) -> None:
    assert codes(f"p({text}).") == ["E112"]
    assert codes(f"h :- p({text}).") == ["E112"]


def test_a_language_tag_makes_another_constant_and_its_case_does_not_matter() -> None:
    assert value('"chat"@fr') == Literal("chat", RDF + "langString", "fr")
    assert term('"chat"@fr') != term('"chat"@en')
    assert term('"chat"@en-GB') == term('"chat"@EN-gb')
    assert term('"chat"@fr') != term('"chat"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_date(2026, 1, 31)", '"2026-01-31"^^xsd:date'),
        ("_DATE(2026, 1, 31)", '"2026-01-31"^^xsd:date'),
        ("_time(9, 5, 0)", '"09:05:00"^^xsd:time'),
        ("_datetime(2026, 1, 31, 12, 30, 0)", '"2026-01-31T12:30:00"^^xsd:dateTime'),
        ("_datetime(2026, 1, 31, 12, 30, 0, 1, 0)", '"2026-01-31T12:30:00+01:00"^^xsd:dateTime'),
        ("_duration(1, 2, 3, 4, 5, 6)", '"P1Y2M3DT4H5M6S"^^xsd:duration'),
        ("_yearmonthduration(1, 2)", '"P1Y2M"^^xsd:yearMonthDuration'),
        ("_gyear(2026)", '"2026"^^xsd:gYear'),
        ("_gmonthday(1, 31)", '"--01-31"^^xsd:gMonthDay'),
        ('_string("a b")', '"a b"'),
        ('_integer("7")', "7"),
        ("_decimal(1.50)", "1.5"),
        ('_double("1")', "1e0"),
        ("_boolean(true)", "true"),
        ('_iri("http://a/b")', "<http://a/b>"),
        ("_'http://a/b'", "<http://a/b>"),
        ('_hexbinary("0fb7")', '"0fb7"^^xsd:hexBinary'),
        ("_date(-44, 3, 15)", '"-0044-03-15"^^xsd:date'),
        ("_gyear(-44)", '"-0044"^^xsd:gYear'),
        ("_date(1982, 12, 31, -1, -30)", '"1982-12-31-01:30"^^xsd:date'),
        ("_date(1982, 12, 31, 0, -30)", '"1982-12-31-00:30"^^xsd:date'),
        ("_datetime(1982, 1, 1, 23, 0, 0, 250)", '"1982-01-01T23:00:00.25"^^xsd:dateTime'),
    ],
)
def test_a_typed_term_of_iris_is_the_constant_that_it_describes(text: str, expected: str) -> None:
    assert term(text) == term(expected)


@pytest.mark.parametrize(
    "text",
    [
        *("_date(2026, 2, 30)", "_date(2026, 1)", "_dat(2026, 1, 1)", "_date(a, b, c)", "_date(X, 1, 1)"),
        *("_datetime(1982, 1, 1, 23, 0, 0, -1)", "_datetime(1982, 1, 1, 23, 0, 0, 1000)", "_time(1, 2, -0.5)"),
        *(
            "_date(1982, 12, 31, 1, -1)",
            "_date(1982, 12, 31, -1, 1)",
            "_date(1982, 12, 31, 1.5, 0)",
            "_date(1982, -1, 1)",
        ),
        *("_time(-1, 0, 0)", "_time(1, -1, 0)", "_duration(1, 0, 0, 0, 0, -1)", "_duration(1, 0, 0, 0, 0, 0, -1)"),
        *(
            "_daytimeduration(1, -1, 0, 0)",
            "_yearmonthduration(1, -1)",
            "_gday(-1)",
            "_gmonth(-1)",
            "_gmonthday(1, -1)",
        ),
        *(
            "_iri('http://e.org/a b')",
            "_'http://e.org/a b'",
            '"a{b"^^rif:iri',
            "_iri('<a>')",
            "_iri('a\\\\b')",
            "_iri('a|b')",
        ),
    ],
)
def test_a_typed_term_with_wrong_arguments_is_an_error(text: str) -> None:
    assert codes(f"h :- p({text}).") == ["E112"]


def test_function_terms_and_lists_are_terms() -> None:
    assert term("f(a, X)") == FunctionTerm("f", (Constant("a"), Variable("X")))
    assert term("[a, X]") == ListTerm((Constant("a"), Variable("X")))
    assert term("[a, b | T]") == ListTerm((Constant("a"), Constant("b")), Variable("T"))
    assert term("[]") == ListTerm(())
    assert term("f()") == FunctionTerm("f", ())


def test_ground_function_terms_and_lists_are_values_of_facts() -> None:
    (facts,) = parse_program("p(f(1, [a, 2.0]), [], [x | [y]]).").facts
    assert facts.rows == [(Structure("f", (1, ("a", 2))), (), ("x", "y"))]


def test_arithmetic_in_a_fact_is_computed_at_once() -> None:
    assert same("p(2 * 3 - 1, -(4), 1 / 4, abs(-3)).", "p(5, -4, 0.25, 3).")
    assert codes("p(1 / 0).") == ["E119"]
    assert codes('p(1 + "a").') == ["E119"]


def test_arithmetic_in_a_rule_is_left_as_it_is() -> None:
    assert not same("h :- p(2 * 3).", "h :- p(6).")


def test_every_constant_has_a_datatype() -> None:
    for text, datatype in [
        ("1", "integer"),
        ("1.5", "decimal"),
        ("1e0", "double"),
        ("true", "boolean"),
        ("a", "string"),
    ]:
        assert datatype_of(value(text)) == XSD + datatype
    assert datatype_of(value('"a"@en')) == RDF + "langString"


@pytest.mark.parametrize("text", ["3com", "1_000", "1.5x", "1e", "0x1F"])
def test_a_number_that_runs_into_letters_is_an_error(text: str) -> None:
    assert codes(f"p({text}).") == ["E101"]
