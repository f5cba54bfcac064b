"""Hints for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """`did you mean 'path'?` for the known name nearest to `name`, or None when none is near."""
    candidates = {other.casefold(): other for other in sorted(known, reverse=True) if other != name}
    matches = get_close_matches(name.casefold(), candidates, n=1, cutoff=0.7)
    return f"did you mean '{candidates[matches[0]]}'?" if matches else None
