"""The Spark engine behind a knowledge base: the stages ingest, encode, derive and publish."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, reduce
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from corollary.analysis import HyperNode, RuleGraph
from corollary.analysis.lowering import external_predicate
from corollary.backends.backend import Batch, Difference, no_yield_index, only_explicit
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.base import EXPLICIT
from corollary.io.options import ReadOptions
from corollary.io.rejects import Rejects
from corollary.program import FactBlock, InputDeclaration, Query, Rule, Value
from corollary.program.patterns import Form
from corollary.reasoning.run import Run, leave_out
from corollary.settings import Limits, Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from corollary.analysis.yield_entries import YieldEntries
    from corollary.engines.base import ChangeJournal
    from corollary.engines.embedded.report import RunReport
    from corollary.engines.spark.context import Context, SparkSettings
    from corollary.engines.spark.engine import SparkEngine
    from corollary.engines.spark.ingest import Ingest
    from corollary.engines.spark.maintenance.changing_facts import SparkChangingFacts
    from corollary.engines.spark.maintenance.explicit_changes import ExplicitFacts
    from corollary.engines.spark.maintenance.maintained_store import MaintainedStore
    from corollary.engines.spark.publish.views import SparkViews
    from corollary.engines.spark.relations import Frame, FrameStore
    from corollary.reasoning.maintain.chooser import Strategy
    from corollary.reasoning.maintain.report import Outcome
    from corollary.reasoning.maintain.transaction import Maintainer
    from corollary.results import Result

T = TypeVar("T")


def _not_on_spark(message: str) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.BAD_SETTINGS, message, hint='engine="embedded" has it')])


class SparkBackend:
    """Starts Spark with the first fact or rule; `session` is the user's, or None for one in this process.

    Raise `ProgramError` for settings that only the embedded engine supports.

    `master` and `conf` are for a session that is started here. `settings` are those of the engine; `workspace` is the
    one most often needed.
    """

    def __init__(
        self,
        graph: RuleGraph,
        settings: Settings,
        base: Path,
        session: SparkSession | None = None,
        *,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        workspace: str | None = None,
        spark_settings: SparkSettings | None = None,
    ) -> None:
        wanted = {settings.index} if isinstance(settings.index, str) else set(settings.index.values())
        if "yield" in wanted:
            raise _not_on_spark("the setting index asks for the Yield index, which the Spark engine does not have")
        if settings.evaluation == "naive":
            raise _not_on_spark(
                "the setting evaluation asks for naive evaluation, which the Spark engine does not have"
            )
        self._graph = graph
        self.settings = settings
        self._depth = settings.limits.depth
        self._base = base
        self._session = session
        self._overrides = {**(conf or {}), **({"spark.master": master} if master else {})}
        self._workspace = workspace
        self._spark_settings = spark_settings
        self._start_seconds = 0.0
        self._known_maintainer: tuple[RunReport, Maintainer[SparkChangingFacts]] | None = None
        self.arities: dict[str, int] = {}
        self.defined: set[str] = set()
        self.rejects = Rejects()

    # -- starting ----------------------------------------------------------------------------------------------------

    @cached_property
    def context(self) -> Context:
        from dataclasses import replace

        from corollary.engines.spark.context import Context, SparkSettings
        from corollary.engines.spark_session.session import start_session

        settings = self._spark_settings or SparkSettings()
        if self._workspace is not None:
            settings = replace(settings, workspace=self._workspace)
        started = time.monotonic()
        with _unavailable():
            spark = self._session or start_session(overrides=self._overrides)
        self._start_seconds = time.monotonic() - started
        leave_out(self._start_seconds)
        context = Context.open(spark, settings, most_held=settings.driver_facts // 4)
        context.universe.nest(self._depth)
        return context

    def obey(self, limits: Limits) -> None:
        self._depth = limits.depth
        if "context" in self.__dict__:
            self.context.universe.nest(limits.depth)

    @cached_property
    def store(self) -> MaintainedStore:
        """Explicit facts, and what each owner derives: together with the universe, everything to save."""
        from corollary.engines.spark.maintenance.maintained_store import MaintainedStore

        return MaintainedStore(self.context, self.arities)

    @cached_property
    def engine(self) -> SparkEngine:
        from corollary.engines.spark.engine import SparkEngine

        return SparkEngine(
            self._graph, self.context, self.store,
            discards_errors=self.settings.discards_errors, follows_changes=self.settings.updates,
            without=self.settings.without,
        )  # fmt: skip

    @cached_property
    def _ingest(self) -> Ingest:
        from corollary.engines.spark.ingest import Ingest

        ingest = Ingest(
            self.context, self.engine.store,
            base=self._base, strict=self.settings.strict, mixed=self.settings.mixed_arities, roots=self.settings.inputs_root,
        )  # fmt: skip
        ingest.arities, ingest.defined, ingest.rejects = self.arities, self.defined, self.rejects
        return ingest

    @property
    def stages(self) -> dict[str, float]:
        reports = self._ingest.reports if "_ingest" in self.__dict__ else []
        return {
            "start": self._start_seconds,
            "ingest": sum(report.ingest_seconds for report in reports),
            "encode": sum(report.encode_seconds for report in reports),
        }

    @property
    def is_started(self) -> bool:
        return "engine" in self.__dict__

    def forms(self) -> Set[Form]:
        return self.context.universe.term_forms.all() if self.is_started else frozenset()

    # -- facts in ----------------------------------------------------------------------------------------------------

    def batch(self, run: Run) -> SparkBatch:
        return SparkBatch(self, run)

    @property
    def _is_derived(self) -> bool:
        return self.is_started and self.engine.is_materialised

    def ingest(self) -> Ingest:
        """The loader of facts: into a copy of the store before anything was derived, afterwards into an empty one."""
        from corollary.engines.spark.relations import FrameStore

        return self._staged(FrameStore(self.context.spark) if self._is_derived else self.store.copy())

    def running(self, run: Run) -> AbstractContextManager[None]:
        """Let the limits and interrupts of a run stop jobs inside the block."""
        return self.context.running(run, lambda: self.store.facts)

    def watched(self, work: Callable[[], T], run: Run, facts: Callable[[], int] | None = None) -> T:
        """Return the result of the work; if the run stops, cancel its jobs. `facts` returns the number of facts to check,
        by default that of the store."""
        from corollary.engines.spark.watched import run_watched

        with self.context.running(run, facts or (lambda: self.store.facts)):
            (found,) = run_watched([work], self.context)
        return found

    def _staged(self, store: FrameStore) -> Ingest:
        """Return a loader into a separate store that knows the predicates and arities so far."""
        from corollary.engines.spark.ingest import Ingest

        staged = Ingest(
            self.context, store,
            base=self._base, strict=self.settings.strict, mixed=self.settings.mixed_arities, roots=self.settings.inputs_root,
        )  # fmt: skip
        staged.arities, staged.defined = dict(self.arities), set(self.defined)
        return staged

    # -- deriving ----------------------------------------------------------------------------------------------------

    @property
    def is_materialised(self) -> bool:
        return self.engine.is_materialised

    @property
    def report(self) -> RunReport:
        return self.engine.report

    def materialise(self, run: Run, given: Batch) -> None:
        assert isinstance(given, SparkBatch)
        before = dict(self.store.explicit)
        try:
            given.add_to(self.store)
            self.engine.materialise(run)
        except BaseException:
            self.store.explicit = before
            raise
        given.include_in(self._ingest)

    def strategy(self, node: HyperNode) -> str:
        return self._maintainer.usual_way(str(node)) if self.settings.updates else "recompute"

    # -- changes -----------------------------------------------------------------------------------------------------

    @property
    def _maintainer(self) -> Maintainer[SparkChangingFacts]:
        """The maintainer of this knowledge base; replaced after everything is derived from nothing."""
        from corollary.engines.spark.maintenance.changing_facts import SparkChangingFacts
        from corollary.reasoning.maintain.chooser import by_jobs
        from corollary.reasoning.maintain.transaction import Maintainer

        engine = self.engine
        if self._known_maintainer is None or self._known_maintainer[0] is not engine.report:
            facts = SparkChangingFacts(
                self.context, self.store, engine.run_all, engine.know_constants,
                discards_errors=self.settings.discards_errors,
            )  # fmt: skip
            strategy = by_jobs(self.settings.strategy, self.context.settings.recompute_facts)
            self._known_maintainer = engine.report, Maintainer(facts, self._graph, strategy)
        return self._known_maintainer[1]

    def apply(
        self,
        batch: Batch,
        graph: RuleGraph | None,
        run: Run,
        journal: ChangeJournal | None = None,
        stream: Strategy | None = None,
    ) -> Difference:
        """Change facts and rules, and what follows from them, or raise and change nothing.

        A journal gets the transaction, which yields its changes of support.
        """
        assert isinstance(batch, SparkBatch)
        assert stream is None, "the strategies of streams are for the embedded engine"
        if not self._is_derived:
            if run.counts_facts and not batch.is_empty:
                run.check(self.store.facts + batch.count)
            if graph is not None:
                self._graph = graph
                if self.is_started:
                    self.engine.replace_rules(graph)
            if not batch.is_empty:
                batch.include_in(self._ingest)
                batch.add_to(self.engine.store)
            self.arities.update(batch.arities)
            return only_explicit(batch.count)
        with self.running(run):
            difference = self._changed(batch.deleted, batch.frames(), graph, run, journal)
        batch.include_in(self._ingest)
        return difference

    def can_delete_first(self, batch: Batch) -> bool:
        return False

    def include(self, batch: Batch) -> None:
        assert isinstance(batch, SparkBatch)
        self.arities.update(batch.arities)

    def _changed(
        self,
        deletes: ExplicitFacts,
        inserts: ExplicitFacts,
        graph: RuleGraph | None,
        run: Run,
        journal: ChangeJournal | None,
    ) -> Difference:
        from corollary.engines.spark.maintenance.from_scratch import SparkDerivedFacts
        from corollary.reasoning.maintain.from_scratch import change_from_scratch

        if journal is not None:
            journal.prepare(run)
        engine, wanted = self.engine, graph or self._graph
        if self.settings.updates:
            maintainer = self._maintainer

            def commit(outcome: Outcome) -> None:
                run.seal()
                if journal is not None:
                    journal.commit(maintainer.facts.state)

            outcome = engine.change(lambda: maintainer.apply((deletes, inserts), graph, run, commit), wanted, run)
        else:
            derived = SparkDerivedFacts(engine, self.store, self._graph)
            outcome = change_from_scratch(derived, (deletes, inserts), wanted, run, lambda outcome: None)
        self._graph = wanted
        return self._difference(outcome)

    def _difference(self, outcome: Outcome) -> Difference:
        from corollary.transactions import MaintenanceReport

        report = MaintenanceReport(
            tuple(outcome.steps), outcome.seconds, outcome.explicit_inserted, outcome.explicit_deleted
        )
        return Difference(outcome.inserted, outcome.deleted, report, lambda name, rows: self._result(rows.frame, None))

    # -- facts out ---------------------------------------------------------------------------------------------------

    def count(self, predicate: str) -> int:
        frame = self.engine.visible(predicate)
        return frame.counted().rows or 0 if frame is not None else 0

    def facts(self, predicate: str, prefixes: Mapping[str, str]) -> Result:
        frame = self.engine.visible(predicate)
        return self._result(frame, prefixes) if frame is not None else self.no_facts(predicate, prefixes)

    def no_facts(self, predicate: str, prefixes: Mapping[str, str]) -> Result:
        from corollary.engines.spark.relations import empty_frame

        return self._result(empty_frame(self.context.spark, self.arities.get(predicate, 0)), prefixes)

    def answers(self, query: Query, prefixes: Mapping[str, str], run: Run) -> Result:
        from corollary.engines.spark.result import SparkResult

        names = [variable.name for variable in query.variables]
        return SparkResult(self.context, self.engine.answers(query, run), names, prefixes)

    @property
    def explicit_predicates(self) -> set[str]:
        return set(self.engine.store.explicit)

    def derived_by(
        self,
        graph: RuleGraph,
        wanted: Mapping[str, Sequence[str]],
        given: Mapping[str, Any],
        prefixes: Mapping[str, str],
        run: Run,
    ) -> dict[str, Result]:
        from corollary.engines.spark.result import SparkResult

        with self.running(run):
            frames = dict(self._ingest.encoded(list(given.items())))
            found = self.engine.derived_by(graph, wanted, frames, run)
        return {name: SparkResult(self.context, frame, wanted[name], prefixes) for name, frame in found.items()}

    def _result(self, frame: Frame, prefixes: Mapping[str, str] | None) -> Result:
        from corollary.engines.spark.result import SparkResult

        return SparkResult(self.context, frame, [f"a{place}" for place in range(1, frame.arity + 1)], prefixes)

    @cached_property
    def _views(self) -> SparkViews:
        from corollary.engines.spark.publish.views import SparkViews

        return SparkViews()

    def view(self, predicate: str, prefixes: Mapping[str, str], name: str | None = None) -> str:
        from corollary.engines.spark.publish.publisher import decoded_frame
        from corollary.engines.spark.relations import empty_frame

        frame = self.engine.visible(predicate)
        if frame is None:
            frame = empty_frame(self.context.spark, self.arities.get(predicate, 0))
        return self._views.create(decoded_frame(self.context, frame), predicate, name)

    def yield_entries(self, rule: Rule, prefixes: Mapping[str, str], address: Value | None, run: Run) -> YieldEntries:
        raise no_yield_index(rule, "Spark has no Yield index", "the embedded engine has one")

    def owners(self, predicates: Collection[str], run: Run) -> dict[str, dict[str, int]]:
        if not self.settings.updates:
            raise ValueError("who supports a fact is known where updates are expected only")
        return {name: self._owners(name) if name in self.store.arities else {} for name in predicates}

    def _owners(self, predicate: str) -> dict[str, int]:
        owners = self.store.owners(predicate)
        if (start := external_predicate(predicate)) in self.store.arities:
            owners = _owners_around(owners, self.store.owners(start), start)
        counts = {owner: frame.counted().rows or 0 for owner, frame in owners.items()}
        return {owner: count for owner, count in counts.items() if count}

    def write(self, result: Result, path: str, options: Mapping[str, Any]) -> None:
        from corollary.engines.spark.result import SparkResult

        assert isinstance(result, SparkResult)
        plain = ("form", "header", "predicate", "mode")
        database = {name: value for name, value in options.items() if name not in plain}
        result.write(path, **{name: options[name] for name in plain}, database=database)

    def close(self) -> None:
        """Remove the tables and views of this knowledge base; the session stays, because others may be using it."""
        if "_views" in self.__dict__:
            self._views.close()
        if "context" in self.__dict__:
            self.context.workspace.close()


class SparkBatch:
    """The facts of one change, which are not in the store yet."""

    def __init__(self, backend: SparkBackend, run: Run) -> None:
        self._backend = backend
        self._run = run
        self._known = dict(backend.arities)
        self._inserted: list[tuple[str, Frame]] = []
        self.deleted: list[tuple[str, Frame]] = []
        self.count = 0

    @cached_property
    def _ingest(self) -> Ingest:
        return self._backend.ingest()

    @property
    def _is_started(self) -> bool:
        return "_ingest" in self.__dict__

    @property
    def is_empty(self) -> bool:
        return not self._is_started

    @property
    def arities(self) -> dict[str, int]:
        return self._ingest.arities if self._is_started else self._known

    def frames(self) -> list[tuple[str, Frame]]:
        """Return the facts to insert, if they were loaded separately."""
        return [*self._inserted, *self._ingest.store.explicit.items()] if self._is_started else []

    def add_to(self, store: FrameStore) -> None:
        """Add the facts to the store."""
        if self._is_started:
            store.explicit.update(self._ingest.store.explicit)
            for name, arity in self._ingest.store.arities.items():
                store.arities.setdefault(name, arity)

    def include_in(self, ingest: Ingest) -> None:
        """Note that the facts are in the store now."""
        if self._is_started:
            ingest.include(self._ingest)
        else:
            ingest.arities.update(self._known)

    def insert(self, predicate: str, facts: Any) -> None:
        self._load(lambda ingest: ingest.insert(predicate, facts))

    def change(self, inserts: Sequence[tuple[str, Any]], deletes: Sequence[tuple[str, Any]]) -> None:
        """Add facts to insert and to delete, read together, which is faster than one by one."""
        if not inserts and not deletes:
            return
        # Existing facts are not counted here, because the change may delete them.
        encoded = self._backend.watched(lambda: self._ingest.encoded([*inserts, *deletes]), self._run, lambda: 0)
        self._inserted += encoded[: len(inserts)]
        self.deleted += encoded[len(inserts) :]
        for predicate, frame in self._inserted:
            self._ingest.defined.add(predicate)
            if frame.rows != 0:
                self.arities.setdefault(predicate, frame.arity)

    def insert_program(self, facts: Iterable[FactBlock], inputs: Iterable[InputDeclaration]) -> None:
        blocks, declared = list(facts), list(inputs)
        if blocks or declared:
            self._load(lambda ingest: ingest.insert_program(blocks, declared))

    def load_file(self, predicate: str, path: str | PathLike[str], options: ReadOptions) -> None:
        self._load(lambda ingest: ingest.load_file(predicate, path, options))

    def load_directory(self, directory: Path, full_name: Callable[[str], str], *, header: bool) -> None:
        self._load(lambda ingest: ingest.load_directory(directory, full_name, header=header))

    def load_triples(self, path: Path, options: ReadOptions) -> None:
        self._load(lambda ingest: ingest.load_triples(path, options))

    def load_table(self, predicate: str, table: DataFrame | str, columns: Sequence[str] | None) -> None:
        """Add the rows of a data frame, or of a table that Spark knows by name."""
        self._load(lambda ingest: ingest.load_table(predicate, table, columns))

    def _load(self, load: Callable[[Ingest], int]) -> None:
        ingest = self._ingest
        ingest.arities.update({name: arity for name, arity in self._known.items() if name not in ingest.arities})
        self.count += self._backend.watched(lambda: load(ingest), self._run)


@contextmanager
def _unavailable() -> Iterator[None]:
    """Raise a failure to start Spark inside the block as a diagnostic."""
    from corollary.engines.spark_session.failures import SparkUnavailableError, explained, is_of_spark

    try:
        yield
    except SparkUnavailableError as error:
        raise ProgramError([Diagnostic(catalogue.SPARK_UNAVAILABLE, error.message, None, error.hint)]) from error
    except Exception as error:
        if not is_of_spark(error):
            raise
        raise ProgramError([Diagnostic(catalogue.SPARK_UNAVAILABLE, explained(error)[1])]) from error


def _owners_around(owners: Mapping[str, Frame], external: Mapping[str, Frame], start: str) -> dict[str, Frame]:
    """Return the facts by owner if a closure among other rules starts from external facts (`start` owns explicit ones).

    Other hyper-nodes derive facts of the closed predicate as external ones. Copies of these, and of explicit facts, do
    not count as derived by the hyper-node of the closure.
    """
    from corollary.engines.spark.relations import Frame

    found = {owner: frame for owner, frame in external.items() if owner != start and owner not in owners}
    for owner, frame in owners.items():
        others = [one.df.select(*frame.columns) for name, one in external.items() if name != owner]
        if owner == EXPLICIT or not others:
            found[owner] = frame
            continue
        copies = reduce(lambda left, right: left.union(right), others)
        if owner in external:
            copies = copies.join(external[owner].df, frame.columns, "left_anti")
        found[owner] = Frame(frame.df.join(copies, frame.columns, "left_anti"), frame.arity)
    return found
