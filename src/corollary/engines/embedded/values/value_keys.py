"""Value keys: numbers that are the same for constants that `=` finds equal, so that comparing by value is a join.

While no constant has a twin of another type, the key of a constant is its code. With the first double or literal, constants get
the codes of their values in a universe of values: an integer, a whole double and an xsd:float of one value are one integer there,
every other number is the double that equals it exactly or its own text, and a moment stands for all that are at its place. Keys
that were given stay; NaN, which equals nothing, has none.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from corollary.engines.embedded.relations.hashing import NONE
from corollary.engines.embedded.relations.index import ChainIndex
from corollary.engines.embedded.relations.relation import Codes, Relation
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.program import Literal, Term
from corollary.program.datatypes import place_of, single_of

if TYPE_CHECKING:
    from collections.abc import Callable

Array: TypeAlias = np.ndarray[Any, Any]
Columns: TypeAlias = tuple[tuple[str, int], ...]

_TWINS = (Kind.DOUBLE, Kind.LITERAL)  # constants of these kinds may equal others, or not even themselves


class ValueKeys:
    """The keys of the constants of a universe, brought up to date when somebody asks; `version` changes when keys do."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._size = 0
        self._revealed = universe.revealed
        self._keys = np.empty(0, np.uint32)
        self._values: Universe | None = None
        self._places: dict[object, int] = {}
        self.version = 0

    def by_code(self) -> Codes:
        """The key of every constant by its code, NONE where it equals nothing."""
        universe = self._universe
        if universe.revealed != self._revealed:
            self._revealed = universe.revealed
            self._start_again()
        if universe.size > self._size:
            if self._values is None and np.isin(universe.kinds[self._size : universe.size], _TWINS).any():
                self._start_again()
                self._values = Universe()
            if universe.size > len(self._keys):
                grown = np.empty(max(universe.size, 2 * len(self._keys)), np.uint32)
                grown[: self._size] = self._keys[: self._size]
                self._keys = grown
            new = slice(self._size, universe.size)
            self._keys[new] = np.arange(self._size, universe.size) if self._values is None else self._mapped(new)
            self._size = universe.size
        return self._keys

    def _start_again(self) -> None:
        self._size = 0
        self._values = None
        self._places.clear()
        self.version += 1

    def _mapped(self, new: slice) -> Codes:
        universe, values = self._universe, self._values
        assert values is not None
        kinds, words = universe.kinds[new], universe.words[new]
        # Most constants equal themselves only.
        own = np.arange(new.start, new.stop, dtype=np.int64)
        keys = np.full(len(kinds), NONE, np.uint32)
        is_number = kinds == Kind.INTEGER
        keys[is_number] = values.encode_integers(words[is_number])
        is_double = kinds == Kind.DOUBLE
        keys[is_double] = self._of_doubles(words[is_double].view(np.float64))
        is_slow = (kinds == Kind.DECIMAL) | (kinds == Kind.LARGE_INTEGER) | (kinds == Kind.LITERAL)
        for place in np.flatnonzero(is_slow).tolist():
            keys[place] = self._of_value(universe.value(new.start + place), new.start + place)
        others = ~(is_number | is_double | is_slow)
        keys[others] = values.encode_identities(own[others])
        return keys

    def _of_doubles(self, doubles: Array) -> Codes:
        assert self._values is not None
        whole = (doubles >= -(2.0**63)) & (doubles < 2.0**63) & (doubles == np.floor(doubles))
        keys = np.full(len(doubles), NONE, np.uint32)
        keys[whole] = self._values.encode_integers(doubles[whole].astype(np.int64))
        others = ~whole & ~np.isnan(doubles)
        keys[others] = self._values.encode_doubles(doubles[others])
        return keys

    def _of_value(self, value: object, code: int) -> int:
        assert self._values is not None
        if isinstance(value, Literal):
            number = single_of(value)
            if number is None:
                place = place_of(value)
                first = code if place is None else self._places.setdefault(place, code)
                return int(self._values.encode_identities(np.array([first], np.int64))[0])
        else:
            assert isinstance(value, (int, Decimal))
            number = _equal_double(value)
            if number is None:
                return self._values.encode(value)
        return int(self._of_doubles(np.array([number], np.float64))[0])


def _equal_double(value: int | Decimal) -> float | None:
    """The double that equals a number exactly."""
    try:
        nearest = float(value)
    except OverflowError:
        return None
    return nearest if math.isfinite(nearest) and Fraction(nearest) == Fraction(value) else None


def value_keys_of(universe: Universe) -> ValueKeys:
    """The value keys of a universe, which live as long as it does."""
    known = universe.value_keys
    if not isinstance(known, ValueKeys):
        known = universe.value_keys = ValueKeys(universe)
    return known


class ValueIndex:
    """Leads from the key of a term's value, and perhaps the code of one column, to the rows that have them."""

    def __init__(self, keys: ValueKeys, column: int | None) -> None:
        self._keys = keys
        self._column = column
        self._version = keys.version
        self._shadow = np.empty((0, 1 if column is None else 2), np.uint32)
        self._size = 0
        self._chain = self._new_chain()

    def _new_chain(self) -> ChainIndex:
        chain = ChainIndex(tuple(range(self._shadow.shape[1])), self._shadow.shape[1])
        chain.keys.hashed = True  # a row without a value has no code that could be a place
        return chain

    @property
    def fields(self) -> Array:
        return self._chain.fields

    @property
    def nbytes(self) -> int:
        return int(self._shadow.nbytes) + self._chain.nbytes

    def extend(self, relation: Relation, evaluate: Callable[[Codes], tuple[Codes, Array]]) -> None:
        """Takes in the rows that are new; `evaluate` has the codes of the term's values, and for which rows it has one."""
        codes, valid = evaluate(relation.rows[self._size : relation.size])  # which may bring new constants
        keys = self._keys.by_code()
        if self._version != self._keys.version:
            self._version, self._size, self._chain = self._keys.version, 0, self._new_chain()
            codes, valid = evaluate(relation.rows[: relation.size])
        if relation.size > len(self._shadow):
            grown = np.empty((max(relation.size, 2 * len(self._shadow)), self._shadow.shape[1]), np.uint32)
            grown[: self._size] = self._shadow[: self._size]
            self._shadow = grown
        new = slice(self._size, relation.size)
        self._shadow[new, 0] = np.where(valid, keys[codes], NONE)
        if self._column is not None:
            self._shadow[new, 1] = relation.rows[new, self._column]
        self._size = relation.size
        self._chain.extend(self._shadow, self._size, 0)


def value_index(
    relation: Relation, term: Term, columns: Columns, column: int | None, keys: ValueKeys,
    evaluate: Callable[[Codes], tuple[Codes, Array]],
) -> ValueIndex:  # fmt: skip
    """The index of a relation by the value of a term over its columns."""
    key = (term, columns, column)
    index = relation.value_indexes.get(key)
    if not isinstance(index, ValueIndex):
        index = ValueIndex(keys, column)
        relation.value_indexes[key] = index
    index.extend(relation, evaluate)
    return index
