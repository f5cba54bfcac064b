"""The base of every evaluation of a hyper-node over frames: relations, their profiles for the join order, and the universe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING

from corollary.engines.spark.algebra.frames_of_algebra import BagTranslator, MintsConstants, Translator
from corollary.engines.spark.algebra.profiles import Profile, classes_of_frame, profile_of, together
from corollary.engines.spark.relations import Frame, FrameStore, empty_frame, union
from corollary.engines.spark.strategies.jobs import NodeJob
from corollary.engines.spark.terms.ids import CollisionTable
from corollary.planning import AggregateSource, NormalRule, Version
from corollary.planning.algebra import Project, Scan, algebra_of
from corollary.program import Atom

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context


class NodeEvaluation:
    """One hyper-node over a store; `state` are facts that another strategy derived before it gave up."""

    def __init__(self, job: NodeJob, store: FrameStore, context: Context, state: Mapping[str, Frame]) -> None:
        self._job = job
        self._store = store
        self._context = context
        self._state = state
        self._profiles: dict[str, Profile] = {}
        self._externals: dict[str, str] = {}
        self._temporary: list[DataFrame] = []
        self._temporary_tables: list[str] = []

    def _frames(self, predicate: str) -> list[Frame]:
        """The facts before the first round; those from which a closure grows are all facts of its predicate."""
        predicate = self._externals.get(predicate, predicate)
        handed = self._state.get(predicate)
        return [*self._store.frames(predicate), *([handed] if handed else [])]

    def _visible(self, predicate: str, arity: int) -> Frame:
        return union(self._frames(predicate) or [empty_frame(self._context.spark, arity)])

    def _profile(self, predicate: str, arity: int) -> Profile:
        if predicate not in self._profiles:
            frames = [frame for frame in self._frames(predicate) if frame.rows != 0]
            self._profiles[predicate] = together([profile_of(frame) for frame in frames], arity)
        return self._profiles[predicate]

    def _algebra(self, rule: NormalRule, versions: tuple[Version, ...] | None = None) -> Project:
        sizes = GuessedSizes(self._size, self._profile if _order_matters(rule) else None)
        return algebra_of(rule, sizes, versions, keep_all=self._job.counts, values_last=not self._job.discards_errors)

    def _size(self, predicate: str) -> int:
        rows = [frame.rows for frame in self._frames(predicate)]
        return sum(1000 if count is None else count for count in rows)

    def _translator(self, scans: Callable[[Scan], DataFrame]) -> Translator:
        kind = BagTranslator if self._job.counts else Translator
        return kind(
            self._context.spark, scans, self._classes, self, self._context.partitions,
            discards_errors=self._job.discards_errors,
        )  # fmt: skip

    @property
    def collisions(self) -> CollisionTable:
        return self._context.universe.collisions

    def forms(self) -> DataFrame:
        return self._context.universe.df

    def settle(self, df: DataFrame, minting: list[MintsConstants]) -> DataFrame:
        settled_rows = self._context.workspace.checkpoint(df)
        self._temporary.append(settled_rows)
        self._teach(minting)
        return settled_rows

    @property
    def known_rows(self) -> int:
        return self._context.universe.rows

    def put_down(self, df: DataFrame) -> tuple[DataFrame, int]:
        frame = self._context.workspace.table(df, "steps")
        self._temporary_tables += frame.lies_in
        return frame.df, frame.rows or 0

    def _classes(self, scan: Scan) -> tuple[int, ...]:
        masks = [0] * max(1, scan.arity)
        for frame in self._frames(scan.predicate):
            if frame.rows != 0:
                masks = [before | new for before, new in zip(masks, classes_of_frame(frame), strict=True)]
        return tuple(masks)

    def _forget_temporary(self) -> None:
        for df in self._temporary:
            self._context.workspace.forget(df)
        self._temporary.clear()
        for path in self._temporary_tables:
            self._context.workspace.remove(path)
        self._temporary_tables.clear()

    def _teach(self, minting: list[MintsConstants]) -> None:
        """Appends the constants that a job made to the universe; where some of them collide, `settled` runs the job again."""
        happened = [one for one in minting if one.happened]
        if happened:
            terms = reduce(lambda left, right: left.union(right), (one.terms() for one in happened))
            self._context.universe.append(terms)


class GuessedSizes:
    """Statistics for the join order; without profiles, distinct values are guessed from the number of rows."""

    def __init__(self, size: Callable[[str], int], profile: Callable[[str, int], Profile] | None = None) -> None:
        self._size = size
        self._profile = profile

    def size(self, source: Atom | AggregateSource) -> int:
        return self._size(source.predicate) if isinstance(source, Atom) else 1000

    def distinct(self, source: Atom | AggregateSource, column: int) -> int:
        if self._profile is None or not isinstance(source, Atom):
            return max(1, int(self.size(source) ** 0.75))
        return self._profile(source.predicate, source.arity).distinct[column]


def _order_matters(rule: NormalRule) -> bool:
    return len(rule.body.sources) > 2
