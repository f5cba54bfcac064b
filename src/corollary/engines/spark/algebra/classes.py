"""The classes of constants that each column of an algebra may hold, from the profiles of the relations it reads."""

from __future__ import annotations

from collections.abc import Callable

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.algebra.column_terms import INLINE, ColumnTerms, Known, NotAColumnError, known_of
from corollary.engines.spark.algebra.profiles import (
    ANYTHING,
    DOUBLES,
    INLINE_DOUBLES,
    INTEGERS,
    LARGE_INTEGERS,
    LITERALS,
    NUMBERS,
    VALUED,
    classes_of,
)
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
from corollary.program import AggregateOperation, Constant, Term, Variable, variables_of

ScanClasses = Callable[[Scan], tuple[int, ...]]


class Classes:
    """The classes of columns; `scans` returns the masks of a relation's columns, and is called only if an answer
    depends on them."""

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
                return self._of_expression(node.compute.expression, node.input)
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

    def _of_expression(self, expression: Term, node: Algebra) -> int:
        """Return the classes of a computed value: exact if Spark's expressions are, otherwise by the kind of the result."""
        if isinstance(expression, (Variable, Constant)):
            return self.of_term(expression, node)
        names = {variable.name for variable in variables_of(expression)}
        try:
            found = ColumnTerms({name: Known("", self.of(node, name)) for name in names}).of(expression)
        except NotAColumnError:
            return ANYTHING
        if found.kind in (Kind.INTEGER, Kind.DOUBLE) and found.exact:
            return ANYTHING
        if found.kind != Kind.INTEGER:
            return known_of("", found).classes
        return known_of("", found).classes if found.most < INLINE else INTEGERS | LARGE_INTEGERS

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
        """Return whether this algebra itself may make constants of a column, which the universe does not know yet."""
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


def decided_by_ids(compare: Compare, left: int, right: int) -> bool:
    """Return whether the ids of two constants of these classes decide a comparison.

    Ids of integers are ordered like the integers, and ids of inline doubles like the doubles. Equality is identity,
    except that a double or a float may equal another number, a moment another moment, and that NaN differs from itself.
    """
    if not (left | right) & ~INLINE_DOUBLES:
        return True
    if compare.operator in ("=", "!="):
        return not any(one & (DOUBLES | LITERALS) and other & VALUED for one, other in ((left, right), (right, left)))
    return (left | right) & ~INTEGERS == 0
