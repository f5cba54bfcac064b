"""The arguments of a predicate that a demand knows, as a text with one letter for each argument."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corollary.program import Term

# -- names -------------------------------------------------------------------------------------------------------------

# Names for predicates and rules made by the rewriting: readable, and different from all others.


class RewrittenNames:
    """Unused names for predicates and rules; the same wanted name always gives the same one, even if the rewriting
    starts again."""

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
        """Return a name that was never given out before."""
        number = 1
        while f"{wanted}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{wanted}_{number}")
        return f"{wanted}_{number}"


# -- patterns ----------------------------------------------------------------------------------------------------------

KNOWN = "b"
"""A value that the answers repeat, because it tells them apart."""
EXISTENTIAL = "e"
"""A known value that the answers leave out: it only has to exist."""
FREE = "f"


def asked_terms(terms: Sequence[Term], pattern: str) -> list[Term]:
    """Return the arguments that the demand knows."""
    return [term for term, letter in zip(terms, pattern, strict=True) if letter != FREE]


def shown_terms(terms: Sequence[Term], pattern: str) -> tuple[Term, ...]:
    """Return the arguments that the answers contain."""
    return tuple(term for term, letter in zip(terms, pattern, strict=True) if letter != EXISTENTIAL)
