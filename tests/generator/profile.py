"""What a generated program may contain."""

from __future__ import annotations

from dataclasses import dataclass, replace

AGGREGATES = ("count", "sum", "min", "max", "avg", "median")
OPERATORS = ("+", "-", "*", "div", "%", "/")


@dataclass(frozen=True)
class Profile:
    """Switches and sizes; each switch turned off takes a feature away and changes nothing else."""

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
    max_facts: int = 10
    max_rules: int = 10
    max_changes: int = 4

    def but(self, **changes: object) -> Profile:
        """This profile with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


EVERYTHING = Profile()
INTEGERS = Profile(integers_only=True)
POSITIVE = Profile(negation=False, aggregates=False, local_stratification=False)
PURE = POSITIVE.but(integers_only=True, arithmetic=False, comparisons=False)
CLINGO = INTEGERS.but(operators=("+", "-", "*", "div", "%"), aggregate_functions=("count", "sum", "min", "max"))
