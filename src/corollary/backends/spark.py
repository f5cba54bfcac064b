"""The Spark engine behind a knowledge base: the stages ingest, encode, derive and publish."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import HyperNode, RuleGraph
from corollary.backends.backend import BackendOptions, Difference
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.program import Facts, InputDeclaration, Query
from corollary.sources.options import ReadOptions
from corollary.sources.rejects import Rejects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from corollary.engines.embedded.engine import NodeReport, RunReport
    from corollary.engines.spark.context import Context, SparkSettings
    from corollary.engines.spark.engine import SparkEngine
    from corollary.engines.spark.ingest import Ingest
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
        options: BackendOptions,
        session: SparkSession | None = None,
        *,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        workspace: str | None = None,
        settings: SparkSettings | None = None,
    ) -> None:
        self._graph = graph
        self._options = options
        self._session = session
        self._overrides = {**(conf or {}), **({"spark.master": master} if master else {})}
        self._workspace = workspace
        self._settings = settings
        self._start_seconds = 0.0
        self.arities: dict[str, int] = {}
        self.defined: set[str] = set()
        self.rejects = Rejects()
        self.listener: Callable[[Difference], object] = lambda difference: None
        self.new_check: Callable[[], Callable[[int], None]] = lambda: lambda facts: None

    # -- starting ----------------------------------------------------------------------------------------------------

    @cached_property
    def context(self) -> Context:
        from dataclasses import replace

        from corollary.engines.spark.context import Context, SparkSettings
        from corollary.engines.spark.session import start_session
        from corollary.engines.spark.terms.universe import SparkUniverse
        from corollary.engines.spark.workspace import Workspace

        settings = self._settings or SparkSettings()
        if self._workspace is not None:
            settings = replace(settings, workspace=self._workspace)
        started = time.monotonic()
        with _unavailable():
            spark = self._session or start_session(overrides=self._overrides)
        self._start_seconds = time.monotonic() - started
        workspace = Workspace(spark, settings.workspace)
        return Context(spark, workspace, SparkUniverse(spark, workspace, settings.hash_bits), settings)

    @cached_property
    def engine(self) -> SparkEngine:
        from corollary.engines.spark.engine import SparkEngine
        from corollary.engines.spark.relations import FrameStore

        store = FrameStore(self.context.spark, self.arities)
        return SparkEngine(self._graph, self.context, store, discards_errors=self._options.discards_errors)

    @cached_property
    def _ingest(self) -> Ingest:
        from corollary.engines.spark.ingest import Ingest

        ingest = Ingest(self.context, self.engine.store, base=self._options.base, strict=self._options.strict)
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

    # -- facts in ----------------------------------------------------------------------------------------------------

    def insert(self, predicate: str, facts: Any) -> int:
        return self._loaded(lambda: self._ingest.insert(predicate, facts))

    def insert_program(self, facts: Iterable[Facts], inputs: Iterable[InputDeclaration]) -> None:
        stated, declared = list(facts), list(inputs)
        if stated or declared:
            self._loaded(lambda: self._ingest.insert_program(stated, declared))

    def load_file(self, predicate: str, path: str | PathLike[str], options: ReadOptions) -> int:
        return self._loaded(lambda: self._ingest.load_file(predicate, path, options))

    def load_directory(self, directory: Path, full_name: Callable[[str], str], *, header: bool) -> int:
        return self._loaded(lambda: self._ingest.load_directory(directory, full_name, header=header))

    def load_triples(self, path: Path) -> int:
        return self._loaded(lambda: self._ingest.load_triples(path))

    def load_table(self, predicate: str, table: DataFrame | str, columns: Sequence[str] | None) -> int:
        """The rows of a data frame, or of a table that Spark knows by name."""
        return self._loaded(lambda: self._ingest.load_table(predicate, table, columns))

    def _loaded(self, load: Callable[[], int]) -> int:
        """Loads facts; after everything was derived that is a change, which somebody may want to hear of."""
        if not self.is_started or not self.engine.is_materialised:
            return load()
        before = self._snapshot()
        count = load()
        if count:
            self.engine.forget()
            self.engine.materialise()
            self.listener(self._difference(before, time.monotonic(), count, 0))
        return count

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
        return "recompute"

    # -- changes -----------------------------------------------------------------------------------------------------

    def apply(
        self,
        deletes: Sequence[tuple[str, Any]],
        inserts: Sequence[tuple[str, Any]],
        graph: RuleGraph | None,
    ) -> Difference:
        """Changes facts and rules and derives anew; what was visible before is compared with what is now."""
        started = time.monotonic()
        before, explicit, old_graph = self._snapshot(), dict(self.engine.store.explicit), self._graph
        derived = dict(self.engine.store.derived)
        try:
            removed = sum(self._remove(predicate, facts) for predicate, facts in deletes)
            added = sum(self._ingest.insert(predicate, facts) for predicate, facts in inserts)
            self.engine.replace_rules(graph or old_graph)
            self._graph = graph or old_graph
            self.engine.materialise(check=self.new_check())
        except BaseException:
            self._graph = old_graph
            self.engine.replace_rules(old_graph)
            store = self.engine.store
            store.explicit, store.derived = explicit, derived
            self.engine.is_materialised = True
            raise
        return self._difference(before, started, added, removed)

    def _remove(self, predicate: str, facts: Any) -> int:
        store = self.engine.store
        known = store.explicit.get(predicate)
        if known is None:
            return 0
        gone = self._ingest.encoded(predicate, facts)
        kept = known.df.join(gone.df, known.columns, "left_anti")
        frame = self.context.workspace.table(kept, predicate, known.arity)
        store.explicit[predicate] = frame
        return (known.counted().rows or 0) - (frame.rows or 0)

    def _snapshot(self) -> dict[str, Frame]:
        store = self.engine.store
        return {predicate: store.visible(predicate) for predicate in store.arities}

    def _difference(self, before: dict[str, Frame], started: float, added: int, removed: int) -> Difference:
        from corollary.transactions import MaintenanceReport

        after = self._snapshot()
        inserted = {name: self._missing(frame, before.get(name)) for name, frame in after.items()}
        deleted = {name: self._missing(frame, after.get(name)) for name, frame in before.items()}
        report = MaintenanceReport((), time.monotonic() - started, added, removed)
        return Difference(_some(inserted), _some(deleted), report)

    def _missing(self, frame: Frame, other: Frame | None) -> Result:
        """The facts of one frame that the other has not."""
        from corollary.engines.spark.relations import Frame

        df = frame.df if other is None else frame.df.join(other.df, frame.columns, "left_anti")
        return self._result(Frame(df, frame.arity), None)

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
        raise ValueError("who supports a fact is known to the embedded engine only")

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


def _some(results: dict[str, Result]) -> dict[str, Result]:
    return {name: result for name, result in results.items() if len(result)}
