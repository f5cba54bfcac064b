"""Computations and comparisons of a rule's body as steps over columns, if Spark can do them exactly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from corollary.engines.embedded.values.universe import Kind
from corollary.engines.spark.algebra.classes import decided_by_ids
from corollary.engines.spark.algebra.column_functions import compared
from corollary.engines.spark.algebra.column_terms import (
    ColumnTerm,
    ColumnTerms,
    Condition,
    Known,
    NotAColumnError,
    id_sql,
    known_of,
    text_column,
)
from corollary.engines.spark.algebra.profiles import ANYTHING, DOUBLES, STRINGS, classes_of, is_in_sql
from corollary.engines.spark.terms.forms import RESERVED_WORDS, STRING, strings_in_programs
from corollary.engines.spark.terms.ids import CollisionTable, id_of
from corollary.engines.spark.terms.task_universe import TERM_FIELDS, TERM_SCHEMA
from corollary.planning import Compare, Compute
from corollary.planning.algebra import Extend, Filter
from corollary.program import Constant, Term, Variable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NO_VALUE_ID = -1
"""The result of a computation without a value under negation: no constant has this id, so no fact has it."""
_LONGEST = 20_000  # characters of an expression, since nested text functions multiply it
_ID_COLUMN = re.compile(r"\b[vc]\d+\b")


@dataclass(frozen=True)
class Step:
    """A condition `sql` that rows must meet, or the ids of a new `column`, NULL for no value.

    `texts` are the columns whose texts the expression needs. A `negated` condition is met if `sql` is not TRUE.
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
        """The column whose texts alone decide the step, None if there is more than one."""
        return next(iter(self.texts)) if len(self.texts) == 1 and not _ID_COLUMN.search(self.sql) else None

    @property
    def filter(self) -> str | None:
        """The condition on rows to keep after the new column is added; NULL means to drop the row."""
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
    """The steps of a chain, made one after the other; `known` describes the variables, and grows with every step."""

    known: dict[str, Known]
    column: Callable[[str], str]
    collisions: CollisionTable
    discards_errors: bool
    knows_texts: Callable[[str], bool]
    """Whether the universe already has the constants of a variable."""

    def step(self, node: Filter | Extend) -> Step:
        """Return the step for a node; raise `NotAColumnError` if tasks must run it."""
        found = self._compare(node.compare) if isinstance(node, Filter) else self._compute(node.compute, node.checks)
        if len(found.sql) > _LONGEST:
            raise NotAColumnError
        by_column = {known.column: name for name, known in self.known.items()}
        for text in found.texts.union(*(one.texts for one in found.exact)):
            if text not in by_column or not self.knows_texts(by_column[text]):
                raise NotAColumnError
        return found

    def early_conditions(self, chain: Sequence[Filter | Extend]) -> list[str]:
        """Return conditions of a chain for tasks that columns decide first: those on doubles to be made, and on
        existing columns."""
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
    """Return the conditions under which a value exists, if a missing one stops the run, which only tasks can do."""
    return () if term.always else (Condition(f"({term.sql} IS NOT NULL)", term.texts),)


def literal(number: int) -> str:
    """Return a long as Spark's parser accepts it, including the least one."""
    return f"CAST({number} AS BIGINT)"


# -- column stages -----------------------------------------------------------------------------------------------------

# Running the steps of a chain on data frames: conditions and new columns inside Spark, texts from the universe.
#
# A function of one text is computed once for each text in the universe, and joined by id. Rows for which Spark's
# expressions are not exact are separated and left to tasks; such texts are counted first, and usually there are none.

_SENT = 1_000_000
"""Rows of a mapping that are broadcast; larger mappings are joined by a shuffle."""


class KnownTexts(Protocol):
    """The part of the universe that steps need."""

    @property
    def known_rows(self) -> int:
        """The number of constants in the universe."""
        ...

    def forms(self) -> DataFrame: ...

    def put_down(self, df: DataFrame) -> tuple[DataFrame, int]:
        """Store rows in a table for the duration of the job; return the table and the number of rows."""
        ...


@dataclass(frozen=True)
class MintedTexts:
    """Strings that steps made, with their ids, in stored rows."""

    df: DataFrame
    pairs: tuple[tuple[str, str], ...]
    happened: bool = True

    def terms(self) -> DataFrame:
        """Return rows of the universe for the strings; they may repeat."""
        return terms_of_texts(self.df, self.pairs)


@dataclass
class Stage:
    """The result of all steps: the rows, the rows left to tasks, and the constants that were made."""

    df: DataFrame
    rest: list[DataFrame] = field(default_factory=list)
    minting: list[MintedTexts] = field(default_factory=list)


def can_split(steps: Sequence[Step], columns: Sequence[str]) -> bool:
    """Return whether a condition can separate the rows for which all steps are exact."""
    conditions = [one for step in steps for one in step.exact]
    of_texts = [one for one in conditions if one.texts]
    if any(len(one.texts) > 1 or not one.texts <= set(columns) for one in of_texts):
        return False
    if len(of_texts) == len(conditions):
        return True
    return not any(step.texts or step.text is not None for step in steps)


def run_steps(df: DataFrame, steps: Sequence[Step], universe: KnownTexts) -> Stage:
    """Run steps for which `can_split` is true."""
    columns = df.columns
    conditions = list(dict.fromkeys(one for step in steps for one in step.exact))
    rest: list[DataFrame] = []
    for condition in conditions:
        if condition.texts:
            df, odd = _without_odd_texts(df, condition, universe)
            rest += odd
    if any(not one.texts for one in conditions):
        computed = df
        for step in steps:
            if step.column is not None and not step.checks:
                computed = computed.selectExpr("*", f"{step.value} AS {step.column}")
        rest.append(computed.where(f"NOT {exact_sql(steps)}").select(*columns))
        filters = [step.filter for step in steps if step.filter is not None]
        kept = [f"({one})" for step in steps for one in (condition.sql for condition in step.exact)]
        return Stage(computed.where(" AND ".join([*kept, *(f"({one})" for one in filters)])), rest)
    stage = _run(df, steps, universe)
    stage.rest = rest
    return stage


def exact_sql(steps: Sequence[Step]) -> str:
    """Return the condition that every step which a row reaches is exact; steps after the row is dropped do not matter."""
    found = "TRUE"
    for step in reversed(steps):
        if step.filter is not None and found != "TRUE":
            found = f"(NOT coalesce({step.filter}, FALSE) OR {found})"
        parts = [*(one.sql for one in step.exact), *([found] if found != "TRUE" else [])]
        found = f"({' AND '.join(parts)})" if parts else "TRUE"
    return found


def _without_odd_texts(df: DataFrame, condition: Condition, universe: KnownTexts) -> tuple[DataFrame, list[DataFrame]]:
    """Return the rows whose text meets a condition, and a list with the other rows if there are any."""
    (column,) = condition.texts
    odd, count = universe.put_down(_texts(universe, column).where(f"NOT {condition.sql}").select(column))
    if not count:
        return df, []
    odd = _hinted(odd, count)
    return df.join(odd, [column], "left_anti"), [df.join(odd, [column], "left_semi")]


def _run(df: DataFrame, steps: Sequence[Step], universe: KnownTexts) -> Stage:
    """Run the steps one by one, so that rows dropped by a condition are not looked up any more."""
    pairs: list[tuple[str, str]] = []
    looked_up: set[str] = set()
    for step in steps:
        one_text = step.of_one_text
        if step.column is None and one_text is not None:
            df = _where_text(df, one_text, step, universe)
            continue
        if one_text is not None and not step.checks and one_text not in looked_up:
            df = _mapped(df, one_text, step, universe)
        else:
            for column in sorted(step.texts - looked_up):
                df = df.join(_hinted(_texts(universe, column), universe.known_rows), [column], "left")
            looked_up |= step.texts
            if step.column is not None and not step.checks:
                more = [f"{step.text} AS {text_column(step.column)}"] if step.text is not None else []
                df = df.selectExpr("*", f"{step.value} AS {step.column}", *more)
        if step.column is not None and step.text is not None:
            pairs.append((step.column, text_column(step.column)))
        if step.filter is not None:
            df = df.where(step.filter)
    if not pairs:
        return Stage(df)
    put_down, _ = universe.put_down(df)
    return Stage(put_down, minting=[MintedTexts(put_down, tuple(pairs))])


def _texts(universe: KnownTexts, column: str) -> DataFrame:
    """Return the strings of the universe as ids under the name of a column, with their texts."""
    found = universe.forms().where(is_in_sql("id", STRINGS))
    return found.selectExpr(f"id AS {column}", f"canonical AS {text_column(column)}")


def _where_text(df: DataFrame, column: str, step: Step, universe: KnownTexts) -> DataFrame:
    """Return the rows that meet a condition on one text, evaluated once per text of the universe."""
    found = _texts(universe, column).where(step.sql).select(column)
    count = universe.known_rows
    if count > _SENT:
        found, count = universe.put_down(found)
    return df.join(_hinted(found, count), [column], "left_anti" if step.negated else "left_semi")


def _mapped(df: DataFrame, column: str, step: Step, universe: KnownTexts) -> DataFrame:
    """Return the rows with a new column that is a function of one text, computed once per text."""
    more = [f"{step.text} AS {text_column(step.column or '')}"] if step.text is not None else []
    mapping = _texts(universe, column).selectExpr(column, f"{step.sql} AS {step.column}", *more)
    joined = df.join(_hinted(mapping, universe.known_rows), [column], "left" if step.total else "inner")
    if not step.total:
        return joined
    assert step.column is not None
    return joined.selectExpr(
        *(name for name in joined.columns if name != step.column), f"coalesce({step.column}, -1L) AS {step.column}"
    )


def _hinted(df: DataFrame, rows: int) -> DataFrame:
    from pyspark.sql.functions import broadcast

    return broadcast(df) if rows <= _SENT else df


# Rows of the universe for strings that Spark made: printable ASCII inside Spark, everything else in tasks.


def terms_of_texts(df: DataFrame, pairs: Sequence[tuple[str, str]]) -> DataFrame:
    """Return rows of the universe for strings whose ids and texts are in pairs of columns; nothing for rows without a text."""
    from pyspark.sql import functions as F  # noqa: N812

    parts = [df.select(F.col(number).alias("id"), F.col(text).alias("canonical")) for number, text in pairs]
    found: DataFrame = reduce(lambda left, right: left.union(right), parts).where("canonical IS NOT NULL")
    plain = F.col("canonical").rlike(r"^[ -~]*\z")
    written = found.where(plain).select(
        F.col("id"), _common().alias("common"), F.col("canonical"), F.lit(STRING).alias("datatype")
    )
    return written.union(found.where(~plain).mapInArrow(_written, TERM_SCHEMA))


def _common() -> Column:
    """Return the form that `strings_in_programs` gives, for printable ASCII."""
    from pyspark.sql import functions as F  # noqa: N812

    text = F.col("canonical")
    bare = text.rlike(r"^[a-z][A-Za-z0-9_]*\z") & ~F.lower(text).isin(*RESERVED_WORDS)
    escaped = F.replace(F.replace(text, F.lit("\\"), F.lit("\\\\")), F.lit('"'), F.lit('\\"'))
    return F.when(bare, text).otherwise(F.concat(F.lit('"'), escaped, F.lit('"')))


def _written(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        texts = batch.column("canonical").cast(pa.string())
        common = strings_in_programs(texts)
        datatypes = pa.repeat(pa.scalar(STRING), len(texts))
        yield pa.RecordBatch.from_arrays([batch.column("id"), common, texts, datatypes], schema=TERM_FIELDS)
