"""The changes of one micro-batch: checked, in order, and only the last one for each fact.

A batch that fits into the driver is processed there, after one job; a larger one is written once, and stays on Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from corollary.diagnostics import Diagnostic, ProgramError, catalogue, did_you_mean
from corollary.engines.spark.ingest.tasks import in_utc
from corollary.language.cells import MEANING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from corollary.engines.spark.context import Context

# -- change columns ----------------------------------------------------------------------------------------------------

# The columns of a frame of changes, and what may be wrong with a row, as expressions that Spark runs.
#
# A row is one change: `op` says insert or delete, another column names the predicate, and the others are the arguments.

OP, PREDICATE, ORDER = "op", "predicate", "order"
INSERT, DELETE = "insert", "delete"
CODE, REASON, TEXT = "code", "reason", "text"
"""The columns with the error of a row: a code of the catalogue, the reason, and the row as JSON."""


@dataclass(frozen=True)
class ChangeColumns:
    """`arguments` are the columns of each predicate, by its full name; `spelled` maps the names that rows may use.

    `only` is the predicate of all rows if no column names it, `order` a column by which rows are ordered.
    """

    arguments: Mapping[str, tuple[str, ...]]
    spelled: Mapping[str, str]
    only: str | None
    order: str | None
    others: tuple[str, ...]
    """All columns that are arguments of some predicate."""
    meanings: Mapping[str, bytes]
    """The meaning of texts in them, for example IRIs, according to the schema."""

    def classified(self, batch: DataFrame) -> DataFrame:
        """Return the columns `op`, `predicate`, `order`, the arguments as `v0 …` after `others`, `code`, `reason` and
        `text`."""
        from pyspark.sql import functions as F  # noqa: N812

        predicate = F.lit(self.only) if self.only is not None else F.col(PREDICATE)
        wrong = self._wrong(predicate)
        reason = F.coalesce(*(F.when(condition, text) for condition, _, text in wrong))
        code = F.coalesce(*(F.when(condition, F.lit(code)) for condition, code, _ in wrong))
        names = [F.col(_quoted(name)).alias(f"v{place}") for place, name in enumerate(self.others)]
        order = F.col(_quoted(self.order)) if self.order is not None else F.lit(0)
        text = F.when(code.isNotNull(), F.to_json(F.struct(*map(_quoted, batch.columns))))
        return batch.select(
            F.col(OP).alias(OP), predicate.alias(PREDICATE), order.alias(ORDER), *names,
            code.alias(CODE), reason.alias(REASON), text.alias(TEXT),
        )  # fmt: skip

    def places(self, predicate: str) -> list[str]:
        """Return the columns of a classified frame with the arguments of a predicate."""
        return [f"v{self.others.index(name)}" for name in self.arguments[predicate]]

    def meaning(self, predicate: str) -> list[bytes | None]:
        """Return the meanings of texts in the arguments of a predicate."""
        return [self.meanings.get(name) for name in self.arguments[predicate]]

    def _wrong(self, predicate: Column) -> list[tuple[Column, str, Column]]:
        """Return conditions with codes and reasons, the most important first."""
        from pyspark.sql import functions as F  # noqa: N812

        bad, unknown = catalogue.BAD_CHANGE.code, catalogue.UNKNOWN_IN_UPDATE.code
        shown = F.coalesce(F.concat(F.lit("'"), F.col(OP).cast("string"), F.lit("'")), F.lit("null"))
        named = F.coalesce(predicate.cast("string"), F.lit("null"))
        is_known = predicate.isin(*self.spelled)
        found = [
            (
                F.coalesce(~F.col(OP).isin(INSERT, DELETE), F.lit(True)),
                bad,
                F.concat(F.lit("op is "), shown, F.lit(", and not insert or delete")),
            ),
            (
                F.coalesce(~is_known, F.lit(True)),
                unknown,
                F.concat(F.lit("nothing mentions the predicate '"), named, F.lit("'")),
            ),
        ]
        if self.order is not None:
            unordered = F.lit(f"column '{self.order}', which says the order, is null")
            found.append((F.col(_quoted(self.order)).isNull(), bad, unordered))
        spellings: dict[tuple[str, ...], list[str]] = {}
        for written, name in self.spelled.items():
            spellings.setdefault(self.arguments[name], []).append(written)
        for columns, names in spellings.items():
            applies = predicate.isin(*names)
            count = f"{len(columns)} argument{'' if len(columns) == 1 else 's'}"
            for column in self.others:
                missing = column in columns
                value = F.col(_quoted(column))
                text = f" has {count}, and column '{column}' is {'null' if missing else 'another one'}"
                found.append(
                    (applies & (value.isNull() if missing else value.isNotNull()), bad, F.concat(named, F.lit(text)))
                )
        return found


def change_columns(
    frame: DataFrame,
    arities: Mapping[str, int],
    spelled: Mapping[str, str],
    *,
    predicate: str | None,
    columns: Sequence[str] | Mapping[str, Sequence[str]] | None,
    order: str | None,
) -> ChangeColumns:
    """Return the columns of a frame; raise `ProgramError` if it cannot be a frame of changes.

    `arities` are those of all predicates by full name, `spelled` the names that rows may use.
    """
    needed = [OP, *([] if predicate is not None else [PREDICATE]), *([order] if order is not None else [])]
    for name in needed:
        if name not in frame.columns:
            raise _unfit(f"a frame of changes has a column '{name}', and this one has {', '.join(frame.columns)}")
    if predicate is not None and predicate not in arities:
        hint = did_you_mean(predicate, arities)
        raise ProgramError(
            [Diagnostic(catalogue.UNKNOWN_IN_UPDATE, f"nothing mentions the predicate '{predicate}'", None, hint)]
        )
    rest = [name for name in frame.columns if name not in needed]
    if isinstance(columns, Mapping):
        chosen = {spelled.get(name, name): tuple(given) for name, given in columns.items()}
    else:
        rest = list(columns) if columns is not None else rest
        wanted = {predicate: arities[predicate]} if predicate is not None else arities
        chosen = {name: tuple(rest[:arity]) for name, arity in wanted.items() if arity <= len(rest)}
    for name, given in chosen.items():
        _check(frame, name, given, arities)
    if predicate is not None:
        if predicate not in chosen:
            raise _unfit(f"{predicate} has {arities[predicate]} arguments, and there are {len(rest)} columns for them")
        chosen = {predicate: chosen[predicate]}
    named = {written: name for written, name in spelled.items() if name in chosen}
    used = list(dict.fromkeys(name for given in chosen.values() for name in given))
    others = used if isinstance(columns, Mapping) else rest
    said = {name: frame.schema[name].metadata.get(MEANING.decode()) for name in others}
    meanings = {name: meaning.encode() for name, meaning in said.items() if isinstance(meaning, str)}
    return ChangeColumns(chosen, named, predicate, order, tuple(others), meanings)


def _check(frame: DataFrame, predicate: str, given: Sequence[str], arities: Mapping[str, int]) -> None:
    if predicate not in arities:
        raise ProgramError([Diagnostic(catalogue.UNKNOWN_IN_UPDATE, f"nothing mentions the predicate '{predicate}'")])
    if len(given) != arities[predicate]:
        raise _unfit(f"{predicate} has {arities[predicate]} arguments, and columns for {len(given)} of them are named")
    for name in given:
        if name not in frame.columns:
            raise _unfit(f"the frame of changes has no column '{name}', only {', '.join(frame.columns)}")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _unfit(message: str) -> ProgramError:
    hint = "op, predicate and a column for each argument; kb.write_stream(…, predicate=, columns=) says it otherwise"
    return ProgramError([Diagnostic(catalogue.UNFIT_FRAME, message, None, hint)])


# -- batch -------------------------------------------------------------------------------------------------------------

FactTables = dict[str, Any]
"""Facts by predicate, as in a `Change`."""


@dataclass(frozen=True)
class MicroBatch:
    """The content of a micro-batch. `rejected` is a table with `code`, `reason` and `text`: an Arrow table, or a Spark
    frame if it is large."""

    rows: int
    insert: FactTables
    delete: FactTables
    bad: int
    rejected: pa.Table | DataFrame


def read_batch(context: Context, batch: DataFrame, columns: ChangeColumns) -> MicroBatch:
    classified, most = columns.classified(context.for_engine(batch)), context.settings.change_rows
    few = classified.limit(most + 1).toArrow()
    if few.num_rows <= most:
        return _in_driver(few.combine_chunks(), columns)
    return _on_spark(context, classified, columns)


# -- in the driver -----------------------------------------------------------------------------------------------------


def _in_driver(table: pa.Table, columns: ChangeColumns) -> MicroBatch:
    is_bad = pc.is_valid(table.column(CODE))
    rejected = table.filter(is_bad).select([CODE, REASON, TEXT])
    good = table.filter(pc.invert(is_bad))
    if columns.order is not None:
        good = _last_of_each(good)
    sides: dict[str, FactTables] = {INSERT: {}, DELETE: {}}
    for written in good.column(PREDICATE).unique().to_pylist():
        name = columns.spelled[written]
        mine = good.filter(pc.equal(good.column(PREDICATE), written))
        for op, side in sides.items():
            rows = mine.filter(pc.equal(mine.column(OP), op)).select(columns.places(name))
            if rows.num_rows:
                _add(side, name, rows, columns.meaning(name))
    return MicroBatch(table.num_rows, sides[INSERT], sides[DELETE], rejected.num_rows, rejected)


def _add(side: FactTables, name: str, rows: pa.Table, meanings: list[bytes | None]) -> None:
    if not rows.num_columns:
        side[name] = [()]
        return
    columns = [in_utc(column) for column in rows.columns]
    fields = [
        pa.field(f"a{place}", column.type, metadata={MEANING: meaning} if meaning else None)
        for place, (column, meaning) in enumerate(zip(columns, meanings, strict=True), 1)
    ]
    rows = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    side[name] = pa.concat_tables([side[name], rows]) if name in side else rows


def _last_of_each(table: pa.Table) -> pa.Table:
    """Return the last change of each fact; an insertion if two are simultaneous."""
    order = pc.sort_indices(table.select([ORDER, OP]), sort_keys=[(ORDER, "ascending"), (OP, "ascending")])
    ordered = table.take(order)  # 'delete' comes before 'insert'
    keys = [name for name in ordered.column_names if name not in (OP, ORDER, CODE, REASON, TEXT)]
    numbered = ordered.append_column("place", pa.array(range(ordered.num_rows), pa.int64()))
    last = numbered.group_by(keys, use_threads=False).aggregate([("place", "max")]).column("place_max")
    return ordered.take(last)


# -- on Spark ----------------------------------------------------------------------------------------------------------


def _on_spark(context: Context, classified: DataFrame, columns: ChangeColumns) -> MicroBatch:
    written, rows = context.workspace.write(classified, "batch")
    rejected = written.where(f"{CODE} IS NOT NULL").select(CODE, REASON, TEXT)
    good = written.where(f"{CODE} IS NULL")
    if columns.order is not None:
        good = _last_on_spark(good)
    groups = good.groupBy(PREDICATE, OP).count().collect()
    sides: dict[str, FactTables] = {INSERT: {}, DELETE: {}}
    for written_name, op in sorted((row[PREDICATE], row[OP]) for row in groups):
        name, side = columns.spelled[written_name], sides[op]
        mine = good.where(_is(PREDICATE, written_name) & _is(OP, op)).select(*columns.places(name))
        if not columns.arguments[name]:
            side[name] = [()]
        else:
            side[name] = side[name].union(mine) if name in side else mine
    return MicroBatch(rows, sides[INSERT], sides[DELETE], rejected.count(), rejected)


def _last_on_spark(good: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    keys = [name for name in good.columns if name not in (OP, ORDER, CODE, REASON, TEXT)]
    last = F.max(F.struct(ORDER, OP)).alias("last")
    return good.groupBy(*keys).agg(last).select(*keys, F.col(f"last.{OP}").alias(OP))


def _is(column: str, value: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(column) == F.lit(value)


def all_rejected(batch: DataFrame, code: str, reason: str) -> DataFrame:
    """Return every row of a batch as rejected, with the same reason."""
    from pyspark.sql import functions as F  # noqa: N812

    text = F.to_json(F.struct(*("`" + name.replace("`", "``") + "`" for name in batch.columns)))
    return batch.select(F.lit(code).alias(CODE), F.lit(reason).alias(REASON), text.alias(TEXT))
