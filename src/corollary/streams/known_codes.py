"""The codes of constants that came before: the facts of a small update are mostly about those.

Encoding whole columns pays off from some hundred facts on. An update of a few is looked up value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corollary.backends.embedded import EmbeddedBackend
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.constants import encode_constants
from corollary.io.loading import Encoded

_SMALL = 100  # facts
_MOST = 200_000  # constants
_PLAIN = frozenset((int, str))  # values that are equal to no value of another type in a dictionary
_ROWS = frozenset((list, tuple))  # texts can be iterated over as well, and are no rows


class KnownCodes:
    def __init__(self, backend: EmbeddedBackend) -> None:
        self._backend = backend
        self._codes: dict[Any, int] = {}

    def of(self, facts: Sequence[tuple[str, Any]]) -> dict[str, Encoded]:
        """Facts by predicate."""
        found: dict[str, Encoded] = {}
        others: list[tuple[str, Any]] = []
        for predicate, rows in facts:
            codes = self._of_few(predicate, rows) if predicate not in found else None
            if codes is None:
                others.append((predicate, rows))
            else:
                found[predicate] = Encoded(codes)
        if others:
            for predicate, encoded in self._backend.codes_of(others).items():
                before = found.get(predicate)
                both = encoded if before is None else Encoded(np.concatenate((before.codes, encoded.codes)))
                found[predicate] = both
        return found

    def _of_few(self, predicate: str, rows: Any) -> Codes | None:
        """The codes of a few rows of plain values; None where these are none."""
        if not isinstance(rows, (list, tuple)) or len(rows) > _SMALL:
            return None
        arity = self._backend.arities.get(predicate)
        if not {row.__class__ for row in rows} <= _ROWS or {len(row) for row in rows} != {arity}:
            return None
        values = [value for row in rows for value in row]
        if not {value.__class__ for value in values} <= _PLAIN:
            return None
        try:
            flat = [self._codes[value] for value in values]
        except KeyError:
            if not self._learn(values):
                return None
            flat = [self._codes[value] for value in values]
        return np.array(flat, np.uint32).reshape(len(rows), -1)

    def _learn(self, values: list[Any]) -> bool:
        """Encode those of the values that are new, all together; return False where one cannot be encoded."""
        if len(self._codes) > _MOST:
            self._codes.clear()
        new = [value for value in dict.fromkeys(values) if value not in self._codes]
        try:
            codes = encode_constants(self._backend.engine.universe, new)
        except ValueError:
            return False
        self._codes.update(zip(new, codes.tolist(), strict=True))
        return True
