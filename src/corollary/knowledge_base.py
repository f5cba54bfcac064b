"""The public API: a program, its facts, and everything that follows from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corollary.analysis import Analysis, check_query_safety, checked
from corollary.diagnostics import Diagnostic, ProgramError, Source, catalogue, did_you_mean
from corollary.engines.embedded.columns import UnsupportedColumn, encode_table
from corollary.engines.embedded.engine import EmbeddedEngine, NodeReport, RunReport
from corollary.engines.embedded.relation import Codes
from corollary.language import parse, parse_query, read_source
from corollary.program import Program, Query, Value, atoms_of
from corollary.program.python_values import NoConstant, from_python
from corollary.results import Result


@dataclass(frozen=True)
class Limits:
    """When to give up: seconds of deriving, and visible facts. Reaching a limit changes nothing."""

    seconds: float | None = None
    facts: int | None = None


class KnowledgeBase:
    """A program with its facts. Reading derives what is needed first; nothing derived is ever out of date.

    >>> kb = KnowledgeBase("path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z).")
    >>> kb.insert("edge", [(1, 2), (2, 3)])
    2
    >>> sorted(kb.query("path(1, X)"))
    [(2,), (3,)]
    """

    def __init__(
        self,
        program: str | Program = "",
        *,
        engine: str = "embedded",
        without: Iterable[str] = (),
        limits: Limits | None = None,
    ) -> None:
        if engine != "embedded":
            raise ValueError(f"there is no engine '{engine}'; there is 'embedded'")
        parsed = parse(program) if isinstance(program, str) else program
        self.analysis: Analysis = checked(parsed)
        self.limits = limits or Limits()
        self._engine = EmbeddedEngine(self.analysis.graph, without=frozenset(without))
        self._arities: dict[str, int] = {
            name: info.arity for name, info in self.analysis.predicates.items() if info.arity is not None
        }
        for facts in self.program.facts:
            self._engine.insert(facts.predicate, self._encode_rows(facts.rows, facts.arity))

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> KnowledgeBase:
        """The knowledge base of a program file; `@input` files are looked up beside it."""
        source = read_source(path)
        return cls.from_sources([source], **options)

    @classmethod
    def from_sources(cls, sources: Sequence[Source], **options: Any) -> KnowledgeBase:
        parsed = [parse(source) for source in sources]
        wrong = [diagnostic for part in parsed for diagnostic in part.diagnostics if diagnostic.is_error]
        if wrong:
            raise ProgramError(diagnostic for part in parsed for diagnostic in part.diagnostics)
        return cls(Program.of(statement for part in parsed for statement in part.program.statements), **options)

    @property
    def program(self) -> Program:
        return self.analysis.program

    @property
    def queries(self) -> tuple[Query, ...]:
        """The program's own `?-` queries."""
        return self.program.queries

    # -- facts in ----------------------------------------------------------------------------------------------------

    def insert(self, predicate: str, facts: Any) -> int:
        """Adds explicit facts: rows of Python values, an Arrow table, or a pandas frame. Gives the number of new ones.

        All or nothing: a row that does not fit raises `ProgramError` and leaves everything as it was.
        """
        codes = self._encode(predicate, facts)
        if not len(codes):
            return 0
        self._arities.setdefault(predicate, codes.shape[1])
        return self._engine.insert(predicate, codes)

    def _encode(self, predicate: str, facts: Any) -> Codes:
        if hasattr(facts, "__dataframe__") and not isinstance(facts, pa.Table):
            facts = pa.Table.from_pandas(facts, preserve_index=False)
        if isinstance(facts, pa.RecordBatch):
            facts = pa.Table.from_batches([facts])
        if isinstance(facts, pa.Table):
            self._check_arity(predicate, facts.num_columns, None)
            try:
                return encode_table(self._engine.universe, facts)
            except UnsupportedColumn as error:
                raise _bad_row(f"facts of '{predicate}': {error}") from None
        rows = [tuple(row) if isinstance(row, (tuple, list)) else (row,) for row in facts]
        arity = self._arities.get(predicate, len(rows[0]) if rows else 0)
        for number, row in enumerate(rows, 1):
            if len(row) != arity:
                self._check_arity(predicate, len(row), number, expected=arity)
        try:
            values = [tuple(from_python(value) for value in row) for row in rows]
        except NoConstant as error:
            raise _bad_row(f"facts of '{predicate}': {error}") from None
        return self._encode_rows(values, arity)

    def _check_arity(self, predicate: str, width: int, row: int | None, expected: int | None = None) -> None:
        known = expected if expected is not None else self._arities.get(predicate, width)
        if width != known:
            place = f"row {row} has" if row else "the table has"
            raise _bad_row(f"'{predicate}' has {known} arguments, but {place} {width}")

    def _encode_rows(self, rows: Sequence[tuple[Value, ...]], arity: int) -> Codes:
        codes = np.empty((len(rows), arity), np.uint32)
        for position, column in enumerate(zip(*rows, strict=True)):
            codes[:, position] = self._engine.universe.encode_values(column)
        return codes

    # -- facts out ---------------------------------------------------------------------------------------------------

    def materialise(self, *, finished: Callable[[NodeReport], None] = lambda report: None) -> RunReport:
        """Derives everything now; otherwise the first read does. `finished` is told of each hyper-node."""
        if not self._engine.is_materialised:
            self._engine.materialise(check=self._checker(), finished=finished)
        return self._engine.report

    def _checker(self) -> Callable[[int], None]:
        """Called while rules run: stops at a limit."""
        limits, started = self.limits, time.monotonic()

        def check(facts: int) -> None:
            if limits.facts is not None and facts > limits.facts:
                raise _limit(f"there are more than {limits.facts:,} facts, and deriving is not finished")
            if limits.seconds is not None and time.monotonic() - started > limits.seconds:
                raise _limit(f"deriving took longer than {limits.seconds:g} s")

        return check

    def predicates(self) -> list[str]:
        """The names of all predicates that the program or its facts mention, sorted."""
        self.materialise()
        return sorted({*self.analysis.predicates, *self._engine.predicates()})

    def count(self, predicate: str) -> int:
        """The number of visible facts."""
        self.materialise()
        relation = self._engine.visible(predicate)
        return relation.size if relation is not None else 0

    def facts(self, predicate: str) -> Result:
        """The whole visible relation; its variables are called after the positions of the arguments."""
        self.materialise()
        relation = self._engine.visible(predicate)
        arity = relation.arity if relation is not None else self._arities.get(predicate, 0)
        rows = relation.facts if relation is not None else np.empty((0, arity), np.uint32)
        if relation is not None and arity == 0:
            rows = np.empty((relation.size, 0), np.uint32)
        return Result(self._engine.universe, rows, [f"a{position}" for position in range(1, arity + 1)])

    def query(self, query: str | Query) -> Result:
        """The answers to a query: text such as `path(1, X), not seen(X)`, or one of `queries`."""
        parsed = parse_query(query) if isinstance(query, str) else query
        self._check_query(parsed)
        self.materialise()
        return Result(
            self._engine.universe, self._engine.answers(parsed), [variable.name for variable in parsed.variables]
        )

    def _check_query(self, query: Query) -> None:
        mistakes = check_query_safety(query)
        for atom, _ in atoms_of(query.body):
            arity = self._arities.get(atom.predicate)
            if arity is not None and arity != atom.arity:
                message = f"'{atom.predicate}' has {arity} arguments, not {atom.arity}"
                mistakes.append(Diagnostic(catalogue.ARITY_MISMATCH, message, atom.span))
        if mistakes:
            raise ProgramError(mistakes)

    def unknown_predicates(self, query: Query) -> list[Diagnostic]:
        """A warning for each predicate of a query that nothing mentions; such a query has no answers."""
        known = self.predicates()
        return [
            Diagnostic(
                catalogue.UNKNOWN_IN_QUERY,
                f"nothing mentions '{atom.predicate}': the query has no answers",
                atom.span,
                did_you_mean(atom.predicate, known),
            )
            for atom, _ in atoms_of(query.body)
            if atom.predicate not in known
        ]

    def __repr__(self) -> str:
        return f"<KnowledgeBase: {len(self.analysis.graph.rules)} rules, {len(self._arities)} predicates>"


def _bad_row(message: str) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.BAD_ROW, message)])


def _limit(message: str) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.LIMIT_REACHED, message)])
