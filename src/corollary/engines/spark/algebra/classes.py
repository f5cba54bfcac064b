"""Which classes of constants each column of an algebra may hold, from the profiles of the relations it reads."""

from __future__ import annotations

from collections.abc import Callable

from corollary.engines.spark.algebra.profiles import ANYTHING, DOUBLES, INTEGERS, LITERALS, NUMBERS, VALUED, classes_of
from corollary.planning.algebra import (
    Aggregate,
    Algebra,
    AntiJoin,
    Extend,
    Filter,
    Join,
    Project,
    Scan,
    Select,
    Union,
    Unit,
)
from corollary.planning.normal_form import Compare
from corollary.program import AggregateOperation, Constant, Term, Variable

ScanClasses = Callable[[Scan], tuple[int, ...]]


class Classes:
    """`scans` tells the masks of a relation's columns; it is asked only where an answer depends on them."""

    def __init__(self, scans: ScanClasses) -> None:
        self._scans = scans

    def of_term(self, term: Term, node: Algebra) -> int:
        if isinstance(term, Constant):
            return classes_of(term)
        return self.of(node, term.name) if isinstance(term, Variable) else ANYTHING

    def of(self, node: Algebra, column: str) -> int:
        match node:
            case Scan():
                return self._scans(node)[int(column[1:])]
            case Select():
                return self.of(node.input, column)
            case Project():
                source = dict(node.outputs)[column]
                return classes_of(source) if isinstance(source, Constant) else self.of(node.input, source)
            case Join():
                if node.semi or column in node.left.columns:
                    return self.of(node.left, column)
                return self.of(node.right, column)
            case AntiJoin():
                return self.of(node.left, column)
            case Filter():
                return self.of(node.input, column)
            case Extend():
                if column != node.compute.variable or node.checks:
                    return self.of(node.input, column)
                return self.of_term(node.compute.expression, node.input)
            case Aggregate():
                place = int(column[1:])
                if place < len(node.group_by):
                    return self.of(node.input, node.group_by[place])
                return self._of_result(node.operations[place - len(node.group_by)], node.input)
            case Union():
                masks = 0
                for one in node.inputs:
                    masks |= self.of(one, column)
                return masks
            case Unit():
                raise AssertionError(f"no relation gives {column}")

    def _of_result(self, operation: AggregateOperation, node: Algebra) -> int:
        match operation.function:
            case "count":
                return INTEGERS
            case "avg":
                return DOUBLES
            case "min" | "max":
                return self.of_term(operation.argument, node)
            case "sum" | "median":
                return NUMBERS
            case _:
                return ANYTHING

    @staticmethod
    def is_made(node: Algebra, column: str) -> bool:
        """Whether a column may have constants that this very algebra makes, so that the universe doesn't know them yet."""
        match node:
            case Project():
                source = dict(node.outputs)[column]
                return isinstance(source, str) and Classes.is_made(node.input, source)
            case Join():
                sides = [side for side in (node.left, node.right) if column in side.columns]
                return all(Classes.is_made(side, column) for side in (sides[:1] if node.semi else sides))
            case AntiJoin():
                return Classes.is_made(node.left, column)
            case Extend():
                if column != node.compute.variable or node.checks:
                    return Classes.is_made(node.input, column)
                expression = node.compute.expression
                if isinstance(expression, Variable):
                    return Classes.is_made(node.input, expression.name)
                return not isinstance(expression, Constant)
            case Aggregate():
                place = int(column[1:])
                if place < len(node.group_by):
                    return Classes.is_made(node.input, node.group_by[place])
                operation = node.operations[place - len(node.group_by)]
                if operation.function in ("min", "max") and isinstance(operation.argument, Variable):
                    return Classes.is_made(node.input, operation.argument.name)
                return operation.function != "count"
            case Select() | Filter():
                return Classes.is_made(node.input, column)
            case Union():
                return any(Classes.is_made(one, column) for one in node.inputs)
            case Scan() | Unit():
                return False

    def decides_by_ids(self, compare: Compare, node: Algebra) -> bool:
        """Whether the ids alone tell if a comparison holds.

        Integers inside ids are ordered as their ids are. Equality is identity, except that a double or a float may equal
        another number, and a moment another one, and that NaN differs from itself.
        """
        if not compare.is_simple:
            return False
        left, right = self.of_term(compare.left, node), self.of_term(compare.right, node)
        if compare.operator in ("=", "!="):
            return not any(
                one & (DOUBLES | LITERALS) and other & VALUED for one, other in ((left, right), (right, left))
            )
        return (left | right) & ~INTEGERS == 0
