"""Names for predicates and rules that the rewriting makes: readable, and different from all others."""

from __future__ import annotations

from collections.abc import Iterable


class RewrittenNames:
    """Gives one name for one purpose, however often the rewriting starts again."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._given: dict[str, str] = {}

    def __call__(self, wanted: str) -> str:
        if wanted not in self._given:
            name = wanted
            while name in self._taken:
                name += "_"
            self._taken.add(name)
            self._given[wanted] = name
        return self._given[wanted]

    def new(self, wanted: str) -> str:
        """A name that was never given before."""
        number = 1
        while f"{wanted}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{wanted}_{number}")
        return f"{wanted}_{number}"
