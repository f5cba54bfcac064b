"""Look-ups of the owners that support some facts, and of the visible ones, by sending the facts to the relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from corollary.engines.spark.maintenance.change_rows import (
    ChangeRows,
    Ids,
    settle,
    summed_ids,
    tagged,
    taken_apart,
    without,
)
from corollary.engines.spark.maintenance.lookup import Lookup
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.engines.spark.maintenance.transaction import SparkTransaction
from corollary.engines.spark.maintenance.versions import SparkVersions
from corollary.engines.spark.relations import COUNT
from corollary.planning.deltas import AFTER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context


@dataclass(frozen=True)
class Support:
    """Facts that only one owner supports, and what the owner supports among these and among all others."""

    unsupported: ChangeRows
    own_unsupported: ChangeRows
    own_supported: ChangeRows


def support_of(
    facts: Mapping[str, ChangeRows], heads: Mapping[str, int], owner: str, transaction: SparkTransaction
) -> dict[str, Support]:
    """Return the support of facts by an owner and by others, at this point of the transaction, for all predicates in
    one job."""
    found: dict[str, Support] = {}
    asked: dict[str, ChangeRows] = {}
    for name, rows in facts.items():
        if rows.rows and transaction.has_others(name, heads[name], owner):
            asked[name] = rows
        elif rows.rows:
            found[name] = Support(rows, rows.once(), ChangeRows.nothing(transaction.context, heads[name]))
    in_driver = {name: rows for name, rows in asked.items() if transaction.is_in_driver(name, rows)}
    if in_driver:
        found |= _found_in_driver(in_driver, heads, owner, transaction)
    others = {name: rows for name, rows in asked.items() if name not in in_driver}
    return found | _found_in_tables(others, heads, owner, transaction) if others else found


def _found_in_driver(
    asked: Mapping[str, ChangeRows], heads: Mapping[str, int], owner: str, transaction: SparkTransaction
) -> dict[str, Support]:
    lookup = Lookup(transaction.context)
    places: dict[str, list[tuple[bool, int]]] = {}
    for name, rows in asked.items():
        relations = transaction.support_relations(name, heads[name])
        places[name] = [(one == owner, lookup.ask(relation, rows)) for one, relation in relations.items()]
    answers = lookup.run()
    found = {}
    for name, rows in asked.items():
        assert rows.ids is not None
        context, arity = transaction.context, heads[name]
        own, others = (
            ChangeRows.of_ids(
                context, arity, _positive([answers[place] for mine, place in places[name] if mine is one], rows)
            )
            for one in (True, False)
        )
        found[name] = Support(without(rows.once(), others), without(own, others), without(own, without(own, others)))
    return found


def _positive(parts: list[Ids], rows: ChangeRows) -> Ids:
    """Return the facts whose numbers add up to more than zero, each with the number 1."""
    sums = summed_ids(np.concatenate([*parts, np.empty((0, len(rows.columns) + 1), np.int64)]))
    sums = sums[sums[:, -1] > 0]
    sums[:, -1] = 1
    return sums


def _found_in_tables(
    asked: Mapping[str, ChangeRows], heads: Mapping[str, int], owner: str, transaction: SparkTransaction
) -> dict[str, Support]:
    numbers = {name: number for number, name in enumerate(asked)}
    frames: dict[int, tuple[DataFrame, int]] = {}
    for name, rows in asked.items():
        parts = [rows.df.selectExpr(*rows.columns, "0L AS own", "0L AS others")]
        for one, relation in transaction.support_relations(name, heads[name]).items():
            own, others = (COUNT, "0L") if one == owner else ("0L", COUNT)
            for part in relation.matching(rows.keys):
                parts.append(part.selectExpr(*rows.columns, f"{own} AS own", f"{others} AS others"))
        frames[numbers[name]] = (reduce(lambda left, right: left.union(right), parts), heads[name])
    return _looked_up(frames, numbers, heads, transaction)


def _looked_up(
    frames: Mapping[int, tuple[DataFrame, int]],
    numbers: Mapping[str, int],
    heads: Mapping[str, int],
    transaction: SparkTransaction,
) -> dict[str, Support]:
    df = tagged(frames, ("own", "others"))
    columns = [name for name in df.columns if name not in ("own", "others")]
    df = df.groupBy(*columns).agg({"own": "sum", "others": "sum"})
    # 1: no owner supports it, 2: only this owner, 3: this owner and others
    kind = "IF(`sum(others)` > 0, IF(`sum(own)` > 0, 3L, 0L), IF(`sum(own)` > 0, 2L, 1L))"
    df = df.selectExpr(*columns, f"{kind} AS {COUNT}").where(f"{COUNT} > 0")
    arities = {number: arity for number, (_, arity) in frames.items()}
    rows_of = taken_apart(transaction.context, settle(transaction.context, df, "support"), arities)
    found = {}
    for name, number in numbers.items():
        if number in frames:
            rows = rows_of.get(number) or ChangeRows.nothing(transaction.context, heads[name])
            kinds = [rows.having(kind).once() for kind in (1, 2, 3)]
            unsupported = rows.having(1, 2).once()
            found[name] = Support(unsupported, kinds[1], kinds[2])
    return found


def visible_among(
    facts: Mapping[str, ChangeRows], heads: Mapping[str, int], versions: SparkVersions
) -> dict[str, ChangeRows]:
    """Return the currently visible facts among the given ones, for all predicates in one job."""
    asked = {name: rows for name, rows in facts.items() if rows.rows}
    return present_among(asked, {name: versions.relation(AFTER + name, heads[name]) for name in asked})


def present_among(facts: Mapping[str, ChangeRows], relations: Mapping[str, SignedRelation]) -> dict[str, ChangeRows]:
    """Return the facts whose numbers in a relation add up to more than zero, for all predicates in one job."""
    if not facts:
        return {}
    context = next(iter(facts.values())).context
    found: dict[str, ChangeRows] = {}
    lookup = Lookup(context)
    places = {name: lookup.ask(relations[name], rows) for name, rows in facts.items() if rows.ids is not None}
    answers = lookup.run()
    for name, place in places.items():
        found[name] = ChangeRows.of_ids(context, facts[name].arity, _positive([answers[place]], facts[name]))
    others = {name: rows for name, rows in facts.items() if name not in places}
    return found | _present_in_tables(others, relations, context) if others else found


def _present_in_tables(
    asked: Mapping[str, ChangeRows], relations: Mapping[str, SignedRelation], context: Context
) -> dict[str, ChangeRows]:
    numbers = {name: number for number, name in enumerate(asked)}
    frames: dict[int, tuple[DataFrame, int]] = {}
    for name, rows in asked.items():
        parts = relations[name].matching(rows.keys)
        if parts:
            frames[numbers[name]] = (reduce(lambda left, right: left.union(right), parts), rows.arity)
    if not frames:
        return {}
    df = tagged(frames, (COUNT,))
    columns = [name for name in df.columns if name != COUNT]
    df = df.groupBy(*columns).agg({COUNT: "sum"}).withColumnRenamed(f"sum({COUNT})", COUNT).where(f"{COUNT} > 0")
    arities = {number: arity for number, (_, arity) in frames.items()}
    found = taken_apart(context, settle(context, df, "visible"), arities)
    return {name: found[number].once() for name, number in numbers.items() if number in found}
