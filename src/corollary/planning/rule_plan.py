"""The plan of a rule: operations over registers, in order. A plan never sees a tuple."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from corollary.language import Printer
from corollary.planning.normal_form import AggregateSource, Compare, Compute
from corollary.program import Atom, Comparison, Constant, Negation, Term, Variable, Wildcard, variables_of


class Version(Enum):
    """The rows of a relation that an atom ranges over during a semi-naive round."""

    FULL = "full"
    OLD = "old"
    DELTA = "delta"


class Use(Enum):
    """How a column of a row is used."""

    KEY = "key"  # its register has a value already: rows are looked up by it
    BIND = "bind"  # its register gets the value
    CHECK = "check"  # its register got its value from an earlier column of the same row
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Column:
    use: Use
    register: int = -1


class ByValue(Enum):
    """Which comparisons between two atoms become look-ups by value, instead of tests for each pair of rows."""

    NOTHING = "nothing"
    VARIABLES = "variables"  # both sides are variables, which always have a value
    TERMS = "terms"


@dataclass(frozen=True)
class ValueKey:
    """A look-up of rows by the value of a term over columns that they bind; see `ValueOf` for the register."""

    term: Term
    register: int


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range, the value of a register; `inclusive` if it belongs to the range."""

    register: int
    inclusive: bool


@dataclass(frozen=True)
class Range:
    """A look-up of rows by the range in which the value of a term over their columns lies.

    With a `prefix`, the only key column, the rows of each key are ordered separately.
    """

    term: Term
    lower: Bound | None
    upper: Bound | None
    prefix: int | None = None


@dataclass(frozen=True)
class ValueOf:
    """The computation of a term's value, in a form that is the same for all values that `=` finds equal.

    A row is dropped if the term has no value, or one that equals nothing (NaN).
    """

    term: Term
    register: int

    @property
    def inputs(self) -> frozenset[str]:
        return frozenset(variable.name for variable in variables_of(self.term))


@dataclass(frozen=True)
class Access:
    """A loop over the rows of a relation that match the registers bound so far, the value of a term or a range of
    values.

    With `exists`, one matching row is enough: none of its values is used later. `key_columns` are the positions of the
    columns by which rows are looked up.
    """

    source: Atom | AggregateSource
    columns: tuple[Column, ...]
    key_columns: tuple[int, ...]
    version: Version = Version.FULL
    exists: bool = False
    value: ValueKey | None = None
    range: Range | None = None


@dataclass(frozen=True)
class Absence:
    """The condition that no row matches the registers."""

    source: Atom
    columns: tuple[Column, ...]
    key_columns: tuple[int, ...]


Operation: TypeAlias = Access | Absence | Compute | Compare | ValueOf


@dataclass(frozen=True)
class RulePlan:
    """Operations in order, followed by the registers of the head. `constants` are loaded into their registers beforehand."""

    name: str
    operations: tuple[Operation, ...]
    head_predicate: str
    head_registers: tuple[int, ...]
    registers: dict[str, int]
    constants: tuple[tuple[int, Constant], ...]


class Statistics(Protocol):
    """The statistics of relations that the planner uses."""

    def size(self, source: Atom | AggregateSource) -> int: ...

    def distinct(self, source: Atom | AggregateSource, column: int) -> int:
        """Return an estimate, at least 1, of the number of distinct values in a column."""
        ...


class NoStatistics:
    """Equal sizes for all relations: the order then follows from constants and connections alone."""

    def size(self, source: Atom | AggregateSource) -> int:
        return 1000

    def distinct(self, source: Atom | AggregateSource, column: int) -> int:
        return 100


# -- explain -----------------------------------------------------------------------------------------------------------

# A plan as text: its operations in order, and how each one finds its rows.


def explain_plan(plan: RulePlan, prefixes: dict[str, str] | None = None) -> list[str]:
    """Return one line for each operation, then the head."""
    printer = Printer(prefixes)
    names: dict[int, Term] = {register: Variable(name.strip() or name) for name, register in plan.registers.items()}
    names |= dict(plan.constants)
    lines: list[str] = []
    ends = (one for one in plan.operations if isinstance(one, Compute) and one.variable.startswith("\0"))
    computed = {plan.registers[one.variable]: one.expression for one in ends}
    values = {one.register: one.term for one in plan.operations if isinstance(one, ValueOf)}
    for number, operation in enumerate(plan.operations):
        match operation:
            case Access():
                what = _source(operation.source, operation.columns, names, printer)
                way = _way(operation, names, printer, first=number == 0)
                if operation.value is not None:
                    term, other = printer.term(operation.value.term), printer.term(values[operation.value.register])
                    way = f"{'exists, ' if operation.exists else ''}index by value: {term} = {other}"
                if operation.range is not None:
                    way = _range(operation, operation.range, names, computed, printer)
                lines.append(f"{what}  [{way}]")
            case Absence():
                what = _source(operation.source, operation.columns, names, printer)
                lines.append(f"not {what}  [look-up]")
            case Compute() if plan.registers[operation.variable] in computed:
                pass  # shown with the range that follows
            case Compute():
                expression = printer.term(operation.expression)
                lines.append(f"{operation.variable.strip()} := {expression}  [whole columns]")
            case ValueOf():
                pass  # shown with the look-up that follows
            case _:
                comparison = Comparison(operation.operator, operation.left, operation.right)
                shown = printer.element(Negation(comparison) if operation.negated else comparison)
                lines.append(f"{shown}  [{'test' if operation.is_simple else 'whole columns'}]")
    head = Atom(plan.head_predicate, tuple(names[register] for register in plan.head_registers))
    return [*lines, f"=> {printer.element(head)}"]


def _source(
    source: Atom | AggregateSource, columns: tuple[Column, ...], names: dict[int, Term], printer: Printer
) -> str:
    terms = tuple(Wildcard() if column.use is Use.SKIP else names[column.register] for column in columns)
    predicate = source.predicate if isinstance(source, Atom) else "groups"
    if not predicate.startswith("\0"):
        predicate = predicate.partition("\0")[0]
    return printer.element(Atom(predicate, terms))


def _range(access: Access, between: Range, names: dict[int, Term], computed: dict[int, Term], printer: Printer) -> str:
    ends = []
    for operator, end in ((">", between.lower), ("<", between.upper)):
        if end is not None:
            value = computed.get(end.register)
            shown = _shown(names[end.register], printer) if value is None else printer.term(value)
            ends.append(f"{printer.term(between.term)} {operator}{'=' if end.inclusive else ''} {shown}")
    if between.prefix is not None:
        ends.insert(0, _shown(names[access.columns[between.prefix].register], printer))
    return f"{'exists, ' if access.exists else ''}index in order: {', '.join(ends)}"


def _way(access: Access, names: dict[int, Term], printer: Printer, *, first: bool) -> str:
    version = {Version.DELTA: "new rows: ", Version.OLD: "old rows: ", Version.FULL: ""}[access.version]
    keys = access.key_columns
    if not keys or access.version is Version.DELTA:
        return version + "all rows"
    if len(keys) == len(access.columns) and not first:
        return version + "look-up"
    by = ", ".join(_shown(names[access.columns[key].register], printer) for key in keys)
    return version + (f"exists, by {by}" if access.exists else f"index by {by}")


def _shown(term: Term, printer: Printer) -> str:
    return printer.term(term) if isinstance(term, (Variable, Constant)) else "?"
