"""The plan of a rule: an order of operations over registers. A plan never sees a tuple."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Protocol, TypeAlias

from corollary.planning.normal_form import AggregateSource, Compare, Compute
from corollary.program import Atom, Constant, Term, variables_of


class Version(Enum):
    """Which rows of a relation an atom ranges over during a round of semi-naive evaluation."""

    FULL = "full"
    OLD = "old"
    DELTA = "delta"


class Use(Enum):
    """The use of a column of a row."""

    KEY = "key"  # its register has a value already: rows are looked up by it
    BIND = "bind"  # its register gets the value
    CHECK = "check"  # its register got its value from an earlier column of the same row
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Column:
    use: Use
    register: int = -1


class ByValue(Enum):
    """Which comparisons between two atoms are looked up by value, and not tested for each pair of rows."""

    NOTHING = "nothing"
    VARIABLES = "variables"  # both sides are variables: none of them can fail to have a value
    TERMS = "terms"


@dataclass(frozen=True)
class ValueKey:
    """Rows are looked up by the value of a term over columns that they bind; see `ValueOf` for the register."""

    term: Term
    register: int


@dataclass(frozen=True, slots=True)
class Bound:
    """The value of a register, which is one end of a range; `inclusive` where it belongs to the range itself."""

    register: int
    inclusive: bool


@dataclass(frozen=True)
class Range:
    """Rows are looked up by where the value of a term over columns that they bind lies in the order of values.

    With a `prefix`, which is the one key column, the rows of each key are in order for themselves.
    """

    term: Term
    lower: Bound | None
    upper: Bound | None
    prefix: int | None = None


@dataclass(frozen=True)
class ValueOf:
    """The register gets the value of a term, in a form that is the same for values that `=` finds equal.

    A row in which the term has no value, or one that equals nothing (NaN), is discarded.
    """

    term: Term
    register: int

    @property
    def inputs(self) -> frozenset[str]:
        return frozenset(variable.name for variable in variables_of(self.term))


@dataclass(frozen=True)
class Access:
    """Going over the rows of a relation that fit the registers bound so far, the value of a term or a range of values.

    With `exists`, one fitting row is as good as many: none of its values is used later.
    """

    source: Atom | AggregateSource
    columns: tuple[Column, ...]
    version: Version = Version.FULL
    exists: bool = False
    value: ValueKey | None = None
    range: Range | None = None

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


Operation: TypeAlias = Access | Absence | Compute | Compare | ValueOf


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
    """The statistics of relations that the planner needs."""

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
