"""The public API: a program, its facts, and everything that follows from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import Analysis, analyse_texts, check_evaluable, checked
from corollary.analysis.queries import arity_mismatch, check_query, remaining_warnings, unknown_predicates
from corollary.diagnostics import Diagnostic, ProgramError, Source, catalogue
from corollary.language import parse, parse_query, read_source
from corollary.program import Program, Query
from corollary.sources.loading import Loader
from corollary.sources.options import ReadOptions
from corollary.sources.rejects import Rejects

if TYPE_CHECKING:
    from corollary.engines.embedded.engine import EmbeddedEngine, NodeReport, RunReport
    from corollary.results import Result

# The engine, Arrow and the readers of files are imported where they are needed: an empty program starts without them.


@dataclass(frozen=True)
class Limits:
    """When to give up: seconds of deriving, and visible facts. Reaching a limit changes nothing.

    >>> KnowledgeBase("n(0). n(X + 1) :- n(X).", limits=Limits(facts=1000)).count("n")
    Traceback (most recent call last):
    corollary.diagnostics.diagnostic.ProgramError: error[E302]: there are more than 1,000 facts, and deriving is not finished
    """

    seconds: float | None = None
    facts: int | None = None


class KnowledgeBase:
    """A program with its facts. Reading derives what is needed first; nothing derived is ever out of date.

    >>> kb = KnowledgeBase("path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z).")
    >>> kb.insert("edge", [(1, 2), (2, 3)])
    2
    >>> sorted(kb.query("path(1, X)"))
    [(2,), (3,)]

    `base` is where the files of `@input` are looked up when the program is a text; those of a program file are beside it.
    With `strict`, a row of a file that does not fit is an error; otherwise it is left out and listed in `rejects`.
    `on_error` says what a rule instance does whose arithmetic has no value: "discard" itself, or "stop" everything.
    With `support`, derivations are counted, and `owners` tells who supports the facts of a predicate. `without` names
    optimisations to leave out.
    """

    def __init__(
        self,
        program: str | Program | Analysis = "",
        *,
        engine: str = "embedded",
        base: str | PathLike[str] = ".",
        strict: bool = False,
        limits: Limits | None = None,
        on_error: str = "discard",
        support: bool = False,
        without: Iterable[str] = (),
    ) -> None:
        if engine != "embedded":
            raise ValueError(f"there is no engine '{engine}'; there is 'embedded'")
        if on_error not in ("discard", "stop"):
            raise ValueError(f"on_error is 'discard' or 'stop', not '{on_error}'")
        if isinstance(program, Program):
            program = checked(program)
        self.analysis: Analysis = analyse_texts(Source(program)) if isinstance(program, str) else program
        if self.analysis.errors:
            raise ProgramError(self.analysis.diagnostics)
        if wrong := check_evaluable(self.program.rules, self.program.queries):
            raise ProgramError(wrong)
        self.limits = limits or Limits()
        self._discards_errors = on_error == "discard"
        self._without = frozenset(without)
        self._support = support
        self._loader = Loader(lambda: self._engine, base=Path(base), strict=strict)
        self._state(self.program)

    @classmethod
    def from_file(cls, path: str | PathLike[str], **options: Any) -> KnowledgeBase:
        """The knowledge base of a program file; `@input` files are looked up beside it."""
        return cls.from_sources([read_source(Path(path))], **options)

    @classmethod
    def from_sources(cls, sources: Sequence[Source], **options: Any) -> KnowledgeBase:
        """Several texts, read as one program."""
        return cls(analyse_texts(*sources), **options)

    @property
    def program(self) -> Program:
        return self.analysis.program

    @property
    def queries(self) -> tuple[Query, ...]:
        """The program's own `?-` queries."""
        return self.program.queries

    @property
    def rejects(self) -> Rejects:
        """The rows of files that were left out: where they are, and why."""
        return self._loader.rejects

    @property
    def warnings(self) -> list[Diagnostic]:
        """What is doubtful about the program, with the facts that it has by now."""
        return remaining_warnings(self.analysis, self._loader.defined)

    def add_rules(self, program: str | Program) -> None:
        """Adds the statements of a program; its rules hold from now on. A mistake raises `ProgramError` and changes none.

        >>> kb = KnowledgeBase("edge(1, 2).")
        >>> kb.add_rules("back(Y, X) :- edge(X, Y).")
        >>> list(kb.facts("back"))
        [(2, 1)]
        """
        if isinstance(program, str):
            parsed = parse(program, prefixes=self.program.prefixes)
            if parsed.errors:
                raise ProgramError(parsed.diagnostics)
            program = parsed.program
        analysis = checked(Program.of([*self.program.statements, *program.statements]))
        wrong = check_evaluable(program.rules, program.queries)
        for name, info in analysis.predicates.items():
            known = self._loader.arities.get(name)
            if info.arity is not None and known is not None and info.arity != known:
                wrong.append(arity_mismatch(name, info.arity, known))
        if wrong:
            raise ProgramError(wrong)
        before, self.analysis = self.analysis, analysis
        try:
            self._state(program)
        except ProgramError:  # a file of an @input
            self.analysis = before
            raise
        if "_engine" in self.__dict__:
            self._engine.replace_rules(analysis.graph)

    def _state(self, program: Program) -> None:
        """The facts that a program states, and the files that it names."""
        for name, info in self.analysis.predicates.items():
            if info.arity is not None:
                self._loader.arities.setdefault(name, info.arity)
        for facts in program.facts:
            self._loader.insert_written(facts)
        for declaration in program.inputs:
            self._loader.load_declared(declaration)

    # -- facts in ----------------------------------------------------------------------------------------------------

    def insert(self, predicate: str, facts: Any) -> int:
        """Adds explicit facts and gives the number of new ones: rows of Python values, an Arrow table, a pandas frame.

        All or nothing: a row that does not fit raises `ProgramError` and leaves everything as it was.

        >>> import datetime
        >>> kb = KnowledgeBase()
        >>> kb.insert("seen", [("ann", datetime.date(2026, 1, 1)), ("bo", None)])
        Traceback (most recent call last):
        corollary.diagnostics.diagnostic.ProgramError: error[E401]: facts of 'seen': None is not a constant
        >>> kb.insert("seen", [("ann", datetime.date(2026, 1, 1))]), list(kb.facts("seen"))
        (1, [('ann', datetime.date(2026, 1, 1))])
        """
        return self._loader.insert(self.full_name(predicate), facts)

    def load(
        self,
        predicate: str,
        path: str | PathLike[str],
        *,
        header: bool = False,
        delimiter: str | None = None,
        types: str | Sequence[str] | None = None,
        columns: str | Sequence[str] | None = None,
        format: str | None = None,
    ) -> int:
        """Adds the facts of a file and gives the number of new ones. The ending of its name tells the format.

        csv, tsv, facts, parquet, json (JSON lines), nt, nq and ttl; docs/data.md has the rules. `types` declares what the
        columns of a text file hold (`"integer, string"`), `columns` chooses columns by name.
        """
        options = {"header": header, "delimiter": delimiter, "types": types, "columns": columns, "format": format}
        return self._loader.load_file(self.full_name(predicate), Path(path), ReadOptions.of(options))

    def load_facts(self, directory: str | PathLike[str], *, header: bool = False) -> int:
        """Adds the facts of all data files of a directory, `edge.csv` to `edge`; gives the number of new ones.

        Files with other endings are left alone, and so are `.json` files whose predicate nothing mentions. With `header`, the
        csv and tsv files name their columns in the first row.
        """
        return self._loader.load_directory(Path(directory), self.full_name, header=header)

    def load_rdf(self, path: str | PathLike[str]) -> int:
        """Adds the triples of an RDF file as p(s, o), and as C(s) where p is rdf:type; gives the number of new facts.

        Where the program has a predicate rdf:type of two arguments, it gets those triples too.
        """
        return self._loader.load_triples(Path(path))

    # -- facts out ---------------------------------------------------------------------------------------------------

    def materialise(
        self,
        *,
        finished: Callable[[NodeReport], None] = lambda report: None,
        watch: Callable[[int], None] = lambda facts: None,
    ) -> RunReport:
        """Derives everything now; otherwise the first read does.

        `finished` is told of each hyper-node, `watch` now and then of the number of facts; both may stop it by raising.
        """
        if not self._engine.is_materialised:
            self._engine.materialise(check=self._checker(watch), finished=finished)
        return self._engine.report

    def _checker(self, watch: Callable[[int], None]) -> Callable[[int], None]:
        """Called while rules run: stops at a limit."""
        limits, started = self.limits, time.monotonic()

        def check(facts: int) -> None:
            if limits.facts is not None and facts > limits.facts:
                raise _limit(f"there are more than {limits.facts:,} facts, and deriving is not finished")
            if limits.seconds is not None and time.monotonic() - started > limits.seconds:
                raise _limit(f"deriving took longer than {limits.seconds:g} s")
            watch(facts)

        return check

    def predicates(self) -> list[str]:
        """The names of all predicates that the program or its facts mention, sorted.

        >>> KnowledgeBase("@prefix ex: <http://example.org/> . ex:p(X) :- q(X, _).").predicates()
        ['http://example.org/p', 'q']
        """
        return sorted({*self.analysis.predicates, *self._loader.defined})

    def count(self, predicate: str) -> int:
        """The number of visible facts.

        >>> KnowledgeBase("p(1). p(2). q(X) :- p(X), X > 1.").count("q")
        1
        """
        if self.is_empty:
            return 0
        self.materialise()
        relation = self._engine.visible(self.full_name(predicate))
        return relation.size if relation is not None else 0

    @property
    def is_empty(self) -> bool:
        """Nothing was inserted and nothing can be derived: no engine was started yet."""
        return not self.program.rules and "_engine" not in self.__dict__

    def facts(self, predicate: str) -> Result:
        """The whole visible relation; its variables are called a1, a2 … after the positions of the arguments."""
        import numpy as np

        from corollary.results import Result

        self.materialise()
        relation = self._engine.visible(self.full_name(predicate))
        if relation is None:
            rows = np.empty((0, self._loader.arities.get(self.full_name(predicate), 0)), np.uint32)
        else:
            rows = relation.facts if relation.arity else np.empty((relation.size, 0), np.uint32)
        names = [f"a{position}" for position in range(1, rows.shape[1] + 1)]
        return Result(self._engine.universe, rows, names, self.program.prefixes)

    def owners(self, predicate: str) -> dict[str, int]:
        """Who supports the facts of a predicate, and how many each: explicit facts, and hyper-nodes by their rules.

        Derivations are counted only in a knowledge base with `support=True`.

        >>> kb = KnowledgeBase("p(1). p(2). q(2). q(3). r1: p(X) :- q(X).", support=True)
        >>> kb.owners("p")
        {'explicit': 2, '{r1}': 2}
        """
        if not self._support:
            raise ValueError("who supports a fact is known only in a KnowledgeBase(..., support=True)")
        self.materialise()
        return self._engine.owners(predicate)

    def query(self, query: str | Query) -> Result:
        """The answers to a query: text such as `path(1, X), not seen(X)`, or one of `queries`.

        The prefixes of the program are known in the text. A query about a predicate that nothing mentions has no answers.

        >>> kb = KnowledgeBase("@prefix ex: <http://example.org/> . ex:knows(ex:ann, ex:bo).")
        >>> list(kb.query("ex:knows(ex:ann, X)"))
        [(Iri(value='http://example.org/bo'),)]
        """
        from corollary.results import Result

        parsed = self.parse_query(query) if isinstance(query, str) else query
        self._check_query(parsed)
        self.materialise()
        names = [variable.name for variable in parsed.variables]
        return Result(self._engine.universe, self._engine.answers(parsed), names, self.program.prefixes)

    def parse_query(self, text: str) -> Query:
        """The text of a query, read with the prefixes of the program; raises `ProgramError` where it cannot be asked."""
        parsed = parse_query(text, self.program.prefixes)
        self._check_query(parsed)
        return parsed

    def _check_query(self, query: Query) -> None:
        if mistakes := check_query(query, self._loader.arities):
            raise ProgramError(mistakes)

    def unknown_predicates(self, query: Query) -> list[Diagnostic]:
        """A warning for each predicate of a query that nothing mentions; such a query has no answers."""
        return unknown_predicates(query, self.predicates())

    def write(
        self, predicate: str, path: str | PathLike[str], *, format: str | None = None, header: bool = False
    ) -> None:
        """Writes the visible facts of a predicate: csv, tsv, parquet, nt or json, as the ending of the file's name says.

        The file appears whole or not at all.
        """
        from corollary.sources.write import write_result

        write_result(self.facts(predicate), path, form=format, header=header, predicate=self.full_name(predicate))

    def full_name(self, predicate: str) -> str:
        """The name of a predicate with its prefix written out, where the program declares that prefix."""
        prefix, colon, local = predicate.partition(":")
        namespace = self.program.prefixes.get(prefix)
        return namespace + local if colon and namespace is not None else predicate

    @cached_property
    def _engine(self) -> EmbeddedEngine:
        from corollary.engines.embedded.engine import EmbeddedEngine

        return EmbeddedEngine(
            self.analysis.graph,
            without=self._without,
            discards_errors=self._discards_errors,
            updates=self._support,
        )

    def __repr__(self) -> str:
        return f"<KnowledgeBase: {len(self.program.rules)} rules, {len(self.predicates())} predicates>"


def _limit(message: str) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.LIMIT_REACHED, message)])
