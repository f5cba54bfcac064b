"""The context of every stage and strategy on Spark: session, directories, universe and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from corollary.engines.spark.failures import driver_failures
from corollary.engines.spark.held_relations import HeldRelations
from corollary.engines.spark.terms.ids import HASH_BITS
from corollary.engines.spark_session.session import Setting
from corollary.reasoning.run import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from corollary.engines.spark.relations import FrameStore
    from corollary.engines.spark.terms.task_universe import TaskUniverse
    from corollary.engines.spark.terms.universe import SparkUniverse
    from corollary.engines.spark.workspace import Workspace

# -- engine session ----------------------------------------------------------------------------------------------------

# The session in which the engine works: a copy of the caller's, with its own settings.
#
# Two sessions of one Spark share executors, tables and data frames, and nothing else. So the engine always has the same
# settings, however Spark was started, and the caller's settings never change.

_ACTIVE = RLock()
ENGINE_SETTINGS = (
    Setting("spark.sql.adaptive.enabled", "false", "short jobs lose by it, and with it nested loops over unions fail"),
    Setting("spark.sql.ansi.enabled", "true", "an overflow is an error and never another number"),
    Setting("spark.sql.session.timeZone", "UTC", "one answer on every machine"),
    Setting("spark.sql.timestampType", "TIMESTAMP_LTZ", "what TIMESTAMP means in the engine's SQL"),
    Setting("spark.sql.parser.escapedStringLiterals", "false", "how the engine writes texts in SQL"),
    Setting("spark.sql.ansi.doubleQuotedIdentifiers", "false", "how the engine writes texts in SQL"),
    Setting("spark.sql.ansi.enforceReservedKeywords", "false", "how the engine names columns in SQL"),
    Setting("spark.sql.variable.substitute", "false", "a text constant may contain ${…}"),
    Setting("spark.sql.retainGroupColumns", "true", "sums are read together with what they are sums of"),
    Setting("spark.sql.crossJoin.enabled", "true", "rules may combine atoms that share no variable"),
    Setting("spark.sql.files.ignoreMissingFiles", "false", "a lost file is an error and never fewer facts"),
    Setting("spark.sql.files.ignoreCorruptFiles", "false", "a damaged file is an error and never fewer facts"),
    Setting("spark.sql.execution.arrow.pyspark.enabled", "true", "columns, not pickled rows, to and from Python"),
    Setting("spark.sql.execution.arrow.maxRecordsPerBatch", "10000", "tasks take columns in pieces of this size"),
    Setting("spark.sql.execution.arrow.useLargeVarTypes", "false", "tasks expect texts with 32-bit offsets"),
)  # fmt: skip
"""Settings that the engine's answers or its speed depend on, with reasons; partitions depend on the cluster."""


class EngineSession(SparkSession):
    """A session that never becomes the active one, which stays the caller's."""

    def createDataFrame(self, *args: Any, **options: Any) -> DataFrame:  # noqa: N802
        java: Any = self._jvm
        sessions = java.org.apache.spark.sql.classic.SparkSession
        with _ACTIVE:  # Python has one active session for all threads
            active, active_java = SparkSession._activeSession, sessions.getActiveSession()
            try:
                return super().createDataFrame(*args, **options)
            finally:
                SparkSession._activeSession = active
                if active_java.isDefined():
                    sessions.setActiveSession(active_java.get())
                else:
                    sessions.clearActiveSession()


def engine_session(spark: SparkSession, partitions: int) -> SparkSession:
    """Return a new session for the engine beside the caller's; Spark Connect cannot copy sessions, so its session is
    returned as it is."""
    if type(spark).__module__ != SparkSession.__module__ and not isinstance(spark, EngineSession):
        return spark
    # Neither by the constructor, which would make `RDD.toDF` use the new session, nor with the caller's cached attributes.
    session = EngineSession.__new__(EngineSession)
    java: Any = spark._jsparkSession
    session._sc, session._jsc, session._jvm = spark._sc, spark._jsc, spark._jvm
    session._profiler_collector = spark._profiler_collector
    session._jsparkSession = java.cloneSession()
    for key, value, _ in ENGINE_SETTINGS:
        session.conf.set(key, value)
    set_partitions(session, partitions)
    return session


def set_partitions(session: SparkSession, partitions: int) -> None:
    """Set the number of shuffle partitions of the session; the caller's session does not change."""
    if isinstance(session, EngineSession):
        session.conf.set("spark.sql.shuffle.partitions", str(partitions))


def in_session(df: DataFrame, session: SparkSession) -> DataFrame:
    """Return a data frame with the rows of `df` whose jobs run with the settings of `session`."""
    if df.sparkSession is session or not isinstance(session, SparkSession) or not hasattr(df, "_jdf"):
        return df
    java: Any = session._jvm
    plan = df._jdf.logicalPlan()
    return DataFrame(java.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan), session)


# -- context -----------------------------------------------------------------------------------------------------------

WAYS = ("single-task", "decomposable", "closure", "rounds")
"""The strategies for hyper-nodes, by name."""


_NUMBERS: dict[str, tuple[int, int | None]] = {
    "single_task_facts": (0, None),
    "task_fact_cap": (0, None),
    "task_memory": (0, None),
    "fold_every": (1, None),
    "partitions": (1, None),
    "change_rows": (0, None),
    "driver_facts": (0, None),
    "fold_changes": (0, None),
    "task_change_facts": (0, None),
    "recompute_facts": (0, None),
    "hash_bits": (1, HASH_BITS),
}
"""The numbers among the settings, each with its least and its greatest value."""


@dataclass(frozen=True)
class SparkSettings:
    """The settings of the Spark engine; the defaults suit machines with a few gigabytes."""

    single_task_facts: int = 4_000_000
    """A hyper-node whose inputs have at most this many facts is tried in one task."""
    task_fact_cap: int = 50_000_000
    """A task that has derived more facts than this stops and hands its state over to rounds."""
    task_memory: int = 4 << 30
    """Bytes that the kernels of one task may hold before it stops in the same way."""
    fold_every: int = 10
    """Rounds after which the full relation is rewritten as one, because a growing plan makes every round slower."""
    partitions: int | None = None
    """Partitions of shuffles; None: as many as the cluster runs tasks at once."""
    change_rows: int = 50_000
    """Changed facts of one kind that the driver may hold; more are written to tables."""
    driver_facts: int = 16_000_000
    """Facts of relations that the driver caches for look-ups, some 40 bytes each; other relations need jobs. 0: none."""
    fold_changes: int = 20_000
    """Changes that stay separate from a relation of any size; a larger one is rewritten when a quarter has changed."""
    task_change_facts: int = 20_000
    """Hyper-nodes over at most this many facts are recomputed together, in one task, when they change."""
    recompute_facts: int = 300_000
    """A recursive hyper-node over at most this many facts is recomputed when it changes."""
    strategy: str | None = None
    """The strategy that every hyper-node must use, for tests; None: the cheapest."""
    hash_bits: int = HASH_BITS
    """Bits of the hashes in ids; tests narrow them to see collisions."""
    workspace: str | None = None
    """The directory for tables and checkpoints, which on a cluster all its machines share."""

    def __post_init__(self) -> None:
        if self.strategy is not None and self.strategy not in WAYS:
            raise ValueError(f"there is no strategy '{self.strategy}' on Spark; there are {', '.join(WAYS)}")
        for name, (least, most) in _NUMBERS.items():
            number = getattr(self, name)
            if number is None and name == "partitions":
                continue
            if isinstance(number, bool) or not isinstance(number, int):
                raise TypeError(f"SparkSettings({name}=…) takes an integer, and not {number!r}")
            if number < least or (most is not None and number > most):
                room = f"at least {least}" if most is None else f"from {least} to {most}"
                raise ValueError(f"SparkSettings({name}=…) takes an integer, {room}, and not {number}")


def _tells_nobody(event: object) -> None:
    return None


@dataclass
class Context:
    """Everything that one knowledge base uses on Spark. `spark` is the engine's session, `caller` the user's."""

    spark: SparkSession
    workspace: Workspace
    universe: SparkUniverse
    settings: SparkSettings = field(default_factory=SparkSettings)
    run: Run = field(default_factory=Run)
    """The current operation, set by `running`."""
    facts: Callable[[], int] = field(default=lambda: 0)
    """Returns the current number of facts."""
    report: Callable[[object], None] = _tells_nobody
    """Receives the reports of stages and strategies."""
    known_terms: TaskUniverse | None = None
    """Constants that the driver has looked up while publishing."""
    caller: SparkSession | None = None

    @classmethod
    def open(cls, caller: SparkSession, settings: SparkSettings, *, most_held: int = 0) -> Context:
        """Return the context of a knowledge base, with a new session beside the caller's."""
        from corollary.engines.spark.terms.universe import SparkUniverse
        from corollary.engines.spark.workspace import Workspace

        spark = engine_session(caller, settings.partitions or default_parallelism(caller))
        workspace = Workspace(spark, settings.workspace)
        return cls(
            spark, workspace, SparkUniverse(spark, workspace, settings.hash_bits, most_held), settings, caller=caller
        )

    def for_caller(self, df: DataFrame) -> DataFrame:
        """Return the rows of a data frame of the engine in the caller's session."""

        return in_session(df, self.caller or self.spark)

    def for_engine(self, df: DataFrame) -> DataFrame:
        """Return the rows of any data frame in the engine's session."""

        return in_session(df, self.spark)

    def use_all_tasks(self) -> None:
        """Give later shuffles as many partitions as tasks can run at once, a number that changes with the executors of
        a cluster."""

        set_partitions(self.spark, self.partitions)

    def check(self) -> None:
        """Raise an error if the current run has reached a limit or was interrupted."""
        self.run.check(self.facts() if self.run.counts_facts else None)

    def check_store(self, store: FrameStore, more: int = 0) -> None:
        """Raise if the current run, which has derived `more` facts than the store holds, has reached a limit or was
        interrupted."""
        self.run.check(store.facts + store.facts_beside + more if self.run.counts_facts else None)

    @contextmanager
    def running(self, run: Run, facts: Callable[[], int]) -> Iterator[None]:
        """Let limits and interrupts of the run stop jobs inside the block."""
        before = self.run, self.facts
        self.use_all_tasks()
        self.run, self.facts = run, facts
        try:
            with driver_failures(self.spark):
                yield
        finally:
            self.run, self.facts = before

    @contextmanager
    def counting(self, facts: Callable[[], int]) -> Iterator[None]:
        """Let `count` return the number of facts inside the block."""
        before = self.facts
        self.facts = facts
        try:
            yield
        finally:
            self.facts = before

    @cached_property
    def held(self) -> HeldRelations:
        """The relations that are cached in the driver."""
        return HeldRelations(self)

    @property
    def partitions(self) -> int:
        return self.settings.partitions or default_parallelism(self.spark)


def default_parallelism(spark: SparkSession) -> int:
    """Return how many tasks run at once; for Spark Connect, which does not tell, the number of shuffle partitions."""
    try:
        return spark.sparkContext.defaultParallelism
    except Exception:  # Spark Connect raises its own errors for what it lacks
        return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
