"""Comparisons of a number that is about to be computed, made before it gets a code.

`Y = X - 1, Y < 99` computes a number for every row and keeps few of them. A code costs ten times as much as the number, so rows
that the comparison drops are dropped first. It is made again afterwards: nothing depends on this but time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import takewhile
from typing import Any

import numpy as np

from corollary.engines.embedded.expressions import holds_column
from corollary.engines.embedded.relation import Codes
from corollary.engines.embedded.universe import Kind, Universe
from corollary.planning import Compare, Compute, Operation
from corollary.program import Arithmetic, Constant, Minus, Term, Variable


def foreseen_tests(operations: Sequence[Operation]) -> dict[int, list[Compare]]:
    """For computations of numbers, by their place: what comparisons with numbers right behind them say of the expression."""
    found = {}
    for place, operation in enumerate(operations):
        if (
            isinstance(operation, Compute)
            and not operation.total
            and isinstance(operation.expression, (Arithmetic, Minus))
        ):
            following = takewhile(lambda later: isinstance(later, Compare), operations[place + 1 :])
            tests = [_of_expression(later, operation) for later in following if isinstance(later, Compare)]
            if wanted := [test for test in tests if test is not None]:
                found[place] = wanted
    return found


def _of_expression(compare: Compare, compute: Compute) -> Compare | None:
    sides = (compare.left, compare.right)
    if (
        compare.negated
        or not any(map(_is_number, sides))
        or compare.inputs != {compute.variable}
        or not compare.is_simple
    ):
        return None
    left, right = (compute.expression if isinstance(side, Variable) else side for side in sides)
    return replace(compare, left=left, right=right)


def _is_number(side: Term) -> bool:
    return isinstance(side, Constant) and type(side.value) in (int, float, Decimal)


def rows_to_keep(
    tests: Sequence[Compare], columns: dict[str, Codes], count: int, universe: Universe
) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """Which rows may stay; None for all. Of other numbers than integers and doubles nothing is foreseen: they are slow."""
    keep: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    for test in tests:
        if all((universe.kinds[columns[name]] <= Kind.DOUBLE).all() for name in test.inputs):
            holds = holds_column(test, columns, count, universe)
            keep = holds if keep is None else keep & holds
    return None if keep is None or keep.all() else keep
