"""The universe of the embedded engine and its ids on disk: the same ids that Spark makes, so that both read the same files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.spark.terms.forms import codes_of_forms, form_table
from corollary.engines.spark.terms.ids import (
    NO_COLLISIONS,
    CollisionTable,
    Ids,
    Tag,
    codes_of_inline,
    ids_of_universe,
    is_hashed,
    salted_id,
    tag,
)
from corollary.engines.spark.terms.task_universe import NOT_FOUND, TERM_FIELDS, IdMap

_MANY = 10_000
_CLOSE = 1 << 24


class StoredTerms:
    """Codes of one universe to ids and back; remembers which hashed constants are stored already."""

    def __init__(self, universe: Universe, collisions: CollisionTable = NO_COLLISIONS) -> None:
        self.universe = universe
        self.collisions = collisions
        self._ids = np.empty(1024, np.int64)
        self._stored = np.zeros(1024, np.bool_)
        self._known = 0  # codes below this number have their id in `_ids`
        self._map = IdMap()

    def ids(self, codes: Codes) -> Ids:
        """The ids of codes, in an array of any shape."""
        self._follow()
        found: Ids = self._ids[codes]
        return found

    def new_terms(self, codes: list[Codes], *, stored: bool = False) -> tuple[Codes, pa.Table]:
        """The hashed constants among the codes that are not stored, and their rows; `note_stored` says when they are.

        With `stored`, those that are come too.
        """
        self._follow()
        wanted = np.zeros(self.universe.size, np.bool_)
        for some in codes:
            wanted[some.reshape(-1)] = True
        found = np.flatnonzero(wanted).astype(np.uint32)
        found = found[is_hashed(self._ids[found]) & (stored | ~self._stored[found])]
        return found, self.rows_of(found)

    def rows_of(self, codes: Codes) -> pa.Table:
        """Rows of the universe for hashed constants."""
        return pa.table([pa.array(self._ids[codes]), *form_table(self.universe, codes).columns], schema=TERM_FIELDS)

    def note_stored(self, codes: Codes) -> None:
        self._stored[codes] = True

    # -- back --------------------------------------------------------------------------------------------------------

    def learn(self, terms: pa.Table) -> None:
        """Rows of the universe that are stored."""
        if not terms.num_rows:
            return
        self._follow()
        ids = terms.column("id").to_numpy()
        canonical, datatype = (terms.column(name).combine_chunks() for name in ("canonical", "datatype"))
        before = self._known
        codes = codes_of_forms(self.universe, canonical, datatype)
        self._register(codes, ids)
        self._stored[codes] = True
        # The parts of terms are constants, too.
        self._give_ids(np.setdiff1d(np.arange(before, self.universe.size, dtype=np.uint32), codes))

    def codes(self, ids: Ids) -> Codes:
        """The codes of a column of ids; raises `KeyError` for one that nobody explained."""
        if len(ids) and (tag(ids) == Tag.HASHED).any():
            self._follow()
        return _codes_of(self.universe, ids, self._map)

    def write_codes(self, ids: Ids, facts: Codes, place: int) -> None:
        """The codes of a column of ids as a column of facts. Many integers that lie close together are looked up in an array."""
        if len(ids) >= _MANY:
            least, greatest, are_integers = _bounds(ids)
            if are_integers and (greatest - least) >> 2 < _CLOSE:
                seen = np.zeros(((greatest - least) >> 2) + 1, np.bool_)
                _note_seen(ids, least, seen)
                distinct = np.flatnonzero(seen)
                codes = np.empty(len(seen), np.uint32)
                codes[distinct] = self.universe.encode_integers(distinct + (least >> 2))
                _look_up(ids, least, codes, facts, place)
                return
        facts[:, place] = self.codes(ids)

    # -- bookkeeping -------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Give ids to the codes that were made since the last time; no two constants get the same."""
        self._give_ids(np.arange(self._known, self.universe.size, dtype=np.uint32))

    def _give_ids(self, codes: Codes) -> None:
        if not len(codes):
            return
        ids = ids_of_universe(self.universe, codes, self.collisions)
        hashed = np.flatnonzero(is_hashed(ids))
        if len(hashed):
            seen = self._map.find(ids[hashed]) != NOT_FOUND
            _, first = np.unique(ids[hashed], return_index=True)
            repeated = np.ones(len(hashed), np.bool_)
            repeated[first] = False
            for place in hashed[seen | repeated].tolist():
                ids[place] = self._another_id(int(codes[place]), set(ids.tolist()))
        self._register(codes, ids)

    def _another_id(self, code: int, taken: set[int]) -> int:
        """An id for a constant whose own is that of another one."""
        form = form_table(self.universe, np.array([code], np.uint32)).to_pylist()[0]
        for salt in range(1, 1 << 20):
            number = salted_id(self.universe, code, salt, self.collisions)
            if number not in taken and self._map.find(np.array([number]))[0] == NOT_FOUND:
                self.collisions = self.collisions.with_salts({(form["datatype"], form["canonical"]): salt})
                return number
        raise RuntimeError("no id is free: are the hashes too narrow?")

    def _register(self, codes: Codes, ids: Ids) -> None:
        size = self.universe.size
        if size > len(self._ids):
            self._ids, self._stored = _grown(self._ids, size), _grown(self._stored, size)
        self._stored[self._known : size] = False
        self._ids[codes] = ids
        hashed = is_hashed(ids)
        self._map.add(ids[hashed], codes[hashed])
        self._known = size


def _grown(array: np.ndarray[Any, Any], wanted: int) -> np.ndarray[Any, Any]:
    grown = np.zeros(max(wanted, len(array) * 2), array.dtype)
    grown[: len(array)] = array
    return grown


def codes_of_rows(universe: Universe, ids: Ids, terms: pa.Table) -> Codes:
    """The codes of rows of ids in any universe, with the rows of the universe that tell what they stand for."""
    known = IdMap()
    canonical, datatype = (terms.column(name).combine_chunks() for name in ("canonical", "datatype"))
    known.add(terms.column("id").to_numpy(), codes_of_forms(universe, canonical, datatype))
    return _codes_of(universe, np.ascontiguousarray(ids).reshape(-1), known).reshape(ids.shape)


def _codes_of(universe: Universe, ids: Ids, hashed: IdMap) -> Codes:
    tags = tag(ids)
    if len(ids) and (tags == tags[0]).all():
        return _codes_of_tag(universe, Tag(int(tags[0])), ids, hashed)
    codes = np.empty(len(ids), np.uint32)
    for number in np.flatnonzero(np.bincount(tags, minlength=4)).tolist():
        chosen = tags == number
        codes[chosen] = _codes_of_tag(universe, Tag(number), ids[chosen], hashed)
    return codes


def _codes_of_tag(universe: Universe, number: Tag, ids: Ids, hashed: IdMap) -> Codes:
    if number != Tag.HASHED:
        return codes_of_inline(universe, number, ids)
    codes = hashed.find(ids)
    if (codes == NOT_FOUND).any():
        raise KeyError(int(ids[codes == NOT_FOUND][0]))
    return codes


# -- kernels that read columns of ids without copies of them: fresh memory costs more than the reading ------------------


@njit(cache=True, nogil=True)
def _bounds(ids: Any) -> Any:
    """Return the least and the greatest id, and whether all are integers."""
    least, greatest = ids[0], ids[0]
    tags = np.int64(0)
    for i in range(len(ids)):
        number = ids[i]
        tags |= number
        if number < least:
            least = number
        if number > greatest:
            greatest = number
    return least, greatest, (tags & 3) == 0


@njit(cache=True, nogil=True)
def _note_seen(ids: Any, least: int, seen: Any) -> None:
    """Mark the integers that occur, from the least one on."""
    for i in range(len(ids)):
        seen[(ids[i] - least) >> 2] = True


@njit(cache=True, nogil=True)
def _look_up(ids: Any, least: int, codes: Any, facts: Any, place: int) -> None:
    """Write the codes of integers into a column of facts."""
    for i in range(len(ids)):
        facts[i, place] = codes[(ids[i] - least) >> 2]
