"""What a generated program may contain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

AGGREGATES = ("count", "sum", "min", "max", "avg", "median")
OPERATORS = ("+", "-", "*", "div", "%", "/")


class Domain(Enum):
    """What the constants of one program are; few kinds in one program, so that they meet in joins."""

    INTEGERS = "integers"
    NUMBERS = "integers, decimals and doubles"
    WORDS = "integers, booleans, strings, IRIs and dates"
    EVERYTHING = "all of them"


@dataclass(frozen=True)
class Profile:
    """Switches and sizes; each switch turned off takes a feature away and changes nothing else.

    Each program has one of the `domains`, and at most the given number of facts, groups of rules and changes.
    """

    integers_only: bool = False
    recursion: bool = True
    negation: bool = True
    comparisons: bool = True
    arithmetic: bool = True
    aggregates: bool = True
    local_stratification: bool = True
    fact_changes: bool = True
    rule_changes: bool = True
    operators: tuple[str, ...] = OPERATORS
    aggregate_functions: tuple[str, ...] = AGGREGATES
    mixed_closures: int = 1
    """How many times as likely as other kinds of rules closures are that share a hyper-node with other rules."""
    max_facts: int = 12
    max_groups: int = 5
    max_changes: int = 4
    domain: Domain | None = None

    @property
    def domains(self) -> tuple[Domain, ...]:
        if self.domain:
            return (self.domain,)
        return (Domain.INTEGERS,) if self.integers_only else tuple(Domain)

    def but(self, **changes: object) -> Profile:
        """This profile with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


EVERYTHING = Profile()
INTEGERS = Profile(integers_only=True)
POSITIVE = Profile(negation=False, aggregates=False, local_stratification=False)
PURE = POSITIVE.but(integers_only=True, arithmetic=False, comparisons=False)
CLINGO = INTEGERS.but(operators=("+", "-", "*", "div", "%"), aggregate_functions=("count", "sum", "min", "max"))
