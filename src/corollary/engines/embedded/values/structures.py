"""Function terms and lists on whole columns of codes: built from the codes of their parts, and taken apart into them.

The parts of a term are entries in arrays by code, so taking terms apart is indexing, and a term is found by its form
and the codes of its parts. A term made by rules consists only of these; its Python value is made on demand. If some
constants are opaque, terms are found by their values instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.program import FunctionTerm, ListTerm, Part, Structure, Term, Value
from corollary.program.patterns import LIST, MOST_SYMBOLS, Form, check_size, children

Array: TypeAlias = np.ndarray[Any, Any]
Column: TypeAlias = tuple[Codes, Array]
Compute: TypeAlias = Callable[[Term], Column]
"""Returns the codes of a term's values, and which rows have one."""

_UNKNOWN, _PLAIN = -1, -2


class Structures:
    """The parts of the terms of a universe; `forms[code]` is a number for name and arity, one for all lists."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._revealed = universe.revealed
        self._numbers: dict[Form, int] = {LIST: 0}
        self._forms = np.full(1024, _UNKNOWN, np.int32)
        self._sizes = np.zeros(1024, np.int64)
        self._starts = np.zeros(1024, np.int64)
        self._parts = np.empty(1024, np.uint32)
        self._used = 0
        self._depths = np.zeros(1024, np.int32)
        self._symbols = np.ones(1024, np.int64)
        self._names: list[str | None] = [None]
        self._by_parts: list[dict[bytes, int]] = [{}]
        self._made: dict[tuple[int, bool, bytes], int] = {}
        self._rests: dict[tuple[int, int], int] = {}

    @property
    def is_current(self) -> bool:
        """Return whether the parts are still valid: opaque constants that got values may have changed codes."""
        return self._revealed == self._universe.revealed

    @property
    def forms(self) -> set[Form]:
        """The forms of terms in a complete universe."""
        return {form for form, number in self._numbers.items() if self._by_parts[number]}

    def part(self, part: Part, whole: Column) -> Column:
        """Return one part of each term; invalid for constants of another form."""
        codes, valid = whole
        self._make_room()
        unknown = valid & (self._forms[codes] == _UNKNOWN)
        if unknown.any():
            self._learn(np.unique(codes[unknown]))
        form = self._number((part.functor, part.count) if part.functor is not None else LIST)
        fits = valid & (self._forms[codes] == form)
        if part.functor is None:
            fits &= self._sizes[codes] >= part.count if part.open else self._sizes[codes] == part.count
        found = np.zeros(len(codes), np.uint32)
        if part.open and part.place == part.count:
            distinct, places = np.unique(codes[fits], return_inverse=True)
            rests = np.array([self._rest(code, part.count) for code in distinct.tolist()], np.uint32)
            found[fits] = rests[places]
        else:
            found[fits] = self._parts[self._starts[codes[fits]] + part.place]
        return found, fits

    def make(self, pattern: Term, compute: Compute, count: int) -> Column:
        """Return the codes of terms with the given parts."""
        columns = [compute(child) for child in children(pattern)]
        valid = np.ones(count, np.bool_)
        for _, has_value in columns:
            valid &= has_value
        is_open = isinstance(pattern, ListTerm) and pattern.tail is not None
        rows = np.stack([codes[valid] for codes, _ in columns], axis=1) if columns else np.empty((count, 0), np.uint32)
        name = pattern.name if isinstance(pattern, FunctionTerm) else None
        distinct, places = _distinct(rows)
        form = self._number((name, len(columns)) if name is not None else LIST)
        by_parts = self._made_of_parts if self._universe.is_complete else self._made_of_values
        codes = by_parts(name, form, is_open, distinct) if len(rows) else []
        made = np.array(codes, np.int64)[places] if len(rows) else np.empty(0, np.int64)
        found = np.zeros(count, np.uint32)
        has_value = valid.copy()
        has_value[valid] = made >= 0
        found[has_value] = made[made >= 0]
        return found, has_value

    # -- terms by their parts ----------------------------------------------------------------------------------------

    def encode(self, value: Value) -> int:
        """Return the code of a term from outside, which may have any size."""
        inside = value.arguments if isinstance(value, Structure) else value
        assert isinstance(inside, tuple)
        form = self._number((value.name, len(inside)) if isinstance(value, Structure) else LIST)
        key = self._universe.encode_values(inside).tobytes()
        found = self._by_parts[form].get(key)
        return int(self._add(form, [key])[0]) if found is None else found

    def value_of(self, code: int) -> Value:
        """Return the value of a term, after making those of the terms inside it."""
        universe, waiting = self._universe, [code]
        while waiting:
            parts = self._parts_of(waiting[-1])
            missing = [part for part in parts.tolist() if not universe.has_value(part)]
            if missing:
                waiting += missing
                continue
            inside = tuple(map(universe.value, parts.tolist()))
            name = self._names[self._forms[waiting[-1]]]
            universe.set_value(waiting.pop(), inside if name is None else Structure(name, inside))
        return universe.value(code)

    def _made_of_parts(self, _: str | None, form: int, is_open: bool, rows: Codes) -> list[int]:
        """Return the codes of terms with these parts; -1 if the parts make no term."""
        keys = [row.tobytes() for row in rows]
        if is_open:
            self._make_room()
            is_list = (self._forms[rows[:, -1]] == form).tolist()
            items = [row[:-1].tobytes() for row in rows]
            keys = [
                start + self._parts_of(rest).tobytes() if fits else b""
                for start, rest, fits in zip(items, rows[:, -1].tolist(), is_list, strict=True)
            ]
        known = self._by_parts[form]
        codes = [known.get(key, -1) for key in keys]
        missing = [at for at, code in enumerate(codes) if code < 0 and (not is_open or is_list[at])]
        if is_open:
            codes = [code if fits else -1 for code, fits in zip(codes, is_list, strict=True)]
        if missing:
            made = self._add(form, [keys[at] for at in missing], self._universe.deepest)
            for at, code in zip(missing, made.tolist(), strict=True):
                codes[at] = code
        return codes

    def _add(self, form: int, keys: list[bytes], deepest: int | None = None) -> Codes:
        """Add new terms of parts; raise if one is larger than rules may make."""
        parts = np.frombuffer(b"".join(keys), np.uint32)
        sizes = np.array([len(key) for key in keys], np.int64) // parts.itemsize
        starts = np.cumsum(sizes) - sizes
        self._make_room()
        depths, symbols = np.ones(len(keys), np.int32), np.ones(len(keys), np.int64)
        if len(parts):
            filled = sizes > 0
            depths[filled] += np.maximum.reduceat(self._depths[parts], starts[filled])
            symbols[filled] += np.add.reduceat(self._symbols[parts], starts[filled])
        if deepest is not None:
            large = np.flatnonzero(((depths > deepest) & (depths > 1)) | (symbols > MOST_SYMBOLS))
            if len(large):
                inside = tuple(map(self._universe.value, np.frombuffer(keys[large[0]], np.uint32).tolist()))
                check_size(inside if self._names[form] is None else Structure(self._names[form] or "", inside), deepest)
        codes = self._universe.add_terms(len(keys))
        self._make_room()
        if self._used + len(parts) > len(self._parts):
            self._parts = _grown(self._parts, 2 * (self._used + len(parts)), 0)
        self._parts[self._used : self._used + len(parts)] = parts
        self._forms[codes], self._sizes[codes], self._starts[codes] = form, sizes, self._used + starts
        self._depths[codes], self._symbols[codes] = depths, symbols
        self._used += len(parts)
        self._by_parts[form].update(zip(keys, codes.tolist(), strict=True))
        return codes

    def _parts_of(self, code: int) -> Codes:
        start = self._starts[code]
        return self._parts[start : start + self._sizes[code]]

    # -- terms by their values ---------------------------------------------------------------------------------------

    def _made_of_values(self, name: str | None, form: int, is_open: bool, rows: Codes) -> list[int]:
        keys = [(form, is_open, row.tobytes()) for row in rows]
        codes = [self._made.get(key, -1) for key in keys]
        missing = [at for at, key in enumerate(keys) if key not in self._made]
        for at, code in zip(missing, self._new_terms(name, form, is_open, rows[missing]), strict=True):
            codes[at] = code
            if code >= 0:
                self._made[keys[at]] = code
        return codes

    def _new_terms(self, name: str | None, form: int, is_open: bool, rows: Codes) -> list[int]:
        """Return the codes of terms that were never made of these parts before; -1 if the parts make no term."""
        universe, width = self._universe, rows.shape[1]
        values = universe.values(rows.reshape(-1).tolist())
        nested = (universe.kinds[rows] == Kind.TERM).any(axis=1).tolist() if width else [False] * len(rows)
        found: list[int] = []
        for at, is_nested in enumerate(nested):
            value = _value(name, is_open, values[at * width : (at + 1) * width])
            if value is None:
                found.append(-1)
                continue
            if is_nested or width > MOST_SYMBOLS:
                check_size(value, universe.deepest)
            found.append(universe.encode(value))
        if not is_open:
            self._make_room()
            for code, row in zip(found, rows, strict=True):
                if self._forms[code] == _UNKNOWN:
                    self._note(code, form, row)
        return found

    # -- the parts of terms --------------------------------------------------------------------------------------

    def _learn(self, codes: Codes) -> None:
        terms = self._universe.kinds[codes] == Kind.TERM
        self._forms[codes[~terms]] = _PLAIN
        for code in codes[terms].tolist():
            value = self._universe.value(code)
            inside = value.arguments if isinstance(value, Structure) else value
            assert isinstance(inside, tuple)
            name = (value.name, len(inside)) if isinstance(value, Structure) else LIST
            self._note(code, self._number(name), self._universe.encode_values(inside))

    def _note(self, code: int, form: int, parts: Codes) -> None:
        if self._used + len(parts) > len(self._parts):
            self._parts = _grown(self._parts, 2 * (self._used + len(parts)), 0)
        self._forms[code], self._sizes[code], self._starts[code] = form, len(parts), self._used
        self._parts[self._used : self._used + len(parts)] = parts
        self._used += len(parts)

    def _rest(self, code: int, start: int) -> int:
        if self._universe.is_complete:
            key = self._parts_of(code)[start:].tobytes()
            found = self._by_parts[0].get(key)
            return int(self._add(0, [key])[0]) if found is None else found
        if (code, start) not in self._rests:
            value = self._universe.value(code)
            assert isinstance(value, tuple)
            self._rests[code, start] = self._universe.encode(value[start:])
        return self._rests[code, start]

    def _number(self, form: Form) -> int:
        number = self._numbers.setdefault(form, len(self._numbers))
        if number == len(self._names):
            self._names.append(form[0])
            self._by_parts.append({})
        return number

    def _make_room(self) -> None:
        size = self._universe.size
        if size > len(self._forms):
            self._forms = _grown(self._forms, 2 * size, _UNKNOWN)
            self._sizes = _grown(self._sizes, 2 * size, 0)
            self._starts = _grown(self._starts, 2 * size, 0)
            self._depths = _grown(self._depths, 2 * size, 0)
            self._symbols = _grown(self._symbols, 2 * size, 1)


def structures_of(universe: Universe) -> Structures:
    """Return the structures of a universe, computed again if they are out of date."""
    known = universe.structures
    if not isinstance(known, Structures) or not known.is_current:
        known = universe.structures = Structures(universe)
    return known


def _value(name: str | None, is_open: bool, parts: list[Value]) -> Value | None:
    if name is not None:
        return Structure(name, tuple(parts))
    if not is_open:
        return tuple(parts)
    rest = parts[-1]
    return (*parts[:-1], *rest) if isinstance(rest, tuple) else None


def _distinct(rows: Array) -> tuple[Array, Array]:
    """Return the distinct rows, and the index of each row among them."""
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), np.int64)
    if rows.shape[1] == 2:  # a pair fits into one word, which sorts much faster
        words, places = np.unique(rows[:, 0].astype(np.uint64) << 32 | rows[:, 1], return_inverse=True)
        return np.stack([words >> 32, words & 0xFFFFFFFF], axis=1).astype(np.uint32), places
    distinct, places = np.unique(rows, axis=0, return_inverse=True)
    return distinct, places.reshape(-1)


def _grown(array: Array, size: int, fill: int) -> Array:
    grown = np.full(size, fill, array.dtype)
    grown[: len(array)] = array
    return grown
