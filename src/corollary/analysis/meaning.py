"""The semantics that the user has chosen for a program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from corollary.settings import ALL_BITS, WITH_MODULES, Settings


@dataclass(frozen=True)
class Meaning:
    """`semantics` defines negation through recursion, `unsafe` the treatment of unlimited variables.

    With `mixed_arities`, a name with several arities is several predicates. `precision` is how many bits of doubles
    comparisons use, `stratification` whether constants may separate a negation from what it depends on.

    `modules` tells whether closures among other rules run as modules of their own, which changes no fact.
    """

    semantics: str = "stratified"
    unsafe: str = "reject"
    mixed_arities: bool = False
    precision: int = ALL_BITS
    stratification: str = "local"
    modules: bool = True

    @classmethod
    def of(cls, settings: Settings) -> Meaning:
        return cls(
            settings.semantics, settings.unsafe, settings.mixed_arities, settings.precision, settings.stratification,
            settings.strategy in WITH_MODULES and "closures" not in settings.left_out,
        )  # fmt: skip

    @cached_property
    def is_well_founded(self) -> bool:
        return self.semantics == "well-founded"

    @cached_property
    def is_local(self) -> bool:
        return self.stratification == "local"

    @cached_property
    def has_universe(self) -> bool:
        return self.unsafe == "universe"
