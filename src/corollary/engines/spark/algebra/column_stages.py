"""Runs the steps of a chain on data frames: conditions and new columns inside Spark, texts from the universe.

A function of one text is computed once for each text that the universe has, and joined by id. Rows for which Spark's expressions
are not exact are separated and left to tasks; texts like that are counted first, and mostly there are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from corollary.engines.spark.algebra.column_steps import Step
from corollary.engines.spark.algebra.column_term import Condition, text_column
from corollary.engines.spark.algebra.profiles import STRINGS, is_in_sql
from corollary.engines.spark.terms.common_texts import RESERVED_WORDS, strings_in_programs
from corollary.engines.spark.terms.forms import STRING
from corollary.engines.spark.terms.task_universe import TERM_FIELDS, TERM_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SENT = 1_000_000
"""Rows of a mapping that go to every task; more of them meet their partners by a shuffle."""


class KnownTexts(Protocol):
    """The part of the universe that steps need."""

    @property
    def known_rows(self) -> int:
        """The number of constants in the universe."""
        ...

    def forms(self) -> DataFrame: ...

    def put_down(self, df: DataFrame) -> tuple[DataFrame, int]:
        """Rows in a table for as long as the job runs, and how many they are."""
        ...


@dataclass(frozen=True)
class MintedTexts:
    """Strings that steps made, beside their ids, in rows that are put down."""

    df: DataFrame
    pairs: tuple[tuple[str, str], ...]
    happened: bool = True

    def terms(self) -> DataFrame:
        """The universe rows of the strings, with repetitions."""
        return terms_of_texts(self.df, self.pairs)


@dataclass
class Stage:
    """The rows after all steps, the rows that tasks have to look at instead, and the constants that were made."""

    df: DataFrame
    rest: list[DataFrame] = field(default_factory=list)
    minting: list[MintedTexts] = field(default_factory=list)


def can_split(steps: Sequence[Step], columns: Sequence[str]) -> bool:
    """Whether the rows for which all steps are exact can be told from the others."""
    conditions = [one for step in steps for one in step.exact]
    of_texts = [one for one in conditions if one.texts]
    if any(len(one.texts) > 1 or not one.texts <= set(columns) for one in of_texts):
        return False
    if len(of_texts) == len(conditions):
        return True
    return not any(step.texts or step.text is not None for step in steps)


def run_steps(df: DataFrame, steps: Sequence[Step], universe: KnownTexts) -> Stage:
    """`can_split` says yes to the steps."""
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
    """Whether every step is exact that a row comes to: what a step drops, the next ones need not know."""
    found = "TRUE"
    for step in reversed(steps):
        if step.filter is not None and found != "TRUE":
            found = f"(NOT coalesce({step.filter}, FALSE) OR {found})"
        parts = [*(one.sql for one in step.exact), *([found] if found != "TRUE" else [])]
        found = f"({' AND '.join(parts)})" if parts else "TRUE"
    return found


def _without_odd_texts(df: DataFrame, condition: Condition, universe: KnownTexts) -> tuple[DataFrame, list[DataFrame]]:
    """The rows whose text meets a condition, and those whose text does not, if there are any."""
    (column,) = condition.texts
    odd, count = universe.put_down(_texts(universe, column).where(f"NOT {condition.sql}").select(column))
    if not count:
        return df, []
    odd = _hinted(odd, count)
    return df.join(odd, [column], "left_anti"), [df.join(odd, [column], "left_semi")]


def _run(df: DataFrame, steps: Sequence[Step], universe: KnownTexts) -> Stage:
    """Step by step, so that what a condition drops is not looked up any more."""
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
    """The strings of the universe under the name of a column, and their texts."""
    found = universe.forms().where(is_in_sql("id", STRINGS))
    return found.selectExpr(f"id AS {column}", f"canonical AS {text_column(column)}")


def _where_text(df: DataFrame, column: str, step: Step, universe: KnownTexts) -> DataFrame:
    """A condition on one text: which texts meet it is asked of the universe."""
    found = _texts(universe, column).where(step.sql).select(column)
    count = universe.known_rows
    if count > _SENT:
        found, count = universe.put_down(found)
    return df.join(_hinted(found, count), [column], "left_anti" if step.negated else "left_semi")


def _mapped(df: DataFrame, column: str, step: Step, universe: KnownTexts) -> DataFrame:
    """A new column that is a function of one text, which is computed once for each text."""
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


# Rows of the universe for strings that Spark itself made: printable ASCII inside Spark, everything else in tasks.


def terms_of_texts(df: DataFrame, pairs: Sequence[tuple[str, str]]) -> DataFrame:
    """The universe rows of strings whose ids and texts stand in pairs of columns; rows without a text have none."""
    from pyspark.sql import functions as F  # noqa: N812

    parts = [df.select(F.col(number).alias("id"), F.col(text).alias("canonical")) for number, text in pairs]
    found: DataFrame = reduce(lambda left, right: left.union(right), parts).where("canonical IS NOT NULL")
    plain = F.col("canonical").rlike(r"^[ -~]*\z")
    written = found.where(plain).select(
        F.col("id"), _common().alias("common"), F.col("canonical"), F.lit(STRING).alias("datatype")
    )
    return written.union(found.where(~plain).mapInArrow(_written, TERM_SCHEMA))


def _common() -> Column:
    """`strings_in_programs` for printable ASCII."""
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
