"""The public API: a program, its facts, and everything that follows from them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import Analysis, analyse, analyse_texts, check_evaluable
from corollary.analysis.lowering import lower_query, possible, tells_possible
from corollary.analysis.meaning import Meaning
from corollary.analysis.predicates import PredicateInfo, check_functions
from corollary.analysis.queries import check_query, remaining_warnings, unknown_predicates
from corollary.analysis.suspicions import warnings_of_query
from corollary.analysis.value_kinds import NO_OTHER_FACTS, OtherFacts, ValueKinds
from corollary.backends import Backend
from corollary.backends.asking import Asking
from corollary.backends.backend import no_yield_index
from corollary.backends.embedded import EmbeddedBackend
from corollary.backends.rule_info import RuleInfo, owners_by_name, rule_infos
from corollary.diagnostics import Diagnostic, ProgramError, Source, catalogue, did_you_mean, warn
from corollary.io.options import ReadOptions
from corollary.io.rejects import Rejects
from corollary.language import Permissions, parse_query, read_source
from corollary.program import Atom, Negation, Program, Query, Variable, atoms_of
from corollary.program.arities import SizedName, full_names, query_with_arities, sized
from corollary.program.host_functions import register
from corollary.program.locations import has_location
from corollary.reasoning import RuleEdit, edit_rules, named_rules
from corollary.reasoning.demand import Demanded
from corollary.reasoning.run import Run, late_check
from corollary.settings import Settings, check_rule_names
from corollary.store.stored import Stored
from corollary.streams.streaming import Streaming
from corollary.transactions import Change, Facts, Transaction, TransactionResult, facts_given

if TYPE_CHECKING:
    from corollary.analysis.change_plan import RuleChangePlan
    from corollary.analysis.yield_entries import YieldEntries
    from corollary.backends.backend import Batch, Difference
    from corollary.engines.embedded.report import NodeReport, RunReport
    from corollary.reasoning.maintain.chooser import Strategy
    from corollary.results import Result


class KnowledgeBase(Stored, Streaming):
    """A program and its facts. Facts are derived when they are first read, and are never out of date after that.

    >>> kb = KnowledgeBase("path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z).")
    >>> kb.insert("edge", [(1, 2), (2, 3)])
    2
    >>> sorted(kb.query("path(1, X)"))
    [(2,), (3,)]

    `base` is the folder for the files of `@input` if the program is given as text. `engine` is "embedded", "spark" or a Spark
    session; "spark" also takes `master`, `conf` and `workspace`. All other keywords are settings (see `corollary.Settings`),
    which override those in `settings`. After the first read, changes are maintained incrementally, at a cost that depends on
    the change.
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
        self.limits = self.settings.limits
        self._permissions = Permissions.of(self.settings.allow)
        tick = late_check(self.limits)
        if isinstance(program, Program):
            program = analyse(program, tick)
        analysis = analyse_texts(Source(program), tick=tick) if isinstance(program, str) else program
        self.analysis: Analysis = analysis.under(Meaning.of(self.settings))
        if self.analysis.errors:
            raise ProgramError(self.analysis.diagnostics)
        names = [rule.name for rule in self.program.rules]
        wrong = [*check_evaluable(queries=self.program.queries), *check_functions(self.program)]
        if wrong := [*wrong, *check_rule_names(self.settings, names)]:
            raise ProgramError(wrong)
        self._run: Run | None = None
        self._lock = threading.RLock()  # a change excludes readers: they see what was before it or what is after it
        self._subscribers: dict[str, list[Callable[[Result, Result], None]]] = {}
        self._has_other_facts = False
        self._kinds: ValueKinds | None = None
        self._backend = _backend(engine, self.analysis, self.settings, Path(base), spark_options)
        self._asking = Asking(self._backend, self.settings)
        with self._operation() as run:
            batch = self._backend.batch(run)
            self._know_arities(batch, self.analysis.predicates)
            batch.insert_program(self.program.facts, self.program.inputs)
            self._change(batch, self.analysis, run)
        if isinstance(program, str):
            warn(one for one in self.analysis.warnings if one.kind in catalogue.SILENT_TRAPS)

    @classmethod
    def from_file(cls, path: str | PathLike[str], **options: Any) -> KnowledgeBase:
        """Return the knowledge base of a program file; paths of `@input` are relative to the file."""
        kb = cls.from_sources([read_source(Path(path))], **options)
        warn(one for one in kb.analysis.warnings if one.kind in catalogue.SILENT_TRAPS)
        return kb

    @classmethod
    def from_sources(cls, sources: Sequence[Source], **options: Any) -> KnowledgeBase:
        """Return a knowledge base of several texts, read as one program."""
        given = {name: options[name] for name in ("limits",) if name in options}
        limits = Settings.of(options.get("settings"), **given).limits
        return cls(analyse_texts(*sources, tick=late_check(limits)), **options)

    @property
    def program(self) -> Program:
        return self.analysis.program

    @property
    def queries(self) -> tuple[Query, ...]:
        """The `?-` queries in the program."""
        return self.program.queries

    @property
    def rejects(self) -> Rejects:
        """The rejected rows of data files, each with its place and the reason."""
        return self._backend.rejects

    @property
    def warnings(self) -> list[Diagnostic]:
        """The warnings about the current rules and facts."""
        return remaining_warnings(self.analysis, self._backend.defined)

    @contextmanager
    def _operation(
        self,
        *,
        watch: Callable[[int], None] | None = None,
        finished: Callable[[NodeReport], None] | None = None,
        at_round: Callable[[int], None] | None = None,
    ) -> Iterator[Run]:
        """Run one operation at a time, under its limits; signals wait until it can be undone or is over.

        Operations inside another one are part of it, until it is sealed or stopped: what its subscribers do afterwards is
        limited again.
        """
        with self._lock:
            outer = self._run
            if outer is not None and outer.is_open and not (watch or finished or at_round):
                yield outer
                return
            with Run(self.limits, watch=watch, finished=finished, at_round=at_round) as run:
                self._backend.obey(run.limits)
                self._run = run
                try:
                    yield run
                finally:
                    self._run = outer

    # -- changes -----------------------------------------------------------------------------------------------------

    register = staticmethod(register)
    """Makes a Python function known to rules under a name; see `corollary.function`, which does it as a decorator."""

    def transaction(self, *, allow: Collection[str] = ()) -> Transaction:
        """Return a `with` block that collects changes of facts and rules and applies them together at its end."""
        return Transaction(lambda changes: self.apply(*changes, allow=allow))

    def apply(self, *written: Change | str | PathLike[str], allow: Collection[str] = ()) -> TransactionResult:
        """Apply a change, all or nothing, and return the visible facts that it inserted and deleted; a path is that of a
        change file.

        A deleted explicit fact stays visible if rules derive it. Deleting a fact that is not explicit, or inserting one that
        is, changes nothing. After an error, a limit or an interrupt, everything is as it was. Rules may use `@input`,
        `@output` and user-defined functions only if the setting `allow`, or `allow` here, has "inputs", "outputs" or
        "functions".
        """
        return self._apply(written, allow)

    def _apply(
        self,
        written: Sequence[Change | str | PathLike[str]],
        allow: Collection[str] = (),
        stream: Strategy | None = None,
    ) -> TransactionResult:
        """Makes changes together; those of a stream are followed by its strategy."""
        permissions = self._permitted(allow)
        with self._operation() as run:
            self._materialise(run)
            changes = [one if isinstance(one, Change) else self._read_changes(one, permissions) for one in written]
            self._has_other_facts |= any(change.insert for change in changes)
            edit = self._edit(changes, permissions, run)
            batch = self._backend.batch(run)
            batch.change(
                [(self.data_name(name), facts) for change in changes for name, facts in change.insert.items()],
                [(self.data_name(name), facts) for change in changes for name, facts in change.delete.items()],
            )
            return self._tell(self._change(batch, self._taken_in(edit, batch), run, stream))

    def _permitted(self, allow: Collection[str]) -> Permissions:
        """Return the permissions of rules that come at run time; a call may allow something beside the setting."""
        return Permissions.of(self.settings.allowing(allow)) if allow else self._permissions

    def _taken_in(self, edit: RuleEdit | None, batch: Batch) -> Analysis:
        """Return the program after an edit; its facts and files are added to a batch."""
        if edit is None:
            return self.analysis
        self._know_arities(batch, edit.analysis.predicates_of(edit.added))
        batch.insert_program(edit.program.facts, edit.program.inputs)
        return edit.analysis

    def _know_arities(self, batch: Batch, predicates: Mapping[str, PredicateInfo]) -> None:
        for name, info in predicates.items():
            if info.arity is not None:
                batch.arities.setdefault(name, info.arity)

    def _change(self, batch: Batch, analysis: Analysis, run: Run, stream: Strategy | None = None) -> Difference:
        """Change the facts, then the program, in one transaction. Every change goes through this method.

        New facts may bring predicates and forms of terms on which some rewritten rules depend.
        """
        after = analysis
        if after is not self.analysis or not batch.is_empty or batch.arities != self._backend.arities:
            after = analysis.knowing(batch.arities, self._backend.forms)
        is_changed = after is not self.analysis
        self._kinds = None
        if not self._is_derived:
            self._asking.forget_answers()
        journal = self._durable.next_version(after) if self._durable is not None else None
        difference = self._backend.apply(batch, after.evaluated if is_changed else None, run, journal, stream)
        self.analysis = after
        return difference

    def _load(self, load: Callable[[Batch], None]) -> int:
        """Insert facts by means of a batch, and return the number of new ones. Derive only if facts have been derived
        before."""
        with self._operation() as run:
            batch = self._backend.batch(run)
            load(batch)
            self._has_other_facts = True
            if batch.is_empty:
                self._backend.include(batch)
                return 0
            is_derived = self._is_derived
            difference = self._change(batch, self.analysis, run)
            if is_derived:
                self._tell(difference)
            return difference.report.explicit_inserted

    def _edit(self, changes: Sequence[Change], permissions: Permissions, run: Run) -> RuleEdit | None:
        add = [rules for change in changes for rules in change.add_rules]
        remove = [rule for change in changes for rule in change.remove_rules]
        if not add and not remove:
            return None
        others = self._other_facts()
        edit = edit_rules(self.analysis, add, remove, self._backend.arities, run.check, permissions, others)
        if any(isinstance(rules, str) for rules in add):
            known = set(map(id, self.analysis.diagnostics))
            new = [one for one in edit.analysis.diagnostics if id(one) not in known]
            if traps := [one for one in new if one.kind in catalogue.SILENT_TRAPS]:
                warn(traps)
        return edit

    def _other_facts(self) -> OtherFacts:
        """Return the known facts that are not in the program text."""
        if not self._has_other_facts and self._durable is None and not self._asking.sources:
            return NO_OTHER_FACTS
        return OtherFacts(self._backend.defined, self._backend.forms)

    def _tell(self, difference: Difference) -> TransactionResult:
        def empty(predicate: str) -> Result:
            return self._backend.no_facts(predicate, self.program.prefixes)

        inserted = Facts(difference.inserted, difference.result, self.full_name, empty)
        deleted = Facts(difference.deleted, difference.result, self.full_name, empty)
        for predicate in sorted({*difference.inserted, *difference.deleted}):
            for callback in self._subscribers_of(predicate):
                callback(inserted[predicate], deleted[predicate])
        for publisher in self._publishers:
            publisher.follow(inserted, deleted)
        return TransactionResult(inserted, deleted, difference.report)

    def _subscribers_of(self, predicate: str) -> list[Callable[[Result, Result], None]]:
        known = sized(predicate) if self.settings.mixed_arities else predicate
        alone = known.written if isinstance(known, SizedName) else known  # who subscribed before it was known
        return [callback for name in dict.fromkeys((known, alone)) for callback in self._subscribers.get(name, ())]

    def subscribe(self, predicate: str, callback: Callable[[Result, Result], None]) -> Callable[[], None]:
        """Call `callback(inserted, deleted)` after each change of a predicate; return a function that ends the subscription.

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
        """Delete explicit facts and return how many there were; facts that are not explicit are ignored.

        >>> kb = KnowledgeBase("edge(1, 2). path(X, Y) :- edge(X, Y).")
        >>> kb.delete("edge", [(1, 2), (5, 6)]), kb.count("path")
        (1, 0)
        """
        change = Change(delete={predicate: facts})
        with self._operation() as run:
            if not self._is_derived and not self._asking.sources:
                batch = self._backend.batch(run)
                batch.change([], [(self.data_name(predicate), change.delete[predicate])])
                if self._backend.can_delete_first(batch):
                    return self._change(batch, self.analysis, run).report.explicit_deleted
            return self.apply(change).report.explicit_deleted

    def add_rules(self, program: str | Program, *, allow: Collection[str] = ()) -> None:
        """Add the rules and facts of a program text. After an error (`ProgramError`), nothing has changed.

        >>> kb = KnowledgeBase("edge(1, 2).")
        >>> kb.add_rules("back(Y, X) :- edge(X, Y).")
        >>> list(kb.facts("back"))
        [(2, 1)]
        """
        with self._operation() as run:
            if self._is_derived:
                self.apply(Change(add_rules=(program,)), allow=allow)
                return
            permissions = self._permitted(allow)
            batch = self._backend.batch(run)
            edit = self._edit([Change(add_rules=(program,))], permissions, run)
            self._change(batch, self._taken_in(edit, batch), run)

    def remove_rules(self, *rules: str) -> None:
        """Remove rules, by name or by text, and the facts that only they derived.

        >>> kb = KnowledgeBase("p(1). r1: q(X) :- p(X). r2: s(X) :- q(X).")
        >>> kb.remove_rules("q(Y) :- p(Y).")
        >>> kb.count("q"), kb.count("s")
        (0, 0)
        """
        self.apply(Change(remove_rules=rules))

    def plan_rules(
        self,
        *,
        add: str | Program | Sequence[str | Program] = (),
        remove: str | Sequence[str] = (),
        allow: Collection[str] = (),
    ) -> RuleChangePlan:
        """Return what adding and removing these rules would do to the hyper-nodes, and the order in which these would be
        derived again; nothing is changed or derived.

        Removals come first. Raise `ProgramError` if the change would be refused.

        >>> kb = KnowledgeBase("r1: p(X) :- e(X). r2: q(X) :- p(X). r3: s(X) :- q(X).")
        >>> kb.plan_rules(add="r4: p(X) :- q(X), f(X).")
        <RuleChangePlan: 1 added, 0 removed, plan [{r2, r4}, {r3}]>
        """
        additions = (add,) if isinstance(add, (str, Program)) else tuple(add)
        removals = (remove,) if isinstance(remove, str) else tuple(remove)
        permissions = self._permitted(allow)
        with self._operation() as run:
            others, arities = self._other_facts(), self._backend.arities
            return edit_rules(self.analysis, additions, removals, arities, run.check, permissions, others).plan

    # -- facts in ----------------------------------------------------------------------------------------------------

    def insert(self, predicate: str, facts: Any) -> int:
        """Insert explicit facts and return how many are new. Takes rows of Python values, an Arrow table, a pandas frame or a
        mapping.

        A mapping holds columns by name; a string, or a bare tuple, raises TypeError. If a row does not fit, `ProgramError` is
        raised and nothing is inserted.

        >>> import datetime
        >>> kb = KnowledgeBase()
        >>> kb.insert("seen", [("ann", datetime.date(2026, 1, 1)), ("bo", None)])
        Traceback (most recent call last):
        corollary.diagnostics.diagnostic.ProgramError: error[E401]: facts of 'seen': None is not a constant
        >>> kb.insert("seen", [("ann", datetime.date(2026, 1, 1))]), list(kb.facts("seen"))
        (1, [('ann', datetime.date(2026, 1, 1))])
        """
        rows = facts_given(facts)
        return self._load(lambda batch: batch.insert(self.data_name(predicate), rows))

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
        base: str | None = None,
        **database: str | None,
    ) -> int:
        """Insert the facts of a file and return how many are new. The ending of its name tells the format.

        docs/data.md describes the formats. `types` declares the types of columns (`"integer, string"`), `columns` chooses
        columns by name, `base` is the base for relative IRIs in RDF. The path may be a database,
        `postgresql://host/database`, with `table` or `query`, `user` and `password`. On Spark it may be a
        directory, a pattern, an address such as `hdfs://…`, or a database: `jdbc:postgresql://…` with `table` or `query`,
        `user`, `password`, `driver` and `jar`.
        """
        options = {"header": header, "delimiter": delimiter, "types": types, "columns": columns, "format": format}
        asked = ReadOptions.of({**options, "base": base, **database})
        return self._load(lambda batch: batch.load_file(self.data_name(predicate), path, asked))

    def load_table(self, predicate: str, table: Any, columns: Sequence[str] | None = None) -> int:
        """Insert the rows of a Spark data frame, or of a table of the session, by name (Spark engine only)."""
        return self._load(lambda batch: batch.load_table(self.data_name(predicate), table, columns))

    def view(self, predicate: str, *, name: str | None = None) -> str:
        """Make a temporary view of the visible facts with the columns a1, a2 …, and return its name, quoted for SQL.

        Without `name`, the view gets a unique name. Raise ValueError if `name` is taken by a view or table that was not made
        here. `close()` drops the view.
        """
        with self._operation() as run:
            self._materialise(run)
            full = self.full_name(predicate)
            if full not in (known := self.predicates()):
                hint = did_you_mean(full, known)
                raise ValueError(f"nothing mentions the predicate '{predicate}'" + (f": {hint}" if hint else ""))
            return self._backend.view(full, self.program.prefixes, name)

    def load_facts(self, directory: str | PathLike[str], *, header: bool = False) -> int:
        """Insert the facts of all data files in a directory, `edge.csv` into `edge`, and return how many are new.

        Files with other endings are ignored, and so are `.json` files for unknown predicates. `header` says that csv and tsv
        files have a header.
        """
        return self._load(lambda batch: batch.load_directory(Path(directory), self.data_name, header=header))

    def load_rdf(self, path: str | PathLike[str], *, base: str | None = None) -> int:
        """Insert the triples of an RDF file as p(s, o), and as C(s) if p is rdf:type; return the number of new facts.

        Relative IRIs are resolved against `base`; without it they stay relative: `<near>` is `near`. If the program has a
        predicate rdf:type with two arguments, it gets those triples as well.
        """
        asked = ReadOptions.of({"base": base})
        return self._load(lambda batch: batch.load_triples(Path(path), asked))

    # -- facts out ---------------------------------------------------------------------------------------------------

    def materialise(
        self,
        *,
        finished: Callable[[NodeReport], None] | None = None,
        watch: Callable[[int], None] | None = None,
        at_round: Callable[[int], None] | None = None,
    ) -> RunReport:
        """Derive everything now instead of on the first read, and return a report.

        `finished` is called with the report of each hyper-node, `watch` from time to time with the number of facts,
        `at_round` with the number of the current round; each may raise an exception to stop.
        """
        with self._operation(watch=watch, finished=finished, at_round=at_round) as run:
            self._materialise(run)
            return self._backend.report

    @property
    def _is_derived(self) -> bool:
        return self._backend.is_started and self._backend.is_materialised

    def _materialise(self, run: Run) -> None:
        if not self._backend.is_materialised:
            batch = self._backend.batch(run)
            self._asking.load_sources(batch.insert, run)
            self._backend.materialise(run, batch)

    def predicates(self) -> list[str]:
        """Return the sorted names of all predicates in the program or its facts.

        >>> KnowledgeBase("@prefix ex: <http://example.org/> . ex:p(X) :- q(X, _).").predicates()
        ['http://example.org/p', 'q']
        """
        return sorted({*self.analysis.predicates, *self._backend.defined})

    def count(self, predicate: str) -> int:
        """Return the number of visible facts of a predicate.

        >>> KnowledgeBase("p(1). p(2). q(X) :- p(X), X > 1.").count("q")
        1
        """
        if self.is_empty:
            return 0
        with self._operation() as run:
            name = self.full_name(predicate)
            if (apart := self._facts_apart(name, run)) is not None:
                return len(apart)
            self._materialise(run)
            return self._backend.count(name)

    def _facts_apart(self, name: str, run: Run) -> Result | None:
        """Return the facts of a predicate without running unrelated rules that may never end; None if there are no such
        rules."""
        arguments = self._variables(name) if name in self._backend.arities else ()
        if not arguments:
            return None
        query = Query((Atom(name, arguments),))
        part = self._asking.on_demand(self.analysis, query, "materialise", asks=False)
        return self._asking.answers(part, query, self.program.prefixes, run) if part is not None else None

    def _variables(self, name: str) -> tuple[Variable, ...]:
        return tuple(Variable(f"a{position}") for position in range(1, self._backend.arities[name] + 1))

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was inserted and nothing can be derived, so that no engine has been started."""
        return not self.program.rules and not self._asking.sources and not self._backend.is_started

    def facts(self, predicate: str) -> Result:
        """Return the visible facts of a predicate; the columns are called a1, a2 …"""
        with self._operation() as run:
            name = self.full_name(predicate)
            if (apart := self._facts_apart(name, run)) is not None:
                return apart
            self._materialise(run)
            return self._backend.facts(name, self.program.prefixes)

    def owners(self, predicate: str) -> dict[str, int]:
        """Return how many facts of a predicate each owner supports: the explicit facts, and hyper-nodes, named after their
        rules.

        >>> kb = KnowledgeBase("p(1). p(2). q(2). q(3). r1: p(X) :- q(X).")
        >>> kb.owners("p")
        {'explicit': 2, '{r1}': 2}
        """
        with self._operation() as run:
            self._materialise(run)
            return owners_by_name(self.full_name(predicate), self.analysis, self._backend, run)

    def rules(self) -> list[RuleInfo]:
        """Return the rules with their hyper-nodes, how these are maintained, and how many facts the rules derive.

        >>> for rule in KnowledgeBase("edge(1, 2). path(X, Y) :- edge(X, Y).").rules():
        ...     print(rule.name, rule.hyper_node, rule.module, rule.strategy, rule.derived)
        r1 {r1} nonrecursive counting 1
        """
        with self._operation() as run:
            self._materialise(run)
            return rule_infos(self.analysis, self._backend, run)

    def yield_entries(self, rule: str, *, address: Any = None) -> YieldEntries:
        """Return the Yield index of a rule, given by name or by text, over the visible facts: entries, matches, dummies.

        The index is built to be looked at; nothing is changed. `address` is the node that runs the rule, if its atoms have
        locations. Raise `ProgramError` if the rule cannot have a Yield index.

        >>> kb = KnowledgeBase("r1: p(X, Z) :- a(X, Y), b(Y, Z). a(1, 2). a(1, 7). b(2, 3).")
        >>> [(entry.fire, entry.facts, entry.matches) for entry in kb.yield_entries("r1").entries]
        [(True, ('a(1, 2)',), ('b(2, 3)',)), (False, ('a(1, 7)',), ()), (True, ('b(2, 3)',), ('a(1, 2)',))]
        """
        names = named_rules(rule, self.analysis)
        found = self.analysis.graph.rules[names[0]]
        if len(names) > 1:
            raise no_yield_index(
                replace(found, name=rule), "it stands for several rules", f"choose one: {', '.join(names)}"
            )
        if address is not None and not has_location(found):
            raise no_yield_index(found, "it has no location", "leave the address out, or mark an argument: link(@X, Y)")
        with self._operation() as run:
            self._materialise(run)
            return self._backend.yield_entries(found, self.program.prefixes, address, run)

    def query(self, query: str | Query, *, mode: str | None = None) -> Result:
        """Return the answers to a query: a text such as `path(1, X), not seen(X)`, or one of `queries`.

        The text may use the prefixes of the program. If it asks for an unknown predicate, or can never hold, a
        `corollary.ProgramWarning` is issued. `mode` ("demand", "materialise" or "auto", see docs/api.md) says how to answer
        if nothing has been derived yet; the default is the setting.

        >>> kb = KnowledgeBase("@prefix ex: <http://example.org/> . ex:knows(ex:ann, ex:bo).")
        >>> list(kb.query("ex:knows(ex:ann, X)"))
        [(Iri(value='http://example.org/bo'),)]
        """
        parsed = self.parse_query(query) if isinstance(query, str) else query
        self._check_query(parsed)
        if isinstance(query, str):
            warn(self.query_warnings(parsed))
        with self._operation() as run:
            demanded = self._asking.on_demand(self.analysis, parsed, mode)
            if demanded is not None:
                return self._asking.answers(demanded, parsed, self.program.prefixes, run)
            self._materialise(run)
            asked = lower_query(parsed, self.analysis.meaning, self.analysis.lowered)
            return self._backend.answers(asked, self.program.prefixes, run)

    def source(self, predicate: str, source: Any, **options: Any) -> None:
        """Connect a predicate with a function or a database table, which is asked for its facts when a query needs them
        (docs/data.md)."""
        self._asking.add_source(self.data_name(predicate), source, **options)

    def demanded(self, query: str | Query) -> Demanded:
        """Return the rewritten rules by which the mode "demand" answers a query; `text()` shows them."""
        return self._asking.rules(self.analysis, self.parse_query(query) if isinstance(query, str) else query)

    def is_on_demand(self, query: Query, mode: str | None = None) -> bool:
        """Return whether a query would be answered on demand, without deriving everything first."""
        return self._asking.on_demand(self.analysis, query, mode, asks=False) is not None

    def undefined(self, predicate: str) -> Result:
        """Return the facts that are neither true nor false under well-founded semantics.

        >>> kb = KnowledgeBase("win(X) :- move(X, Y), not win(Y). move(1, 2). move(3, 3).", semantics="well-founded")
        >>> list(kb.facts("win")), list(kb.undefined("win"))
        ([(1,)], [(3,)])
        """
        name = self.full_name(predicate)
        with self._operation() as run:
            self._materialise(run)
            if not tells_possible(self.analysis.lowered, name):
                return self._backend.no_facts(name, self.program.prefixes)
            arguments = self._variables(name)
            query = Query((Atom(possible(name), arguments), Negation(Atom(name, arguments))))
            return self._backend.answers(query, self.program.prefixes, run)

    def parse_query(self, text: str) -> Query:
        """Parse a query with the prefixes of the program; raise `ProgramError` if it is not valid."""
        read = parse_query(text, self.program.prefixes)
        parsed = query_with_arities(read) if self.settings.mixed_arities else read
        self._check_query(parsed)
        return parsed

    def _check_query(self, query: Query) -> None:
        if mistakes := check_query(query, self._backend.arities, self._value_kinds(), self.analysis.meaning):
            raise ProgramError(mistakes)

    def _value_kinds(self) -> ValueKinds:
        """Return the kinds of values that arguments may hold. They are computed when a comparison needs them, and cached
        until a change."""
        others = self._other_facts()
        if self._kinds is None or self._kinds.program is not self.program or self._kinds.others != others:
            self._kinds = ValueKinds(self.program, others)
        return self._kinds

    def query_warnings(self, query: Query) -> list[Diagnostic]:
        """Return a warning for each unknown predicate of a query, and for each part that can never hold."""
        known = self.analysis.predicates
        found = list(warnings_of_query(query, self._value_kinds()))
        if any(atom.predicate not in known for atom, _ in atoms_of(query.body)):
            found += unknown_predicates(query, self.predicates())
        return found

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
        """Write the visible facts of a predicate to a file; the ending of its name tells the format, such as csv or parquet.

        The file is written completely or not at all. `mode` is for Delta tables and
        databases: "overwrite", "append" or "error". On
        Spark the path may be an address such as `hdfs://…`, or a database: `jdbc:postgresql://…` with `table`, `user`,
        `password`, `driver` and `jar`.
        """
        name = self.full_name(predicate)
        options = {"form": format, "header": header, "predicate": name, "mode": mode, **database}
        self._backend.write(self.facts(name), str(path), options)

    def full_name(self, predicate: str) -> str:
        """Return the name of a predicate with its prefix expanded, if the program declares the prefix.

        With `mixed_arities`, also with its number of arguments; raise `ProgramError` if there are several.
        """
        name = self.data_name(predicate)
        if not self.settings.mixed_arities:
            return name
        several = full_names(name, self._backend.arities)
        if len(several) > 1 and name not in several:
            message = f"'{predicate}' has several numbers of arguments: {', '.join(several)}"
            raise ProgramError([Diagnostic(catalogue.ARITY_MISMATCH, message, None, f"choose one: '{several[0]}'")])
        return several[0] if len(several) == 1 else sized(name)

    def data_name(self, predicate: str) -> str:
        """Return the name for inserted facts, with its prefix expanded; their width gives the number of arguments.

        Raise `ProgramError` if the name is not valid text.
        """
        try:
            predicate.encode()
        except UnicodeEncodeError:
            message = f"{predicate!r} is not the name of a predicate: half of a surrogate pair is not a character"
            raise ProgramError([Diagnostic(catalogue.INVALID_UTF8, message)]) from None
        prefix, colon, local = predicate.partition(":")
        namespace = self.program.prefixes.get(prefix)
        return namespace + local if colon and namespace is not None else predicate

    @property
    def stages(self) -> dict[str, float]:
        """Return the seconds that the stages of loading have taken so far, on Spark: start, ingest, encode."""
        return self._backend.stages

    def sql(self) -> str:
        """Return the rules as Spark SQL views, over views of the predicates with the columns a1, a2 … (see `view`)."""
        from corollary.engines.spark.algebra.sql import text_of_views

        return text_of_views(self.analysis)

    def close(self) -> None:
        """Release what the engine holds outside this process: temporary tables and its own Spark session."""
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
