"""Every built-in that RIF-DTB defines and every one that IRIS registers has its name here."""

from __future__ import annotations

import pytest

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.program.builtins import find_builtin, find_condition
from corollary.program.builtins.declaration import FUNC, PRED
from corollary.program.values import RDF, XSD


def _words(text: str) -> list[str]:
    return text.split()


_DATATYPES = [
    "anyURI",
    "base64Binary",
    "boolean",
    "date",
    "dateTime",
    "dateTimeStamp",
    "double",
    "float",
    "hexBinary",
    "decimal",
    "integer",
    "long",
    "int",
    "short",
    "byte",
    "nonNegativeInteger",
    "positiveInteger",
    "unsignedLong",
    "unsignedInt",
    "unsignedShort",
    "unsignedByte",
    "nonPositiveInteger",
    "negativeInteger",
    "string",
    "normalizedString",
    "token",
    "language",
    "Name",
    "NCName",
    "NMTOKEN",
    "time",
    "dayTimeDuration",
    "yearMonthDuration",
    "PlainLiteral",
    "XMLLiteral",
]
_ORDERS = ("equal", "not-equal", "less-than", "greater-than", "less-than-or-equal", "greater-than-or-equal")
_RIF_PREDICATES = [
    *[
        "literal-not-identical",
        "iri-string",
        "contains",
        "starts-with",
        "ends-with",
        "matches",
        "matches-language-range",
    ],
    *["is-list", "list-contains", "XMLLiteral-equal", "XMLLiteral-not-equal", "duration-equal", "duration-not-equal"],
    *(f"is-literal-{name}" for name in _DATATYPES),
    *(f"is-literal-not-{name}" for name in _DATATYPES),
    *(f"{kind}-{order}" for kind in ("numeric", "dateTime", "date", "time") for order in _ORDERS),
    *(f"{kind}-{order}" for kind in ("yearMonthDuration", "dayTimeDuration") for order in _ORDERS[2:]),
    *(f"boolean-{order}" for order in ("equal", "less-than", "greater-than")),
]
_RIF_FUNCTIONS = [
    "numeric-add",
    "numeric-subtract",
    "numeric-multiply",
    "numeric-divide",
    "numeric-integer-divide",
    "numeric-mod",
    "not",
    "compare",
    "concat",
    "string-join",
    "substring",
    "string-length",
    "upper-case",
    "lower-case",
    "encode-for-uri",
    "iri-to-uri",
    "escape-html-uri",
    "substring-before",
    "substring-after",
    "replace",
    "year-from-dateTime",
    "month-from-dateTime",
    "day-from-dateTime",
    "hours-from-dateTime",
    "minutes-from-dateTime",
    "seconds-from-dateTime",
    "year-from-date",
    "month-from-date",
    "day-from-date",
    "hours-from-time",
    "minutes-from-time",
    "seconds-from-time",
    "years-from-duration",
    "months-from-duration",
    "days-from-duration",
    "hours-from-duration",
    "minutes-from-duration",
    "seconds-from-duration",
    "timezone-from-dateTime",
    "timezone-from-date",
    "timezone-from-time",
    "subtract-dateTimes",
    "subtract-dates",
    "subtract-times",
    "add-yearMonthDurations",
    "subtract-yearMonthDurations",
    "multiply-yearMonthDuration",
    "divide-yearMonthDuration",
    "divide-yearMonthDuration-by-yearMonthDuration",
    "add-dayTimeDurations",
    "subtract-dayTimeDurations",
    "multiply-dayTimeDuration",
    "divide-dayTimeDuration",
    "divide-dayTimeDuration-by-dayTimeDuration",
    "add-yearMonthDuration-to-dateTime",
    "add-yearMonthDuration-to-date",
    "add-dayTimeDuration-to-dateTime",
    "add-dayTimeDuration-to-date",
    "add-dayTimeDuration-to-time",
    "subtract-yearMonthDuration-from-dateTime",
    "subtract-yearMonthDuration-from-date",
    "subtract-dayTimeDuration-from-dateTime",
    "subtract-dayTimeDuration-from-date",
    "subtract-dayTimeDuration-from-time",
    "PlainLiteral-from-string-lang",
    "string-from-PlainLiteral",
    "lang-from-PlainLiteral",
    "PlainLiteral-compare",
    "PlainLiteral-length",
    "make-list",
    "count",
    "get",
    "sublist",
    "append",
    "concatenate",
    "insert-before",
    "remove",
    "reverse",
    "index-of",
    "union",
    "distinct-values",
    "intersect",
    "except",
]
_ORDERS_OF_IRIS = ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
_EQUALITIES_OF_IRIS = ("EQUAL", "NOT_EQUAL")
_COMPARISONS = (*_ORDERS_OF_IRIS, *_EQUALITIES_OF_IRIS)
_DURATIONS = ("DAYTIMEDURATION", "YEARMONTHDURATION")
_NAMED_TYPES = [
    "ANYURI",
    "BASE64BINARY",
    "BOOLEAN",
    "BYTE",
    "DATE",
    "DATETIME",
    "DATETIMESTAMP",
    "DAYTIMEDURATION",
    "DECIMAL",
    "DOUBLE",
    "DURATION",
    "ENTITY",
    "FLOAT",
    "GDAY",
    "GMONTH",
    "GMONTHDAY",
    "GYEAR",
    "GYEARMONTH",
    "HEXBINARY",
    "ID",
    "IDREF",
    "INT",
    "INTEGER",
    "LANGUAGE",
    "LONG",
    "NAME",
    "NCNAME",
    "NEGATIVEINTEGER",
    "NMTOKEN",
    "NONNEGATIVEINTEGER",
    "NONPOSITIVEINTEGER",
    "NORMALIZEDSTRING",
    "NOTATION",
    "PLAINLITERAL",
    "POSITIVEINTEGER",
    "QNAME",
    "SHORT",
    "STRING",
    "TIME",
    "TOKEN",
    "UNSIGNEDBYTE",
    "UNSIGNEDINT",
    "UNSIGNEDLONG",
    "UNSIGNEDSHORT",
    "XMLLITERAL",
    "YEARMONTHDURATION",
]
_IRIS = [
    *_words("""
    TRUE FALSE ADD SUBTRACT MULTIPLY DIVIDE MODULUS MAX EXACT_EQUAL NOT_EXACT_EQUAL SAME_TYPE REGEX IRI_STRING
"""),
    *_ORDERS_OF_IRIS, *_EQUALITIES_OF_IRIS, "BOOLEAN_EQUAL", "BOOLEAN_LESS", "BOOLEAN_GREATER", "BOOLEAN_NOT",
    *(f"{kind}_{order}" for kind in ("NUMERIC", "DATE", "DATETIME", "TIME") for order in _COMPARISONS),
    *(f"{kind}_{order}" for kind in _DURATIONS for order in _ORDERS_OF_IRIS),
    *(f"NUMERIC_{word}" for word in ("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "INTEGER_DIVIDE", "MODULUS")),
    *(f"{kind}_SUBTRACT" for kind in ("DATE", "DATETIME", "TIME")), "DURATION_EQUAL", "DURATION_NOT_EQUAL",
    *(f"{kind}_{word}" for kind in _DURATIONS for word in ("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", f"DIVIDE_BY_{kind}")),
    *(f"{part}_PART" for part in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TIMEZONE")),
    *(f"{part}_FROM_{kind}" for part in ("YEAR", "MONTH", "DAY", "TIMEZONE") for kind in ("DATE", "DATETIME")),
    "TIMEZONE_FROM_TIME",
    *(f"{part}_FROM_{kind}" for part in ("HOURS", "MINUTES", "SECONDS") for kind in ("TIME", "DATETIME", "DURATION")),
    *(f"{part}_FROM_DURATION" for part in ("YEARS", "MONTHS", "DAYS")),
    *(f"ADD_DAYTIMEDURATION_TO_{kind}" for kind in ("DATE", "DATETIME", "TIME")),
    *(f"ADD_YEARMONTHDURATION_TO_{kind}" for kind in ("DATE", "DATETIME")),
    *(f"SUBTRACT_DAYTIMEDURATION_FROM_{kind}" for kind in ("DATE", "DATETIME", "TIME")),
    *(f"SUBTRACT_YEARMONTHDURATION_FROM_{kind}" for kind in ("DATE", "DATETIME")),
    *(f"IS_{kind}" for kind in (*_NAMED_TYPES, "DATATYPE", "IRI", "LIST", "NUMERIC", "SQNAME")),
    *(f"IS_NOT_{kind}" for kind in (*_NAMED_TYPES, "DATATYPE", "IRI", "LIST", "NUMERIC", "SQNAME")),
    *(f"TO_{kind}" for kind in (*_NAMED_TYPES, "BASE64", "IRI", "TEXT")),
    *_words("""
    STRING_COMPARE STRING_CONCAT STRING_JOIN STRING_LENGTH STRING_TO_LOWER STRING_TO_UPPER STRING_URI_ENCODE
"""),
    *_words("""
    STRING_IRI_TO_URI STRING_ESCAPE_HTML_URI STRING_CONTAINS STRING_STARTS_WITH STRING_ENDS_WITH STRING_MATCHES
"""),
    *_words("""
    STRING_REPLACE STRING_SUBSTRING STRING_SUBSTRING_BEFORE STRING_SUBSTRING_AFTER
"""),
    "ENCODE_FOR_URI", "MATCHES_LANGUAGE_RANGE",
    *(f"STRING_{word}{count}" for word in ("CONTAINS", "STARTS_WITH", "ENDS_WITH", "MATCHES") for count in (2, 3)),
    *(f"STRING_{word}{count}" for word in ("SUBSTRING", "SUBSTRING_BEFORE", "SUBSTRING_AFTER") for count in (2, 3)),
    "STRING_REPLACE3", "STRING_REPLACE4",
    *["TEXT_FROM_STRING_LANG", "TEXT_FROM_STRING", "STRING_FROM_TEXT", "LANG_FROM_TEXT", "TEXT_COMPARE", "TEXT_LENGTH"],
    *["XMLLITERAL_EQUAL", "XMLLITERAL_NOT_EQUAL"],
]  # fmt: skip


@pytest.mark.parametrize("name", [PRED + name for name in _RIF_PREDICATES] + [FUNC + name for name in _RIF_FUNCTIONS])
def test_every_built_in_of_rif_is_there(name: str) -> None:
    assert find_builtin(name) is not None
    assert find_condition(name) is not None


@pytest.mark.parametrize("name", _DATATYPES)
def test_every_datatype_of_rif_has_its_cast(name: str) -> None:
    assert find_builtin((RDF if name.endswith("Literal") else XSD) + name) is not None


@pytest.mark.parametrize("name", _IRIS)
def test_every_built_in_that_iris_registers_is_there(name: str) -> None:
    assert find_condition(name) is not None


@pytest.mark.parametrize(
    ("body", "holds"),
    [
        ("TRUE", True),
        ("TRUE()", True),
        ("FALSE", False),
        ("! FALSE", True),
        ("not TRUE", False),
        ("IS_NOT_NUMERIC('a')", True),
        ("IS_NOT_NUMERIC(1)", False),
        ("HOURS_FROM_TIME(_time(23, 5, 6), 23)", True),
        (
            "DATETIME_SUBTRACT(_datetime(2026, 1, 2, 0, 0, 0), _datetime(2026, 1, 1, 0, 0, 0), _daytimeduration(1, 0, 0, 0))",
            True,
        ),
        (
            "DAYTIMEDURATION_ADD(_daytimeduration(1, 0, 0, 0), _daytimeduration(0, 6, 0, 0), _daytimeduration(1, 6, 0, 0))",
            True,
        ),
        ("ENCODE_FOR_URI('a b', 'a%20b')", True),
        ("STRING_SUBSTRING2('foobar', 3, 'obar')", True),
        ("BOOLEAN_NOT(false)", True),
        ("BOOLEAN_NOT(true)", False),
        ("MAX(3, 5, 5)", True),
        ("MIN(3, 5, 5)", False),
    ],
)
def test_built_ins_of_iris_in_bodies_and_queries(body: str, holds: bool) -> None:
    kb = KnowledgeBase(f"e(1). p(X) :- e(X), {body}.")
    assert kb.count("p") == holds
    assert bool(kb.query(f"e(X), {body}")) is holds
    assert bool(KnowledgeBase(f"p :- {body}.").count("p")) is holds


def test_true_and_false_cannot_be_defined_and_other_spellings_are_names() -> None:
    for text in ("TRUE.", "FALSE :- e(1).", "TRUE() :- e(1)."):
        with pytest.raises(ProgramError, match="is a built-in"):
            KnowledgeBase(text)
    assert KnowledgeBase("True. p :- True.").count("p") == 1
