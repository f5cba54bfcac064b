"""The Spark engine: explicit facts in a store of frames, what follows from them beside it, answers as frames.

Hyper-nodes run in the order in which they depend on each other. Small ones that follow each other share a task; large ones that
do not depend on each other run side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import reduce
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from corollary.analysis import HyperNode, Module, ModuleKind, RuleGraph
from corollary.engines.embedded.engine import NodeReport
from corollary.engines.embedded.interrupts import noticing_interrupts
from corollary.engines.spark.derive_failures import derive_failures
from corollary.engines.spark.relations import Frame, FrameStore, empty_frame
from corollary.engines.spark.report import SparkNodeReport, SparkRunReport
from corollary.engines.spark.strategies.chooser import CLOSURE, DECOMPOSABLE, SINGLE_TASK, choose, shares_a_task
from corollary.engines.spark.strategies.closures import Closure
from corollary.engines.spark.strategies.decomposable import Decomposable
from corollary.engines.spark.strategies.jobs import NodeJob, NodeOutcome, Strategy
from corollary.engines.spark.strategies.rounds import Rounds
from corollary.engines.spark.strategies.single_task import SingleTask
from corollary.engines.spark.tasks.plain_rules import constants_of
from corollary.engines.spark.tasks.task_inputs import relations_of, rows_of
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.engines.spark.terms.universe import settled
from corollary.engines.spark.watched import run_watched
from corollary.planning import normalise_query
from corollary.program import Constant, Query

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context

T = TypeVar("T")
_SIDE_BY_SIDE = 4
ANSWERS = ""
"""The predicate of a query's answers."""


class SparkEngine:
    """Derives from the explicit facts of a store; they may change between two runs."""

    def __init__(self, graph: RuleGraph, context: Context, store: FrameStore, *, discards_errors: bool = True) -> None:
        self._graph = graph
        self._context = context
        self.store = store
        self._discards_errors = discards_errors
        self._known_constants: set[Constant] = set()  # of rules that have run by rounds
        self._rounds_lock = Lock()  # rounds change settings of the session while they run
        self.is_materialised = False
        self.report = SparkRunReport()

    def replace_rules(self, graph: RuleGraph) -> None:
        """Other rules for the same explicit facts; what was derived is forgotten."""
        self._graph = graph
        self.forget()

    def forget(self) -> None:
        """What was derived is out of date."""
        self.store.derived.clear()
        self.is_materialised = False

    # -- reading -----------------------------------------------------------------------------------------------------

    def visible(self, predicate: str) -> Frame | None:
        """Every fact of a predicate; None where nothing knows it."""
        if not self.is_materialised:
            self.materialise()
        return self.store.visible(predicate) if predicate in self.store.arities else None

    def predicates(self) -> list[str]:
        if not self.is_materialised:
            self.materialise()
        return list(self.store.arities)

    def answers(self, query: Query) -> Frame:
        """The distinct answers of a query, one column for each of its variables."""
        if not self.is_materialised:
            self.materialise()
        rule = normalise_query(query)
        module = Module(ModuleKind.NONRECURSIVE, (rule.name,))
        job = NodeJob(HyperNode((rule.name,)), (rule,), (module,), recursive=False)
        store = FrameStore(self.store.spark, self.store.arities)
        store.explicit, store.derived = self.store.explicit, self.store.derived
        ((outcome, _, _),) = run_watched(self._context.spark, [lambda: self._run(job, store)], self._context.check)
        return outcome.facts.get(ANSWERS) or empty_frame(store.spark, rule.head.arity)

    # -- deriving ----------------------------------------------------------------------------------------------------

    def materialise(
        self,
        *,
        check: Callable[[int], None] = lambda facts: None,
        finished: Callable[[NodeReport], None] = lambda report: None,
    ) -> None:
        """Derives everything. `check` is told the number of facts now and then and may stop it by raising: nothing changes."""
        self.forget()
        report = SparkRunReport()
        before = self._context.check
        with noticing_interrupts() as check_interrupt:

            def check_all() -> None:
                check_interrupt()
                before()
                check(sum(frame.rows or 0 for name in self.store.arities for frame in self.store.frames(name)))

            self._context.check = check_all
            try:
                self._derive(report, finished)
            except BaseException:
                self.forget()
                raise
            finally:
                self._context.check = before
        self.report = report
        self.is_materialised = True

    def _derive(self, report: SparkRunReport, finished: Callable[[NodeReport], None]) -> None:
        for rule in self._graph.rules.values():
            self.store.arities.setdefault(rule.head.predicate, rule.head.arity)
        waiting = [
            NodeJob.of(self._graph, node, discards_errors=self._discards_errors) for node in self._graph.hyper_nodes
        ]
        stopped: dict[HyperNode, NodeOutcome] = {}
        while waiting:
            self._context.check()
            group = self._group(waiting, stopped)
            done = self._together(group, stopped) if group else self._side_by_side(self._independent(waiting), stopped)
            for job, outcome, node_report in done:
                waiting.remove(job)
                for predicate, frame in outcome.facts.items():
                    self.store.add_derived(predicate, frame)
                report.nodes.append(node_report)
                finished(node_report)
            self._context.check()

    # -- small hyper-nodes together ----------------------------------------------------------------------------------

    def _group(self, waiting: Sequence[NodeJob], stopped: dict[HyperNode, NodeOutcome]) -> list[NodeJob]:
        """The next hyper-nodes, as many as share one task; none where the next one is not for a single task."""
        group: list[NodeJob] = []
        for job in waiting:
            wanted = [*group, job]
            if job.node in stopped or not shares_a_task(job, relations_of(wanted), self.store, self._context):
                break
            group = wanted
        return group

    def _together(self, group: Sequence[NodeJob], stopped: dict[HyperNode, NodeOutcome]) -> list[Done]:
        started = time.perf_counter()

        def run() -> list[NodeOutcome]:
            with self._failures(group):
                return self._with_terms(lambda: SingleTask().run_together(group, self.store, self._context))

        (outcomes,) = self._watched([run])
        taken = time.perf_counter() - started
        rows = rows_of(relations_of(group), self.store)
        reason = f"{rows:,} input facts fit into one task" + (
            f", with {len(group)} hyper-nodes" if len(group) > 1 else ""
        )
        overhead = taken - sum(outcome.seconds or 0 for outcome in outcomes)
        done: list[Done] = []
        for job, outcome in zip(group, outcomes, strict=False):
            if outcome.unfinished:
                stopped[job.node] = outcome
                break
            seconds = (outcome.seconds or 0) + overhead / len(outcomes)
            done.append((job, outcome, _report(job, outcome, SINGLE_TASK, reason, seconds)))
        return done

    # -- large hyper-nodes side by side ------------------------------------------------------------------------------

    def _independent(self, waiting: Sequence[NodeJob]) -> list[NodeJob]:
        """Some hyper-nodes that need nothing of each other and derive different predicates, the next one among them."""
        chosen: list[NodeJob] = []
        heads: set[str] = set()
        undone = {job.node for job in waiting}
        for job in waiting:
            sources = self._graph.hyper_edges.predecessors(job.node)
            if not any(source in undone for source in sources) and not heads & set(job.heads):
                chosen.append(job)
                heads |= set(job.heads)
        return chosen[:_SIDE_BY_SIDE]

    def _side_by_side(self, jobs: Sequence[NodeJob], stopped: dict[HyperNode, NodeOutcome]) -> list[Done]:
        def run(job: NodeJob) -> Done:
            started = time.perf_counter()
            outcome, strategy, reason = self._run(job, self.store, stopped.get(job.node))
            return job, outcome, _report(job, outcome, strategy, reason, time.perf_counter() - started)

        return self._watched([lambda job=job: run(job) for job in jobs])  # type: ignore[misc]

    def _run(self, job: NodeJob, store: FrameStore, before: NodeOutcome | None = None) -> tuple[NodeOutcome, str, str]:
        """Runs one hyper-node by the strategies that fit, until one of them finishes; the name of that and the reason."""
        tried: list[str] = []
        gave_up: list[str] = []
        if before is not None:
            tried, gave_up = [SINGLE_TASK], [f"{SINGLE_TASK} stopped as {before.unfinished}"]
        while True:
            with self._failures([job]):
                choice = choose(job, store, self._context, tried)
                outcome = self._by(choice.strategy, job, store, before)
            if not outcome.unfinished:
                return outcome, choice.strategy, "; ".join([*gave_up, choice.reason])
            tried.append(choice.strategy)
            gave_up.append(f"{choice.strategy} stopped as {outcome.unfinished}")
            before = outcome if outcome.facts else before

    def _by(self, strategy: str, job: NodeJob, store: FrameStore, before: NodeOutcome | None) -> NodeOutcome:
        match strategy:
            case "rounds":
                # They append what they make round by round; the constants of their rules have to be known before.
                with self._rounds_lock:
                    self._know_constants(job)
                    return Rounds().run(job, store, self._context, before.facts if before else None)
            case _:
                strategies: dict[str, Strategy] = {
                    SINGLE_TASK: SingleTask(),
                    DECOMPOSABLE: Decomposable(),
                    CLOSURE: Closure(),
                }
                return self._with_terms(lambda: [strategies[strategy].run(job, store, self._context)])[0]

    def _know_constants(self, job: NodeJob) -> None:
        """Appends the constants of rules to the universe: a head may bring one that no fact has."""
        new = {constant for rule in job.rules for constant in constants_of(rule)} - self._known_constants
        if not new:
            return

        def append() -> list[NodeOutcome]:
            task = TaskUniverse(self._context.universe.collisions)
            task.ids(task.universe.encode_values([constant.value for constant in new]))
            terms = task.new_terms()
            if terms.num_rows:
                self._context.universe.append(terms)
            return []

        settled(append)
        self._known_constants |= new

    def _with_terms(self, run: Callable[[], list[NodeOutcome]]) -> list[NodeOutcome]:
        """Runs something until the constants that it made have ids of their own."""

        def stage() -> list[NodeOutcome]:
            outcomes = run()
            terms = [df for outcome in outcomes for df in outcome.terms]
            if terms:
                self._context.universe.append(reduce(lambda left, right: left.union(right), terms))
            return outcomes

        return settled(stage)

    def _failures(self, jobs: Sequence[NodeJob]) -> AbstractContextManager[None]:
        names = ", ".join(str(job.node) for job in jobs[:3]) + (" …" if len(jobs) > 3 else "")
        return derive_failures("the query" if names == "{}" else names, self._context.workspace.path)

    def _watched(self, functions: Sequence[Callable[[], T]]) -> list[T]:
        return run_watched(self._context.spark, functions, self._context.check)


Done = tuple[NodeJob, NodeOutcome, SparkNodeReport]


def _report(job: NodeJob, outcome: NodeOutcome, strategy: str, reason: str, seconds: float) -> SparkNodeReport:
    new = sum(frame.rows or 0 for frame in outcome.facts.values())
    return SparkNodeReport(
        job.node, strategy, outcome.rounds, outcome.instances or 0, new, seconds, [], reason, outcome.detail
    )
