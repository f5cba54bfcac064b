"""Hints for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_CUTOFF = 0.7
_MANY = 500  # names that are worth counting the letters of


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """`did you mean 'path'?` for the known name nearest to `name`, or None when none is near."""
    return KnownNames(known).hint(name)


class KnownNames:
    """Names among which others are looked for, many times."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def hint(self, name: str, more: Sequence[str] = ()) -> str | None:
        """`did you mean 'path'?` for the name nearest to `name`, among these and some more; None when none is near."""
        wanted = name.casefold()
        matcher = SequenceMatcher(b=wanted)
        # The nearest by the number of letters in common come first: no name after the best one found needs a closer look.
        nearest: tuple[float, str] = (_CUTOFF, "")
        found: dict[str, str] = {}
        for most, other in self._possible(name, wanted, more):
            if most < nearest[0]:
                break
            folded = other.casefold()
            # Of several that differ in capitals only, the first one in order is shown.
            found[folded] = min(other, found.get(folded, other))
            matcher.set_seq1(folded)
            nearest = max(nearest, (matcher.ratio(), folded))
        return f"did you mean '{found[nearest[1]]}'?" if nearest[1] in found else None

    def _possible(self, name: str, wanted: str, more: Sequence[str]) -> Iterator[tuple[float, str]]:
        """The names that may be near, each with a bound of how near, from the nearest on."""
        # Two names that differ much in length are never near: leaving them out first makes hints cheap.
        shortest, longest = len(name) * _CUTOFF / (2 - _CUTOFF), len(name) * (2 - _CUTOFF) / _CUTOFF
        is_many = len(self._names) >= _MANY
        found = [*self._sharing_letters(wanted)] if is_many else []
        for other in dict.fromkeys(more if is_many else (*self._names, *more)):
            found.append((_letters_in_common(wanted, other.casefold()), other))
        found.sort(reverse=True, key=itemgetter(0))
        return (one for one in found if shortest <= len(one[1]) <= longest and one[1] != name)

    # -- many names --------------------------------------------------------------------------------------------------

    def _sharing_letters(self, wanted: str) -> Iterator[tuple[float, str]]:
        """The names with enough letters in common, each with the bound."""
        import numpy as np

        lengths, _ = self._letters
        common = np.zeros(len(self._names), np.int64)
        for letter in set(wanted):
            common += np.minimum(self._count(letter), wanted.count(letter))
        bounds = 2.0 * common / np.maximum(1, lengths + len(wanted))
        (near,) = np.nonzero(bounds >= _CUTOFF)
        return zip(bounds[near].tolist(), map(self._names.__getitem__, near.tolist()), strict=True)

    @cached_property
    def _letters(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """How long each name is, and the letters of all of them in a row."""
        import numpy as np

        folded = [name.casefold() for name in self._names]
        text = "".join(folded).encode("utf-32-le", "surrogatepass")
        return np.fromiter(map(len, folded), np.int64, len(folded)), np.frombuffer(text, np.uint32)

    @cached_property
    def _counts(self) -> dict[str, np.ndarray[Any, Any]]:
        return {}

    def _count(self, letter: str) -> np.ndarray[Any, Any]:
        """How often each name has a letter."""
        import numpy as np

        if letter not in self._counts:
            lengths, letters = self._letters
            before = np.concatenate(([0], np.cumsum(letters == ord(letter))))
            ends = np.cumsum(lengths)
            self._counts[letter] = before[ends] - before[ends - lengths]
        return self._counts[letter]


def _letters_in_common(one: str, other: str) -> float:
    """A bound of how near two names are, from the letters that they share wherever these stand."""
    length = len(one) + len(other)
    common = sum(min(one.count(letter), other.count(letter)) for letter in set(one))
    return 2.0 * common / length if length else 1.0
