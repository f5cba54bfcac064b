"""The examples of the declarations are what the built-ins give, and every built-in has one."""

from __future__ import annotations

import pytest

from corollary.language import parse_program
from corollary.program import Comparison, Constant, EvaluationError, evaluate_term
from corollary.program.builtins import BUILTINS, Builtin, find_builtin, find_condition, spellings


def value_of(text: str) -> Constant | None:
    (query,) = parse_program(f"?- X = {text}.").queries
    (equality,) = query.body
    assert isinstance(equality, Comparison)
    try:
        return Constant(evaluate_term(equality.right, {}))
    except EvaluationError:
        return None


@pytest.mark.parametrize("builtin", BUILTINS.values(), ids=lambda builtin: builtin.shown)
def test_the_examples_of_a_declaration_hold(builtin: Builtin) -> None:
    assert builtin.examples, "a declaration has examples"
    for call, expected in builtin.examples:
        assert value_of(call) == (None if expected is None else value_of(expected)), call


def test_every_spelling_means_its_built_in() -> None:
    for builtin in BUILTINS.values():
        assert all(find_builtin(name) is builtin for name in (builtin.name, *spellings(builtin)))


def test_words_are_predicates_in_a_body_and_full_names_are_built_ins() -> None:
    assert find_condition("substring_before") is find_condition("contains") is find_condition("abs") is None
    assert find_condition("STRING_CONTAINS") is find_builtin("STRING_CONTAINS") is not None


@pytest.mark.parametrize(
    "name",
    [
        *("is-literal-integer", "is-literal-not-token", "is-literal-XMLLiteral", "literal-not-identical", "iri-string"),
        *("numeric-less-than-or-equal", "boolean-greater-than", "contains", "matches", "date-not-equal"),
        *("yearMonthDuration-less-than", "duration-equal", "matches-language-range", "XMLLiteral-equal"),
        *("is-list", "list-contains"),
    ],
)
def test_the_predicates_of_rif_are_there(name: str) -> None:
    assert find_condition(f"http://www.w3.org/2007/rif-builtin-predicate#{name}") is not None


@pytest.mark.parametrize(
    "name",
    [
        *("numeric-integer-divide", "numeric-mod", "not", "compare", "concat", "string-join", "substring", "replace"),
        *("string-length", "upper-case", "encode-for-uri", "escape-html-uri", "substring-after", "tokenless"),
        *("seconds-from-time", "years-from-duration", "timezone-from-date", "subtract-times"),
        *("divide-dayTimeDuration-by-dayTimeDuration", "subtract-dayTimeDuration-from-time"),
        *("PlainLiteral-from-string-lang", "lang-from-PlainLiteral", "PlainLiteral-length"),
        *("make-list", "count", "get", "sublist", "append", "concatenate", "insert-before", "remove", "reverse"),
        *("index-of", "union", "distinct-values", "intersect", "except"),
    ],
)
def test_the_functions_of_rif_are_there(name: str) -> None:
    found = find_builtin(f"http://www.w3.org/2007/rif-builtin-function#{name}")
    assert (found is None) == (name == "tokenless")


@pytest.mark.parametrize(
    "name",
    [
        *(f"{part}_PART" for part in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TIMEZONE")),
        *("IS_DATATYPE", "IS_NOT_DATATYPE", "IS_SQNAME", "TO_BASE64", "TO_TEXT", "TEXT_FROM_STRING"),
        *("STRING_CONTAINS3", "STRING_STARTS_WITH3", "STRING_ENDS_WITH3"),
        *("STRING_SUBSTRING_BEFORE3", "STRING_SUBSTRING_AFTER3"),
    ],
)
def test_the_names_of_iris_are_there(name: str) -> None:
    assert find_condition(name) is not None
