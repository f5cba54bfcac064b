"""The Spark engine behind a knowledge base: the stages ingest, encode, derive and publish."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import HyperNode, RuleGraph
from corollary.backends.backend import Difference
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.program import Facts, InputDeclaration, Query
from corollary.program.forms import Form
from corollary.settings import Settings
from corollary.sources.options import ReadOptions
from corollary.sources.rejects import Rejects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from corollary.engines.embedded.report import NodeReport, RunReport
    from corollary.engines.spark.context import Context, SparkSettings
    from corollary.engines.spark.engine import SparkEngine
    from corollary.engines.spark.ingest import Ingest
    from corollary.engines.spark.maintenance.explicit_changes import Stated
    from corollary.engines.spark.maintenance.maintained_store import MaintainedStore
    from corollary.engines.spark.maintenance.maintainer import SparkMaintainer
    from corollary.engines.spark.maintenance.outcome import Outcome
    from corollary.engines.spark.maintenance.transaction import Transaction
    from corollary.engines.spark.relations import Frame
    from corollary.results import Result


class SparkBackend:
    """Starts Spark with the first fact or rule; `session` is the user's, or None for one in this process.

    `master` and `conf` are for a session that is started here. `settings` are those of the engine; `workspace` is the one that
    most people need.
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
        self._graph = graph
        self.settings = settings
        self._base = base
        self._session = session
        self._overrides = {**(conf or {}), **({"spark.master": master} if master else {})}
        self._workspace = workspace
        self._spark_settings = spark_settings
        self._start_seconds = 0.0
        self._known_maintainer: tuple[RunReport, SparkMaintainer] | None = None
        self.arities: dict[str, int] = {}
        self.defined: set[str] = set()
        self.rejects = Rejects()
        self.listener: Callable[[Difference], object] = lambda difference: None
        self.new_check: Callable[[], Callable[[int], None]] = lambda: lambda facts: None
        self.committing: Callable[[Transaction], None] | None = None
        """Called when a transaction is computed and nobody has seen it yet; when it raises, the transaction never was."""
        self.preparing: Callable[[], None] | None = None
        """Called once, before the first change; when it raises, nothing changes, and the next change calls it again."""

    # -- starting ----------------------------------------------------------------------------------------------------

    @cached_property
    def context(self) -> Context:
        from dataclasses import replace

        from corollary.engines.spark.context import Context, SparkSettings
        from corollary.engines.spark.session import start_session
        from corollary.engines.spark.terms.universe import SparkUniverse
        from corollary.engines.spark.workspace import Workspace

        settings = self._spark_settings or SparkSettings()
        if self._workspace is not None:
            settings = replace(settings, workspace=self._workspace)
        started = time.monotonic()
        with _unavailable():
            spark = self._session or start_session(overrides=self._overrides)
        self._start_seconds = time.monotonic() - started
        workspace = Workspace(spark, settings.workspace)
        universe = SparkUniverse(spark, workspace, settings.hash_bits, settings.driver_facts // 4)
        universe.collisions = replace(universe.collisions, deepest=self.settings.limits.depth)
        return Context(spark, workspace, universe, settings)

    @cached_property
    def store(self) -> MaintainedStore:
        """Explicit facts, and what each owner derives: with the universe of the context, all there is to save."""
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
            base=self._base, strict=self.settings.strict, mixed=self.settings.mixed_arities,
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

    def insert(self, predicate: str, facts: Any) -> int:
        return self._loaded(lambda ingest: ingest.insert(predicate, facts))

    def insert_program(self, facts: Iterable[Facts], inputs: Iterable[InputDeclaration]) -> None:
        stated, declared = list(facts), list(inputs)
        if stated or declared:
            self._loaded(lambda ingest: ingest.insert_program(stated, declared))

    def load_file(self, predicate: str, path: str | PathLike[str], options: ReadOptions) -> int:
        return self._loaded(lambda ingest: ingest.load_file(predicate, path, options))

    def load_directory(self, directory: Path, full_name: Callable[[str], str], *, header: bool) -> int:
        return self._loaded(lambda ingest: ingest.load_directory(directory, full_name, header=header))

    def load_triples(self, path: Path) -> int:
        return self._loaded(lambda ingest: ingest.load_triples(path))

    def load_table(self, predicate: str, table: DataFrame | str, columns: Sequence[str] | None) -> int:
        """The rows of a data frame, or of a table that Spark knows by name."""
        return self._loaded(lambda ingest: ingest.load_table(predicate, table, columns))

    def _loaded(self, load: Callable[[Ingest], int]) -> int:
        """Loads facts; after everything was derived that is a change, which somebody may want to hear of."""
        if not self.is_started or not self.engine.is_materialised:
            return load(self._ingest)
        staged = self._staged()
        load(staged)
        inserts = list(staged.store.explicit.items())
        difference = self._changed([], inserts, None)
        self._ingest.include(staged)
        if difference.inserted:
            self.listener(difference)
        return difference.report.explicit_inserted

    def _staged(self) -> Ingest:
        """Loads facts aside, and knows what is known."""
        from corollary.engines.spark.ingest import Ingest
        from corollary.engines.spark.relations import FrameStore

        staged = Ingest(
            self.context, FrameStore(self.context.spark),
            base=self._base, strict=self.settings.strict, mixed=self.settings.mixed_arities,
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

    def materialise(
        self, check: Callable[[int], None], finished: Callable[[NodeReport], None], at_round: Callable[[int], None]
    ) -> None:
        self.engine.materialise(check=check, finished=finished)

    def replace_rules(self, graph: RuleGraph) -> None:
        self._graph = graph
        if self.is_started:
            self.engine.replace_rules(graph)

    def strategy(self, node: HyperNode) -> str:
        return self._maintainer.strategy(node) if self.settings.updates else "recompute"

    # -- changes -----------------------------------------------------------------------------------------------------

    @property
    def _maintainer(self) -> SparkMaintainer:
        """What follows changes; it is made anew when everything was derived anew."""
        from corollary.engines.spark.maintenance.maintainer import SparkMaintainer

        engine = self.engine
        if self._known_maintainer is None or self._known_maintainer[0] is not engine.report:
            made = SparkMaintainer(
                self.context, self.store, self._graph, engine.run_all, engine.know_constants,
                strategy=self.settings.strategy, discards_errors=self.settings.discards_errors,
            )  # fmt: skip
            self._known_maintainer = (engine.report, made)
        return self._known_maintainer[1]

    def apply(
        self,
        deletes: Sequence[tuple[str, Any]],
        inserts: Sequence[tuple[str, Any]],
        graph: RuleGraph | None,
    ) -> Difference:
        """Changes facts and rules, and what follows from them; or raises, and nothing has changed."""
        count = len(deletes)
        encoded = self._ingest.encoded([*deletes, *inserts])
        difference = self._changed(encoded[:count], encoded[count:], graph)
        for predicate, frame in encoded[count:]:
            self.defined.add(predicate)
            if frame.rows != 0:
                self.arities.setdefault(predicate, frame.arity)
        return difference

    def _changed(self, deletes: Stated, inserts: Stated, graph: RuleGraph | None) -> Difference:
        from corollary.engines.spark.maintenance.anew import change_anew

        self.prepare()
        engine, wanted, check = self.engine, graph or self._graph, self.new_check()
        if self.settings.updates:
            maintainer = self._maintainer
            maintainer.committing = self.committing
            outcome = engine.change(lambda: maintainer.apply(deletes, inserts, graph, check), wanted, check)
        else:
            outcome = change_anew(engine, self.store, (deletes, inserts), (self._graph, wanted), check)
        self._graph = wanted
        return self._difference(outcome)

    def prepare(self) -> None:
        """A change is about to come."""
        if self.preparing is not None:
            self.preparing()
            self.preparing = None

    def _difference(self, outcome: Outcome) -> Difference:
        from corollary.transactions import MaintenanceReport

        inserted, deleted = (
            {name: self._result(rows.frame, None) for name, rows in found.items()}
            for found in (outcome.inserted, outcome.deleted)
        )
        report = MaintenanceReport(
            tuple(outcome.steps), outcome.seconds, outcome.explicit_inserted, outcome.explicit_deleted
        )
        return Difference(inserted, deleted, report)

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

    def answers(self, query: Query, prefixes: Mapping[str, str]) -> Result:
        from corollary.engines.spark.result import SparkResult

        names = [variable.name for variable in query.variables]
        return SparkResult(self.context, self.engine.answers(query), names, prefixes)

    @property
    def stated(self) -> set[str]:
        return set(self.engine.store.explicit)

    def derived_by(
        self,
        graph: RuleGraph,
        wanted: Mapping[str, Sequence[str]],
        given: Mapping[str, Any],
        prefixes: Mapping[str, str],
    ) -> dict[str, Result]:
        from corollary.engines.spark.result import SparkResult

        frames = dict(self._ingest.encoded(list(given.items())))
        found = self.engine.derived_by(graph, wanted, frames, self.new_check())
        return {name: SparkResult(self.context, frame, wanted[name], prefixes) for name, frame in found.items()}

    def _result(self, frame: Frame, prefixes: Mapping[str, str] | None) -> Result:
        from corollary.engines.spark.result import SparkResult

        return SparkResult(self.context, frame, [f"a{place}" for place in range(1, frame.arity + 1)], prefixes)

    def view(self, predicate: str, prefixes: Mapping[str, str]) -> str:
        from corollary.engines.spark.publish.publisher import create_view
        from corollary.engines.spark.relations import empty_frame

        frame = self.engine.visible(predicate)
        if frame is None:
            frame = empty_frame(self.context.spark, self.arities.get(predicate, 0))
        return create_view(self.context, frame, predicate)

    def owners(self, predicate: str) -> dict[str, int]:
        if not self.settings.updates:
            raise ValueError("who supports a fact is known where updates are expected only")
        if predicate not in self.store.arities:
            return {}
        owners = self.store.owners(predicate)
        counts = {owner: frame.counted().rows or 0 for owner, frame in owners.items()}
        return {owner: count for owner, count in counts.items() if count}

    def write(self, result: Result, path: str, options: Mapping[str, Any]) -> None:
        from corollary.engines.spark.result import SparkResult

        assert isinstance(result, SparkResult)
        plain = ("form", "header", "predicate", "mode")
        database = {name: value for name, value in options.items() if name not in plain}
        result.write(path, **{name: options[name] for name in plain}, database=database)

    def close(self) -> None:
        """Removes the tables of this knowledge base; the session stays, others may be using it."""
        if "context" in self.__dict__:
            self.context.workspace.close()


@contextmanager
def _unavailable() -> Iterator[None]:
    """A Spark that does not start, as a diagnostic."""
    from corollary.engines.spark.errors import SparkUnavailableError
    from corollary.engines.spark.ingest.failures import explained, is_of_spark

    try:
        yield
    except SparkUnavailableError as error:
        raise ProgramError([Diagnostic(catalogue.SPARK_UNAVAILABLE, error.message, None, error.hint)]) from error
    except Exception as error:
        if not is_of_spark(error):
            raise
        raise ProgramError([Diagnostic(catalogue.SPARK_UNAVAILABLE, explained(error)[1])]) from error
