"""The pending changes in the support of a predicate within a transaction, and how they change its visible facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from corollary.engines.spark.maintenance.change_rows import ChangeRows, summed


@dataclass(frozen=True)
class Visible:
    """How the visible facts of a predicate change: `deleted` and `inserted` ones, and those that some owner gave up (`lost`)."""

    deleted: ChangeRows
    inserted: ChangeRows
    lost: ChangeRows

    @property
    def is_any(self) -> bool:
        return bool(self.deleted.rows or self.inserted.rows)

    @cached_property
    def flips(self) -> ChangeRows:
        """Deleted and inserted ones as signed rows."""
        return summed([self.inserted, self.deleted.times(-1)])


@dataclass
class Pending:
    """The support that owners gained and lost, and all the support of removed owners, whose names may be used again."""

    arity: int
    support: dict[str, list[ChangeRows]] = field(default_factory=dict)
    counted: dict[str, bool] = field(default_factory=dict)
    gone: dict[str, ChangeRows] = field(default_factory=dict)

    @property
    def is_in_driver(self) -> bool:
        changes = [*self.gone.values(), *(change for parts in self.support.values() for change in parts)]
        return all(change.ids is not None for change in changes)

    def changes(self, owners: Iterable[str]) -> list[tuple[int, ChangeRows]]:
        """All changes with numbers of owners: those that are known come first, as they are given."""
        numbers = {owner: number for number, owner in enumerate(owners)}
        changes = [(numbers[owner], change) for owner, change in self.gone.items()]
        for place, (owner, parts) in enumerate(self.support.items(), len(numbers)):
            is_new = owner in self.gone or owner not in numbers
            changes.append((place if is_new else numbers[owner], summed(parts)))
        return changes
