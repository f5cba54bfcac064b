"""Changes of support as they are stored: by how much each owner's support of facts grows or shrinks.

The support of a fact by an owner is the sum of its changes, so changes can be appended, merged and left apart at will. A change
also says whether the fact became visible (+1) or invisible (-1) by it; that is for differences between versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Ids: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

PREDICATE, OWNER, CHANGE, VISIBLE = "predicate", "owner", "change", "visible"


@dataclass(frozen=True)
class StoredChange:
    """Changes of one owner's support of facts of one predicate; `ids` has a row for each."""

    predicate: str
    owner: str
    ids: Ids
    change: Ids
    visible: np.ndarray[Any, np.dtype[np.int8]]

    @property
    def key(self) -> tuple[str, str]:
        return self.predicate, self.owner

    @property
    def rows(self) -> int:
        return len(self.change)

    @property
    def arity(self) -> int:
        return int(self.ids.shape[1])


def columns_of(arity: int) -> list[str]:
    return [f"a{place}" for place in range(1, arity + 1)]


# -- as JSON, for few ------------------------------------------------------------------------------------------------


def to_json(parts: Iterable[StoredChange]) -> list[Any]:
    return [
        [part.predicate, part.owner, part.arity, part.change.tolist(), part.visible.tolist(), part.ids.ravel().tolist()]
        for part in parts
    ]


def from_json(written: Sequence[Any]) -> list[StoredChange]:
    return [
        StoredChange(
            predicate,
            owner,
            np.array(ids, np.int64).reshape(len(change), arity),
            np.array(change, np.int64),
            np.array(visible, np.int8),
        )
        for predicate, owner, arity, change, visible, ids in written
    ]


# -- as tables, for many ---------------------------------------------------------------------------------------------


def to_table(parts: Sequence[StoredChange]) -> pa.Table:
    """One table; facts with fewer arguments than others are filled up with nulls."""
    width = max((part.arity for part in parts), default=0)
    total = sum(part.rows for part in parts)
    lengths = [part.rows for part in parts]
    columns: dict[str, Any] = {
        PREDICATE: _repeated([part.predicate for part in parts], lengths),
        OWNER: _repeated([part.owner for part in parts], lengths),
        CHANGE: np.concatenate([np.empty(0, np.int64), *(part.change for part in parts)]).astype(np.int32),
        VISIBLE: np.concatenate([np.empty(0, np.int8), *(part.visible for part in parts)]),
    }
    for place, name in enumerate(columns_of(width)):
        values, missing = np.zeros(total, np.int64), np.ones(total, np.bool_)
        at = 0
        for part in parts:
            if place < part.arity:
                values[at : at + part.rows] = part.ids[:, place]
                missing[at : at + part.rows] = False
            at += part.rows
        columns[name] = pa.array(values, mask=missing)
    return pa.table(columns)


def _repeated(texts: list[str], lengths: list[int]) -> pa.Array:
    names = list(dict.fromkeys(texts))
    places = np.repeat(np.array([names.index(text) for text in texts], np.int32), lengths)
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(names, pa.string())).cast(pa.string())


def from_table(table: pa.Table) -> Iterator[StoredChange]:
    """The parts of a table of changes; `visible` may be missing."""
    if not table.num_rows:
        return
    names = [column for column in table.column_names if column.startswith("a")]
    keys = [table.column(name).combine_chunks().dictionary_encode() for name in (PREDICATE, OWNER)]
    places = [key.indices.to_numpy(zero_copy_only=False).astype(np.int64) for key in keys]
    texts = [key.dictionary.to_pylist() for key in keys]
    combined = places[0] * len(texts[1]) + places[1]
    order = np.argsort(combined, kind="stable")
    starts = np.flatnonzero(np.diff(combined[order], prepend=-1))
    change = table.column(CHANGE).to_numpy().astype(np.int64)
    visible = table.column(VISIBLE).to_numpy() if VISIBLE in table.column_names else np.zeros(len(change), np.int8)
    ids = [(table.column(name).fill_null(0).to_numpy(), table.column(name).is_valid().to_numpy()) for name in names]
    for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
        rows = order[start:stop]
        used = [values[rows] for values, valid in ids if valid[rows[0]]]
        facts = np.stack(used, axis=1) if used else np.empty((len(rows), 0), np.int64)
        predicate, owner = divmod(int(combined[rows[0]]), len(texts[1]))
        yield StoredChange(texts[0][predicate], texts[1][owner], facts, change[rows], visible[rows].astype(np.int8))


# -- merging ---------------------------------------------------------------------------------------------------------


def merged(parts: Iterable[StoredChange]) -> list[StoredChange]:
    """One part for each predicate and owner, each fact once, with the sums of its changes; without what sums up to nothing."""
    groups: dict[tuple[str, str], list[StoredChange]] = {}
    for part in parts:
        groups.setdefault(part.key, []).append(part)
    found = (_summed(group) for _, group in sorted(groups.items()))
    return [part for part in found if part.rows]


def _summed(parts: list[StoredChange]) -> StoredChange:
    first = parts[0]
    ids = np.concatenate([part.ids for part in parts])
    change, visible = (np.concatenate([getattr(part, name) for part in parts]) for name in (CHANGE, VISIBLE))
    order, starts = groups_of_rows(ids)
    change = np.add.reduceat(change[order], starts) if len(order) else change
    visible = np.add.reduceat(visible[order].astype(np.int64), starts) if len(order) else visible
    kept = (change != 0) | (visible != 0)
    return StoredChange(
        first.predicate, first.owner, ids[order[starts]][kept], change[kept], visible[kept].astype(np.int8)
    )


def groups_of_rows(rows: np.ndarray[Any, Any]) -> tuple[Ids, Ids]:
    """An order in which equal rows stand together, and where each group starts in it."""
    if not rows.shape[1]:
        return np.arange(len(rows)), np.zeros(min(1, len(rows)), np.int64)
    order = np.lexsort(tuple(rows[:, place] for place in reversed(range(rows.shape[1]))))
    ordered = rows[order]
    starts = np.ones(len(order), np.bool_)
    np.any(ordered[1:] != ordered[:-1], axis=1, out=starts[1:])
    return order, np.flatnonzero(starts)
