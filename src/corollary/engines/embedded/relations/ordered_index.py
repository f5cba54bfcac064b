"""Rows of a relation in the order of the values of a term, so that `<` and the like find ranges of rows.

Numbers of all types are ordered among themselves, and so are texts, and moments of each datatype. The index stores row
numbers: ranks of constants may change when new ones come, but the order of existing constants does not. New rows wait
in a tail until scanning them has cost as much as ordering them; then they are sorted and merged. An iteration over an
index keeps the order from its start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from corollary.engines.embedded.relations.memory import NONE
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.planning import Range
from corollary.program import Variable

Array: TypeAlias = np.ndarray[Any, Any]
Columns: TypeAlias = tuple[tuple[str, int], ...]
Order: TypeAlias = Callable[[bool], tuple[Array, Array]]

_SORTING, _MERGING = 16, 32
"""Sorting a row costs as much as scanning this many; merging costs as much as scanning one row in this many."""


@dataclass(frozen=True)
class OrderedRows:
    """The first `size` rows of a relation: the first `valued` numbers are in order, the other rows have no value to
    order by."""

    numbers: Codes
    valued: int

    @property
    def size(self) -> int:
        return len(self.numbers)


_NOTHING = OrderedRows(np.empty(0, np.uint32), 0)


class OrderedIndex:
    """The order of a relation's rows; `evaluate` returns the codes of the term's values, and which rows have one; None
    for a column."""

    def __init__(self, column: int | None, prefix: int | None) -> None:
        self._column = column
        self._prefix = prefix
        self._codes = np.empty(0, np.uint32)  # of the values of a term that is not a column
        self._evaluated = 0
        self._seen = 0
        self._debt = 0
        self.has_texts = False
        self.rows = _NOTHING

    @property
    def nbytes(self) -> int:
        return int(self._codes.nbytes + self.rows.numbers.nbytes)

    def place(self, relation: Relation) -> tuple[Array, int, int]:
        """Return where the code of a row's value is: an array, the distance between rows, and the offset."""
        if self._column is None:
            return self._codes, 1, 0
        return relation.rows, relation.arity, self._column

    def extend(
        self,
        relation: Relation,
        universe: Universe,
        evaluate: Callable[[Codes], tuple[Codes, Array]],
        looks: int,
        order: Order,
    ) -> OrderedRows:
        """Add new rows; `looks` is how often the unordered ones are about to be scanned."""
        size = relation.size
        if self._column is None and self._evaluated < size:
            codes, valid = evaluate(relation.rows[self._evaluated : size])  # this may add new constants
            if size > len(self._codes):
                grown = np.empty(max(size, 2 * len(self._codes)), np.uint32)
                grown[: self._evaluated] = self._codes[: self._evaluated]
                self._codes = grown
            self._codes[self._evaluated : size] = np.where(valid, codes, NONE)
            self._evaluated = size
        values = self._codes[:size] if self._column is None else relation.rows[:size, self._column]
        if not self.has_texts and self._seen < size:
            new = values[self._seen :]
            kinds = universe.kinds[new[new != NONE]]
            self.has_texts = bool(((kinds == Kind.STRING) | (kinds == Kind.IRI)).any())
        self._seen = size
        tail = size - self.rows.size
        self._debt += looks * tail
        if tail and self._debt > _SORTING * tail + self.rows.size // _MERGING:
            self._debt = 0
            kinds, ranks = order(self.has_texts)
            self.rows = self._merged(values, relation, kinds, ranks)
        return self.rows

    def _merged(self, values: Codes, relation: Relation, kinds: Array, ranks: Array) -> OrderedRows:
        known, size = self.rows, len(values)
        new = values[known.size :]
        has_code = new != NONE
        new = np.where(has_code, new, 0)
        new_kinds = np.where(has_code, kinds[new], 0)
        new_ranks = ranks[new]
        is_valued = (new_kinds != 0) & ~np.isnan(new_ranks)
        numbers = np.arange(known.size, size, dtype=np.uint32)
        chosen = numbers[is_valued]
        keys = [new_ranks[is_valued]]
        if len(chosen) and (new_kinds[is_valued] != new_kinds[is_valued][0]).any():
            keys.append(new_kinds[is_valued])
        if self._prefix is not None:
            keys.append(relation.rows[chosen, self._prefix])
        chosen = chosen[np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys)]
        without = numbers[~is_valued]
        if known.size:
            prefix = np.empty(0, np.uint32) if self._prefix is None else relation.rows[:size, self._prefix]
            values, prefix = np.ascontiguousarray(values), np.ascontiguousarray(prefix)
            before = _places(known.numbers[: known.valued], chosen, values, prefix, kinds, ranks)
            chosen = np.insert(known.numbers[: known.valued], before, chosen)
            without = np.concatenate([known.numbers[known.valued :], without])
        return OrderedRows(np.concatenate([chosen, without]), len(chosen))


@njit(cache=True, nogil=True)
def _places(known: Any, new: Any, values: Any, prefix: Any, kinds: Any, ranks: Any) -> Any:
    """Return, for each new row, its position among the known ones."""
    found = np.empty(len(new), np.int64)
    for number in range(len(new)):
        row = new[number]
        code = values[row]
        low, high = 0, len(known)
        while low < high:
            middle = (low + high) >> 1
            other_row = known[middle]
            other = values[other_row]
            if len(prefix) and prefix[other_row] != prefix[row]:
                is_less = prefix[other_row] < prefix[row]
            elif kinds[other] != kinds[code]:
                is_less = kinds[other] < kinds[code]
            else:
                is_less = ranks[other] <= ranks[code]
            if is_less:
                low = middle + 1
            else:
                high = middle
        found[number] = low
    return found


def ordered_index(relation: Relation, between: Range, columns: Columns) -> OrderedIndex:
    """Return the index of a relation by the order of a term over its columns, after the key column if there is one."""
    column = columns[0][1] if isinstance(between.term, Variable) else None
    key = (Range, (between.term, columns) if column is None else column, between.prefix)  # a column may have many names
    index = relation.value_indexes.get(key)
    if not isinstance(index, OrderedIndex):
        index = relation.value_indexes[key] = OrderedIndex(column, between.prefix)
    return index
