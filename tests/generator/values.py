"""The constants of generated programs: few, so that they meet; of every datatype, unless a profile says integers only."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

from corollary.program import Iri, Literal, Value
from corollary.program.values import XSD
from tests.generator.profile import Domain, Profile

T = TypeVar("T")

INTEGERS: tuple[Value, ...] = (0, 1, 2, 3, 4)
# 1 and 1.0e0 are two constants and equal numbers, and so is a float; true and "1" are neither. Moments have such twins, too.
NUMBERS: tuple[Value, ...] = (Decimal("0.5"), 1.0, Decimal("2.5"), 0.5)
WORDS: tuple[Value, ...] = (
    *(True, "a", False, "1"),
    *(Iri("http://example.org/a"), Literal("2026-01-01", XSD + "date"), Literal("1.0E0", XSD + "float")),
    *(Literal(f"2026-01-01T{moment}", XSD + "dateTime") for moment in ("12:00:00+01:00", "11:00:00Z")),
)
# The simplest value first; likely ones more than once.
POOLS: dict[Domain, tuple[Value, ...]] = {
    Domain.INTEGERS: (*INTEGERS, *INTEGERS, -1, -3),
    Domain.NUMBERS: (*INTEGERS, *INTEGERS[:3], *NUMBERS),
    Domain.WORDS: (*INTEGERS[:3], *INTEGERS[:3], *WORDS),
    Domain.EVERYTHING: (*INTEGERS, *INTEGERS, *NUMBERS, *WORDS),
}


def pool(profile: Profile) -> tuple[Value, ...]:
    """The constants of the programs of a profile with one domain."""
    (domain,) = profile.domains
    return POOLS[domain]


@cache
def _indexes(length: int) -> st.SearchStrategy[int]:
    return st.integers(0, length - 1)


def pick(draw: st.DrawFn, options: Sequence[T]) -> T:
    """One of the options; shrinks to the first. Cheaper than `sampled_from`, which is built anew for each list."""
    return options[draw(_indexes(len(options)))]
