"""Numbers of all datatypes: what becomes of them in arithmetic, in aggregates and in casts, on both sides of the definition."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction

import pytest

from corollary import KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.language import parse_program, print_value
from corollary.program import Value
from tests.builtins.values import typed
from tests.oracle import evaluate


def value(expression: str) -> str | None:
    """The one value that an expression has, as the printer writes it; whole columns of it give the same."""
    text = f"t(1). r(V) :- t(_), V = {expression}."
    found = [print_value(one) for (one,) in KnowledgeBase(text).facts("r")]
    assert found == [print_value(one.value) for (one,) in evaluate(parse_program(text)).get("r", ())]
    return found[0] if found else None


SINGLES = """
    v(a, "1.5"^^xsd:float). v(a, "2.5"^^xsd:float). v(b, 1). v(b, "0.25"^^xsd:float). v(c, 1.0e0). v(c, "0.125"^^xsd:float).
"""


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("sum", {"a": '"4.0E0"^^xsd:float', "b": '"1.25E0"^^xsd:float', "c": "1.125e0"}),
        ("avg", {"a": "2.0e0", "b": "0.625e0", "c": "0.5625e0"}),
        ("median", {"a": '"2.0E0"^^xsd:float', "b": '"6.25E-1"^^xsd:float', "c": "0.5625e0"}),
        ("max", {"a": '"2.5E0"^^xsd:float', "b": "1", "c": "1.0e0"}),
        ("count", {"a": "2", "b": "2", "c": "2"}),
    ],
)
def test_single_precision_numbers_in_aggregates(function: str, expected: dict[str, str]) -> None:
    text = f"{SINGLES} r(G, {function}(V)) :- v(G, V)."
    found = {(group, print_value(one)) for group, one in KnowledgeBase(text).facts("r")}
    assert found == set(expected.items())
    assert found == {(one.value, print_value(two.value)) for one, two in evaluate(parse_program(text))["r"]}


def test_the_order_of_values_does_not_matter_to_aggregates_of_mixed_numbers() -> None:
    values: list[Value] = [1, 1.0, Decimal("0.1"), 0.1, math.nan, 1e300, -1e300]
    values += [typed(one, "float") for one in ("1", "0.1", "NaN", "3e38", "-3e38")]
    text = "r(sum(X), avg(X), median(X), min(X), max(X)) :- v(X)."
    generator = random.Random(5)
    for _ in range(20):
        some = generator.sample(values, generator.randint(1, 6))
        seen = set()
        for _ in range(4):
            generator.shuffle(some)
            kb = KnowledgeBase(text)
            kb.insert("v", [(one,) for one in some])
            seen.add(tuple(print_value(one) for row in kb.facts("r") for one in row))
        assert len(seen) == 1, some


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("round(0.49999999999999994e0)", "0.0e0"),
        ("round(4503599627370497.0e0)", "4503599627370497.0e0"),
        ("round(-0.5e0)", "-0.0e0"),
        ("round(-0.50000000000000011e0)", "-1.0e0"),
        ("ceiling(-0.1e0)", "-0.0e0"),
        ("floor(-0.0e0)", "-0.0e0"),
        ('floor("INF"^^xsd:double)', '"INF"^^xsd:double'),
        ('ceiling("-INF"^^xsd:float)', '"-INF"^^xsd:float'),
        ('round("NaN"^^xsd:double)', '"NaN"^^xsd:double'),
        ("1.0e0 div 0.1e0", "9"),
        ('1.0e0 div "INF"^^xsd:double', "0"),
        ("xsd:integer(1.0e23)", "99999999999999991611392"),
        ("xsd:decimal(1.0e23)", "99999999999999991611392"),
        ("xsd:decimal(0.1e0)", "0.1000000000000000055511151231257827021181583404541015625"),
        ('xsd:decimal("0.1"^^xsd:float)', "0.100000001490116119384765625"),
        ('func:divide-dayTimeDuration("P4D"^^xsd:dayTimeDuration, "INF"^^xsd:double)', '"PT0S"^^xsd:dayTimeDuration'),
        (
            'func:divide-yearMonthDuration("P4Y"^^xsd:yearMonthDuration, "-INF"^^xsd:double)',
            '"PT0S"^^xsd:dayTimeDuration',
        ),
        ('func:divide-dayTimeDuration("P4D"^^xsd:dayTimeDuration, "NaN"^^xsd:double)', None),
        (f'"1"^^xsd:float + {"9" * 400}', None),
        (f'{"9" * 400} div "1"^^xsd:float', None),
        ('xsd:integer("١٢")', None),
        ('xsd:int("१२")', None),
        ('xsd:decimal("1.٥")', None),
        ('xsd:double("١٢")', None),
        ('xsd:float("1e٥")', None),
    ],
)
def test_values_of_expressions(expression: str, expected: str | None) -> None:
    assert value(expression) == expected


def test_quotients_and_remainders_of_doubles_belong_together() -> None:
    """Also in whole columns, and where the quotient is beyond what doubles tell apart."""
    generator = random.Random(3)
    numbers = [0.1, 1e-5, 1.0, -2.5, 3.0, 1e16, 2.0**53, -1e300, 1e-300, math.inf]
    numbers += [generator.uniform(-100, 100) for _ in range(10)]
    for divisors in (numbers, [0.1, 0.3, -7.7, 3.0]):
        dividends = [one for one in numbers if math.isfinite(one) and (divisors is numbers or abs(one) < 1e10)]
        kb = KnowledgeBase("r(X, Y, X div Y, X mod Y) :- a(X), b(Y).")
        kb.insert("a", [(one,) for one in dividends])
        kb.insert("b", [(one,) for one in divisors])
        rows = list(kb.facts("r"))
        assert len(rows) == len(dividends) * len(divisors)
        for left, right, quotient, rest in rows:
            exact = 0 if math.isinf(right) else math.trunc(Fraction(left) / Fraction(right))
            assert quotient == exact, (left, right)
            assert math.isinf(right) or Fraction(left) - exact * Fraction(right) == Fraction(rest)


@pytest.mark.parametrize("text", ['p("١٢"^^xsd:integer).', 'p("1.٥"^^xsd:decimal).', "p(١٢).", "p(1.٥).", "p(1e٥)."])
def test_digits_of_other_scripts_are_no_numbers(text: str) -> None:
    with pytest.raises(ProgramError):
        KnowledgeBase(text)


@pytest.mark.parametrize("number", [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, -(2**53) - 1, 2**63 - 1])
@pytest.mark.parametrize("operator", ["=", "<", ">="])
def test_computed_doubles_and_large_integers_are_compared_exactly(number: int, operator: str) -> None:
    text = f"e({print_value(float(number))}, {number}). p(X) :- e(X, Y), X + 0 {operator} Y. q(X) :- e(X, Y), Y + 0 {operator} X."
    expected = evaluate(parse_program(text))
    kb = KnowledgeBase(text)
    assert [kb.count("p"), kb.count("q")] == [len(expected["p"]), len(expected["q"])]
