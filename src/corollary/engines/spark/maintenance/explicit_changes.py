"""Which explicit facts really change: inserting an existing fact or deleting a missing one changes nothing; insertion
wins over deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from corollary.engines.base import EXPLICIT
from corollary.engines.spark.maintenance.change_rows import (
    ChangeRows,
    distinct_ids,
    settle,
    summed,
    summed_ids,
    tagged,
    taken_apart,
    without,
)
from corollary.engines.spark.maintenance.lookup import Lookup
from corollary.engines.spark.maintenance.transaction import SparkTransaction
from corollary.engines.spark.relations import COUNT, Frame, LocalFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WANTED = "wanted"
ExplicitFacts = Sequence[tuple[str, Frame]]


def change_explicit(deletes: ExplicitFacts, inserts: ExplicitFacts, transaction: SparkTransaction) -> tuple[int, int]:
    """Change the support by explicit facts; return how many were really deleted and inserted."""
    wanted = _wanted(deletes, inserts, transaction)
    if not wanted:
        return 0, 0
    changes = _real_changes(wanted, transaction)
    deleted = inserted = 0
    for predicate, change in changes.items():
        gone = change.where(-1).rows
        deleted, inserted = deleted + gone, inserted + change.rows - gone
        transaction.change_support(predicate, EXPLICIT, change, counted=False)
    return deleted, inserted


def _wanted(deletes: ExplicitFacts, inserts: ExplicitFacts, transaction: SparkTransaction) -> dict[str, ChangeRows]:
    """Return the requested changes: each fact once, with 1 to make it explicit and -1 to remove it."""
    frames: dict[str, list[tuple[Frame, int]]] = {}
    for facts, number in ((deletes, -1), (inserts, 1)):
        for predicate, frame in facts:
            if frame.rows != 0:
                frames.setdefault(predicate, []).append((frame, number))
    in_driver = {predicate: rows for predicate, parts in frames.items() if (rows := _few(parts, transaction))}
    frames = {predicate: parts for predicate, parts in frames.items() if predicate not in in_driver}
    return in_driver | _wanted_in_tables(frames, transaction) if frames else in_driver


def _few(parts: Sequence[tuple[Frame, int]], transaction: SparkTransaction) -> ChangeRows | None:
    """Return the requested changes of one predicate if the driver has all of them; otherwise None."""
    local = [(frame, number) for frame, number in parts if isinstance(frame, LocalFrame)]
    most = transaction.context.settings.change_rows
    if len(local) < len(parts) or sum(frame.table.num_rows for frame, _ in local) > most:
        return None
    gone, there = (
        np.concatenate(
            [np.empty((0, len(parts[0][0].columns)), np.int64), *(frame.ids for frame, one in local if one == number)]
        )
        for number in (-1, 1)
    )
    deletes, inserts = (
        ChangeRows.of_ids(transaction.context, parts[0][0].arity, distinct_ids(rows, number))
        for rows, number in ((gone, -1), (there, 1))
    )
    return summed([without(deletes, inserts), inserts])


def _wanted_in_tables(
    frames: Mapping[str, Sequence[tuple[Frame, int]]], transaction: SparkTransaction
) -> dict[str, ChangeRows]:
    numbers = {predicate: number for number, predicate in enumerate(frames)}
    arities = {numbers[predicate]: parts[0][0].arity for predicate, parts in frames.items()}
    together: dict[int, tuple[DataFrame, int]] = {}
    for predicate, parts in frames.items():
        pieces = [frame.df.selectExpr(*frame.columns, f"{number}L AS {COUNT}") for frame, number in parts]
        together[numbers[predicate]] = (reduce(lambda left, right: left.union(right), pieces), parts[0][0].arity)
    df = tagged(together, (COUNT,))
    columns = [name for name in df.columns if name != COUNT]
    df = df.groupBy(*columns).agg({COUNT: "max"}).withColumnRenamed(f"max({COUNT})", COUNT)
    found = taken_apart(transaction.context, settle(transaction.context, df, "wanted"), arities)
    return {predicate: found[number] for predicate, number in numbers.items() if number in found}


def _real_changes(wanted: Mapping[str, ChangeRows], transaction: SparkTransaction) -> dict[str, ChangeRows]:
    in_driver = {predicate: rows for predicate, rows in wanted.items() if rows.ids is not None}
    others = {predicate: rows for predicate, rows in wanted.items() if rows.ids is None}
    found = _found_in_driver(in_driver, transaction)
    return found | _found_in_tables(others, transaction) if others else found


def _found_in_driver(wanted: Mapping[str, ChangeRows], transaction: SparkTransaction) -> dict[str, ChangeRows]:
    lookup = Lookup(transaction.context)
    places = {}
    for predicate, rows in wanted.items():
        known = transaction.supported(predicate, rows.arity).owners.get(EXPLICIT)
        if known is not None:
            places[predicate] = lookup.ask(known, rows)
    answers = lookup.run()
    found = {}
    for predicate, rows in wanted.items():
        there = ChangeRows.nothing(transaction.context, rows.arity)
        if predicate in places:
            there = ChangeRows.of_ids(transaction.context, rows.arity, summed_ids(answers[places[predicate]]))
        inserts, deletes = rows.where(+1), rows.where(-1)
        found[predicate] = summed([without(inserts, there), without(deletes, without(deletes, there))])
    return {predicate: rows for predicate, rows in found.items() if rows.rows}


def _found_in_tables(wanted: Mapping[str, ChangeRows], transaction: SparkTransaction) -> dict[str, ChangeRows]:
    frames: dict[int, tuple[DataFrame, int]] = {}
    numbers = {predicate: number for number, predicate in enumerate(wanted)}
    for predicate, rows in wanted.items():
        parts = [rows.df.selectExpr(*rows.columns, f"{COUNT} AS {_WANTED}", f"0L AS {COUNT}")]
        known = transaction.supported(predicate, rows.arity).owners.get(EXPLICIT)
        if known is not None:
            matching = known.matching(rows.keys)
            parts += [part.selectExpr(*rows.columns, f"0L AS {_WANTED}", COUNT) for part in matching]
        frames[numbers[predicate]] = (reduce(lambda left, right: left.union(right), parts), rows.arity)
    df = tagged(frames, (_WANTED, COUNT))
    columns = [name for name in df.columns if name not in (_WANTED, COUNT)]
    df = df.groupBy(*columns).agg({_WANTED: "sum", COUNT: "sum"})
    there, want = f"`sum({COUNT})` > 0", f"`sum({_WANTED})` > 0"
    change = f"IF({want}, IF({there}, 0L, 1L), IF({there}, -1L, 0L)) AS {COUNT}"
    df = df.selectExpr(*columns, change).where(f"{COUNT} <> 0")
    arities = {numbers[predicate]: rows.arity for predicate, rows in wanted.items()}
    found = taken_apart(transaction.context, settle(transaction.context, df, "explicit"), arities)
    return {predicate: found[number] for predicate, number in numbers.items() if number in found}
