"""Each computation and comparison of a rule's body as a step over columns, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.algebra.classes import decided_by_ids
from corollary.engines.spark.algebra.column_comparisons import compared
from corollary.engines.spark.algebra.column_term import ColumnTerm, Condition, NotAColumnError
from corollary.engines.spark.algebra.column_terms import ColumnTerms, Known, id_sql, known_of
from corollary.engines.spark.algebra.profiles import ANYTHING, DOUBLES, classes_of
from corollary.engines.spark.terms.ids import CollisionTable, id_of
from corollary.planning import Compare, Compute
from corollary.planning.algebra import Extend, Filter
from corollary.program import Constant, Term, Variable

NO_VALUE_ID = -1
"""What a computation under negation gives where it has no value: no constant has this id, so no fact has it."""
_LONGEST = 20_000  # characters of an expression: texts of texts of texts grow
_ID_COLUMN = re.compile(r"\b[vc]\d+\b")


@dataclass(frozen=True)
class Step:
    """A condition `sql` that rows must meet, or the ids of a new `column`, NULL where there is no value.

    `texts` are the columns whose texts the expression needs. A condition that is `negated` is met where `sql` is not TRUE.
    """

    sql: str
    exact: tuple[Condition, ...] = ()
    texts: frozenset[str] = frozenset()
    negated: bool = False
    column: str | None = None
    text: str | None = None
    """The text of a new string, which the universe may not know."""
    checks: bool = False
    total: bool = False
    always: bool = True

    @property
    def of_one_text(self) -> str | None:
        """The column whose texts alone decide the step."""
        return next(iter(self.texts)) if len(self.texts) == 1 and not _ID_COLUMN.search(self.sql) else None

    @property
    def filter(self) -> str | None:
        """Which rows stay, once a new column is there; NULL means none."""
        if self.column is None:
            return f"NOT coalesce({self.sql}, FALSE)" if self.negated else self.sql
        if self.checks:
            return f"{self.column} = {self.sql}"
        return None if self.always or self.total else f"{self.column} IS NOT NULL"

    @property
    def value(self) -> str:
        return f"coalesce({self.sql}, {NO_VALUE_ID}L)" if self.total and not self.always else self.sql


@dataclass
class Steps:
    """Makes the steps of a chain one after the other; `known` tells of the variables, more of them with every step."""

    known: dict[str, Known]
    column: Callable[[str], str]
    collisions: CollisionTable
    discards_errors: bool
    knows_texts: Callable[[str], bool]
    """Whether the universe has the constants of a variable by now."""

    def step(self, node: Filter | Extend) -> Step:
        """Raises `NotAColumnError` where tasks have to do it."""
        found = self._compare(node.compare) if isinstance(node, Filter) else self._compute(node.compute, node.checks)
        if len(found.sql) > _LONGEST:
            raise NotAColumnError
        by_column = {known.column: name for name, known in self.known.items()}
        for text in found.texts.union(*(one.texts for one in found.exact)):
            if text not in by_column or not self.knows_texts(by_column[text]):
                raise NotAColumnError
        return found

    def early_conditions(self, chain: Sequence[Filter | Extend]) -> list[str]:
        """Conditions of a chain for tasks that columns decide before: on doubles still to be made, and on what is there."""
        conditions = []
        unmade: set[str] = set()
        for node in chain:
            if isinstance(node, Filter):
                with suppress(NotAColumnError):
                    step = self._compare(node.compare)
                    if not step.exact and not step.texts and unmade.isdisjoint(_ID_COLUMN.findall(step.sql)):
                        conditions.append(step.filter or "TRUE")
            elif not node.checks:
                variable = node.compute.variable
                self.known[variable] = self._unmade(variable, node.compute)
                unmade.add(self.known[variable].column)
        return conditions

    def _unmade(self, variable: str, compute: Compute) -> Known:
        column, expression = self.column(variable), compute.expression
        if not isinstance(expression, (Variable, Constant)) and not compute.total:
            with suppress(NotAColumnError):
                found = ColumnTerms(self.known).of(expression)
                if found.kind == Kind.DOUBLE and not found.exact:
                    return Known(column, DOUBLES, double=found)
        return Known(column, ANYTHING)

    def _compare(self, compare: Compare) -> Step:
        sides = (compare.left, compare.right)
        if compare.is_simple and decided_by_ids(compare, *map(self._classes, sides)):
            left, right = map(self._id, sides)
            operator = {"!=": "<>"}.get(compare.operator, compare.operator)
            return Step(f"{left} {operator} {right}", negated=compare.negated)
        terms = ColumnTerms(self.known)
        holds = compared(terms, compare.operator, *sides)
        exact = holds.exact
        if not self.discards_errors and not compare.is_simple:
            exact += tuple(
                one for side in sides if not isinstance(side, (Variable, Constant)) for one in _value(terms.of(side))
            )
        return Step(holds.sql, exact, holds.texts, negated=compare.negated)

    def _compute(self, compute: Compute, checks: bool) -> Step:
        column, expression = self.column(compute.variable), compute.expression
        if isinstance(expression, (Variable, Constant)):
            if not checks:
                self.known[compute.variable] = self._alias(column, expression)
            return Step(self._id(expression), column=column, checks=checks)
        found = ColumnTerms(self.known).of(expression)
        number, exact = id_sql(found, self.collisions)
        if not self.discards_errors:
            exact += _value(found)
        if not checks:
            self.known[compute.variable] = known_of(column, found)
        is_text = found.kind.name == "STRING" and not checks
        return Step(
            number, exact, found.texts, column=column, text=found.sql if is_text else None,
            checks=checks, total=compute.total, always=found.always,
        )  # fmt: skip

    def _alias(self, column: str, source: Variable | Constant) -> Known:
        if isinstance(source, Constant):
            return Known(column, classes_of(source))
        known = self.known[source.name]
        return Known(column, known.classes, known.most, known.text, known.of)

    def _classes(self, term: Term) -> int:
        if isinstance(term, Constant):
            return classes_of(term)
        assert isinstance(term, Variable)
        return self.known[term.name].classes

    def _id(self, term: Term) -> str:
        if isinstance(term, Constant):
            return literal(id_of(term.value, self.collisions))
        assert isinstance(term, Variable)
        return self.known[term.name].column


def _value(term: ColumnTerm) -> tuple[Condition, ...]:
    """Where an expression without a value stops the run, tasks say so."""
    return () if term.always else (Condition(f"({term.sql} IS NOT NULL)", term.texts),)


def literal(number: int) -> str:
    """A long as Spark's parser takes it, the least one too."""
    return f"CAST({number} AS BIGINT)"
