"""The embedded engine: explicit facts in, visible facts and answers out."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import event

from corollary.analysis import HyperNode, RuleGraph, modules_of
from corollary.analysis.lowering import external_predicate
from corollary.engines.base import EXPLICIT, ChangeJournal
from corollary.engines.embedded.evaluation import Evaluation, FactCount, Plans, RelationStore, Report
from corollary.engines.embedded.kernels.runner import CORES, Work
from corollary.engines.embedded.maintenance.changing_facts import EmbeddedChangingFacts, FactChange
from corollary.engines.embedded.maintenance.closed_predicate import ClosedPredicate, closing_steps
from corollary.engines.embedded.maintenance.from_scratch import (
    Compared,
    VisibleFacts,
    add_explicit_predicates,
    changed_explicit,
    compare,
    evaluate_auxiliary,
    evaluate_node,
    explicit_after,
    tell,
)
from corollary.engines.embedded.maintenance.journal import (
    ChangedSupport,
    SupportChange,
    SupportOfOwner,
    changes_between,
    is_large_change,
    supports_of,
)
from corollary.engines.embedded.relations.relation import Codes, Relation, facts_of
from corollary.engines.embedded.report import NodeReport, RunReport
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.planning import normalise, normalise_query
from corollary.planning.optimisers import SUBSUMED, make_only_exact, optimised_rules
from corollary.planning.steps import Step, is_auxiliary
from corollary.program import Comparison, Query, Rule
from corollary.reasoning.maintain.chooser import Strategy, by_instances, is_large
from corollary.reasoning.maintain.from_scratch import change_from_scratch
from corollary.reasoning.maintain.report import Outcome, StepReport
from corollary.reasoning.maintain.step_rules import ATOMS_TO_INDEX, StepForms, steps_in_order
from corollary.reasoning.maintain.transaction import Maintainer
from corollary.reasoning.run import Run, leave_out

if TYPE_CHECKING:
    from corollary.engines.embedded.yield_index.strategy import YieldStrategy
    from corollary.reasoning.maintain.step_rules import StepForms

# -- compile time ------------------------------------------------------------------------------------------------------

# The time in which kernels are compiled, or loaded from the cache, which counts for no limit of an operation.


class _CompileTime(event.Listener):
    """The time for which the compiler's lock is held; the lock is reentrant."""

    def __init__(self) -> None:
        self._held = threading.local()

    def on_start(self, event: Any) -> None:
        depth = getattr(self._held, "depth", 0)
        if not depth:
            self._held.started = time.monotonic()
        self._held.depth = depth + 1

    def on_end(self, event: Any) -> None:
        self._held.depth -= 1
        if not self._held.depth:
            leave_out(time.monotonic() - self._held.started)


event.register("numba:compiler_lock", _CompileTime())  # type: ignore[no-untyped-call]


# -- engine ------------------------------------------------------------------------------------------------------------

_SMALL_PART = 32  # one in this many is a small part


@dataclass(frozen=True)
class _Derived:
    """Everything that deriving replaces; `facts` are the visible ones if changes are maintained."""

    explicit: RelationStore
    graph: RuleGraph
    visible: RelationStore
    report: RunReport
    closed: dict[str, ClosedPredicate] | None
    maintainer: Maintainer[EmbeddedChangingFacts] | None
    facts: dict[str, VisibleFacts]


class EmbeddedEngine:
    """Holds explicit facts; `materialise` derives the visible ones from nothing.

    A predicate without rules is visible as it is stored; the visible relation of other predicates starts with their
    explicit facts.
    """

    def __init__(
        self,
        graph: RuleGraph,
        *,
        without: frozenset[str] = frozenset(),
        discards_errors: bool = True,
        updates: bool = False,
        strategy: str = "auto",
        index: str | Mapping[str, str] = "hash",
    ) -> None:
        self._graph = graph
        self._discards_errors = discards_errors
        self._updates = updates
        self._without = without
        self._cores = 1 if "threads" in without else CORES
        self._explicit = RelationStore()
        self._visible: RelationStore | None = None
        self._maintainer: Maintainer[EmbeddedChangingFacts] | None = None
        self._strategy = self._plain_strategy = by_instances(strategy)
        self._index = index if updates else "hash"
        self._indexing: YieldStrategy | None = None
        self.keeps_closures = self._strategy.follows_closures and "closures" not in without
        self._closed: dict[str, ClosedPredicate] | None = {} if self.keeps_closures else None
        self._plans: Plans = {}  # of the last materialisation with these rules
        self._is_restored = False
        self._is_exact = False  # no constant equals another one while rules run
        self._stream: Strategy | None = None
        self._is_streaming = False
        self._keeps_journal = False
        self._compared: list[weakref.ref[Compared]] = []  # what the last change from scratch has told of these facts
        self.report = RunReport()

    @property
    def universe(self) -> Universe:
        return self._explicit.universe

    def replace_rules(self, graph: RuleGraph) -> None:
        """Replace the rules, keep the explicit facts, and drop the derived facts."""
        assert self._maintainer is None, "maintained rules change with `apply`"
        self._graph, self._visible = graph, None
        self._plans = {}

    # -- explicit facts ----------------------------------------------------------------------------------------------

    def insert(self, predicate: str, rows: Codes, run: Run | None = None) -> int:
        """Add explicit facts, given as codes of this engine's universe; return the number of new ones."""
        if self.is_materialised:
            return self.apply(FactChange(insert={predicate: rows}), None, run).explicit_inserted
        return self.add_explicit({predicate: rows}, run or Run())

    def add_explicit(self, facts: dict[str, Codes], run: Run) -> int:
        """Add explicit facts before anything has been derived, all or none; return the number of new ones."""
        assert not self.is_materialised
        if run.counts_facts:
            known = ((self._explicit.relations.get(name), rows) for name, rows in facts.items())
            new = sum(len(rows) if one is None else int((~one.contains(rows)).sum()) for one, rows in known)
            run.check(self._explicit.size + new)
        run.check()
        sizes = {name: relation.size for name, relation in self._explicit.relations.items()}
        try:
            return sum(self._explicit.relation(name, rows.shape[1]).insert(rows) for name, rows in facts.items())
        except BaseException:  # memory may be used up
            for name in facts.keys() & self._explicit.relations.keys():
                relation = self._explicit.relations[name]
                if name not in sizes:
                    del self._explicit.relations[name]
                elif relation.arity:
                    relation.keep(np.arange(relation.size) < sizes[name])
            raise

    def can_delete_explicit(self, facts: dict[str, Codes]) -> bool:
        """Return whether these facts are a large part of their relations, which `delete_explicit` copies, or these are a small
        part of all facts."""
        known = sum(relation.size for name, relation in self._explicit.relations.items() if name in facts)
        return known <= _SMALL_PART * sum(map(len, facts.values())) or _SMALL_PART * known <= self._explicit.size

    def delete_explicit(self, facts: dict[str, Codes], run: Run) -> int:
        """Delete explicit facts before anything has been derived; return the number of those that there were."""
        assert not self.is_materialised
        outcome = Outcome()
        after = changed_explicit(self._explicit, FactChange(facts), outcome)
        run.check()
        self._explicit = after
        return outcome.explicit_deleted

    def apply(
        self,
        facts: FactChange,
        graph: RuleGraph | None = None,
        run: Run | None = None,
        journal: ChangeJournal | None = None,
        stream: Strategy | None = None,
    ) -> Outcome:
        """Change facts and rules together, or raise and leave everything unchanged.

        A journal gets the changes of support, as a function that returns them. A change of a stream is followed by the
        stream's strategy.
        """
        assert self.is_materialised
        run = run or Run()
        if not self._is_maintained:
            return change_from_scratch(self, facts, graph or self._graph, run, lambda outcome: None)
        self._freeze()
        if graph is not None or not self._waits_for_a_change(facts, journal, stream):
            self._turn(run, journal, stream)
        if graph is None and self._should_rederive(facts):
            return self._apply_from_scratch(facts, run, journal)
        maintainer = self._follow()

        def commit(outcome: Outcome) -> None:
            run.seal()
            if journal is not None:
                journal.commit(maintainer.facts.changed_support(outcome))

        outcome = maintainer.apply(facts, graph, run, commit, self.following)
        if graph is not None:
            self._graph, self._plans = graph, {}
            self._strategy = self._strategy_for(maintainer.steps)
        return outcome

    def _freeze(self) -> None:
        """Let results of the last change keep what they need of facts that are about to change."""
        for compared in (known() for known in self._compared):
            if compared is not None:
                compared.freeze()
        self._compared = []

    def _strategy_for(self, steps: Sequence[StepForms]) -> Strategy:
        """Return the strategy outside of streams, wrapped in the Yield index if a rule may use it."""
        if self._index == "hash" or (self._index == "auto" and all(step.most_atoms < ATOMS_TO_INDEX for step in steps)):
            return self._plain_strategy
        # Without changes there is nothing to yield, and the kernels of the index need not be loaded.
        from corollary.engines.embedded.yield_index.strategy import YieldStrategy

        if self._indexing is None:
            self._indexing = YieldStrategy(self._plain_strategy, self._index, discards_errors=self._discards_errors)
        return self._indexing if any(map(self._indexing.may_use_index, steps)) else self._plain_strategy

    def _should_rederive(self, facts: FactChange) -> bool:
        """Return whether deriving everything again is the cheapest way to follow a change."""
        if self.following.name != "auto":
            return False
        deleted, inserted = ({name: len(rows) for name, rows in side.items()} for side in (facts.delete, facts.insert))
        return is_large(deleted, inserted, self._graph, self._explicit_count, self._largest_closure, self._costs)

    def _largest_closure(self) -> int:
        return max((closed.closure.count for closed in (self._closed or {}).values()), default=0)

    def _explicit_count(self) -> int:
        heads = {rule.head.predicate for rule in self._graph.rules.values()}
        return sum(self.count(name) for name in self.predicates if name not in heads)

    def _costs(self) -> dict[HyperNode, int]:
        """Return the cost of deriving each hyper-node; a recursive one costs at least the number of facts of its heads.

        Costs are no seconds: on a busy machine a node of ten facts would be most of it. What was derived last may be from
        before many changes, the facts are from now.
        """
        found = {node.node: node.instances + node.new_facts for node in self.report.nodes}
        for node in filter(self._graph.is_recursive, self._graph.hyper_nodes):
            heads = {self._graph.rules[name].head.predicate for name in node.rules}
            found[node] = max(found.get(node, 0), sum(map(self.count, heads)))
        return found

    def _apply_from_scratch(self, facts: FactChange, run: Run, journal: ChangeJournal | None) -> Outcome:
        maintainer = self._follow()

        def changes() -> list[SupportChange]:
            return [*maintainer.facts.carried, *changes_between(maintainer.facts.state.supports(), self.supports())]

        def commit(outcome: Outcome) -> None:
            assert self._maintainer is not None
            self._maintainer.commits = maintainer.commits
            run.seal()
            if journal is not None:
                changed = sum(one.count for side in (outcome.deleted, outcome.inserted) for one in side.values())
                is_large = is_large_change(changed, sum(map(self.count, self.predicates)))
                journal.commit(ChangedSupport(is_large, changes, self.supports, outcome))
            self._maintainer.commits += 1

        try:
            outcome = change_from_scratch(self, facts, self._graph, run, commit)
        finally:
            self._strategy.forget()
        outcome.steps = [
            StepReport(str(node.node), "recompute", "most of everything changed", node.rounds, node.instances)
            for node in self.report.nodes
        ]
        return outcome

    # -- deriving everything again (`engines.base.DerivedFacts`) -------------------------------------------------

    def derived(self) -> _Derived:
        store = self._store
        facts = self._visible_facts() if self._updates else {}
        return _Derived(self._explicit, self._graph, store, self.report, self._closed, self._maintainer, facts)

    def _visible_facts(self) -> dict[str, VisibleFacts]:
        known = self._follow().facts
        return {
            name: VisibleFacts(relation, known.relation(name))
            for name, relation in self._store.relations.items()
            if not is_auxiliary(name)
        }

    def derive_after(self, change: FactChange, graph: RuleGraph, run: Run, outcome: Outcome) -> None:
        if self._updates:
            self._explicit = explicit_after(change, self.predicates, self.support, self._explicit, outcome)
        else:
            self._explicit = changed_explicit(self._explicit, change, outcome)
        self._graph = graph
        self.materialise(run)

    def compare(self, before: _Derived, change: FactChange, outcome: Outcome) -> None:
        if self._updates:
            found = tell(change, self._graph, before.facts, self._visible_facts(), outcome)
            self._compared = [weakref.ref(one) for one in found]
        else:
            compare(before.visible, self._store, outcome)

    def put_back(self, before: _Derived) -> None:
        self._explicit, self._graph, self._visible = before.explicit, before.graph, before.visible
        self.report, self._closed, self._maintainer = before.report, before.closed, before.maintainer

    def strategy(self, node: HyperNode) -> str:
        """Return how a hyper-node usually follows changes, after everything has been derived."""
        self.settle(Run())
        return self._follow().usual_way(str(node)) if self._is_maintained else "recompute"

    # -- visible facts -----------------------------------------------------------------------------------------------

    @property
    def is_materialised(self) -> bool:
        return self._visible is not None

    def materialise(self, run: Run | None = None, given: FactChange | None = None) -> None:
        """Derive everything, from the given explicit facts as well; if the run is stopped, nothing has changed."""
        closed: dict[str, ClosedPredicate] | None = {} if self._closed is not None else None
        before = self._explicit
        try:
            if given is not None:
                self._explicit = changed_explicit(self._explicit, given, Outcome())
            visible, report = self._derive(closed, run or Run())
            maintainer = self._new_maintainer(visible, closed) if self._updates else None
        except BaseException:
            self._explicit = before
            raise
        self._visible, self.report, self._closed, self._maintainer = visible, report, closed, maintainer

    def _new_maintainer(
        self, visible: RelationStore, closed: dict[str, ClosedPredicate] | None
    ) -> Maintainer[EmbeddedChangingFacts]:
        facts = EmbeddedChangingFacts(
            visible,
            closed,
            self._strategy,
            discards_errors=self._discards_errors,
            cores=self._cores,
            keeps_journal=self._keeps_journal,
        )
        maintainer = Maintainer(facts, self._graph, self._strategy)
        self._strategy = self._strategy_for(maintainer.steps)
        return maintainer

    def _derive(self, closed: dict[str, ClosedPredicate] | None, run: Run) -> tuple[RelationStore, RunReport]:
        store = self._visible_start()
        count = FactCount(store)
        work = Work(discards_errors=self._discards_errors, cores=self._cores, run=run, facts=count)
        work.check()
        without = self._without | {"closures"} if self._updates else self._without
        self._is_exact = not self._updates and has_exact_constants(self.universe, self._graph.rules.values())
        evaluation = Evaluation(store, work, without=without, known=self._plans)
        report = RunReport()
        for node in self._graph.hyper_nodes:
            started = time.perf_counter()
            before = count.begin(self._graph.rules[name].head.predicate for name in node.rules)
            found = self._evaluate(evaluation, node, closed)
            after = count.end()
            run.check(after)
            seconds = time.perf_counter() - started
            report.nodes.append(
                NodeReport(
                    node,
                    found.strategy,
                    found.rounds,
                    found.instances,
                    after - before,
                    seconds,
                    list(found.plans.values()),
                )
            )
            run.finished(report.nodes[-1])
        if self._updates:  # maintenance may derive everything again
            self._plans = evaluation.plans
        return store, report

    def _evaluate(self, evaluation: Evaluation, node: HyperNode, closed: dict[str, ClosedPredicate] | None) -> Report:
        if self._updates:
            return evaluate_node(evaluation, self._graph, node, closed, self._strategy)
        # Even a rule that derives nothing new may have an instance whose error stops everything.
        without = self._without if self._discards_errors else self._without | {SUBSUMED}
        wanted = optimised_rules((self._graph.rules[name] for name in node.rules), without, exact=self._is_exact)
        modules, recursive = modules_of(self._graph, node), self._graph.is_recursive(node)
        return evaluation.evaluate(list(map(normalise, wanted)), modules, recursive=recursive, owner=str(node))

    def _visible_start(self) -> RelationStore:
        derived = {rule.head.predicate for rule in self._graph.rules.values()}
        store = RelationStore(counted=self._updates)
        store.universe = self._explicit.universe
        for predicate, relation in self._explicit.relations.items():
            if predicate not in derived:
                store.relations[predicate] = relation
            else:
                owner = EXPLICIT if self._updates else None
                store.relation(predicate, relation.arity).append_distinct(relation.facts, owner)
        add_explicit_predicates(store, self._graph)
        return store

    @property
    def closed_predicates(self) -> list[str]:
        """The predicates that hyper-nodes close, whether they are kept as closures or not."""
        return [predicate for _, predicate in closing_steps(steps_in_order(self._graph))]

    # -- streams -----------------------------------------------------------------------------------------------------

    def _waits_for_a_change(self, facts: FactChange, journal: ChangeJournal | None, stream: Strategy | None) -> bool:
        """Return whether preparation can wait for a later change, because all explicit facts of this one exist already."""
        if (journal is None or journal.is_ready) and stream in (None, self._stream):
            return False
        if any(map(len, facts.delete.values())) or not facts.insert.keys() <= set(self.predicates):
            return False
        return all(self.first_missing(name, rows) is None for name, rows in facts.insert.items() if len(rows))

    def _turn(self, run: Run, journal: ChangeJournal | None, stream: Strategy | None) -> None:
        """Prepare for a change: switch to the strategy of its stream, or back to the engine's own."""
        if journal is not None:
            journal.prepare(run)
        if stream is not None:
            self.begin_stream(stream, run)
        self.settle(run)

    def begin_stream(self, strategy: Strategy, run: Run) -> None:
        """Follow changes with the strategy of a stream; one that is already open continues with its next update."""
        assert self._updates
        if self._stream is not strategy:
            if not self.is_materialised:
                self.materialise(run)
            self._follow_by(strategy, run)
        self._is_streaming = True

    def end_stream(self, strategy: Strategy) -> None:
        """End a stream; the engine's own strategy takes over with the next change."""
        if self._stream is strategy:
            self._is_streaming = False

    def first_missing(self, predicate: str, rows: Codes) -> int | None:
        """Return the position of the first row that is not an explicit fact; None if all are."""
        maintained = self._follow().facts.state.supported(predicate, rows.shape[1])
        numbers = maintained.relation.locate(rows)
        is_there = (numbers >= 0) & (maintained.relation.support_of(EXPLICIT)[numbers] > 0)
        return None if is_there.all() else int(is_there.argmin())

    def settle(self, run: Run) -> None:
        """Return to the engine's own strategy after a stream has ended."""
        if self._stream is not None and not self._is_streaming:
            self._follow_by(None, run)

    def _follow_by(self, stream: Strategy | None, run: Run) -> None:
        """Follow changes with the strategy of a stream, or with the engine's own; a journal records the switch with the
        next change."""
        before, self._stream = self._stream, stream
        maintainer = self._follow()
        facts = maintainer.facts
        self.following.forget()  # it may not know the changes that another strategy has followed
        try:
            maintainer.apply(FactChange(), self._graph, run, lambda outcome: facts.carry(), self.following)
        except BaseException:
            self._stream = before
            raise

    # -- stores ------------------------------------------------------------------------------------------------------

    def restore(self, visible: RelationStore) -> None:
        """Continue from facts that these rules derived before, with the support of every owner.

        Other data that maintenance needs is made at the first change.
        """
        assert self._updates
        assert visible.universe is self.universe
        self._visible = visible
        self._is_restored = True

    def derive_auxiliary(self, visible: RelationStore, run: Run) -> None:
        """Add the facts of auxiliary predicates, with their support, to relations that have all others."""
        add_explicit_predicates(visible, self._graph)
        work = Work(discards_errors=self._discards_errors, cores=self._cores, run=run, facts=lambda: visible.size)
        evaluation = Evaluation(visible, work, without=self._without)
        for step in self._strategy.steps(self._graph):
            if is_auxiliary(step.owner):
                evaluate_auxiliary(evaluation, step)

    def counts(self, owner: str) -> bool:
        """Return whether an owner counts its derivations of a fact; explicit facts count as one."""
        step = next((step for step in self.steps(self._graph) if step.owner == owner), None)
        return step is None or self.following.counts_instances(step)

    @property
    def _is_maintained(self) -> bool:
        """Whether changes are currently followed."""
        return self._maintainer is not None or self._is_restored

    def _follow(self) -> Maintainer[EmbeddedChangingFacts]:
        """Return the maintainer, made now if the facts come from a store."""
        if self._maintainer is None:
            self._maintainer = self._new_maintainer(self._store, self._closed)
            if self._closed is not None:
                self._maintainer.facts.keep_closures(self._maintainer.steps)
        return self._maintainer

    def counting(self, run: Run) -> EmbeddedEngine:
        """Return an engine with the same facts and rules that knows the support of every fact: this one, or a new one."""
        if self._updates:
            assert self.is_materialised
            return self
        engine = EmbeddedEngine(self._graph, without=self._without, discards_errors=self._discards_errors, updates=True)
        engine._explicit = self._explicit
        engine.materialise(run)
        return engine

    @property
    def form_of_support(self) -> tuple[bool, bool]:
        """Whether recursive rules count and whether closures have their own form: the meaning of support depends on both."""
        return self.following.counts_recursion, self._closed is not None

    @property
    def following(self) -> Strategy:
        """The strategy for following changes; another object means another strategy."""
        return self._stream or self._strategy

    def steps(self, graph: RuleGraph) -> dict[Step, str]:
        """Return the steps of rules, which own the facts that they derive, each with the name of its hyper-node."""
        return self.following.steps(graph)

    @property
    def predicates(self) -> list[str]:
        """All predicates with a relation, including auxiliary ones."""
        return list(self._store.relations)

    @property
    def arities(self) -> dict[str, int]:
        """Their numbers of arguments."""
        return {name: relation.arity for name, relation in self._store.relations.items()}

    def keep_journal(self) -> None:
        """Expect a journal with every change from now on; it already has all support of before."""
        self._keeps_journal = True
        self.forget_carried()
        if self._maintainer is not None:
            self._maintainer.facts.keeps_journal = True

    def forget_carried(self) -> None:
        """Drop recorded changes of how support is stored, after all support was written in its current form."""
        if self._maintainer is not None:
            self._maintainer.facts.carried.clear()

    @property
    def commits(self) -> int:
        """How many transactions have happened."""
        return self._follow().commits

    def supports(self) -> Iterator[SupportOfOwner]:
        """Yield predicate, owner, facts and how often the owner derives each: everything that a store needs."""
        if self._maintainer is not None:
            yield from self._maintainer.facts.state.supports()
            return
        for predicate, relation in self._store.relations.items():
            yield from supports_of(predicate, relation, None)

    # -- reading -----------------------------------------------------------------------------------------------------

    def uses_yield_index(self, rule: str) -> bool:
        """Return whether changes of a rule are followed with the Yield index at present."""
        return self._indexing is not None and self.following is self._indexing and self._indexing.uses_index(rule)

    @property
    def explicit_predicates(self) -> set[str]:
        """The predicates with explicit facts, while nothing has been derived."""
        return {predicate for predicate, relation in self._explicit.relations.items() if relation.size}

    def derived_by(
        self, graph: RuleGraph, predicates: Iterable[str], given: Mapping[str, Codes], run: Run
    ) -> dict[str, Codes]:
        """Return the facts of predicates that these rules derive from the explicit facts and the given ones.

        The visible facts of this engine do not change.
        """
        engine = EmbeddedEngine(graph, without=self._without, discards_errors=self._discards_errors)
        engine._explicit = self._explicit
        if given:
            engine._explicit = changed_explicit(self._explicit, FactChange(insert=dict(given)), Outcome())
        engine.materialise(run)
        found = {predicate: engine.facts(predicate) for predicate in predicates}
        return {predicate: rows for predicate, rows in found.items() if rows is not None}

    @property
    def _store(self) -> RelationStore:
        """The visible facts, derived now if that has not happened yet."""
        if self._visible is None:
            self.materialise()
        assert self._visible is not None
        return self._visible

    def visible(self, predicate: str) -> Relation | None:
        """Return the relation of a predicate if it was ever derived; see `facts` for its visible facts."""
        return self._store.relations.get(predicate)

    def facts(self, predicate: str) -> Codes | None:
        """Return the visible facts as rows of codes; None if the predicate is unknown."""
        relation = self.visible(predicate)
        if relation is None:
            return None
        maintained = self._maintainer.facts.relation(predicate) if self._maintainer else None
        if maintained is not None:
            return maintained.facts()
        return relation.facts if relation.arity else np.empty((relation.size, 0), np.uint32)

    def count(self, predicate: str) -> int:
        relation = self.visible(predicate)
        maintained = self._maintainer.facts.relation(predicate) if self._maintainer else None
        if maintained is not None:
            return maintained.visible_count
        return relation.size if relation is not None else 0

    def support(self, predicate: str) -> Relation | None:
        """Return the relation with support: the visible one, or for a closed predicate the one that the closure started
        from."""
        visible = self._store.relations.get(predicate)
        closed = (self._closed or {}).get(predicate)
        return closed.external.relation if closed is not None else visible

    def owners(self, predicates: Iterable[str], run: Run | None = None) -> dict[str, dict[str, int]]:
        """Return, for each predicate, how many of its visible facts each owner supports: explicit facts, and
        hyper-nodes.

        A hyper-node that closes a predicate supports the pairs that no other owner supports, like other recursive ones.
        Without `updates`, support is not recorded, so everything is derived again.
        """
        run = run or Run()
        engine = self.counting(run)
        engine.settle(run)
        return {predicate: engine._owners(predicate) for predicate in predicates}

    def _owners(self, predicate: str) -> dict[str, int]:
        relation = self.support(predicate)
        if relation is None:
            return {}
        if not relation.owners:
            return {EXPLICIT: relation.size} if relation.size else {}
        counts = {owner: relation.support_of(owner)[: max(1, relation.size)] for owner in relation.owners}
        found = {owner: int((supports > 0).sum()) for owner, supports in counts.items()}
        closed = (self._closed or {}).get(predicate)
        if closed is not None:
            found[closed.owner] = closed.closure.count - closed.external.visible_count
        start = external_predicate(predicate)
        external = self._store.relations.get(start)
        if external is not None and external.owners:
            found = _owners_around(found, relation, external, start)
        return {owner: count for owner, count in found.items() if count}

    def answers(self, query: Query, run: Run | None = None) -> Codes:
        """Return the distinct answers to a query as codes, one column for each of its variables."""
        if self._maintainer is not None:
            found = self._maintainer.facts.answers(query, run or Run())
            if found is not None:
                return found
        work = Work(cores=self._cores, run=run or Run())
        evaluation = Evaluation(self._store, work, without=self._without)
        return facts_of(evaluation.answers(normalise_query(query)))


def _owners_around(found: dict[str, int], relation: Relation, external: Relation, start: str) -> dict[str, int]:
    """Return the numbers of facts by owner if a closure among other rules starts from external facts (`start` owns
    explicit ones).

    Other hyper-nodes derive facts of the closed predicate as external ones. Copies of these, and of explicit facts, do
    not count as derived by the hyper-node of the closure.
    """
    supports = {owner: external.support_of(owner)[: external.size] > 0 for owner in external.owners}
    counts = {owner: count for owner, count in found.items() if owner == EXPLICIT}
    counts |= {owner: int(has.sum()) for owner, has in supports.items() if owner != start and owner not in found}
    is_there = np.logical_or.reduce(list(supports.values()))
    numbers = relation.locate(external.facts)
    for owner, count in found.items():
        if owner != EXPLICIT:
            is_copy = is_there & (numbers >= 0) & (relation.support_of(owner)[numbers] == 1)
            is_own = supports.get(owner, np.zeros(external.size, np.bool_))
            counts[owner] = count - int((is_copy & ~is_own).sum())
    return counts


_EXACT = (Kind.INTEGER, Kind.LARGE_INTEGER, Kind.DECIMAL, Kind.STRING, Kind.IRI, Kind.BOOLEAN)


def has_exact_constants(universe: Universe, rules: Collection[Rule]) -> bool:
    """Return whether no constant equals another one while these rules run; False if no rule depends on that."""
    if not any(isinstance(one, Comparison) and one.operator == "=" for rule in rules for one in rule.body):
        return False
    counts = np.bincount(universe.kinds[: universe.size], minlength=len(Kind))
    return int(counts.sum()) == sum(int(counts[kind]) for kind in _EXACT) and make_only_exact(rules)
