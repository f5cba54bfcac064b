"""The codes of constants that came before: the facts of a small update are mostly about those.

Encoding whole columns pays off from some hundred facts on. An update of a few is looked up value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corollary.backends.embedded import EmbeddedBackend, Encoded
from corollary.engines.embedded.relation import Codes

_SMALL = 100  # facts
_MOST = 200_000  # constants
_PLAIN = frozenset((int, str))  # values that are equal to no value of another type in a dictionary


class KnownCodes:
    def __init__(self, backend: EmbeddedBackend) -> None:
        self._backend = backend
        self._codes: dict[Any, int] = {}

    def of(self, facts: Sequence[tuple[str, Any]]) -> dict[str, Encoded]:
        """Facts by predicate."""
        found: dict[str, Encoded] = {}
        others: list[tuple[str, Any]] = []
        for predicate, rows in facts:
            codes = self._known(predicate, rows) if predicate not in found else None
            if codes is None:
                others.append((predicate, rows))
            elif len(codes):
                found[predicate] = Encoded(codes)
        if others:
            for predicate, encoded in self._backend.codes_of(others).items():
                self._learn(encoded.codes, next((rows for name, rows in others if name == predicate), None))
                before = found.get(predicate)
                both = encoded if before is None else Encoded(np.concatenate((before.codes, encoded.codes)))
                found[predicate] = both
        return found

    def _known(self, predicate: str, rows: Any) -> Codes | None:
        """The codes of a few rows of plain values that all came before; None where that is not so."""
        if not isinstance(rows, (list, tuple)) or len(rows) > _SMALL:
            return None
        arity = self._backend.arities.get(predicate)
        codes = self._codes
        if not all(
            isinstance(row, (list, tuple)) for row in rows
        ):  # texts can be iterated over as well, and are no rows
            return None
        try:
            flat = [codes[value] for row in rows for value in row if value.__class__ in _PLAIN]
        except (KeyError, TypeError):
            return None
        if arity is None or any(len(row) != arity for row in rows) or len(flat) != arity * len(rows):
            return None
        return np.array(flat, np.uint32).reshape(len(rows), arity)

    def _learn(self, codes: Codes, rows: Any) -> None:
        if not isinstance(rows, (list, tuple)) or len(rows) != len(codes) or len(rows) > _SMALL:
            return
        if len(self._codes) > _MOST:
            self._codes.clear()
        for row, row_codes in zip(rows, codes.tolist(), strict=True):
            if isinstance(row, (list, tuple)):
                for value, code in zip(row, row_codes, strict=True):
                    if value.__class__ in _PLAIN:
                        self._codes[value] = code
