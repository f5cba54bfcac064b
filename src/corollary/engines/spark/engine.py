"""The Spark engine: explicit and derived facts as data frames, and answers as data frames.

Hyper-nodes run in topological order. Consecutive small ones share a task; independent large ones run in parallel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import reduce
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from corollary.analysis import HyperNode, Module, ModuleKind, RuleGraph
from corollary.analysis.lowering import stated_predicates
from corollary.analysis.stratification import readable
from corollary.engines.embedded.report import NodeReport, RunReport
from corollary.engines.spark.failures import derive_failures
from corollary.engines.spark.maintenance.steps import owner_of, steps_of_node
from corollary.engines.spark.relations import Frame, FrameStore, empty_frame, union
from corollary.engines.spark.strategies.alternating import run_by_turns
from corollary.engines.spark.strategies.chooser import CLOSURE, DECOMPOSABLE, SINGLE_TASK, choose, shares_a_task
from corollary.engines.spark.strategies.closures import ClosureStrategy
from corollary.engines.spark.strategies.decomposable import DecomposableStrategy
from corollary.engines.spark.strategies.jobs import JobStrategy, NodeJob, NodeOutcome
from corollary.engines.spark.strategies.rounds import RoundsStrategy
from corollary.engines.spark.strategies.single_task import SingleTaskStrategy
from corollary.engines.spark.tasks.task_inputs import relations_of, rows_of
from corollary.engines.spark.tasks.task_job import constants_of
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.engines.spark.terms.universe import settled
from corollary.engines.spark.watched import run_watched
from corollary.language import print_rule
from corollary.planning import normalise_query
from corollary.planning.optimisers import optimised_rule
from corollary.planning.steps import is_auxiliary
from corollary.program import Constant, Query, Rule
from corollary.reasoning.run import Run

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context


@dataclass
class SparkNodeReport(NodeReport):
    """The report on one hyper-node: its `strategy` on Spark, the `reason` for it, and in `detail` what the kernels in a task
    did.

    Rounds on Spark do not count rule instances: `instances` is then 0.
    """

    reason: str = ""
    detail: str = ""


class SparkRunReport(RunReport):
    def explain(self, rules: dict[str, Rule], prefixes: dict[str, str]) -> str:
        """Return a text with the strategy of each hyper-node, the reason, its rules and what they derived."""
        lines: list[str] = []
        for report in self.nodes:
            reason = report.reason if isinstance(report, SparkNodeReport) else ""
            lines.append(
                f"{report.node}  {report.strategy}: {report.rounds:,} rounds, {report.new_facts:,} new facts, "
                f"{report.seconds * 1000:,.1f} ms"
            )
            lines.append(f"  because {reason}")
            lines += [f"  {name}: {print_rule(rules[name], prefixes)}" for name in report.node.rules]
        return readable("\n".join(lines))


T = TypeVar("T")
_SIDE_BY_SIDE = 4
ANSWERS = ""
"""The predicate of a query's answers."""


class SparkEngine:
    """Derives facts from the explicit facts of a store, which may change between two runs."""

    def __init__(
        self,
        graph: RuleGraph,
        context: Context,
        store: FrameStore,
        *,
        discards_errors: bool = True,
        follows_changes: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """With `follows_changes`, count derivations and keep aggregations, which maintenance needs."""
        self._graph = graph
        self._context = context
        self.store = store
        self._discards_errors = discards_errors
        self.follows_changes = follows_changes
        self._without = without
        self._known_constants: set[Constant] = set()  # of rules that have run by rounds
        self._rounds_lock = Lock()  # rounds change settings of the session while they run
        self.is_materialised = False
        self.report = SparkRunReport()

    def replace_rules(self, graph: RuleGraph) -> None:
        """Replace the rules, keep the explicit facts, and drop the derived facts."""
        self._graph = graph
        self.forget()

    def forget(self) -> None:
        """Drop the derived facts, which are out of date."""
        self.store.forget()
        self.is_materialised = False

    # -- reading -----------------------------------------------------------------------------------------------------

    def visible(self, predicate: str) -> Frame | None:
        """Return all visible facts of a predicate; None if it is unknown."""
        if not self.is_materialised:
            self.materialise()
        return self.store.visible(predicate) if predicate in self.store.arities else None

    def predicates(self) -> list[str]:
        if not self.is_materialised:
            self.materialise()
        return [name for name in self.store.arities if not is_auxiliary(name)]

    def answers(self, query: Query, run: Run | None = None) -> Frame:
        """Return the distinct answers to a query, one column for each variable."""
        if not self.is_materialised:
            self.materialise()
        rule = normalise_query(query)
        module = Module(ModuleKind.NONRECURSIVE, (rule.name,))
        job = NodeJob(HyperNode((rule.name,)), (rule,), (module,), recursive=False)
        with self._running(run or Run()):
            ((outcome, _, _),) = self._watched([lambda: self.run(job, self.store)])
        return outcome.facts.get(ANSWERS) or empty_frame(self.store.spark, rule.head.arity)

    def derived_by(
        self, graph: RuleGraph, predicates: Iterable[str], given: Mapping[str, Frame], run: Run
    ) -> dict[str, Frame]:
        """Return the facts of the predicates that these rules derive from the explicit facts and the given ones.

        The visible facts of this engine do not change.
        """
        store = self.store.copy()
        store.derived.clear()
        for predicate, frame in given.items():
            known = store.explicit.get(predicate)
            rows = frame.df if known is None else known.df.union(frame.df)
            store.arities.setdefault(predicate, frame.arity)
            store.explicit[predicate] = Frame(rows.distinct(), frame.arity)
        for rule in graph.rules.values():
            store.arities.setdefault(rule.head.predicate, rule.head.arity)
        jobs = [NodeJob.of(graph, node, discards_errors=self._discards_errors) for node in graph.hyper_nodes]
        with self._running(run):
            (outcomes,) = self._watched([lambda: self.run_all(jobs, store)])
        found: dict[str, Frame] = {}
        for predicate in predicates:
            frames = [outcome.facts[predicate] for outcome in outcomes if predicate in outcome.facts]
            found[predicate] = union(frames) if frames else empty_frame(store.spark, store.arities[predicate])
        return found

    # -- deriving ----------------------------------------------------------------------------------------------------

    def materialise(self, run: Run | None = None) -> None:
        """Derive everything; if the run is stopped, nothing has changed."""
        run = run or Run()
        self.forget()
        report = SparkRunReport()
        with self._running(run):
            try:
                self._derive(report, run)
            except BaseException:
                self.forget()
                raise
        self.report = report
        self.is_materialised = True

    def change(self, change: Callable[[], T], graph: RuleGraph, run: Run) -> T:
        """Change the store and set the rules of the graph, all or nothing."""
        # Facts from before the change are not counted here, because some may be deleted: the transaction knows the number.
        nothing = self._context.counting(lambda: 0)
        with self._running(run), nothing, derive_failures("the change", self._context.workspace.path):
            (outcome,) = self._watched([change])
        self._graph = graph
        return outcome

    def know_restored(self) -> None:
        """Mark the store as restored with the facts that were derived before; derive auxiliary facts from them, which are not
        stored."""
        jobs = [job for node in self._graph.hyper_nodes for job in self._jobs(node) if job.part_of is not None]
        self._know_predicates()
        if jobs:
            for job, outcome in zip(jobs, self.run_all(jobs, self.store), strict=True):
                self._keep(job, outcome)
        self.is_materialised = True

    def _running(self, run: Run) -> AbstractContextManager[None]:
        return self._context.running(run, lambda: self.store.facts)

    def _derive(self, report: SparkRunReport, run: Run) -> None:
        self._know_predicates()
        waiting = [job for node in self._graph.hyper_nodes for job in self._jobs(node)]
        stopped: dict[HyperNode, NodeOutcome] = {}
        while waiting:
            self._context.check()
            group = self._group(waiting, stopped)
            done = self._together(group, stopped) if group else self._side_by_side(self._independent(waiting), stopped)
            for job, outcome, node_report in done:
                waiting.remove(job)
                self._keep(job, outcome)
                if job.part_of is None:
                    report.nodes.append(node_report)
                    run.finished(node_report)
            self._context.check()

    def _know_predicates(self) -> None:
        """Register the predicates of heads, and those for the explicit facts that rules read, which share the facts of
        another predicate."""
        store = self.store
        for rule in self._graph.rules.values():
            store.arities.setdefault(rule.head.predicate, rule.head.arity)
        for name, atom in stated_predicates(self._graph).items():
            store.arities.setdefault(name, atom.arity)
            explicit = store.explicit.get(atom.predicate)
            if explicit is not None:
                store.add_derived(name, explicit)
                store.add_owned(name, name, explicit)

    def _jobs(self, node: HyperNode) -> list[NodeJob]:
        if not self.follows_changes:
            rules = {name: optimised_rule(self._graph.rules[name], self._without) for name in node.rules}
            graph = replace(self._graph, rules={**self._graph.rules, **rules})
            return [NodeJob.of(graph, node, discards_errors=self._discards_errors)]
        return [step.job for step in steps_of_node(self._graph, node, discards_errors=self._discards_errors)]

    def _keep(self, job: NodeJob, outcome: NodeOutcome) -> None:
        for predicate, frame in outcome.facts.items():
            self.store.add_derived(predicate, frame)
        if self.follows_changes:
            for predicate, frame in (outcome.counted if job.counts else outcome.facts).items():
                self.store.add_owned(predicate, owner_of(job), frame)

    # -- small hyper-nodes together ----------------------------------------------------------------------------------

    def _group(self, waiting: Sequence[NodeJob], stopped: dict[HyperNode, NodeOutcome]) -> list[NodeJob]:
        """Return the next hyper-nodes that can share one task; none if the next one does not fit into a task."""
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
                return self._with_terms(lambda: SingleTaskStrategy().run_together(group, self.store, self._context))

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
        """Return independent hyper-nodes that derive different predicates, including the next one."""
        chosen: list[NodeJob] = []
        heads: set[str] = set()
        undone = {job.hyper_node for job in waiting}
        before: set[HyperNode] = set()  # hyper-nodes with auxiliary steps still to run
        for job in waiting:
            sources = self._graph.hyper_edges.predecessors(job.hyper_node)
            waits = any(source in undone for source in sources) or job.hyper_node in before
            if not waits and not heads & set(job.heads):
                chosen.append(job)
                heads |= set(job.heads)
            before.add(job.hyper_node)
        return chosen[:_SIDE_BY_SIDE]

    def _side_by_side(self, jobs: Sequence[NodeJob], stopped: dict[HyperNode, NodeOutcome]) -> list[Done]:
        def run(job: NodeJob) -> Done:
            started = time.perf_counter()
            outcome, strategy, reason = self.run(job, self.store, stopped.get(job.node))
            return job, outcome, _report(job, outcome, strategy, reason, time.perf_counter() - started)

        return self._watched([lambda job=job: run(job) for job in jobs])  # type: ignore[misc]

    def run_all(self, jobs: Sequence[NodeJob], store: FrameStore) -> list[NodeOutcome]:
        """Run jobs in topological order, in one task as far as they fit."""
        store = store.copy()
        waiting, outcomes = list(jobs), []
        while waiting:
            group: list[NodeJob] = []
            for job in waiting:
                if not shares_a_task(job, relations_of([*group, job]), store, self._context):
                    break
                group.append(job)
            for job, outcome in self._run_group(group, waiting[0], store):
                for predicate, frame in outcome.facts.items():
                    store.add_derived(predicate, frame)
                waiting.remove(job)
                outcomes.append(outcome)
            self._context.check_store(store)
        return outcomes

    def _run_group(
        self, group: Sequence[NodeJob], first: NodeJob, store: FrameStore
    ) -> list[tuple[NodeJob, NodeOutcome]]:
        """Run jobs in one task, as many as it finishes; if it finishes none, run the first one by itself."""
        finished: list[tuple[NodeJob, NodeOutcome]] = []
        stopped = None
        if group:
            with self._failures(group):
                found = self._with_terms(lambda: SingleTaskStrategy().run_together(group, store, self._context))
            for job, outcome in zip(group, found, strict=False):
                if outcome.unfinished:
                    stopped = outcome
                    break
                finished.append((job, outcome))
        return finished or [(first, self.run(first, store, stopped)[0])]

    def run(self, job: NodeJob, store: FrameStore, before: NodeOutcome | None = None) -> tuple[NodeOutcome, str, str]:
        """Run one hyper-node by the strategies that fit, until one finishes; return its name and the reason."""
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
                # They append new constants in every round, so the constants of their rules must be known before.
                with self._rounds_lock:
                    self.know_constants([job])
                    return RoundsStrategy().run(job, store, self._context, before.facts if before else None)
            case "alternating":
                return run_by_turns(job, store, lambda turn, known: self.run(turn, known)[0])
            case _:
                strategies: dict[str, JobStrategy] = {
                    SINGLE_TASK: SingleTaskStrategy(),
                    DECOMPOSABLE: DecomposableStrategy(),
                    CLOSURE: ClosureStrategy(),
                }
                return self._with_terms(lambda: [strategies[strategy].run(job, store, self._context)])[0]

    def know_constants(self, jobs: Sequence[NodeJob]) -> None:
        """Append the constants of rules to the universe: a head may contain one that occurs in no fact."""
        rules = [rule for job in jobs for rule in job.rules]
        new = {constant for rule in rules for constant in constants_of(rule)} - self._known_constants
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
        """Repeat a computation until all constants that it made have different ids."""

        def stage() -> list[NodeOutcome]:
            outcomes = run()
            terms = [df for outcome in outcomes for df in outcome.terms]
            if terms:
                self._context.universe.append(reduce(lambda left, right: left.union(right), terms))
            return outcomes

        return settled(stage)

    def _failures(self, jobs: Sequence[NodeJob]) -> AbstractContextManager[None]:
        names = ", ".join(str(job.hyper_node) for job in jobs[:3]) + (" …" if len(jobs) > 3 else "")
        return derive_failures("the query" if names == "{}" else names, self._context.workspace.path)

    def _watched(self, functions: Sequence[Callable[[], T]]) -> list[T]:
        return run_watched(functions, self._context)


Done = tuple[NodeJob, NodeOutcome, SparkNodeReport]


def _report(job: NodeJob, outcome: NodeOutcome, strategy: str, reason: str, seconds: float) -> SparkNodeReport:
    new = sum(frame.rows or 0 for frame in outcome.facts.values())
    return SparkNodeReport(
        job.node, strategy, outcome.rounds, outcome.instances or 0, new, seconds, [], reason, outcome.detail
    )
