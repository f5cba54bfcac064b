"""What a user has chosen that programs mean."""

from __future__ import annotations

from dataclasses import dataclass

from corollary.settings import Settings


@dataclass(frozen=True)
class Meaning:
    """`semantics` says what negation through recursion means, `unsafe` what a variable that nothing limits does.

    With `mixed_arities` one name with several numbers of arguments is several predicates.
    """

    semantics: str = "stratified"
    unsafe: str = "reject"
    mixed_arities: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Meaning:
        return cls(settings.semantics, settings.unsafe, settings.mixed_arities)

    @property
    def is_well_founded(self) -> bool:
        return self.semantics == "well-founded"

    @property
    def has_universe(self) -> bool:
        return self.unsafe == "universe"
