"""Kind and rank of every constant, by which kernels compare values.

Numbers of all types compare by value; strings, booleans and IRIs each among themselves. While every number is exact as a
double, the double itself is the rank; otherwise numbers are sorted by their exact values.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from corollary.engines.embedded.universe import Kind, Universe

Array: TypeAlias = np.ndarray[Any, Any]

NUMBER, STRING, BOOLEAN, IRI = 1, 2, 3, 4
_KIND_OF = {
    Kind.INTEGER: NUMBER,
    Kind.DOUBLE: NUMBER,
    Kind.DECIMAL: NUMBER,
    Kind.LARGE_INTEGER: NUMBER,
    Kind.STRING: STRING,
    Kind.BOOLEAN: BOOLEAN,
    Kind.IRI: IRI,
}
_EXACT = 1 << 53


class Ordering:
    """Follows a universe; `arrays` are brought up to date when they are asked for."""

    def __init__(self, universe: Universe, *, texts: bool) -> None:
        self._universe = universe
        self._ranks_texts = texts  # only programs that order texts pay for sorting them
        self._is_plain = True
        self._size = 0
        self._revealed = universe.revealed
        self._kinds = np.empty(0, np.uint8)
        self._ranks = np.empty(0, np.float64)

    def arrays(self) -> tuple[Array, Array]:
        universe = self._universe
        if universe.size != self._size or universe.revealed != self._revealed:
            if universe.revealed == self._revealed and self._only_exact_numbers_are_new():
                self._append_exact()
            else:
                self._rebuild()
            self._size, self._revealed = universe.size, universe.revealed
        return self._kinds, self._ranks

    def _only_exact_numbers_are_new(self) -> bool:
        if self._size and not self._is_plain:
            return False
        new = slice(self._size, self._universe.size)
        kinds, words = self._universe.kinds[new], self._universe.words[new]
        integers = words[kinds == Kind.INTEGER]
        difficult = [Kind.DECIMAL, Kind.LARGE_INTEGER, *([Kind.STRING, Kind.IRI] if self._ranks_texts else [])]
        return not np.isin(kinds, difficult).any() and (len(integers) == 0 or bool((np.abs(integers) < _EXACT).all()))

    def _append_exact(self) -> None:
        kinds, ranks = self._plain(self._size)
        self._kinds = np.concatenate([self._kinds, kinds])
        self._ranks = np.concatenate([self._ranks, ranks])

    def _plain(self, start: int) -> tuple[Array, Array]:
        """Kinds and ranks of the constants from `start` on, with numbers as doubles and 0 for texts."""
        raw = self._universe.kinds[start : self._universe.size]
        words = self._universe.words[start : self._universe.size]
        lookup = np.zeros(16, np.uint8)
        for kind, order_kind in _KIND_OF.items():
            lookup[kind] = order_kind
        ranks = np.where(raw == Kind.DOUBLE, words.view(np.float64), words.astype(np.float64))
        return lookup[raw], ranks

    def _rebuild(self) -> None:
        universe = self._universe
        self._kinds, self._ranks = self._plain(0)
        raw, words = universe.kinds[: universe.size], universe.words[: universe.size]
        large = (raw == Kind.INTEGER) & (np.abs(words.astype(np.float64)) >= _EXACT)
        inexact = large | (raw == Kind.DECIMAL) | (raw == Kind.LARGE_INTEGER)
        self._is_plain = not inexact.any()
        if inexact.any():
            self._rank_numbers()
        if self._ranks_texts:
            self._rank_texts(Kind.STRING)
            self._rank_texts(Kind.IRI)

    def _rank_numbers(self) -> None:
        codes = np.flatnonzero(self._kinds == NUMBER)
        values = self._universe.values(codes.tolist())
        finite = [v for v in values if not (isinstance(v, float) and (v != v or v in (np.inf, -np.inf)))]
        exact = {value: Fraction(value) for value in finite}  # type: ignore[arg-type]
        position = {fraction: float(rank) for rank, fraction in enumerate(sorted(set(exact.values())))}
        for code, value in zip(codes, values, strict=True):
            self._ranks[code] = position[exact[value]] if value in exact else float(value)  # type: ignore[arg-type]

    def _rank_texts(self, kind: Kind) -> None:
        codes = np.flatnonzero(self._universe.kinds[: self._universe.size] == kind)
        texts = [str(value) for value in self._universe.values(codes.tolist())]
        for rank, position in enumerate(sorted(range(len(texts)), key=texts.__getitem__)):
            self._ranks[codes[position]] = rank
