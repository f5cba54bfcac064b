"""The embedded engine: explicit facts in, visible facts and answers out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from corollary.analysis import HyperNode, RuleGraph, modules_of
from corollary.engines.embedded.evaluation import Evaluation, Report, Store
from corollary.engines.embedded.exactness import has_exact_constants
from corollary.engines.embedded.interrupts import noticing_interrupts
from corollary.engines.embedded.maintenance.anew import changed_explicit, compare
from corollary.engines.embedded.maintenance.closed_predicate import ClosedPredicate
from corollary.engines.embedded.maintenance.first import evaluate_auxiliary, evaluate_node
from corollary.engines.embedded.maintenance.journal import SupportChange, supports_of, supports_of_closure
from corollary.engines.embedded.maintenance.maintainer import Maintainer
from corollary.engines.embedded.maintenance.outcome import FactChange, Outcome
from corollary.engines.embedded.maintenance.queries import answer, can_answer
from corollary.engines.embedded.maintenance.rule_changes import orders_texts
from corollary.engines.embedded.maintenance.stated import add_stated
from corollary.engines.embedded.maintenance.strategies import Strategy, strategy_of
from corollary.engines.embedded.maintenance.transaction import EXPLICIT, facts_of
from corollary.engines.embedded.relation import Codes, Counts, Relation
from corollary.engines.embedded.report import NodeReport, RunReport
from corollary.engines.embedded.runner import Work
from corollary.engines.embedded.threads import CORES
from corollary.engines.embedded.universe import Universe
from corollary.planning import normalise, normalise_query
from corollary.planning.optimisers import optimised_rules
from corollary.planning.steps import RuleStep, Step, is_auxiliary
from corollary.program import Comparison, Query


class EmbeddedEngine:
    """Holds explicit facts; `materialise` makes the visible ones anew from them and the rules.

    A predicate without rules is visible as it is stored; the visible relation of the others starts from their explicit facts.
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
        self._explicit = Store()
        self._visible: Store | None = None
        self._maintainer: Maintainer | None = None
        self._strategy = strategy_of(strategy)
        if updates:
            # Where nothing changes there is nothing to yield, and its kernels need not be loaded.
            from corollary.engines.embedded.yield_index.strategy import with_index

            self._strategy = with_index(self._strategy, index, discards_errors=discards_errors)
        keeps_closures = self._strategy.follows_closures and "closures" not in without
        self._closed: dict[str, ClosedPredicate] | None = {} if keeps_closures else None
        self._is_restored = False
        self._is_exact = False  # no constant equals another one while rules run
        self._stream: Strategy | None = None
        self._is_streaming = False
        self.is_regrouping = False
        """Whether the transaction that runs changes no fact and no rule: only how changes are followed from now on."""
        self.report = RunReport()
        self.listener: Callable[[Outcome], object] = lambda outcome: None
        self.new_check: Callable[[], Callable[[int], None]] = lambda: lambda facts: None
        self.committing: Callable[[], None] | None = None
        """Called when a transaction is computed and nobody has seen it yet; when it raises, the transaction never was."""
        self.preparing: Callable[[], None] | None = None
        """Called once, before the first change; when it raises, nothing changes, and the next change calls it again."""
        self.next_stream: Strategy | None = None
        """How the change that comes is to be followed, where it is one of a stream."""

    @property
    def universe(self) -> Universe:
        return self._explicit.universe

    def replace_rules(self, graph: RuleGraph) -> None:
        """Other rules for the same explicit facts; what was derived is forgotten."""
        assert self._maintainer is None, "maintained rules change with `apply`"
        self._graph, self._visible = graph, None

    # -- explicit facts ----------------------------------------------------------------------------------------------

    def insert(self, predicate: str, rows: Codes) -> int:
        """Adds explicit facts, given as codes of this engine's universe; gives the number of new ones."""
        if self._is_maintained:
            outcome = self.apply(FactChange(insert={predicate: rows}), None, self.new_check())
            self.listener(outcome)
            return outcome.explicit_inserted
        inserted = self._explicit.relation(predicate, rows.shape[1]).insert(rows)
        if inserted:
            self._visible = None
        return inserted

    def apply(
        self, facts: FactChange, graph: RuleGraph | None = None, check: Callable[[int], None] = lambda facts: None
    ) -> Outcome:
        """Changes facts and rules together, or raises and leaves everything as it was."""
        if not self._is_maintained:
            return self._apply_anew(facts, graph or self._graph, check)
        if graph is not None or not self._waits_for_a_change(facts):
            self._turn()
        maintainer = self._follow()
        with noticing_interrupts() as check_interrupt:

            def check_all() -> None:
                check_interrupt()
                check(maintainer.fact_count)

            outcome = maintainer.apply(facts, graph, check_all)
        self._graph = graph or self._graph
        return outcome

    def _apply_anew(self, facts: FactChange, graph: RuleGraph, check: Callable[[int], None]) -> Outcome:
        started = time.perf_counter()
        outcome, visible = Outcome(), self._store
        before = self._explicit, self._graph, self._visible, self.report
        try:
            self._explicit, self._graph = changed_explicit(self._explicit, facts, outcome), graph
            self.materialise(check=check)
        except BaseException:
            self._explicit, self._graph, self._visible, self.report = before
            raise
        compare(visible, self._store, outcome)
        outcome.seconds = time.perf_counter() - started
        return outcome

    def strategy(self, node: HyperNode) -> str:
        """How a hyper-node follows changes as a rule, once everything was derived."""
        self.settle()
        return self._follow().strategy(str(node)) if self._is_maintained else "recompute"

    # -- visible facts -----------------------------------------------------------------------------------------------

    @property
    def is_materialised(self) -> bool:
        return self._visible is not None

    def materialise(
        self,
        *,
        check: Callable[[int], None] = lambda facts: None,
        finished: Callable[[NodeReport], None] = lambda report: None,
        at_round: Callable[[int], None] = lambda number: None,
    ) -> None:
        """Derives everything. `check` is told the number of facts now and then and may stop it by raising: nothing changes.

        Before that, `at_round` is told the round of the hyper-node at work.
        """
        with noticing_interrupts() as check_interrupt:

            def check_all(facts: int) -> None:
                check_interrupt()
                check(facts)

            self._visible, self.report = self._derive(check_all, finished, at_round)
        if self._updates:
            self._maintainer = self._new_maintainer(self._visible)

    def _new_maintainer(self, visible: Store) -> Maintainer:
        maintainer = Maintainer(
            visible,
            self._graph,
            self._closed,
            self._strategy,
            orders_texts=orders_texts(self._graph),
            discards_errors=self._discards_errors,
            cores=self._cores,
        )
        if self.committing is not None:
            committing = self.committing
            maintainer.committing = lambda outcome: committing()
        return maintainer

    def _derive(
        self, check: Callable[[int], None], finished: Callable[[NodeReport], None], at_round: Callable[[int], None]
    ) -> tuple[Store, RunReport]:
        store = self._visible_start()
        if self._closed:
            self._closed.clear()
        work = Work(discards_errors=self._discards_errors, cores=self._cores)

        def check_work() -> None:
            at_round(work.rounds)
            check(store.size)

        work.check = check_work
        without = self._without | {"closures"} if self._updates else self._without
        self._is_exact = not self._updates and has_exact_constants(self.universe, self._graph.rules.values())
        evaluation = Evaluation(store, work, orders_texts=orders_texts(self._graph), without=without)
        report = RunReport()
        for node in self._graph.hyper_nodes:
            started = time.perf_counter()
            before = store.size
            found = self._evaluate(evaluation, node)
            after = store.size
            check(after)
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
            finished(report.nodes[-1])
        return store, report

    def _evaluate(self, evaluation: Evaluation, node: HyperNode) -> Report:
        if self._updates:
            return evaluate_node(evaluation, self._graph, node, self._closed, self._strategy)
        wanted = optimised_rules((self._graph.rules[name] for name in node.rules), self._without, exact=self._is_exact)
        modules, recursive = modules_of(self._graph, node), self._graph.is_recursive(node)
        return evaluation.evaluate(list(map(normalise, wanted)), modules, recursive=recursive, owner=str(node))

    def _visible_start(self) -> Store:
        derived = {rule.head.predicate for rule in self._graph.rules.values()}
        store = Store(counted=self._updates)
        store.universe = self._explicit.universe
        for predicate, relation in self._explicit.relations.items():
            if predicate not in derived:
                store.relations[predicate] = relation
            else:
                owner = EXPLICIT if self._updates else None
                store.relation(predicate, relation.arity).append_distinct(relation.facts, owner)
        add_stated(store, self._graph)
        return store

    # -- streams -----------------------------------------------------------------------------------------------------

    def _waits_for_a_change(self, facts: FactChange) -> bool:
        """Whether something is to be done before the first change, which this is not: it states what is stated already."""
        if self.preparing is None and self.next_stream in (None, self._stream):
            return False
        if any(map(len, facts.delete.values())) or not facts.insert.keys() <= set(self.predicates):
            return False
        return all(self.first_missing(name, rows) is None for name, rows in facts.insert.items() if len(rows))

    def _turn(self) -> None:
        """What has to be done before a change: those of a stream are followed in its way, others in the engine's own."""
        if self.next_stream is not None:
            self.begin_stream(self.next_stream)
        self.prepare()
        self.settle()

    def begin_stream(self, strategy: Strategy) -> None:
        """From now on changes are followed in the way of a stream; one that is open goes on when its next update comes."""
        assert self._updates
        if self._stream is not strategy:
            if not self.is_materialised:
                self.materialise(check=self.new_check())
            self.prepare()
            self._follow_by(strategy)
        self._is_streaming = True

    def end_stream(self, strategy: Strategy) -> None:
        """A stream is over; what it has changed in the way of following changes is undone when the next change comes."""
        if self._stream is strategy:
            self._is_streaming = False

    def first_missing(self, predicate: str, rows: Codes) -> int | None:
        """The place of the first row that is no explicit fact; None where all are."""
        maintained = self._follow().transaction.supported(predicate, rows.shape[1])
        numbers = maintained.relation.locate(rows)
        is_there = (numbers >= 0) & (maintained.relation.support_of(EXPLICIT)[numbers] > 0)
        return None if is_there.all() else int(is_there.argmin())

    def settle(self) -> None:
        """Goes back to the engine's own strategy, once a stream is over."""
        if self._stream is not None and not self._is_streaming:
            self._follow_by(None)

    def _follow_by(self, stream: Strategy | None) -> None:
        """Changes are followed in the way of a stream, or in the engine's own; who keeps a journal hears of it meanwhile."""
        before, self._stream = self._stream, stream
        self.is_regrouping = True
        try:
            self._follow().follow_by(self.following, self._graph)
        except BaseException:
            self._stream = before
            raise
        finally:
            self.is_regrouping = False

    # -- stores ------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """A change is about to come."""
        if self.preparing is not None:
            self.preparing()
            self.preparing = None

    def restore(self, visible: Store) -> None:
        """Goes on from facts that were derived by these rules before, with the support of every owner.

        What following changes needs beside them is made when the first change comes.
        """
        assert self._updates
        assert visible.universe is self.universe
        self._visible = visible
        self._is_restored = True

    def derive_auxiliary(self, visible: Store) -> None:
        """Adds the facts of auxiliary predicates to relations that have all the others, with their support."""
        add_stated(visible, self._graph)
        work = Work(discards_errors=self._discards_errors, cores=self._cores)
        evaluation = Evaluation(visible, work, orders_texts=orders_texts(self._graph), without=self._without)
        for step in self._strategy.steps(self._graph):
            if is_auxiliary(step.owner):
                evaluate_auxiliary(evaluation, step)

    def counts(self, owner: str) -> bool:
        """Whether an owner knows how often it derives a fact; explicit facts count as one."""
        step = next((step for step in self.steps(self._graph) if step.owner == owner), None)
        return self.following.counts_recursion or not (isinstance(step, RuleStep) and step.recursive)

    @property
    def _is_maintained(self) -> bool:
        """Whether changes are followed from here on."""
        return self._maintainer is not None or self._is_restored

    def _follow(self) -> Maintainer:
        """What follows changes; made now where the facts come from a store."""
        if self._maintainer is None:
            self._maintainer = self._new_maintainer(self._store)
            if self._closed is not None:
                self._maintainer.enclose()
        return self._maintainer

    def counting(self) -> EmbeddedEngine:
        """An engine with the same facts and rules that knows the support of every fact: this one, or one made now."""
        if self._updates:
            assert self.is_materialised
            return self
        engine = EmbeddedEngine(self._graph, without=self._without, discards_errors=self._discards_errors, updates=True)
        engine._explicit = self._explicit
        engine.materialise(check=self.new_check())
        return engine

    @property
    def form_of_support(self) -> tuple[bool, bool]:
        """What support means depends on these: whether recursive rules count, and whether closures are kept."""
        return self.following.counts_recursion, self._closed is not None

    @property
    def following(self) -> Strategy:
        """How changes are followed; another object means another way."""
        return self._stream or self._strategy

    def steps(self, graph: RuleGraph) -> dict[Step, str]:
        """The steps of rules, whose owners have the facts that they derive, each with the name of its hyper-node."""
        return self.following.steps(graph)

    @property
    def predicates(self) -> list[str]:
        """Those that have a relation, with the auxiliary ones."""
        return list(self._store.relations)

    def set_committing(self, committing: Callable[[], None] | None) -> None:
        """Who is asked before a transaction happens."""
        self.committing = committing
        self.forget_carried()
        if self._maintainer is not None:
            self._maintainer.committing = (lambda outcome: committing()) if committing is not None else None

    def forget_carried(self) -> None:
        """Called when all support was written as it is now: changes in how it is kept are part of that."""
        if self._maintainer is not None:
            self._maintainer.forget_carried()

    @property
    def commits(self) -> int:
        """How many transactions have happened."""
        return self._follow().commits

    def support_changes(self) -> list[SupportChange]:
        """What the transaction that runs changes in the support of facts."""
        return self._follow().support_changes()

    def supports(self) -> Iterator[tuple[str, str, Codes, Counts]]:
        """Predicate, owner, facts and how often the owner derives each: everything that a store keeps."""
        for predicate, relation in self._store.relations.items():
            maintained = self._maintainer.relation(predicate) if self._maintainer else None
            closed = (self._closed or {}).get(predicate)
            if closed is not None and self._maintainer is not None:
                yield from supports_of_closure(closed, self._maintainer.closing_owner(predicate))
            elif relation.size:
                yield from supports_of(predicate, relation, maintained)

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def stated(self) -> set[str]:
        """The predicates that have explicit facts, as long as nothing was derived."""
        return {predicate for predicate, relation in self._explicit.relations.items() if relation.size}

    def derived_by(
        self, graph: RuleGraph, predicates: Iterable[str], given: Mapping[str, Codes], check: Callable[[int], None]
    ) -> dict[str, Codes]:
        """The facts of predicates that these rules derive from the explicit facts and from those given.

        What is visible here stays as it is.
        """
        engine = EmbeddedEngine(graph, without=self._without, discards_errors=self._discards_errors)
        engine._explicit = self._explicit
        if given:
            engine._explicit = changed_explicit(self._explicit, FactChange(insert=dict(given)), Outcome())
        engine.materialise(check=check)
        found = {predicate: engine.facts(predicate) for predicate in predicates}
        return {predicate: rows for predicate, rows in found.items() if rows is not None}

    @property
    def _store(self) -> Store:
        """What is visible; derived first where that did not happen yet."""
        if self._visible is None:
            self.materialise()
        assert self._visible is not None
        return self._visible

    def visible(self, predicate: str) -> Relation | None:
        """The relation of a predicate, as far as it was ever derived; see `facts` for what is visible of it."""
        return self._store.relations.get(predicate)

    def facts(self, predicate: str) -> Codes | None:
        """The visible facts as rows of codes; None where the predicate is unknown."""
        relation = self.visible(predicate)
        if relation is None:
            return None
        maintained = self._maintainer.relation(predicate) if self._maintainer else None
        if maintained is not None:
            return maintained.facts()
        return relation.facts if relation.arity else np.empty((relation.size, 0), np.uint32)

    def count(self, predicate: str) -> int:
        relation = self.visible(predicate)
        maintained = self._maintainer.relation(predicate) if self._maintainer else None
        if maintained is not None:
            return maintained.visible_count
        return relation.size if relation is not None else 0

    def support(self, predicate: str) -> Relation | None:
        """The relation that carries support: the visible one, or for a closed predicate what the closure started from."""
        visible = self._store.relations.get(predicate)
        closed = (self._closed or {}).get(predicate)
        return closed.external.relation if closed is not None else visible

    def owners(self, predicate: str) -> dict[str, int]:
        """How many visible facts of a predicate each owner supports: explicit facts, and hyper-nodes by their rules.

        A hyper-node that closes the predicate supports everything that is visible. Only with `updates` is this known.
        """
        self.settle()
        relation = self.support(predicate)
        if relation is None:
            return {}
        if not relation.owners:
            return {EXPLICIT: relation.size} if relation.size else {}
        counts = {owner: relation.support_of(owner)[: max(1, relation.size)] for owner in relation.owners}
        found = {owner: int((supports > 0).sum()) for owner, supports in counts.items()}
        return {owner: count for owner, count in found.items() if count}

    def answers(self, query: Query) -> Codes:
        """The distinct answers of a query as codes, one column for each of its variables."""
        rule = normalise_query(query)
        if self._maintainer is not None and self._maintainer.has_hidden_rows(query):
            if can_answer(rule):
                return facts_of(answer(rule, self._maintainer.transaction))
            self._maintainer.compact(query)
        orders = any(isinstance(element, Comparison) for element in query.body)
        evaluation = Evaluation(self._store, Work(cores=self._cores), orders_texts=orders, without=self._without)
        return facts_of(evaluation.answers(rule))
