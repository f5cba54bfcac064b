"""What a plan of a rule is: an order of operations over registers. A plan never sees a tuple."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Protocol, TypeAlias

from corollary.planning.normal_form import AggregateSource, Compare, Compute
from corollary.program import Atom, Constant


class Version(Enum):
    """Which rows of a relation an atom ranges over during a round of semi-naive evaluation."""

    FULL = "full"
    OLD = "old"
    DELTA = "delta"


class Use(Enum):
    """What happens to a column of a row."""

    KEY = "key"  # its register has a value already: rows are looked up by it
    BIND = "bind"  # its register gets the value
    CHECK = "check"  # its register got its value from an earlier column of the same row
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Column:
    use: Use
    register: int = -1


@dataclass(frozen=True)
class Access:
    """Going over the rows of a relation that fit the registers bound so far.

    With `exists`, one fitting row is as good as many: none of its values is used later.
    """

    source: Atom | AggregateSource
    columns: tuple[Column, ...]
    version: Version = Version.FULL
    exists: bool = False

    @cached_property
    def key_columns(self) -> tuple[int, ...]:
        return tuple(position for position, column in enumerate(self.columns) if column.use is Use.KEY)


@dataclass(frozen=True)
class Absence:
    """There is no row that fits the registers."""

    source: Atom
    columns: tuple[Column, ...]

    @cached_property
    def key_columns(self) -> tuple[int, ...]:
        return tuple(position for position, column in enumerate(self.columns) if column.use is Use.KEY)


Operation: TypeAlias = Access | Absence | Compute | Compare


@dataclass(frozen=True)
class RulePlan:
    """Operations in order, then the head's registers. `constants` are loaded into their registers beforehand."""

    name: str
    operations: tuple[Operation, ...]
    head_predicate: str
    head_registers: tuple[int, ...]
    registers: dict[str, int]
    constants: tuple[tuple[int, Constant], ...]


class Statistics(Protocol):
    """What the planner asks about a relation."""

    def size(self, source: Atom | AggregateSource) -> int: ...

    def distinct(self, source: Atom | AggregateSource, column: int) -> int:
        """About how many different values a column has; at least 1."""
        ...


class NoStatistics:
    """All relations look the same: the order then follows from constants and connections alone."""

    def size(self, source: Atom | AggregateSource) -> int:
        return 1000

    def distinct(self, source: Atom | AggregateSource, column: int) -> int:
        return 100


def key_registers(columns: Sequence[Column]) -> list[int]:
    return [column.register for column in columns if column.use is Use.KEY]
