"""The strategy for any recursion: semi-naive rounds with shuffled joins.

One round is one job per derived predicate: the union of all its rules on the last deltas, minus the known facts. Deltas
are sent to where the full relation is; neither the full relation nor inputs that do not grow are moved again
(`growing`, `partition_keys`). Every delta is in a reliable checkpoint before the next round reads it, and plans are
deterministic, so a lost executor costs only time. Nonrecursive hyper-nodes take a single round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import TYPE_CHECKING

from corollary.engines.spark.algebra.frames_of_algebra import NodeEvaluation, Translator
from corollary.engines.spark.algebra.profiles import DOUBLES, LITERALS
from corollary.engines.spark.algebra.values import failures_explained
from corollary.engines.spark.relations import COUNT, Frame, FrameStore, column_names, union
from corollary.engines.spark.strategies.growing import Growing, GrowingPart
from corollary.engines.spark.strategies.jobs import NodeJob, NodeOutcome
from corollary.engines.spark.terms.universe import settled
from corollary.engines.spark.watched import run_watched
from corollary.engines.spark_session.session import Setting
from corollary.planning import AggregateSource, NormalBody, NormalRule, Version, linearise
from corollary.planning.algebra import (
    Algebra,
    AntiJoin,
    Join,
    Project,
    Scan,
    Select,
    delta_versions,
    has_distinct_rows,
    walk,
)
from corollary.planning.steps import is_auxiliary
from corollary.program import Atom

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from corollary.engines.spark.context import Context

# -- partition keys ----------------------------------------------------------------------------------------------------

# The columns by which relations are partitioned for rounds, derived from the algebra of the rules. No data is read here.


def joined_scans(tree: Algebra) -> Iterator[tuple[Scan, tuple[int, ...]]]:
    """Yield the relations on the right sides of joins, each with its join columns."""
    for node in walk(tree):
        if isinstance(node, (Join, AntiJoin)) and node.on:
            found = _scan_below(node.right)
            if found is not None:
                scan, places = found
                yield scan, tuple(places[name] for name in node.on)


def delta_key(tree: Algebra) -> tuple[Scan, tuple[int, ...]] | None:
    """Return the delta of a rule and the columns by which it is joined with the next relation."""
    while isinstance(tree, (Project, Select)):
        tree = tree.input
    above: Join | AntiJoin | None = None
    node: Algebra = tree
    while True:
        match node:
            case Join() | AntiJoin():
                above, node = node, node.left
            case Scan():
                break
            case Project() if (found := _scan_below(node)) is not None and above is not None and above.on:
                scan, places = found
                columns = tuple(places[name] for name in above.on if name in places)
                return (scan, columns) if scan.version is Version.DELTA and len(columns) == len(above.on) else None
            case _ if hasattr(node, "input"):
                node = node.input
            case _:
                break
    return None


def partition_keys(trees: Iterable[Algebra], growing: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Return the key of every growing predicate: the join columns of its full relation, or else those of its delta.

    The full relation is larger, so it stays where it is and the delta is sent.
    """
    votes: dict[str, Counter[tuple[int, ...]]] = {predicate: Counter() for predicate in growing}
    for tree in trees:
        for scan, columns in joined_scans(tree):
            if scan.predicate in votes and scan.version is not Version.DELTA:
                votes[scan.predicate][columns] += 10
        found = delta_key(tree)
        if found is not None and found[0].predicate in votes:
            votes[found[0].predicate][found[1]] += 1
    keys = {}
    for predicate, arity in growing.items():
        best = sorted(votes[predicate].items(), key=lambda item: (-item[1], item[0]))
        keys[predicate] = best[0][0] if best else tuple(range(max(1, arity)))
    return keys


def _scan_below(node: Algebra) -> tuple[Scan, dict[str, int]] | None:
    """Return the relation that a projection of a selection reads, and the column of each variable in it."""
    if not isinstance(node, Project):
        return None
    below = node.input.input if isinstance(node.input, Select) else node.input
    if not isinstance(below, Scan):
        return None
    places = {name: int(place[1:]) for name, place in node.outputs if isinstance(place, str)}
    return below, places


# -- rounds ------------------------------------------------------------------------------------------------------------


class RoundsStrategy:
    name = "rounds"

    def run(
        self, job: NodeJob, store: FrameStore, context: Context, state: Mapping[str, Frame] | None = None
    ) -> NodeOutcome:
        """Return the new facts of a hyper-node; `state` are those that another strategy derived before it gave up."""
        with failures_explained(job.rules):
            if not job.recursive:
                return _Once(job, store, context, state or {}).run()
            with settings_for_rounds(context.spark, context.partitions):
                return _Fixpoint(job, store, context, state or {}).run()


class _Once(NodeEvaluation):
    """A nonrecursive hyper-node."""

    def run(self) -> NodeOutcome:
        self._context.check()
        return settled(self._outcome)

    def _outcome(self) -> NodeOutcome:
        translator = self._translator(lambda scan: self._visible(scan.predicate, scan.arity).df)
        outcome = NodeOutcome({}, 1)
        for predicate, arity in self._job.heads.items():
            self._derive(predicate, arity, translator, outcome)
            self._context.check_store(self._store, _new_facts(outcome))
        self._teach(translator.minting)
        self._forget_temporary()
        return outcome

    def _derive(self, predicate: str, arity: int, translator: Translator, outcome: NodeOutcome) -> None:
        rules = [rule for rule in self._job.rules if rule.head.predicate == predicate]
        trees = [self._algebra(rule) for rule in rules]
        heads = [translator.head(rule.name, tree) for rule, tree in zip(rules, trees, strict=True)]
        instances = reduce(lambda left, right: left.union(right), heads)
        known = [frame for frame in self._store.frames(predicate) if frame.rows != 0]
        if self._job.counts:
            from pyspark.sql.functions import expr

            columns = column_names(arity)
            counted = self._context.workspace.table(
                instances.groupBy(*columns).agg(expr(f"count(1) AS {COUNT}")), predicate, arity
            )
            outcome.counted[predicate] = counted
            new = counted.df.select(*columns)
            if not known:
                outcome.facts[predicate] = Frame(new, arity, counted.rows, lies_in=counted.lies_in)
                return
        else:
            new = instances if len(trees) == 1 and has_distinct_rows(trees[0]) else instances.distinct()
        if known:
            new = new.join(union(known).df, known[0].columns, "left_anti")
        outcome.facts[predicate] = self._context.workspace.table(new, predicate, arity)


class _Fixpoint(NodeEvaluation):
    """A recursive hyper-node."""

    def __init__(self, job: NodeJob, store: FrameStore, context: Context, state: Mapping[str, Frame]) -> None:
        super().__init__(job, store, context, state)
        self._rules: Sequence[NormalRule] = job.rules
        if not self._may_have_equal_numbers():
            self._rules, self._externals = linearise(job.rules, job.modules)
        self._heads = {rule.head.predicate: rule.head.arity for rule in self._rules}
        self._trees: dict[tuple[object, ...], Project] = {}
        self._laid_out: dict[tuple[str, tuple[int, ...]], DataFrame] = {}
        self._universe: tuple[int, DataFrame] | None = None
        variants = [
            self._algebra(rule, delta_versions(rule, position, self._heads))
            for rule in self._rules
            for position in self._delta_positions(rule)
        ]
        keys = partition_keys(variants, self._heads)
        watches = any(_needs_values(rule.body) for rule in self._rules)
        self._growing = {
            predicate: Growing(context, arity, keys[predicate], watches_classes=watches)
            for predicate, arity in self._heads.items()
        }

    def run(self) -> NodeOutcome:
        try:
            self._start()
            self._round([(rule, None) for rule in self._rules])
            rounds = 1
            while any(growing.delta for growing in self._growing.values()):
                rounds += 1
                self._context.run.round(rounds)
                self._context.check_store(self._store, self._new_rows)
                self._round(self._awake())
            facts = {predicate: self._growing[predicate].finish(predicate) for predicate in self._job.heads}
            return NodeOutcome(facts, rounds)
        finally:
            self._forget()

    @property
    def _new_rows(self) -> int:
        """The number of facts that the rounds have derived so far."""
        names = [name for name in self._job.heads if not is_auxiliary(name)]
        return sum(self._growing[name].new_rows for name in names)

    def _start(self) -> None:
        for predicate, growing in self._growing.items():
            if predicate in self._externals:
                growing.start(self._visible(predicate, growing.arity))
            else:
                frames = self._store.frames(predicate)
                growing.start(union(frames) if frames else None, derived=self._state.get(predicate))

    def _awake(self) -> list[tuple[NormalRule, int | None]]:
        """Return the rules that have something new to read, with the position of the delta."""
        return [
            (rule, position)
            for rule in self._rules
            for position in self._delta_positions(rule)
            if self._growing[_predicate(rule, position)].delta
        ]

    def _delta_positions(self, rule: NormalRule) -> list[int]:
        return [
            position
            for position, source in enumerate(rule.body.sources)
            if isinstance(source, Atom) and source.predicate in self._heads
        ]

    def _round(self, awake: Sequence[tuple[NormalRule, int | None]]) -> None:
        new = settled(lambda: self._new_facts(awake))
        self._forget_temporary()
        for predicate, growing in self._growing.items():
            growing.advance(new.get(predicate))

    def _new_facts(self, awake: Sequence[tuple[NormalRule, int | None]]) -> dict[str, GrowingPart | None]:
        new, translator = self._derive(awake)
        try:
            self._teach(translator.minting)
        except BaseException:
            for part in new.values():
                if part is not None:
                    self._context.workspace.forget(part.df)
            raise
        return new

    def _derive(
        self, awake: Sequence[tuple[NormalRule, int | None]]
    ) -> tuple[dict[str, GrowingPart | None], Translator]:
        layouts: dict[int, tuple[int, ...]] = {}
        translator = self._translator(lambda scan: self._rows(scan, layouts.get(id(scan))))
        derived: dict[str, list[DataFrame]] = {}
        for rule, position in awake:
            tree = self._tree(rule, position)
            if position is not None:  # inputs that do not grow are partitioned once for all later rounds
                layouts.update({id(scan): columns for scan, columns in joined_scans(tree)})
            derived.setdefault(rule.head.predicate, []).append(translator.head(rule.name, tree))
        jobs = {predicate: reduce(lambda left, right: left.union(right), heads) for predicate, heads in derived.items()}
        return self._at_once(jobs), translator

    def _at_once(self, jobs: Mapping[str, DataFrame]) -> dict[str, GrowingPart | None]:
        """Run the jobs of one round in parallel: short jobs leave most of a cluster idle."""
        if len(jobs) == 1:
            return {predicate: self._growing[predicate].grow(df) for predicate, df in jobs.items()}
        spark, predicates = self._context.spark, list(jobs)
        tags = spark.getTags()

        def grow(predicate: str) -> GrowingPart | None:
            for tag in tags:  # cancelling this thread's jobs cancels these, too
                spark.addTag(tag)
            return self._growing[predicate].grow(jobs[predicate])

        parts = run_watched([partial(grow, predicate) for predicate in predicates], self._context)
        return dict(zip(predicates, parts, strict=True))

    # -- relations ---------------------------------------------------------------------------------------------------

    def _tree(self, rule: NormalRule, position: int | None) -> Project:
        """Return the algebra of a rule, planned again when some relation has grown about tenfold."""
        sizes = tuple((growing.rows.bit_length() + 2) // 3 for growing in self._growing.values())
        key = (id(rule), position, sizes if len(rule.body.sources) > 2 else ())
        if key not in self._trees:
            self._trees[key] = self._algebra(rule, delta_versions(rule, position, self._heads))
        return self._trees[key]

    def _rows(self, scan: Scan, layout: tuple[int, ...] | None) -> DataFrame:
        growing = self._growing.get(scan.predicate)
        if growing is not None:
            match scan.version:
                case Version.DELTA:
                    return growing.union([growing.delta] if growing.delta else [])
                case Version.OLD:
                    return growing.union(growing.old)
                case Version.FULL:
                    return growing.union(growing.full)
        if layout is None:
            return self._visible(scan.predicate, scan.arity).df
        key = (scan.predicate, layout)
        if key not in self._laid_out:
            frame = self._visible(scan.predicate, scan.arity)
            columns = [frame.columns[place] for place in layout]
            df = frame.df.repartition(self._context.partitions, *columns).sortWithinPartitions(*columns)
            self._laid_out[key] = self._context.workspace.checkpoint(df)
        return self._laid_out[key]

    def _size(self, predicate: str) -> int:
        growing = getattr(self, "_growing", {}).get(predicate)
        return growing.rows if growing is not None else super()._size(predicate)

    def _classes(self, scan: Scan) -> tuple[int, ...]:
        growing = self._growing.get(scan.predicate)
        return tuple(growing.classes) if growing is not None else super()._classes(scan)

    def forms(self) -> DataFrame:
        """Return the universe partitioned by id, again only if it has grown."""
        universe = self._context.universe
        if self._universe is None or self._universe[0] != universe.rows:
            if self._universe is not None:
                self._context.workspace.forget(self._universe[1])
            laid_out = universe.df.repartition(self._context.partitions, "id").sortWithinPartitions("id")
            self._universe = (universe.rows, self._context.workspace.checkpoint(laid_out))
        return self._universe[1]

    def _forget(self) -> None:
        for growing in self._growing.values():
            growing.forget()
        for df in self._laid_out.values():
            self._context.workspace.forget(df)
        if self._universe is not None:
            self._context.workspace.forget(self._universe[1])

    def _may_have_equal_numbers(self) -> bool:
        """Return whether a closure's guard `X != Z`, which compares by value, may meet doubles or moments, which may
        equal other constants."""
        if not any(module.guarded for module in self._job.modules):
            return False
        if any(rule.body.computes or not _only_atoms(rule.body) for rule in self._job.rules):
            return True
        profiles = [self._profile(predicate, arity) for predicate, arity in self._job.relations.items()]
        return any(mask & (DOUBLES | LITERALS) for profile in profiles for mask in profile.classes)


def _new_facts(outcome: NodeOutcome) -> int:
    return sum(frame.rows or 0 for name, frame in outcome.facts.items() if not is_auxiliary(name))


def _needs_values(body: NormalBody) -> bool:
    return bool(body.computes or body.compares) or not _only_atoms(body)


def _only_atoms(body: NormalBody) -> bool:
    return not any(isinstance(source, AggregateSource) for source in body.sources)


def _predicate(rule: NormalRule, position: int) -> str:
    source = rule.body.sources[position]
    assert isinstance(source, Atom)
    return source.predicate


# Spark settings for the duration of rounds; the session may be the user's.


def round_settings(partitions: int) -> tuple[Setting, ...]:
    """Return every setting that a recursive hyper-node changes, with its reason."""
    return (
        Setting("spark.sql.shuffle.partitions", str(partitions), "relations that meet have the same partitions"),
        Setting("spark.sql.adaptive.enabled", "false", "joining partitions would undo the partitioning that rounds keep"),
        Setting(
            "spark.sql.requireAllClusterKeysForCoPartition", "false",
            "facts partitioned by their join key are compared as a whole without another shuffle",
        ),
        Setting("spark.sql.unionOutputPartitioning", "true", "base and deltas stay partitioned in their union"),
        Setting("spark.sql.autoBroadcastJoinThreshold", "-1", "a broadcast is a job of its own in every round"),
        Setting("spark.sql.constraintPropagation.enabled", "false", "constraints of old rounds pile up in the plans of new ones"),
    )  # fmt: skip


@contextmanager
def settings_for_rounds(spark: SparkSession, partitions: int) -> Iterator[None]:
    settings = round_settings(partitions)
    before = {setting.key: spark.conf.get(setting.key, None) for setting in settings}
    try:
        for setting in settings:
            spark.conf.set(setting.key, setting.value)
        yield
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)
