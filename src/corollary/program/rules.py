"""Rules, the other statements of a program, and the program itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, TypeVar

from corollary.diagnostics import Span
from corollary.program.atoms import Atom, BodyElement, Negation, element_variables
from corollary.program.terms import AggregateTerm, Variable
from corollary.program.values import Value, identity

Row: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Rule:
    """One head, one body, and the name by which people and transactions refer to the rule."""

    name: str
    head: Atom
    body: tuple[BodyElement, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def has_head_aggregate(self) -> bool:
        return any(isinstance(argument, AggregateTerm) for argument in self.head.arguments)


@dataclass(frozen=True, slots=True)
class Clause:
    """A rule as written: perhaps without a name, perhaps with several heads."""

    heads: tuple[Atom, ...]
    body: tuple[BodyElement, ...]
    name: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class FactBlock:
    """Adjacent ground facts of one predicate and arity, as rows of values."""

    predicate: str
    arity: int
    rows: Sequence[Row]
    span: Span | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FactBlock):
            return NotImplemented
        mine, theirs = (self.predicate, self.arity, len(self.rows)), (other.predicate, other.arity, len(other.rows))
        return mine == theirs and all(
            identity(a) == identity(b)
            for row, other_row in zip(self.rows, other.rows, strict=True)
            for a, b in zip(row, other_row, strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.predicate, self.arity, len(self.rows)))


@dataclass(frozen=True, slots=True)
class Query:
    """`?- body.`, answered with the bindings of its variables in order of appearance."""

    body: tuple[BodyElement, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that an answer binds; one that occurs only under negation is existential and has no value."""
        shown = [element for element in self.body if not isinstance(element, Negation)]
        return tuple(dict.fromkeys(variable for element in shown for variable in element_variables(element)))


@dataclass(frozen=True, slots=True)
class PrefixDeclaration:
    """`@prefix name: <iri> .`"""

    name: str
    iri: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InputDeclaration:
    """`@input predicate("file", key = value, ...) .`: the source of the predicate's facts."""

    predicate: str
    location: str
    options: tuple[tuple[str, Value], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OutputDeclaration:
    """`@output predicate .` or `@output predicate("file", key = value, ...) .`"""

    predicate: str
    location: str | None = None
    options: tuple[tuple[str, Value], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionDeclaration:
    """`@function name/arity .`: a function that the host program registers; the text itself never loads code."""

    name: str
    arity: int
    span: Span | None = field(default=None, compare=False, repr=False)


Directive: TypeAlias = PrefixDeclaration | InputDeclaration | OutputDeclaration | FunctionDeclaration
Statement: TypeAlias = Clause | FactBlock | Query | Directive
S = TypeVar("S", bound=Statement)


@dataclass(frozen=True)
class Program:
    """Statements in the order of the text. Adjacent facts count as one statement, however they were written."""

    statements: tuple[Statement, ...] = ()

    @classmethod
    def of(cls, statements: Iterable[Statement]) -> Program:
        """Return a program of these statements, with adjacent facts of one predicate joined."""
        return cls(tuple(_join_facts(statements)))

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule with one head and a name: the k-th clause is `rk` unless it has a name, several heads give `rk.1` …"""
        clauses = self.of_type(Clause)
        taken = {clause.name for clause in clauses}
        rules: list[Rule] = []
        for number, clause in enumerate(clauses, 1):
            name = clause.name or _free_name(f"r{number}", taken)
            for k, head in enumerate(clause.heads, 1):
                rule_name = name if len(clause.heads) == 1 else f"{name}.{k}"
                rules.append(Rule(rule_name, head, clause.body, clause.span))
        return tuple(rules)

    @cached_property
    def facts(self) -> tuple[FactBlock, ...]:
        return tuple(self.of_type(FactBlock))

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        return tuple(self.of_type(Query))

    @cached_property
    def inputs(self) -> tuple[InputDeclaration, ...]:
        return tuple(self.of_type(InputDeclaration))

    @cached_property
    def outputs(self) -> tuple[OutputDeclaration, ...]:
        return tuple(self.of_type(OutputDeclaration))

    @cached_property
    def prefixes(self) -> dict[str, str]:
        return {declaration.name: declaration.iri for declaration in self.of_type(PrefixDeclaration)}

    def of_type(self, kind: type[S]) -> list[S]:
        return [statement for statement in self.statements if isinstance(statement, kind)]


def _free_name(name: str, taken: set[str | None]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _join_facts(statements: Iterable[Statement]) -> Iterator[Statement]:
    pending: FactBlock | None = None
    rows: list[Row] = []
    for statement in statements:
        if (
            isinstance(statement, FactBlock)
            and pending
            and ((statement.predicate, statement.arity) == (pending.predicate, pending.arity))
        ):
            rows.extend(statement.rows)
            continue
        if pending:
            yield FactBlock(pending.predicate, pending.arity, rows, pending.span)
        pending, rows = (statement, list(statement.rows)) if isinstance(statement, FactBlock) else (None, [])
        if pending is None:
            yield statement
    if pending:
        yield FactBlock(pending.predicate, pending.arity, rows, pending.span)
