"""How many examples generated tests look at: one setting, the environment variable `COROLLARY_EXAMPLES`.

A test says how many examples it deserves, `@settings(max_examples=examples(300))`. The setting says how many of them a run looks
at: `few` is a fifth, which is what `make test` does, `all` is what `make test-all` does, and `many` looks for hours.
"""

from __future__ import annotations

import math
import os
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

_PARTS = {"few": 0.2, "all": 1.0, "many": 20.0}
_PART = _PARTS[os.environ.get("COROLLARY_EXAMPLES", "few")]

is_quick = _PART < 1
"""Whether this run is to be quick, as `make test` is: then a few tests stand for what all tests do in the other runs."""

Example = TypeVar("Example")


def examples(count: int) -> int:
    """Return how many of so many examples this run looks at, at least one."""
    return math.ceil(count * _PART)


def gathered(strategy: SearchStrategy[Example], count: int) -> list[Example]:
    """Return examples to be looked at together, where one at a time would take too long; `count` as for `examples`."""
    found: list[Example] = []

    # The first example is the smallest there is, and says next to nothing.
    @settings(
        max_examples=examples(count) + 1,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def gather(example: Example) -> None:
        found.append(example)

    gather()
    return found[1:] or found
