"""The constants of generated programs: few, so that they meet; of every datatype, unless a profile says integers only."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TypeVar

from hypothesis import strategies as st

from corollary.program import Iri, Literal, Value
from corollary.program.values import XSD
from tests.generator.profile import Profile

T = TypeVar("T")

INTEGERS: tuple[Value, ...] = (0, 1, 2, 3, 4)
# 1 and 1.0e0 are two constants and equal numbers; true and "1" are neither.
OTHERS: tuple[Value, ...] = (
    *(Decimal("0.5"), Decimal("2.5"), 1.0, 0.5),
    *(True, False, "a", "1"),
    *(Iri("http://example.org/a"), Literal("2026-01-01", XSD + "date")),
)


def pool(profile: Profile) -> tuple[Value, ...]:
    """The simplest value first; likely ones more than once."""
    if profile.integers_only:
        return (*INTEGERS, *INTEGERS, -1)
    return (*INTEGERS * 4, -1, *OTHERS)


def pick(draw: st.DrawFn, options: Sequence[T]) -> T:
    """One of the options; shrinks to the first. Cheaper than `sampled_from`, which is built anew for each list."""
    return options[draw(st.integers(0, len(options) - 1))]
