"""Functions of the host program: by name in rules, of values or of whole columns, as functions and as aggregates."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corollary import KnowledgeBase, function
from corollary.diagnostics import ProgramError
from corollary.language import parse_program
from corollary.program.host_functions import HOST_FUNCTIONS, unregister
from tests.oracle import evaluate


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    for name in list(HOST_FUNCTIONS):
        unregister(name)


def facts(text: str, predicate: str = "p") -> set[Any]:
    """What the embedded engine derives, which is what the oracle derives."""
    kb = KnowledgeBase(text)
    expected = evaluate(parse_program(text))[predicate]
    assert {tuple(row) for row in kb.facts(predicate).constants()} == {
        tuple(one.value for one in row) for row in expected
    }
    return set(kb.facts(predicate))


def test_a_function_computes_the_values_of_an_expression() -> None:
    @function
    def fahrenheit(celsius: float) -> float:
        return celsius * 9 / 5 + 32

    assert facts("t(20). t(-40). p(X, fahrenheit(X)) :- t(X).") == {(20, 68.0), (-40, -40.0)}


def test_a_vectorised_function_takes_and_gives_arrays() -> None:
    lengths = []

    @function("predict", vectorised="numpy")
    def model(area: np.ndarray, rooms: np.ndarray) -> np.ndarray:
        lengths.append(len(area))
        return area * 1000 + rooms * 500.0

    text = "h(100, 4). h(80, 3). h(2.5, 1). p(A, P) :- h(A, R), BIND(predict(A, R) AS P)."
    assert set(KnowledgeBase(text).facts("p")) == {(100, 102000.0), (80, 81500.0), (Decimal("2.5"), 3000.0)}
    assert max(lengths) == 2, "rows of one kind come together"
    facts(text)


def test_arrow_gets_and_gives_texts_and_null_is_no_value() -> None:
    @function(vectorised="arrow")
    def short(texts: pa.Array) -> pa.Array:
        return pc.if_else(pc.less(pc.utf8_length(texts), 4), pc.utf8_upper(texts), None)

    assert facts("w(abc). w(longer). p(short(X)) :- w(X).") == {("ABC",)}
    assert facts("w(abc). w(longer). p(X) :- w(X), not short(X) = abc.") == {("abc",), ("longer",)}


def test_a_failure_discards_the_instance_or_stops() -> None:
    @function
    def inverse(number: int) -> float:
        return 1 / number

    @function(vectorised="numpy")
    def checked(numbers: np.ndarray) -> np.ndarray:
        if (numbers == 0).any():
            raise ValueError("a zero")
        return numbers

    text = "n(0). n(4). p(inverse(X)) :- n(X). q(checked(X)) :- n(X)."
    assert facts(text) == {(0.25,)}
    assert facts(text, "q") == {(4,)}
    with pytest.raises(ProgramError, match=r"inverse\(X\) has no value: inverse failed: ZeroDivisionError"):
        KnowledgeBase("n(0). p(inverse(X)) :- n(X).", on_error="stop").materialise()


def test_aggregates_of_the_host_program() -> None:
    @function(aggregate=True)
    def spread(values: list[float]) -> float:
        return max(values) - min(values)

    @function("P90", aggregate=True, vectorised="numpy")
    def percentile(values: np.ndarray) -> float:
        return float(np.percentile(values, 90))

    text = "s(a, 1). s(a, 4). s(b, 2.5). s(b, x)."
    assert facts(text + "p(K, spread(V)) :- s(K, V).") == {("a", 3)}
    rule = "p(K, P) :- AGGREGATE(s(K, V), V < 10) ON K WITH p90(V) AS P."
    assert facts(text + rule) == {("a", 3.7), ("b", 2.5)}
    kb = KnowledgeBase(text + rule)
    kb.materialise()
    kb.insert("s", [("a", 10)])
    kb.delete("s", [("a", 4)])
    assert set(kb.facts("p")) == {("a", 1.0), ("b", 2.5)}


def test_dates_are_those_of_python() -> None:
    @function
    def weekday(day: dt.date) -> str:
        return day.strftime("%A")

    assert facts('d("2026-01-31"^^xsd:date). p(weekday(X)) :- d(X).') == {("Saturday",)}


def test_rules_take_their_functions_along_to_other_processes() -> None:
    function("double_of", arity=1)(_twice)
    function("total", aggregate=True)(sum)
    sent = pickle.dumps(parse_program("p(double_of(X)) :- n(X). q(T) :- AGGREGATE(n(X)) WITH TOTAL(X) AS T. n(4)."))
    unregister("double_of")
    unregister("total")
    found = evaluate(pickle.loads(sent))
    assert {name: [tuple(one.value for one in row) for row in found[name]] for name in "pq"} == {
        "p": [(8,)],
        "q": [(4,)],
    }


def _twice(number: int) -> int:
    return number * 2


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("abs", {}, "'abs' is a built-in function"),
        ("count", {}, "'count' is an aggregate"),
        ("a b", {}, "'a b' is not the name of a function"),
        ("f", {"vectorised": "pandas"}, "functions cannot be vectorised over 'pandas'"),
    ],
)
def test_what_cannot_be_registered_is_an_error(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgramError, match=f"E481.*{message}"):
        KnowledgeBase.register(name, _twice, **options)


def test_a_name_is_given_once_unless_it_is_replaced() -> None:
    KnowledgeBase.register("f", _twice)
    with pytest.raises(ProgramError, match="a function 'f' exists already"):
        KnowledgeBase.register("f", abs, arity=1)
    KnowledgeBase.register("f", lambda number: number + 1, replace=True)
    assert facts("n(1). p(f(X)) :- n(X).") == {(2,)}


def test_an_array_of_another_length_is_an_error() -> None:
    @function(vectorised="numpy")
    def first(values: np.ndarray) -> np.ndarray:
        return values[:1]

    with pytest.raises(ProgramError, match="'first' gave 1 values for 2 rows"):
        KnowledgeBase("n(1). n(2). p(first(X)) :- n(X).").materialise()


def test_a_program_that_declares_a_function_needs_it() -> None:
    with pytest.raises(ProgramError, match="E482"):
        KnowledgeBase("@function score/2 . n(1). p(score(X, X)) :- n(X).")
    KnowledgeBase.register("score", lambda left, right: left + right)
    assert facts("@function score/2 . n(1). p(score(X, X)) :- n(X).") == {(2,)}
    with pytest.raises(ProgramError, match="E482"):
        KnowledgeBase("@function score/3 . n(1).")


def test_without_registration_a_name_is_a_symbol() -> None:
    kb = KnowledgeBase("n(1). p(score(X)) :- n(X).")
    assert [str(row) for row in kb.facts("p").constants()] == ["(Structure(name='score', arguments=(1,)),)"]


def test_a_function_that_stands_for_a_predicate_is_told_how_to_write_it() -> None:
    @function
    def heavy(weight: int) -> bool:
        return weight > 3

    (warning,) = KnowledgeBase("w(1). p(X) :- w(X), not heavy(X).").warnings
    assert warning.hint == "the function is written heavy(…) = true, or BIND(heavy(…) AS X), in a body"


def test_capital_and_small_letters_tell_functions_apart_but_not_aggregates() -> None:
    function("f")(lambda x: x + 1)
    function("F", replace=True)(lambda x: x + 2)
    assert facts("t(1). p(f(X), BIGGER) :- t(X), BIND(F(X) AS BIGGER).") == {(2, 3)}
    function("F", replace=True)(lambda x: x + 3)
    assert facts("t(1). p(f(X), BIGGER) :- t(X), BIND(F(X) AS BIGGER).") == {(2, 4)}
    with pytest.raises(ProgramError, match="a function 'F' exists already"):
        function("F", aggregate=True)(sum)
    function("F", aggregate=True, replace=True)(sum)
    assert set(HOST_FUNCTIONS) == {"f"}
    assert HOST_FUNCTIONS["f"].aggregate
    with pytest.raises(ProgramError, match="a function 'f' exists already"):
        function("f")(lambda x: x)
    unregister("F")
    assert not HOST_FUNCTIONS
