"""Functions of lists: the examples of RIF's document on datatypes and built-ins, its test case, and IRIS's own tests."""

from __future__ import annotations

import pytest

from corollary import KnowledgeBase

FIVE = "[0, 1, 2, 3, 4]"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("func:make-list(0, 1, 2)", "[0, 1, 2]"),
        ("func:make-list()", "[]"),
        ("func:make-list(0, [1, 2])", "[0, [1, 2]]"),
        (f"func:count({FIVE})", "5"),
        ("func:count([0])", "1"),
        ("func:count([0, 0, 0])", "3"),
        ("func:count([])", "0"),
        (f"func:get({FIVE}, 0)", "0"),
        (f"func:get({FIVE}, 1)", "1"),
        (f"func:get({FIVE}, 4)", "4"),
        (f"func:get({FIVE}, -1)", "4"),
        (f"func:get({FIVE}, -5)", "0"),
        (f"func:get({FIVE}, -10)", None),
        (f"func:get({FIVE}, 5)", None),
        (f"func:sublist({FIVE}, 0, 0)", "[]"),
        (f"func:sublist({FIVE}, 0, 1)", "[0]"),
        (f"func:sublist({FIVE}, 0, 4)", "[0, 1, 2, 3]"),
        (f"func:sublist({FIVE}, 0, 5)", FIVE),
        (f"func:sublist({FIVE}, 0, 10)", FIVE),
        (f"func:sublist({FIVE}, 0, -2)", "[0, 1, 2]"),
        (f"func:sublist({FIVE}, 2, 4)", "[2, 3]"),
        (f"func:sublist({FIVE}, 2, -2)", "[2]"),
        (f"func:sublist({FIVE}, 0)", FIVE),
        (f"func:sublist({FIVE}, 3)", "[3, 4]"),
        (f"func:sublist({FIVE}, -2)", "[3, 4]"),
        ("func:append([0, 1, 2], 3)", "[0, 1, 2, 3]"),
        ("func:append([0, 1, 2], 3, 4)", FIVE),
        ("func:append([1, 1], [1], [1], [[1]])", "[1, 1, [1], [1], [[1]]]"),
        ("func:append([], [])", "[[]]"),
        ("func:concatenate([0, 1, 2], [3, 4, 5])", "[0, 1, 2, 3, 4, 5]"),
        ("func:concatenate([1, 1], [1], [1], [[1]])", "[1, 1, 1, 1, [1]]"),
        (f"func:insert-before({FIVE}, 0, 99)", "[99, 0, 1, 2, 3, 4]"),
        (f"func:insert-before({FIVE}, 1, 99)", "[0, 99, 1, 2, 3, 4]"),
        (f"func:insert-before({FIVE}, -1, 99)", "[0, 1, 2, 3, 99, 4]"),
        (f"func:insert-before({FIVE}, -5, 99)", "[99, 0, 1, 2, 3, 4]"),
        (f"func:insert-before({FIVE}, -10, 99)", None),
        (f"func:insert-before({FIVE}, 5, 99)", None),
        (f"func:remove({FIVE}, 0)", "[1, 2, 3, 4]"),
        (f"func:remove({FIVE}, 1)", "[0, 2, 3, 4]"),
        (f"func:remove({FIVE}, 4)", "[0, 1, 2, 3]"),
        (f"func:remove({FIVE}, -1)", "[0, 1, 2, 3]"),
        (f"func:remove({FIVE}, -5)", "[1, 2, 3, 4]"),
        (f"func:remove({FIVE}, 5)", None),
        (f"func:remove({FIVE}, -6)", None),
        (f"func:reverse({FIVE})", "[4, 3, 2, 1, 0]"),
        ("func:reverse([1])", "[1]"),
        ("func:reverse([])", "[]"),
        (f"func:index-of({FIVE}, 2)", "[2]"),
        ("func:index-of([0, 1, 2, 3, 4, 5, 2, 2], 2)", "[2, 6, 7]"),
        ("func:index-of([2, 2, 3, 4, 5, 2, 2], 1)", "[]"),
        ("func:union([0, 1, 2, 4], [3, 4, 5])", "[0, 1, 2, 4, 3, 5]"),
        ("func:union([0, 1, 2, 3], [4])", FIVE),
        ("func:union([0, 1, 2, 3], [3])", "[0, 1, 2, 3]"),
        ("func:distinct-values([0, 1, 2, 3, 4])", FIVE),
        ("func:distinct-values([0, 1, 2, 3, 4, 0, 4])", FIVE),
        ("func:distinct-values([3, 3, 3])", "[3]"),
        (f"func:intersect({FIVE}, [1, 3])", "[1, 3]"),
        (f"func:intersect({FIVE}, [3, 1])", "[1, 3]"),
        (f"func:intersect({FIVE}, [])", "[]"),
        (f"func:intersect({FIVE}, {FIVE})", FIVE),
        ("func:intersect([1, 2, 2, 3], [1])", "[1]"),
        ("func:intersect([1, 2, 3], [3, 2], [2, 1])", "[2]"),
        (f"func:except({FIVE}, [1, 3])", "[0, 2, 4]"),
        (f"func:except({FIVE}, [])", FIVE),
        (f"func:except({FIVE}, {FIVE})", "[]"),
        ("func:except([1, 2, 2, 3, 4], [1, 2, 4])", "[3]"),
        ("func:except([1, [0]], [[0], [1, [0]]])", "[1]"),
        ("func:count(1)", None),
        ("func:union([1], a)", None),
    ],
)
def test_a_function_of_lists(expression: str, expected: str | None) -> None:
    kb = KnowledgeBase(f"r(X) :- X = {expression}. wanted({expected or 0}).")
    assert list(kb.facts("r")) == (list(kb.facts("wanted")) if expected is not None else [])


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("pred:is-list([0, 1, 2, [3, 4]])", True),
        ("pred:is-list(1)", False),
        ("pred:list-contains([0, 1, 2, 3, 4], 2)", True),
        ("pred:list-contains([0, 1, 2, 3, 4, 5, 2, 2], 2)", True),
        ("pred:list-contains([2, 2, 3, 4, 5, 2, 2], 1)", False),
        ("pred:list-contains([], 1)", False),
        ("pred:list-contains([0, 1, 2, 3, [7, 8]], [7, 8])", True),
        ("pred:list-contains([0, 1, 2, 3, [7, 8]], [7, 7])", False),
    ],
)
def test_a_condition_on_lists(condition: str, holds: bool) -> None:
    kb = KnowledgeBase(f"yes :- {condition}. no :- not {condition}.")
    assert (kb.count("yes"), kb.count("no")) == (int(holds), int(not holds))
