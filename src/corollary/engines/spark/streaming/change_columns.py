"""Which columns of a frame of changes say what, and what may be wrong with a row; as expressions that Spark runs.

A row is one change: `op` says insert or delete, another column the predicate, and the others are the arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corollary.diagnostics import Diagnostic, ProgramError, catalogue, did_you_mean
from corollary.language.cells import MEANING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OP, PREDICATE, ORDER = "op", "predicate", "order"
INSERT, DELETE = "insert", "delete"
CODE, REASON, TEXT = "code", "reason", "text"
"""The columns that say what is wrong with a row: a code of the catalogue, the reason, and the row as JSON."""


@dataclass(frozen=True)
class ChangeColumns:
    """`arguments` are the columns of each predicate, by its full name; `spelled` how rows may write it.

    `only` is the predicate of all rows where no column says it, `order` a column by which the rows come one after the other.
    """

    arguments: Mapping[str, tuple[str, ...]]
    spelled: Mapping[str, str]
    only: str | None
    order: str | None
    others: tuple[str, ...]
    """All columns that are arguments of some predicate."""
    meanings: Mapping[str, bytes]
    """What texts in them stand for, where the schema says so: IRIs, for example."""

    def classified(self, batch: DataFrame) -> DataFrame:
        """Columns `op`, `predicate`, `order`, the arguments as `v0 …` after `others`, `code`, `reason` and `text`."""
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
        """The columns of a classified frame that have the arguments of a predicate."""
        return [f"v{self.others.index(name)}" for name in self.arguments[predicate]]

    def meaning(self, predicate: str) -> list[bytes | None]:
        """The meanings of texts in the arguments of a predicate."""
        return [self.meanings.get(name) for name in self.arguments[predicate]]

    def _wrong(self, predicate: Column) -> list[tuple[Column, str, Column]]:
        """Conditions, codes and reasons, the most important first."""
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
    """The columns of a frame; raises `ProgramError` where it cannot be a frame of changes.

    `arities` are those of all predicates by full name, `spelled` what they may be called.
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
