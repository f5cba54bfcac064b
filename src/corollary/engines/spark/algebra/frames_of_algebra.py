"""Relational algebra as data frames over ids (paper 001, section 2.4), which Catalyst then optimises.

A column of variables is named `v0, v1 …`, a column of a relation `c0, c1 …`: no text of a program reaches Spark's
parser. Rows without columns, which Spark cannot store, have one column `u`. Expressions are texts, because one call to
Java is faster than many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol, TypeAlias

from corollary.engines.spark.algebra.aggregates import FinishStage, native_aggregates
from corollary.engines.spark.algebra.classes import Classes, ScanClasses
from corollary.engines.spark.algebra.column_steps import (
    KnownTexts,
    MintedTexts,
    Step,
    Steps,
    can_split,
    literal,
    run_steps,
)
from corollary.engines.spark.algebra.column_terms import Known, NotAColumnError
from corollary.engines.spark.algebra.profiles import ANYTHING, HASHED, Profile, classes_of_frame, profile_of, together
from corollary.engines.spark.algebra.value_joins import value_joins, window
from corollary.engines.spark.algebra.values import MINTED, MINTED_SCHEMA, GroupStage, ValueStage, form_columns
from corollary.engines.spark.relations import Frame, FrameStore, column_names, empty_frame, union
from corollary.engines.spark.strategies.jobs import NodeJob
from corollary.engines.spark.terms.ids import CollisionTable, id_of
from corollary.engines.spark.watched import seen_by
from corollary.planning import AggregateSource, Compare, Compute, NormalRule, Version
from corollary.planning.algebra import (
    Aggregate,
    Algebra,
    AntiJoin,
    Extend,
    Filter,
    Join,
    Project,
    Scan,
    Select,
    Union,
    Unit,
    algebra_of,
)
from corollary.program import Atom, Constant, Term, Variable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession

    from corollary.engines.spark.context import Context

Stage: TypeAlias = ValueStage | GroupStage | FinishStage

EMPTY = "u"
"""The one column of rows without columns."""


@dataclass(frozen=True)
class Minting:
    """A stage that may make constants: its output, and an observation of how many batches did."""

    df: DataFrame
    observation: Observation

    @property
    def happened(self) -> bool:
        return bool(seen_by(self.observation).get("batches", 1))

    def terms(self) -> DataFrame:
        """Return rows of the universe for the new constants; they may repeat."""
        return self.df.selectExpr(f"inline({MINTED})")


MintsConstants: TypeAlias = Minting | MintedTexts


class UniverseOfJob(KnownTexts, Protocol):
    """The part of the universe that translation needs; `forms` has the known constants: `id`, `common`, `canonical`,
    `datatype`."""

    @property
    def collisions(self) -> CollisionTable: ...

    def settle(self, df: DataFrame, minting: list[MintsConstants]) -> DataFrame:
        """Add the constants of rows to the universe, in a job of its own, and return the rows."""
        ...


class Translator:
    """The translation of one round to data frames; `minting` are its stages that may make constants.

    `scans` returns the rows of a relation (columns `c0 …`), `classes` the classes of its columns.
    """

    _computes_texts = True
    """Whether functions of texts are computed for the whole universe; not if a few rows need few texts."""

    def __init__(
        self, spark: SparkSession, scans: Callable[[Scan], DataFrame], classes: ScanClasses,
        universe: UniverseOfJob, partitions: int, *, discards_errors: bool = True,
    ) -> None:  # fmt: skip
        self._spark = spark
        self._scans = scans
        self._classes = Classes(classes)
        self._universe = universe
        self._collisions = universe.collisions
        self._partitions = partitions
        self._discards_errors = discards_errors
        self._rule = ""
        self._names: dict[str, str] = {}
        self.minting: list[MintsConstants] = []

    def rows(self, node: Algebra) -> DataFrame:
        """Return the rows of an algebra, which may repeat unless it forbids that."""
        match node:
            case Unit():
                return self._spark.range(1).selectExpr(f"0L AS {EMPTY}")
            case Scan():
                return self._scans(node)
            case Select():
                return self.rows(node.input).where(
                    " AND ".join(self._equality(node, *pair) for pair in node.equalities)
                )
            case Project():
                return self._project(node)
            case Join():
                return self._join(node)
            case AntiJoin():
                return self._anti_join(node)
            case Filter() | Extend():
                return self._values(node)
            case Aggregate():
                return self._aggregate(node)
            case Union():
                return reduce(lambda left, right: left.union(right), map(self.rows, node.inputs))

    def column(self, name: str) -> str:
        """Return the name of the column that holds a variable or an argument."""
        if name.startswith("$"):
            return f"c{name[1:]}"
        return self._names.setdefault(name, f"v{len(self._names)}")

    def constant(self, constant: Constant) -> str:
        return literal(id_of(constant.value, self._collisions))

    # -- rows and columns --------------------------------------------------------------------------------------------

    def _equality(self, node: Select, name: str, other: str | Constant) -> str:
        right = self.constant(other) if isinstance(other, Constant) else self.column(other)
        return f"{self.column(name)} = {right}"

    def _project(self, node: Project) -> DataFrame:
        df = self.rows(node.input)
        outputs = [
            f"{self.constant(source) if isinstance(source, Constant) else self.column(source)} AS {self.column(name)}"
            for name, source in node.outputs
        ]
        df = df.selectExpr(*(outputs or [f"0L AS {EMPTY}"]))
        return df.distinct() if node.distinct else df

    def head(self, rule: str, node: Project) -> DataFrame:
        """Return the rows of a rule's head with the columns of a frame."""
        self._rule = rule
        df = self.rows(node)
        return df if node.columns else df.withColumnRenamed(EMPTY, column_names(0)[0])

    def _columns(self, node: Algebra) -> list[str]:
        return [self.column(name) for name in node.columns] or [EMPTY]

    def _join(self, node: Join) -> DataFrame:
        left, right = self.rows(node.left), self.rows(node.right)
        if node.on:
            return left.join(right, [self.column(name) for name in node.on], "left_semi" if node.semi else "inner")
        if node.semi or not node.right.columns:
            return self._where_any(left, self._columns(node.left), right, "n > 0")
        if not node.left.columns:
            return self._where_any(right, self._columns(node.right), left, "n > 0")
        return left.crossJoin(right)

    def _anti_join(self, node: AntiJoin) -> DataFrame:
        left, right = self.rows(node.left), self.rows(node.right)
        if node.on:
            return left.join(right, [self.column(name) for name in node.on], "left_anti")
        return self._where_any(left, self._columns(node.left), right, "n = 0")

    @staticmethod
    def _where_any(df: DataFrame, columns: list[str], other: DataFrame, condition: str) -> DataFrame:
        """Return all rows or none, depending on the number of rows in another data frame."""
        return df.crossJoin(other.selectExpr("count(1) AS n").where(condition)).select(*columns)

    # -- values ------------------------------------------------------------------------------------------------------

    def _values(self, node: Filter | Extend) -> DataFrame:
        """Return the rows of a chain of computations and comparisons: inside Spark where that is exact, the rest in one
        stage of tasks."""
        chain: list[Filter | Extend] = []
        below: Algebra = node
        while isinstance(below, (Filter, Extend)):
            chain.append(below)
            below = below.input
        chain.reverse()
        before = len(self.minting)
        df = self._joined_by_value(self.rows(below), chain, below, before)
        steps = self._steps(chain, below)
        # Split rows are read twice, and constants must not be made twice.
        if len(steps) < len(chain) or len(self.minting) > before or not can_split(steps, df.columns):
            steps = list(takewhile(lambda step: not step.exact, steps))
        stage = run_steps(df, steps, self._universe)
        self.minting += stage.minting
        found = stage.df
        if len(steps) < len(chain):
            left = chain[len(steps) :]
            found = found.select(*self._columns(left[0].input))
            for condition in self._maker(left, left[0].input).early_conditions(left) if self._discards_errors else ():
                found = found.where(condition)
            found = self._in_tasks(found, left, left[0].input, before)
        outputs = self._columns(node)
        for rest in stage.rest:
            tasks = self._in_tasks(rest, chain, below, len(self.minting))
            found = found.select(*outputs).union(tasks.select(*outputs))
        return found.select(*outputs)

    def _joined_by_value(self, df: DataFrame, chain: list[Filter | Extend], below: Algebra, before: int) -> DataFrame:
        """Return the rows of a product without pairs that the chain would drop: Spark joins on keys of equal or near values."""
        known = self._maker(chain, below).known
        joins = list(value_joins(chain, below, known, discards_errors=self._discards_errors))
        if not joins and len(self.minting) == before:  # split rows are read twice
            bins = window(chain, below, known, discards_errors=self._discards_errors)
            return df if bins is None else df.where(bins[0]).union(df.where(bins[1]))
        for join in joins:
            if join.unsure is None:
                df = df.where(join.condition)
            elif len(self.minting) == before:  # split rows are read twice
                df = df.where(f"NOT {join.unsure} AND {join.condition}").union(df.where(join.unsure))
        return df

    def _steps(self, chain: list[Filter | Extend], below: Algebra) -> list[Step]:
        """Return the leading operations of a chain that are column expressions."""
        steps = self._maker(chain, below)
        found: list[Step] = []
        for one in chain:
            try:
                found.append(steps.step(one))
            except NotAColumnError:
                break
        return found

    def _maker(self, chain: list[Filter | Extend], below: Algebra) -> Steps:
        needed = {name for one in chain for name in (one.compare if isinstance(one, Filter) else one.compute).inputs}
        known = {
            name: Known(self.column(name), self._classes.of(below, name) if name in needed else ANYTHING)
            for name in below.columns
        }
        return Steps(known, self.column, self._collisions, self._discards_errors, partial(self._knows_texts, below))

    def _knows_texts(self, node: Algebra, name: str) -> bool:
        return self._computes_texts and name in node.columns and not self._classes.is_made(node, name)

    def _side(self, term: Term) -> str:
        if isinstance(term, Constant):
            return self.constant(term)
        assert isinstance(term, Variable)
        return self.column(term.name)

    def _in_tasks(self, df: DataFrame, chain: list[Filter | Extend], below: Algebra, before: int) -> DataFrame:
        operations: tuple[Compute | Compare, ...] = tuple(
            one.compare if isinstance(one, Filter) else one.compute for one in chain
        )
        inputs = {name for operation in operations for name in operation.inputs}
        df, taught = self._with_forms(df, [name for name in below.columns if name in inputs], below, before)
        names = {name for operation in operations for name in operation.inputs}
        names |= {one.variable for one in operations if isinstance(one, Compute)}
        columns = {name: self.column(name) for name in names}
        outputs = tuple(self._columns(chain[-1]))
        stops = None if self._discards_errors else self._rule
        stage = ValueStage(operations, columns, taught, outputs, self._collisions, stops)
        computes = any(isinstance(one, Compute) for one in operations)
        return self._run(df, stage, list(outputs), mints=computes)

    def _with_forms(
        self, df: DataFrame, names: list[str], node: Algebra, before: int
    ) -> tuple[DataFrame, tuple[str, ...]]:
        """Return the rows of a node with the forms of the constants in some columns, and the columns that need forms.

        If stages since `before` made such constants, a job must make them known first.
        """
        needed = [name for name in names if self._classes.of(node, name) & HASHED]
        if any(self._classes.is_made(node, name) for name in needed):
            df = self._universe.settle(df, self.minting[before:])
            del self.minting[before:]
        if needed:
            df = self._ready_for_forms(df, node)
        for column in map(self.column, needed):
            forms = zip(("common", "canonical", "datatype"), form_columns(column), strict=True)
            renamed = [f"id AS {column}", *(f"{form} AS {name}" for form, name in forms)]
            df = df.join(self._forms(df, column).selectExpr(*renamed), [column], "left")
        return df, tuple(map(self.column, needed))

    def _ready_for_forms(self, df: DataFrame, node: Algebra) -> DataFrame:
        """Return the rows of a node before the forms of their constants are looked up."""
        return df

    def _forms(self, df: DataFrame, column: str) -> DataFrame:
        """Return the data frame with the forms for a column."""
        return self._universe.forms()

    def _run(self, df: DataFrame, stage: Stage, outputs: list[str], *, mints: bool) -> DataFrame:
        from pyspark.sql import Observation
        from pyspark.sql.functions import expr

        schema = ", ".join([*(f"{name} long" for name in outputs), MINTED_SCHEMA])
        found = df.mapInArrow(stage, schema)
        if mints:
            observation = Observation()
            self.minting.append(Minting(found, observation))
            found = found.observe(observation, expr(f"count({MINTED}) AS batches"))
        return found.select(*outputs)

    # -- aggregates --------------------------------------------------------------------------------------------------

    def _aggregate(self, node: Aggregate) -> DataFrame:
        before = len(self.minting)
        df = self.rows(node.input)
        groups = [self.column(name) for name in node.group_by]
        outputs = column_names(len(node.columns))
        arguments = [self._side(operation.argument) for operation in node.operations]
        classes = [self._classes.of_term(operation.argument, node.input) for operation in node.operations]
        native = native_aggregates(node.operations, arguments, classes)
        if native is not None:
            aggregated = df.groupBy(*groups).agg(*native.aggregates).where("n > 0")
            renamed = [f"{group} AS c{place}" for place, group in enumerate(groups)]
            if not native.needs_finish:
                return aggregated.selectExpr(*renamed, *native.results(len(groups)))
            finish = FinishStage(len(groups), native.functions, self._collisions)
            return self._run(aggregated.selectExpr(*renamed, *native.raw), finish, outputs, mints=True)
        names = {one.argument.name for one in node.operations if isinstance(one.argument, Variable)}
        valued = {
            one.argument.name
            for one in node.operations
            if isinstance(one.argument, Variable) and one.function != "count"
        }
        df, taught = self._with_forms(df, [name for name in node.input.columns if name in valued], node.input, before)
        df = df.repartition(self._partitions, *groups).sortWithinPartitions(*groups) if groups else df.repartition(1)
        columns = {name: self.column(name) for name in (*node.group_by, *names)}
        stage = GroupStage(node.group_by, node.operations, columns, taught, self._collisions)
        return self._run(df, stage, outputs, mints=True)


# Algebra over bags: a head occurs once for each rule instance, as counting needs it.


class BagTranslator(Translator):
    """The translation over bags; since its rules name every value of their atoms (`without_wildcards`), only products
    need care."""

    def _join(self, node: Join) -> DataFrame:
        if node.on or node.semi:
            return super()._join(node)
        left, right = self.rows(node.left), self.rows(node.right)
        if not node.right.columns:
            right = right.withColumnRenamed(EMPTY, f"{EMPTY}_right")
        columns = [self.column(name) for name in (*node.left.columns, *node.right.columns)]
        return left.crossJoin(right).select(*(columns or [EMPTY]))


# -- node evaluation ---------------------------------------------------------------------------------------------------

# The base class of evaluations of a hyper-node over frames: relations, their profiles for the join order, and the universe.


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
        """Return the facts before the first round; those that a closure grows from count as facts of its predicate."""
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
        """Append the constants of a job to the universe; if some collide, `settled` runs the job again."""
        happened = [one for one in minting if one.happened]
        if happened:
            terms = reduce(lambda left, right: left.union(right), (one.terms() for one in happened))
            self._context.universe.append(terms)


class GuessedSizes:
    """Statistics for the join order; without profiles, the number of rows gives a guess of distinct values."""

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
