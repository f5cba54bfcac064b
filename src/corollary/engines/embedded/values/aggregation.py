"""Aggregates over groups of rows. numpy reduces groups of machine integers; all others are computed value by value."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.engines.embedded.values.host_functions import reduce_by_host
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.program import AggregateOperation, EvaluationError, Variable, aggregate
from corollary.program.host_functions import HOST_FUNCTIONS

Array: TypeAlias = np.ndarray[Any, Any]


def aggregate_rows(
    rows: Codes, columns: dict[str, int], group_by: tuple[str, ...], operations: tuple[AggregateOperation, ...],
    universe: Universe,
) -> Relation:  # fmt: skip
    """Return one row of groups and results for each group of distinct bindings, without groups in which a result has no
    value."""
    result = Relation(len(group_by) + len(operations), universe.code_bits)
    if not len(rows):
        return result
    keys = rows[:, [columns[name] for name in group_by]]
    order, starts = _groups(keys)
    found = np.empty((len(starts), result.arity), np.uint32)
    found[:, : len(group_by)] = keys[order[starts]]
    valid = np.ones(len(starts), np.bool_)
    for place, operation in enumerate(operations, len(group_by)):
        argument = operation.argument
        if isinstance(argument, Variable):
            column = rows[:, columns[argument.name]][order]
        else:
            column = np.full(len(rows), universe.encode(argument.value), np.uint32)  # type: ignore[union-attr]
        codes, has_value = _reduce(operation, column, starts, universe)
        found[:, place] = codes
        valid &= has_value
    result.widen(universe.code_bits)
    result.append_distinct(found[valid])
    return result


def _groups(keys: Codes) -> tuple[Array, Array]:
    """Return an order of the rows with adjacent groups, and where each group starts in it."""
    if keys.shape[1] == 0:
        return np.arange(len(keys)), np.zeros(1, np.int64)
    order = np.lexsort(tuple(keys[:, column] for column in range(keys.shape[1] - 1, -1, -1)))
    ordered = keys[order]
    changes = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order, np.concatenate([[0], np.flatnonzero(changes) + 1])


def _reduce(operation: AggregateOperation, column: Codes, starts: Array, universe: Universe) -> tuple[Codes, Array]:
    everywhere = np.ones(len(starts), np.bool_)
    if operation.distinct:
        column, starts = _distinct(column, starts)
    sizes = np.diff(np.append(starts, len(column)))
    if operation.function == "count":
        return universe.encode_integers(sizes), everywhere
    if (host := HOST_FUNCTIONS.get(operation.function)) is not None:
        return reduce_by_host(host, column, starts, universe)
    if (universe.kinds[column] == Kind.INTEGER).all():
        integers = universe.words[column]
        if np.abs(integers.astype(np.float64)).sum() < 2**53:
            return _reduce_integers(operation.function, integers, starts, sizes, universe), everywhere
    return _reduce_by_value(operation.function, column, starts, universe)


def _distinct(column: Codes, starts: Array) -> tuple[Codes, Array]:
    group = np.zeros(len(column), np.int64)
    group[starts[1:]] = 1
    group = np.cumsum(group)
    pairs = np.unique(np.stack([group, column.astype(np.int64)], axis=1), axis=0)
    return pairs[:, 1].astype(np.uint32), np.searchsorted(pairs[:, 0], np.arange(len(starts)))


def _reduce_integers(function: str, integers: Array, starts: Array, sizes: Array, universe: Universe) -> Codes:
    match function:
        case "sum":
            return universe.encode_integers(np.add.reduceat(integers, starts))
        case "min":
            return universe.encode_integers(np.minimum.reduceat(integers, starts))
        case "max":
            return universe.encode_integers(np.maximum.reduceat(integers, starts))
        case "avg":
            return universe.encode_doubles(np.add.reduceat(integers, starts) / sizes)
        case _:
            return _medians(integers, starts, sizes, universe)


def _medians(integers: Array, starts: Array, sizes: Array, universe: Universe) -> Codes:
    group = np.repeat(np.arange(len(starts)), sizes)
    ordered = integers[np.lexsort((integers, group))]
    low, high = ordered[starts + (sizes - 1) // 2], ordered[starts + sizes // 2]
    total = low + high
    codes = universe.encode_integers(total // 2)
    halves = np.flatnonzero(total % 2)
    if len(halves):  # a mean that is not an integer is a decimal
        distinct, places = np.unique(total[halves], return_inverse=True)
        decimals = universe.encode_values([Decimal(int(value)) / 2 for value in distinct])
        codes[halves] = decimals[places]
    return codes


def _reduce_by_value(function: str, column: Codes, starts: Array, universe: Universe) -> tuple[Codes, Array]:
    codes = np.zeros(len(starts), np.uint32)
    valid = np.ones(len(starts), np.bool_)
    for number, group in enumerate(np.split(column, starts[1:])):
        try:
            codes[number] = universe.encode(aggregate(function, universe.values(group.tolist())))
        except EvaluationError:
            valid[number] = False
    return codes, valid
