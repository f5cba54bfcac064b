"""Which arguments of a predicate a demand knows, as a text with a letter for each."""

from __future__ import annotations

from collections.abc import Sequence

from corollary.program import Term

KNOWN = "b"
"""A value that the answers repeat, for it tells them apart."""
UNTOLD = "e"
"""A value that the answers leave out: it only has to exist."""
FREE = "f"


def asked_terms(terms: Sequence[Term], pattern: str) -> list[Term]:
    """The arguments that the demand knows."""
    return [term for term, letter in zip(terms, pattern, strict=True) if letter != FREE]


def shown_terms(terms: Sequence[Term], pattern: str) -> tuple[Term, ...]:
    """The arguments that the answers have."""
    return tuple(term for term, letter in zip(terms, pattern, strict=True) if letter != UNTOLD)
