"""The public API: a program, its facts, and everything that follows from them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import Analysis, analyse, analyse_texts, check_evaluable
from corollary.analysis.lowering import lower_query, possible, tells_possible
from corollary.analysis.meaning import Meaning
from corollary.analysis.predicates import check_functions
from corollary.analysis.queries import check_query, remaining_warnings, unknown_predicates
from corollary.backends import Backend
from corollary.backends.asking import Asking
from corollary.backends.coming_facts import Inserts, arities_with, forms_with
from corollary.backends.embedded import EmbeddedBackend
from corollary.backends.rule_info import RuleInfo, rule_infos
from corollary.diagnostics import Diagnostic, ProgramError, Source, catalogue, did_you_mean
from corollary.language import parse_query, print_rule, read_source
from corollary.program import Atom, Negation, Program, Query, Variable
from corollary.program.arities import SizedName, full_names, query_with_arities
from corollary.program.host_functions import register
from corollary.reasoning import RuleEdit, edit_rules
from corollary.reasoning.demand import Demanded
from corollary.settings import Settings, check_rule_names
from corollary.sources.options import ReadOptions
from corollary.sources.rejects import Rejects
from corollary.store.stored import Stored
from corollary.streams.streaming import Streaming
from corollary.transactions import Change, Facts, Transaction, TransactionResult

if TYPE_CHECKING:
    from corollary.backends.backend import Difference
    from corollary.engines.embedded.report import NodeReport, RunReport
    from corollary.results import Result


class KnowledgeBase(Stored, Streaming):
    """A program with its facts. Reading derives what is needed first; nothing derived is ever out of date.

    >>> kb = KnowledgeBase("path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z).")
    >>> kb.insert("edge", [(1, 2), (2, 3)])
    2
    >>> sorted(kb.query("path(1, X)"))
    [(2,), (3,)]

    `base` is where the files of `@input` are looked up when the program is a text; those of a program file are beside it.
    `engine` is "embedded", "spark" or a Spark session; "spark" takes `master`, `conf` and `workspace`, too. All other keywords
    are settings (`corollary.Settings` explains them): they replace those of `settings`. Changes after the first read are
    followed exactly, for a cost that depends on what changes.
    """

    def __init__(
        self,
        program: str | Program | Analysis = "",
        *,
        engine: Any = "embedded",
        base: str | PathLike[str] = ".",
        settings: Settings | None = None,
        **keywords: Any,
    ) -> None:
        spark_options = {name: keywords.pop(name) for name in _SPARK_OPTIONS & keywords.keys()}
        self.settings = Settings.of(settings, **keywords)
        if isinstance(program, Program):
            program = analyse(program)
        analysis = analyse_texts(Source(program)) if isinstance(program, str) else program
        self.analysis: Analysis = analysis.under(Meaning.of(self.settings))
        if self.analysis.errors:
            raise ProgramError(self.analysis.diagnostics)
        names = [rule.name for rule in self.program.rules]
        wrong = [*check_evaluable(queries=self.program.queries), *check_functions(self.program)]
        if wrong := [*wrong, *check_rule_names(self.settings, names)]:
            raise ProgramError(wrong)
        self.limits = self.settings.limits
        self._lock = threading.RLock()  # a change excludes readers: they see what was before it or what is after it
        self._subscribers: dict[str, list[Callable[[Result, Result], None]]] = {}
        self._backend = _backend(engine, self.analysis, self.settings, Path(base), spark_options)
        self._asking = Asking(self._backend, self.settings)
        self._backend.listener = self._tell
        self._backend.new_check = lambda: self._checker(lambda facts: None)
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
        return self._backend.rejects

    @property
    def warnings(self) -> list[Diagnostic]:
        """What is doubtful about the program, with the facts that it has by now."""
        return remaining_warnings(self.analysis, self._backend.defined)

    # -- changes -----------------------------------------------------------------------------------------------------

    register = staticmethod(register)
    """Makes a Python function known to rules under a name; see `corollary.function`, which does it as a decorator."""

    def transaction(self) -> Transaction:
        """A `with` block that collects changes of facts and rules, which happen together at its end."""
        return Transaction(lambda changes: self.apply(*changes))

    def apply(self, *written: Change | str | PathLike[str]) -> TransactionResult:
        """Makes changes together, all or nothing, and tells which visible facts came and went; a path is that of a change file.

        An explicit fact that is deleted stays visible while rules derive it; deleting what is not explicit, and inserting what
        is, changes nothing. A mistake, a limit or an interrupt leaves everything as it was.
        """
        with self._lock:
            self.materialise()
            changes = [one if isinstance(one, Change) else self._read_changes(one) for one in written]
            edit = self._edit(changes)
            inserts = [(self.data_name(name), facts) for change in changes for name, facts in change.insert.items()]
            deletes = [(self.data_name(name), facts) for change in changes for name, facts in change.delete.items()]
            if edit is not None:
                inserts += [(facts.predicate, facts.rows) for facts in edit.program.facts]
            after = self._knowing(edit.analysis if edit is not None else self.analysis, inserts)
            is_changed = after is not self.analysis
            with self._becoming(after if is_changed else None):
                difference = self._backend.apply(deletes, inserts, after.evaluated if is_changed else None)
            self.analysis = after
            if edit is not None and any(change.add_rules for change in changes):
                self._declare_arities()
                self._backend.insert_program((), edit.program.inputs)
            return self._tell(difference)

    def _knowing(self, analysis: Analysis, inserts: Inserts = ()) -> Analysis:
        """The analysis of a program where these facts may be the first ones of their predicates, or of their forms."""
        arities = arities_with(inserts, self._backend, mixed=self.settings.mixed_arities)
        return analysis.knowing(arities, lambda: forms_with(inserts, self._backend))

    def _notice_predicates(self) -> None:
        """Facts have come in: where rules depend on which predicates there are, there may be more of them now."""
        after = self._knowing(self.analysis)
        if after is self.analysis:
            return
        if self._backend.is_started and self._backend.is_materialised:
            with self._becoming(after):
                difference = self._backend.apply([], [], after.evaluated)
            self.analysis = after
            self._tell(difference)
        else:
            self.analysis = after
            self._backend.replace_rules(after.evaluated)

    def _edit(self, changes: Sequence[Change]) -> RuleEdit | None:
        add = [rules for change in changes for rules in change.add_rules]
        remove = [rule for change in changes for rule in change.remove_rules]
        return edit_rules(self.analysis, add, remove, self._backend.arities) if add or remove else None

    def _tell(self, difference: Difference) -> TransactionResult:
        def empty(predicate: str) -> Result:
            return self._backend.no_facts(predicate, self.program.prefixes)

        inserted = Facts(difference.inserted, self.full_name, empty)
        deleted = Facts(difference.deleted, self.full_name, empty)
        for predicate in sorted({*difference.inserted, *difference.deleted}):
            for callback in self._subscribers_of(predicate):
                callback(inserted[predicate], deleted[predicate])
        for publisher in self._publishers:
            publisher.follow(inserted, deleted)
        return TransactionResult(inserted, deleted, difference.report)

    def _subscribers_of(self, predicate: str) -> list[Callable[[Result, Result], None]]:
        found = list(self._subscribers.get(predicate, ()))
        if isinstance(predicate, SizedName):  # who subscribed before it was known, by the name alone
            found += self._subscribers.get(predicate.written, ())
        return found

    def subscribe(self, predicate: str, callback: Callable[[Result, Result], None]) -> Callable[[], None]:
        """Calls back with the inserted and the deleted facts of a predicate whenever some are; gives a way to stop that.

        >>> kb = KnowledgeBase("warm(X) :- temperature(X, T), T > 20.")
        >>> stop = kb.subscribe("warm", lambda inserted, deleted: print(list(inserted), list(deleted)))
        >>> kb.materialise() and kb.insert("temperature", [("a", 25)])
        [('a',)] []
        1
        """
        callbacks = self._subscribers.setdefault(self.full_name(predicate), [])
        callbacks.append(callback)
        return lambda: callbacks.remove(callback)

    def delete(self, predicate: str, facts: Any) -> int:
        """Deletes those of the facts that are explicit, and gives their number.

        >>> kb = KnowledgeBase("edge(1, 2). path(X, Y) :- edge(X, Y).")
        >>> kb.delete("edge", [(1, 2), (5, 6)]), kb.count("path")
        (1, 0)
        """
        return self.apply(Change(delete={predicate: facts})).report.explicit_deleted

    def add_rules(self, program: str | Program) -> None:
        """Adds the statements of a program; its rules hold from now on. A mistake raises `ProgramError` and changes none.

        >>> kb = KnowledgeBase("edge(1, 2).")
        >>> kb.add_rules("back(Y, X) :- edge(X, Y).")
        >>> list(kb.facts("back"))
        [(2, 1)]
        """
        with self._lock:
            if self._backend.is_started and self._backend.is_materialised:
                self.apply(Change(add_rules=(program,)))
                return
            edit = edit_rules(self.analysis, [program], [], self._backend.arities)
            before, self.analysis = self.analysis, edit.analysis
            try:
                self._state(edit.program)
            except ProgramError:  # a file of an @input
                self.analysis = before
                raise
            self._backend.replace_rules(self.analysis.evaluated)

    def remove_rules(self, *rules: str) -> None:
        """Removes rules, by name or by text, and with them what only they derived.

        >>> kb = KnowledgeBase("p(1). r1: q(X) :- p(X). r2: s(X) :- q(X).")
        >>> kb.remove_rules("q(Y) :- p(Y).")
        >>> kb.count("q"), kb.count("s")
        (0, 0)
        """
        self.apply(Change(remove_rules=rules))

    def _state(self, program: Program) -> None:
        """The facts that a program states, and the files that it names."""
        self._declare_arities()
        self._backend.insert_program(program.facts, program.inputs)
        self._notice_predicates()

    def _declare_arities(self) -> None:
        for name, info in self.analysis.predicates.items():
            if info.arity is not None:
                self._backend.arities.setdefault(name, info.arity)

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
        with self._lock:
            count = self._backend.insert(self.data_name(predicate), facts)
            self._notice_predicates()
            return count

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
        **database: str | None,
    ) -> int:
        """Adds the facts of a file and gives the number of new ones. The ending of its name tells the format.

        csv, tsv, facts, parquet, delta, json (JSON lines), nt, nq and ttl; docs/data.md has the rules. `types` declares what the
        columns of a text file hold (`"integer, string"`), `columns` chooses columns by name. The path may be a database,
        `postgresql://host/database`, with `table` or `query`, `user` and `password`. On Spark it may be a
        directory, a pattern, an address such as `hdfs://…`, or a database: `jdbc:postgresql://…` with `table` or `query`,
        `user`, `password`, `driver` and `jar`.
        """
        options = {"header": header, "delimiter": delimiter, "types": types, "columns": columns, "format": format}
        with self._lock:
            count = self._backend.load_file(self.data_name(predicate), path, ReadOptions.of({**options, **database}))
            self._notice_predicates()
            return count

    def load_table(self, predicate: str, table: Any, columns: Sequence[str] | None = None) -> int:
        """Adds the rows of a Spark data frame, or of a table that the session knows by name (Spark engine only)."""
        with self._lock:
            count = self._backend.load_table(self.data_name(predicate), table, columns)
            self._notice_predicates()
            return count

    def view(self, predicate: str) -> str:
        """A temporary view of the visible facts for Spark SQL, with the columns a1, a2 …; gives its name as SQL takes it."""
        with self._lock:
            self.materialise()
            name = self.full_name(predicate)
            if name not in (known := self.predicates()):
                hint = did_you_mean(name, known)
                raise ValueError(f"nothing mentions the predicate '{predicate}'" + (f": {hint}" if hint else ""))
            return self._backend.view(name, self.program.prefixes)

    def load_facts(self, directory: str | PathLike[str], *, header: bool = False) -> int:
        """Adds the facts of all data files of a directory, `edge.csv` to `edge`; gives the number of new ones.

        Files with other endings are left alone, and so are `.json` files whose predicate nothing mentions. With `header`, the
        csv and tsv files name their columns in the first row.
        """
        with self._lock:
            count = self._backend.load_directory(Path(directory), self.data_name, header=header)
            self._notice_predicates()
            return count

    def load_rdf(self, path: str | PathLike[str]) -> int:
        """Adds the triples of an RDF file as p(s, o), and as C(s) where p is rdf:type; gives the number of new facts.

        Where the program has a predicate rdf:type of two arguments, it gets those triples too.
        """
        with self._lock:
            count = self._backend.load_triples(Path(path))
            self._notice_predicates()
            return count

    # -- facts out ---------------------------------------------------------------------------------------------------

    def materialise(
        self,
        *,
        finished: Callable[[NodeReport], None] = lambda report: None,
        watch: Callable[[int], None] = lambda facts: None,
        at_round: Callable[[int], None] = lambda number: None,
    ) -> RunReport:
        """Derives everything now; otherwise the first read does.

        `finished` is told of each hyper-node, `watch` now and then of the number of facts, `at_round` of the round that the
        hyper-node at work is in; each may stop it by raising.
        """
        with self._lock:
            if not self._backend.is_materialised:
                self._asking.load_sources(self._backend.insert)
                self._backend.materialise(self._checker(watch), finished, self._round_checker(at_round))
            return self._backend.report

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

    def _round_checker(self, watch: Callable[[int], None]) -> Callable[[int], None]:
        most = self.limits.rounds

        def at_round(number: int) -> None:
            if most is not None and number > most:
                raise _limit(f"deriving is not finished after {most:,} rounds")
            watch(number)

        return at_round

    def predicates(self) -> list[str]:
        """The names of all predicates that the program or its facts mention, sorted.

        >>> KnowledgeBase("@prefix ex: <http://example.org/> . ex:p(X) :- q(X, _).").predicates()
        ['http://example.org/p', 'q']
        """
        return sorted({*self.analysis.predicates, *self._backend.defined})

    def count(self, predicate: str) -> int:
        """The number of visible facts.

        >>> KnowledgeBase("p(1). p(2). q(X) :- p(X), X > 1.").count("q")
        1
        """
        if self.is_empty:
            return 0
        with self._lock:
            self.materialise()
            return self._backend.count(self.full_name(predicate))

    @property
    def is_empty(self) -> bool:
        """Nothing was inserted and nothing can be derived: no engine was started yet."""
        return not self.program.rules and not self._asking.sources and not self._backend.is_started

    def facts(self, predicate: str) -> Result:
        """The whole visible relation; its variables are called a1, a2 … after the positions of the arguments."""
        with self._lock:
            self.materialise()
            return self._backend.facts(self.full_name(predicate), self.program.prefixes)

    def owners(self, predicate: str) -> dict[str, int]:
        """Who supports the facts of a predicate, and how many each: explicit facts, and hyper-nodes by their rules.

        >>> kb = KnowledgeBase("p(1). p(2). q(2). q(3). r1: p(X) :- q(X).")
        >>> kb.owners("p")
        {'explicit': 2, '{r1}': 2}
        """
        with self._lock:
            self.materialise()
            return self._backend.owners(self.full_name(predicate))

    def rules(self) -> list[RuleInfo]:
        """The rules with their hyper-nodes, how those follow changes, and how many facts they derive.

        >>> for rule in KnowledgeBase("edge(1, 2). path(X, Y) :- edge(X, Y).").rules():
        ...     print(rule.name, rule.hyper_node, rule.module, rule.strategy, rule.derived)
        r1 {r1} nonrecursive counting 1
        """
        with self._lock:
            self.materialise()
            return rule_infos(self.analysis, self._backend)

    def query(self, query: str | Query, *, mode: str | None = None) -> Result:
        """The answers to a query: text such as `path(1, X), not seen(X)`, or one of `queries`.

        The prefixes of the program are known in the text. A query about a predicate that nothing mentions has no answers. Where
        nothing was derived yet, `mode` says how: "demand", "materialise" or "auto" (docs/api.md); the setting is the default.

        >>> kb = KnowledgeBase("@prefix ex: <http://example.org/> . ex:knows(ex:ann, ex:bo).")
        >>> list(kb.query("ex:knows(ex:ann, X)"))
        [(Iri(value='http://example.org/bo'),)]
        """
        parsed = self.parse_query(query) if isinstance(query, str) else query
        self._check_query(parsed)
        with self._lock:
            demanded = self._asking.on_demand(self.analysis, parsed, mode)
            if demanded is not None:
                return self._asking.answers(demanded, parsed, self.program.prefixes)
            self.materialise()
            asked = lower_query(parsed, self.analysis.meaning, self.analysis.evaluated)
            return self._backend.answers(asked, self.program.prefixes)

    def source(self, predicate: str, source: Any, **options: Any) -> None:
        """Facts of a predicate come from a function, or from a table of a database; docs/data.md says how it is asked."""
        self._asking.add_source(self.data_name(predicate), source, **options)

    def demanded(self, query: str | Query) -> Demanded:
        """The rules that the mode "demand" answers a query by; `text()` shows them."""
        return self._asking.rules(self.analysis, self.parse_query(query) if isinstance(query, str) else query)

    def is_on_demand(self, query: Query, mode: str | None = None) -> bool:
        """Whether a query would be answered on demand, without deriving everything first."""
        return self._asking.on_demand(self.analysis, query, mode, asks=False) is not None

    def undefined(self, predicate: str) -> Result:
        """The facts that are neither true nor false under well-founded semantics.

        >>> kb = KnowledgeBase("win(X) :- move(X, Y), not win(Y). move(1, 2). move(3, 3).", semantics="well-founded")
        >>> list(kb.facts("win")), list(kb.undefined("win"))
        ([(1,)], [(3,)])
        """
        name = self.full_name(predicate)
        with self._lock:
            self.materialise()
            if not tells_possible(self.analysis.evaluated, name):
                return self._backend.no_facts(name, self.program.prefixes)
            arguments = tuple(Variable(f"a{position}") for position in range(1, self._backend.arities[name] + 1))
            query = Query((Atom(possible(name), arguments), Negation(Atom(name, arguments))))
            return self._backend.answers(query, self.program.prefixes)

    def parse_query(self, text: str) -> Query:
        """The text of a query, read with the prefixes of the program; raises `ProgramError` where it cannot be asked."""
        parsed = parse_query(text, self.program.prefixes)
        if self.settings.mixed_arities:
            parsed = query_with_arities(parsed)
        self._check_query(parsed)
        return parsed

    def _check_query(self, query: Query) -> None:
        if mistakes := check_query(query, self._backend.arities, self.analysis.meaning):
            raise ProgramError(mistakes)

    def unknown_predicates(self, query: Query) -> list[Diagnostic]:
        """A warning for each predicate of a query that nothing mentions; such a query has no answers."""
        return unknown_predicates(query, self.predicates())

    def write(
        self,
        predicate: str,
        path: str | PathLike[str],
        *,
        format: str | None = None,
        header: bool = False,
        mode: str | None = None,
        **database: str | None,
    ) -> None:
        """Writes the visible facts of a predicate: csv, tsv, parquet, delta, nt or json, as the ending of the name says.

        The file appears whole or not at all. `mode` is for Delta tables and databases: "overwrite", "append" or "error". On
        Spark the path may be an address such as `hdfs://…`, or a database: `jdbc:postgresql://…` with `table`, `user`,
        `password`, `driver` and `jar`.
        """
        name = self.full_name(predicate)
        options = {"form": format, "header": header, "predicate": name, "mode": mode, **database}
        self._backend.write(self.facts(name), str(path), options)

    def full_name(self, predicate: str) -> str:
        """The name of a predicate with its prefix written out, where the program declares that prefix.

        With `mixed_arities` also with its number of arguments; an error where the name alone has several of them.
        """
        name = self.data_name(predicate)
        if not self.settings.mixed_arities:
            return name
        several = full_names(name, self._backend.arities)
        if len(several) > 1 and name not in several:
            message = f"'{predicate}' has several numbers of arguments: {', '.join(several)}"
            raise ProgramError([Diagnostic(catalogue.ARITY_MISMATCH, message, None, f"say which one: '{several[0]}'")])
        return several[0] if len(several) == 1 else name

    def data_name(self, predicate: str) -> str:
        """The name that facts come in with: with its prefix written out; their width says the number of arguments."""
        prefix, colon, local = predicate.partition(":")
        namespace = self.program.prefixes.get(prefix)
        return namespace + local if colon and namespace is not None else predicate

    @property
    def stages(self) -> dict[str, float]:
        """Seconds that the stages of loading took so far, on Spark: start, ingest, encode."""
        return self._backend.stages

    def sql(self) -> str:
        """The rules as views of Spark SQL, over views of the predicates with the columns a1, a2 … (see `view`)."""
        from corollary.engines.spark.algebra.sql import SqlViews
        from corollary.planning import normalise

        rules = self.analysis.graph.rules
        views = SqlViews().views(map(normalise, self.analysis.limited_rules))
        return "\n\n".join(
            f"-- {print_rule(rules[view.rule], self.program.prefixes)}\n"
            + (f"{view.text};" if view.text is not None else f"-- has no SQL: {view.missing}")
            for view in views
        )

    def close(self) -> None:
        """Gives back what the engine holds outside of this process: temporary tables and a session of its own."""
        self._backend.close()

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<KnowledgeBase: {len(self.program.rules)} rules, {len(self.predicates())} predicates>"


_SPARK_OPTIONS = {"master", "conf", "workspace", "spark_settings"}


def _backend(engine: Any, analysis: Analysis, settings: Settings, base: Path, spark_options: dict[str, Any]) -> Backend:
    if engine == "embedded":
        if spark_options:
            raise TypeError(f"the embedded engine has no option '{next(iter(spark_options))}'")
        return EmbeddedBackend(analysis.evaluated, settings, base)
    if engine == "spark" or not isinstance(engine, str):
        from corollary.backends.spark import SparkBackend

        session = None if isinstance(engine, str) else engine
        return SparkBackend(analysis.evaluated, settings, base, session, **spark_options)
    raise ValueError(f"there is no engine '{engine}'; there are 'embedded' and 'spark'")


def _limit(message: str) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.LIMIT_REACHED, message)])
