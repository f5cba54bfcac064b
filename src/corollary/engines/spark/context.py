"""What every stage and every strategy on Spark is given: the session, where to keep things, the universe, the settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from corollary.engines.spark.held_relations import HeldRelations
from corollary.engines.spark.terms.ids import HASH_BITS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from corollary.engines.spark.terms.task_universe import TaskUniverse
    from corollary.engines.spark.terms.universe import SparkUniverse
    from corollary.engines.spark.workspace import Workspace


WAYS = ("single-task", "decomposable", "closure", "rounds")
"""The strategies for hyper-nodes, by name."""


@dataclass(frozen=True)
class SparkSettings:
    """What a user may change about the Spark engine; the defaults are for machines of a few gigabytes."""

    single_task_facts: int = 4_000_000
    """A hyper-node whose inputs have no more facts than this is tried in one task."""
    task_fact_cap: int = 50_000_000
    """A task that has derived more facts than this stops and hands its state over to rounds."""
    task_memory: int = 4 << 30
    """Bytes that the kernels of one task may hold before it stops in the same way."""
    fold_every: int = 10
    """Rounds after which the full relation is written as one again: a plan that grows makes every round slower."""
    partitions: int | None = None
    """Partitions of shuffles; None: as many as the cluster runs tasks at once."""
    change_rows: int = 50_000
    """Changed facts of one kind that the driver may hold; what is more goes through tables."""
    driver_facts: int = 16_000_000
    """Facts of relations that the driver keeps to look changed facts up, some 40 bytes each; larger ones cost jobs. 0: none."""
    fold_changes: int = 20_000
    """Changes of a relation that stay beside it, however small it is; more than a quarter of a larger one are written with it."""
    task_change_facts: int = 20_000
    """Hyper-nodes over no more facts than this are derived anew together, in one task, when they change."""
    recompute_facts: int = 300_000
    """A recursive hyper-node over no more facts than this is derived anew when it changes."""
    strategy: str | None = None
    """The strategy that every hyper-node must use, for tests; None: the cheapest."""
    hash_bits: int = HASH_BITS
    """Bits of the hashes in ids; tests narrow them to see collisions."""
    workspace: str | None = None
    """The directory for tables and checkpoints, which on a cluster all its machines share."""

    def __post_init__(self) -> None:
        if self.strategy is not None and self.strategy not in WAYS:
            raise ValueError(f"there is no strategy '{self.strategy}' on Spark; there are {', '.join(WAYS)}")


def _never_stops() -> None:
    return None


def _tells_nobody(event: object) -> None:
    return None


@dataclass
class Context:
    """Belongs to one knowledge base."""

    spark: SparkSession
    workspace: Workspace
    universe: SparkUniverse
    settings: SparkSettings = field(default_factory=SparkSettings)
    check: Callable[[], None] = _never_stops
    """Raises where the run shall stop: a limit, an interrupt."""
    report: Callable[[object], None] = _tells_nobody
    """Takes what stages and strategies tell about themselves."""
    known_terms: TaskUniverse | None = None
    """Constants that the driver has looked up while it published."""

    @cached_property
    def held(self) -> HeldRelations:
        """Relations that the driver keeps."""
        return HeldRelations(self)

    @property
    def partitions(self) -> int:
        return self.settings.partitions or default_parallelism(self.spark)


def default_parallelism(spark: SparkSession) -> int:
    """How many tasks run at once; Spark Connect doesn't say, and its shuffle partitions have to do."""
    try:
        return spark.sparkContext.defaultParallelism
    except Exception:  # Spark Connect raises errors of its own for what it does not have
        return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
