"""The facts of the embedded engine while transactions change them: what reasoning asks of an engine, over relations of codes.

Steps run in order, one by one. A hyper-node that is nothing but a closure keeps its predicate as one (`closed_predicate`).
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from traceback import clear_frames
from typing import Any

import numpy as np

from corollary.analysis import RuleGraph
from corollary.engines.base import EXPLICIT, Signed, TryAgain
from corollary.engines.embedded.evaluation import Evaluation, RelationStore
from corollary.engines.embedded.kernels.runner import Work
from corollary.engines.embedded.maintenance.closed_predicate import (
    ClosedPredicate,
    DoesNotFit,
    closure_module,
    closure_of_relation,
    relation_of_closure,
)
from corollary.engines.embedded.maintenance.journal import (
    ChangedSupport,
    SupportChange,
    changes_by_closing,
    changes_of_closure,
    changes_of_relation,
    counts_before,
    is_large_change,
)
from corollary.engines.embedded.maintenance.maintained_relation import (
    GONE,
    Enclosed,
    Found,
    LazyRows,
    MaintainedRelation,
    Numbers,
    OneSide,
    ReplacedByClosure,
    Written,
    add_sides,
    distinct,
    sides_of,
)
from corollary.engines.embedded.maintenance.step_facts import EmbeddedStepFacts
from corollary.engines.embedded.maintenance.transaction import EmbeddedTransaction
from corollary.engines.embedded.relations.relation import Codes, Relation, facts_of, relation_of
from corollary.engines.embedded.values.aggregation import aggregate_rows
from corollary.planning import AggregateSource, normalise_query
from corollary.planning.deltas import AFTER, CHANGING, whole_rule
from corollary.planning.steps import AggregateStep, RuleStep, is_auxiliary, steps_of_rule
from corollary.program import Query, atoms_of
from corollary.reasoning.maintain.chooser import Strategy
from corollary.reasoning.maintain.recompute import Direction, direction
from corollary.reasoning.maintain.report import Outcome
from corollary.reasoning.maintain.rule_change import ChangedSteps
from corollary.reasoning.maintain.step_rules import StepForms, StepRules, atoms_of_rule
from corollary.reasoning.maintain.transaction import Task
from corollary.reasoning.run import Run

_GAINED, _LOST, _COUNT = "gained", "lost", "count"
_NOBODY = np.empty(0, np.int64)
_LARGE_PART = 6  # a closure of which more than this part changes is rewritten
_MANY = 1_000  # facts: fewer are withdrawn one by one
_SAMPLE = 1_000  # rows that tell whether most are somebody's


@dataclass
class FactChange:
    """Explicit facts to delete and to insert, as rows by predicate; what is in both is inserted."""

    delete: dict[str, Codes] = field(default_factory=dict)
    insert: dict[str, Codes] = field(default_factory=dict)


@dataclass(frozen=True)
class _Point:
    """Where a predicate stood within a transaction; `counts` are its changes so far where it had been recomputed."""

    flips: int
    counts: tuple[int, int] | None


class EmbeddedChangingFacts:
    """Implements `ChangingFacts` and `FactsBeside` of `engines.base`. The store was materialised by the same steps, with counts.

    `closed` are the predicates that are kept as closures; None forbids that. Where a journal is kept, somebody wants to know
    every change of support (`support_changes`).
    """

    runs_together = False

    def __init__(
        self,
        store: RelationStore,
        closed: dict[str, ClosedPredicate] | None,
        strategy: Strategy,
        *,
        discards_errors: bool,
        cores: int = 1,
        keeps_journal: bool = False,
    ) -> None:
        self.work = Work(
            discards_errors=discards_errors, cores=cores, facts=lambda: self._settled_count, rows=lambda: store.size
        )
        self.state = EmbeddedTransaction(store, self.work, closed if closed is not None else {})
        self.keeps_journal = keeps_journal
        self.carried: list[SupportChange] = []
        """Changes in how support is kept that no journal has heard of yet."""
        self._is_large = False
        self._may_close = closed is not None
        self._strategy = strategy
        self._readers: Counter[str] | None = None
        self._steps: Sequence[StepForms] = ()
        self._change = ChangedSteps()
        self._sizes: dict[str, int] = {}
        self._gone: dict[str, list[Numbers]] = {}
        self._left: Sequence[StepForms] = ()
        self._has_other_rules = False
        self._carrying: list[SupportChange] = []

    def relation(self, predicate: str) -> MaintainedRelation | None:
        """The relation of a predicate that has changed since it was derived."""
        return self.state.maintained.get(predicate)

    @property
    def _settled_count(self) -> int:
        """How many facts there are at least after the transaction: those that steps still to come may take are left out."""
        transaction = self.state
        if not transaction.is_prepared:
            return 0
        hidden = (one.hidden for name, one in transaction.maintained.items() if not is_auxiliary(name))
        replaced = (one for name, one in transaction.replaced.items() if not is_auxiliary(name))
        total = transaction.store.facts - sum(hidden)
        total += sum(one.after.size - one.before.visible_count for one in replaced)
        return total - sum(transaction.unsettled.values())

    # -- queries -----------------------------------------------------------------------------------------------------

    def answers(self, query: Query, run: Run) -> Codes | None:
        """The distinct answers of a query about relations with hidden rows; None where whole relations answer it.

        A query that asks for groups, or for the absence of any fact, goes over whole relations: then hidden rows are removed.
        """
        found = (self.relation(atom.predicate) for atom, _ in atoms_of(query.body))
        hidden = [maintained for maintained in found if maintained is not None and maintained.hidden]
        if not hidden:
            return None
        rule = normalise_query(query)
        if steps_of_rule(rule)[0] or any(isinstance(source, AggregateSource) for source in rule.body.sources):
            for maintained in hidden:
                maintained.compact()
            return None
        self.work.run = run
        answers = Relation(rule.head.arity, counted=True)
        self.state.views.once(whole_rule(rule, AFTER), answers)
        return facts_of(answers)

    # -- a transaction -----------------------------------------------------------------------------------------------

    def steps(self, graph: RuleGraph, strategy: Strategy, known: Sequence[StepForms]) -> list[StepForms]:
        kept = {one.step: one for one in known}
        return [kept.get(step) or StepForms(step, node) for step, node in strategy.steps(graph).items()]

    @contextmanager
    def transaction(self, run: Run, steps: Sequence[StepForms], strategy: Strategy) -> Iterator[None]:
        before, self._strategy = self._strategy, strategy
        self.work.run = run
        self._left, self._has_other_rules, self._carrying = (), False, []
        try:
            strategy.prepare(steps, self.state)
            self._sizes = self.state.sizes() if run.counts_facts else {}
            yield
        except BaseException as error:
            self._strategy = before
            if isinstance(error, MemoryError):  # what is half done holds the memory that undoing needs
                clear_frames(error.__traceback__)
            self.state.roll_back()
            if not isinstance(error, DoesNotFit):
                raise
            self._disclose(error.predicate, steps, strategy)
            raise TryAgain from error

    def leave(self, before: Sequence[StepForms], after: Sequence[StepForms]) -> None:
        """Open the closures whose steps do not stay as they are."""
        self._has_other_rules, stays = True, set(map(id, after))
        self._left = [one for one in before if id(one) not in stays]
        for closed in list(self.state.closed.values()):
            if any(one.owner == closed.owner for one in self._left):
                # Who keeps a journal wants to know what the step has supported pair by pair.
                pairs = relation_of_closure(closed) if self.keeps_journal else None
                self.state.open(closed.predicate, pairs)

    def change_explicit(self, change: FactChange) -> tuple[int, int]:
        """Insertions come last and win: a fact that is deleted and inserted is there."""
        deleted = inserted = 0
        for predicate, rows in change.delete.items():
            maintained = self.state.supported(predicate, rows.shape[1])
            numbers = distinct(maintained.locate(rows))
            numbers = numbers[maintained.support(EXPLICIT, numbers) > 0]
            maintained.change_support(EXPLICIT, numbers, -1)
            deleted += len(numbers)
        for predicate, rows in change.insert.items():
            maintained = self.state.supported(predicate, rows.shape[1])
            numbers = distinct(maintained.place(rows))
            numbers = numbers[maintained.support(EXPLICIT, numbers) == 0]
            maintained.change_support(EXPLICIT, numbers, 1)
            inserted += len(numbers)
        return deleted, inserted

    def begin_steps(self, steps: Sequence[StepForms], change: ChangedSteps) -> None:
        if steps is not self._steps:
            self._steps, self._readers = steps, None
        self._change = change
        if self.work.run.counts_facts:
            self.state.expect([name for step in steps for name in step.heads], self._sizes)

    def finished(self, step: StepForms) -> None:
        self.state.settled(step.heads)

    def settle(self) -> None:
        """Relations show at once what changes of support mean."""

    def check(self) -> None:
        self.work.check()

    def tell(self, outcome: Outcome) -> None:
        transaction = self.state
        self._is_large = self.keeps_journal and is_large_change(*transaction.extent())
        if self.keeps_journal and not self._is_large:  # the journal is about single facts
            transaction.settle(transaction.replaced.keys() - transaction.closed.keys())
        replaced, closed = transaction.replaced, transaction.closed
        sides: dict[str, tuple[LazyRows, LazyRows]] = {}
        for name, replacement in replaced.items():
            if name not in closed:
                sides[name] = sides_of(replacement)
        for name, one in closed.items():
            if one.change is not None:
                sides[name] = OneSide(one.change, one.change.deleted), OneSide(one.change, one.change.inserted)
        for name, maintained in transaction.maintained.items():
            if maintained.is_touched and name not in replaced and name not in closed:
                gone, come = maintained.difference()
                sides[name] = Written(gone), Written(come)
        for name, (deleted, inserted) in sides.items():
            if not is_auxiliary(name):
                add_sides(outcome, name, deleted, inserted)

    def commit(self) -> None:
        self.state.commit()
        self.carried, self._carrying = self._carrying, []
        if self._has_other_rules:
            self.state.views.forget_plans(rule for one in self._left for rule in one.made())
            if self._may_close and self._strategy.follows_closures:
                self.keep_closures(self._steps)

    # -- support -----------------------------------------------------------------------------------------------------

    def starts_over(self, step: StepForms) -> bool:
        """A step that closed a predicate has only external facts, which its heir starts with."""
        return step.recursive and bool(step.heads.keys() & self.state.opened.keys())

    def hand_over(self, predicate: str, arity: int, owners: Sequence[str], heir: str, *, counts: bool) -> None:
        maintained = self.state.supported(predicate, arity)
        for owner in owners:
            maintained.transfer(owner, heir, counts=counts)

    def withdraw(self, predicate: str, arity: int, owner: str) -> None:
        """Where most facts go with the owner, those of others get a relation of their own, if the strategy allows that."""
        transaction = self.state
        may_replace = self._strategy.replaces and arity and predicate not in transaction.closed
        if may_replace and self._owns_most(predicate, arity, owner):
            others = transaction.others(predicate, arity, owner)
            transaction.set_recomputed(predicate, others, Direction(may_insert=self._may_insert(predicate)))
        else:
            transaction.supported(predicate, arity).withdraw(owner)

    def _owns_most(self, predicate: str, arity: int, owner: str) -> bool:
        """Whether most facts of a predicate go with the owner, or have gone with another one already."""
        if predicate in self.state.replaced:
            return True
        relation = self.state.relation(predicate, arity).relation
        if owner not in relation.owners or relation.size < _MANY:
            return False
        sample = relation.support_of(owner)[: relation.size : max(1, relation.size // _SAMPLE)]
        return 2 * int(np.count_nonzero(sample)) > len(sample)

    def _may_insert(self, predicate: str) -> bool:
        replaced = self.state.replaced.get(predicate)
        if replaced is not None:
            return replaced.direction.may_insert
        maintained = self.state.maintained.get(predicate)
        return maintained is None or len(maintained.difference()[1]) > 0

    def change_support(self, predicate: str, owner: str, change: Relation, *, counted: bool) -> None:
        if not change.size:
            return
        used = max(1, change.size)
        net = change.support_of(_GAINED)[:used].astype(np.int64) - change.support_of(_LOST)[:used].astype(np.int64)
        counts = net != 0
        if counts.any():
            maintained = self.state.supported(predicate, change.arity)
            numbers = maintained.place(facts_of(change)[counts])
            self._note_gone(predicate, maintained.change_support(owner, numbers, net[counts]))

    def _note_gone(self, predicate: str, numbers: Numbers) -> None:
        if len(numbers):
            self._gone.setdefault(predicate, []).append(numbers)

    def explicit_change(self, predicate: str, arity: int) -> Relation:
        found = Relation(arity, counted=True)
        if (opened := self.state.opened.get(predicate)) is not None:
            # What it started from is as it was: its pairs have gone from the relation that has changed since.
            external = opened.external.relation
            explicit = np.flatnonzero(external.support_of(EXPLICIT)[: external.size])
            found.insert(np.ascontiguousarray(self.state.supported_by(EXPLICIT, predicate, arity)), _GAINED)
            found.insert(np.ascontiguousarray(external.rows[explicit]), _LOST)
            return found
        maintained = self.state.supported(predicate, arity)
        numbers, before = counts_before(maintained).get(EXPLICIT, (np.empty(0, np.int64),) * 2)
        change = maintained.support(EXPLICIT, numbers) - before
        found.insert(np.ascontiguousarray(maintained.rows(numbers[change > 0])), _GAINED)
        found.insert(np.ascontiguousarray(maintained.rows(numbers[change < 0])), _LOST)
        return found

    def explicit_facts(self, predicate: str, arity: int) -> Relation:
        found = Relation(arity, counted=True)
        found.insert(np.ascontiguousarray(self.state.supported_by(EXPLICIT, predicate, arity)), _GAINED)
        return found

    def derivable(self, steps: Sequence[StepForms], predicate: str, facts: Numbers) -> dict[str, Numbers]:
        transaction, found = self.state, {}
        for step in steps:
            if not len(facts):
                break
            arity = step.heads[predicate]
            maintained = transaction.relation(predicate, arity)
            transaction.views.set_delta(CHANGING + predicate, maintained.rows(facts))
            derived = transaction.derive(step.rules.checking.by([CHANGING + predicate]), {predicate: arity})
            if predicate in derived:
                rows = maintained.locate(facts_of(derived[predicate]))
                facts = np.setdiff1d(facts, rows, assume_unique=True)
                rows = rows[maintained.support(step.owner, rows) == 0]
                if len(rows):
                    found[step.owner] = rows
        return found

    def support_once(self, predicate: str, owner: str, facts: Numbers) -> None:
        self.state.maintained[predicate].change_support(owner, facts, 1)

    def owned_only_by(self, predicate: str, arity: int, owner: str, other: str) -> Numbers:
        maintained = self.state.relation(predicate, arity)
        own = np.flatnonzero(maintained.relation.support_of(owner)[: maintained.relation.size])
        found: Numbers = own[maintained.support(other, own) == 0]
        return found

    # -- what has changed --------------------------------------------------------------------------------------------

    def has_changed(self, predicate: str) -> bool:
        return self.state.has_changed(predicate)

    def has_lost(self, predicate: str, arity: int) -> bool:
        """Also where facts have got support that a strategy with facts of its own does not know of."""
        transaction = self.state
        closed = transaction.closed.get(predicate)
        if closed is not None:
            return closed.external.is_touched
        if predicate in transaction.replaced:
            return transaction.replaced[predicate].direction.may_delete
        maintained = transaction.maintained.get(predicate)
        if maintained is None:
            return False
        return maintained.has_lost or (self._strategy.keeps_facts and bool(maintained.counts_before))

    def gone(self, predicate: str, arity: int) -> Numbers | None:
        parts = self._gone.get(predicate)
        if not parts or predicate in self.state.closed:
            return None
        return np.concatenate(parts)

    def point(self, step: StepForms) -> dict[str, _Point]:
        """A closed predicate tells its changes itself, and auxiliary ones need not."""
        transaction, found = self.state, {}
        for name in step.visible_heads:
            if name not in transaction.closed:
                known, replaced = transaction.maintained.get(name), transaction.replaced.get(name)
                is_opened = name in transaction.opened  # all of it will count as what the step derives
                counts = (0, 0) if is_opened else replaced.counts if replaced is not None else None
                found[name] = _Point(known.flips() if known is not None else 0, counts)
        return found

    def changes_since(self, step: StepForms, point: Mapping[str, _Point]) -> tuple[int, int]:
        changes = [self._changes_since(name, one) for name, one in point.items()]
        if (closed := self._closed_by(step)) is not None and closed.change is not None:
            changes.append((closed.change.deleted.count, closed.change.inserted.count))
        return sum(deleted for deleted, _ in changes), sum(inserted for _, inserted in changes)

    def _changes_since(self, name: str, point: _Point) -> tuple[int, int]:
        """How many facts of a head have gone and come since a point."""
        transaction = self.state
        maintained, replaced = transaction.maintained.get(name), transaction.replaced.get(name)
        if replaced is None:
            return maintained.changed_since(point.flips) if maintained is not None else (0, 0)
        deleted, inserted = replaced.counts
        earlier = point.counts
        if earlier is None:
            # Before the point it was followed fact by fact; after it, the step may have begun in that way.
            (gone, born), own = replaced.before.difference(), replaced.before.changed_since(point.flips)
            earlier = len(gone) - own[0], len(born) - own[1]
        return max(0, deleted - earlier[0]), max(0, inserted - earlier[1])

    # -- what steps do -----------------------------------------------------------------------------------------------

    def begin(self, tasks: Sequence[Task]) -> None:
        self.state.views.forget_deltas()
        self._gone.clear()

    def derive(self, wanted: Sequence[Signed]) -> dict[tuple[str, str], Relation]:
        views, found = self.state.views, dict[tuple[str, str], Relation]()
        for one in wanted:
            source = one.rule.body.sources[0] if one.rule.body.sources else None
            counts = _GAINED if one.sign > 0 else _LOST
            if isinstance(source, AggregateSource):
                self._sum(one, found).insert(np.ascontiguousarray(facts_of(views.aggregated(source))), counts)
            elif views.has_facts(one):
                views.run(one.rule, self._sum(one, found), counts, brings=one.brings)
        return {key: heads for key, heads in found.items() if heads.size}

    def add_instances(
        self, sums: dict[tuple[str, str], Relation], key: tuple[str, str], gained: Codes, lost: Codes
    ) -> None:
        """Add instances that somebody else has found, as the heads that they derive, to sums of heads."""
        known = sums.setdefault(key, Relation(gained.shape[1], counted=True))
        known.insert(gained, _GAINED)
        known.insert(lost, _LOST)

    def _sum(self, one: Signed, found: dict[tuple[str, str], Relation]) -> Relation:
        known = found.get(one.key)
        if known is None:
            known = found[one.key] = Relation(len(one.rule.head.arguments), counted=True)
        return known

    def ask_about(self, predicate: str, facts: Relation) -> None:
        self.state.views.set_delta(CHANGING + predicate, facts_of(facts))

    def facts(self, task: Task, *, counts: bool = False, most: int | None = None) -> EmbeddedStepFacts:
        return EmbeddedStepFacts(task, self.state, counts=counts, most=most)

    def give_up(self, task: Task) -> None:
        """Forget what is half done of a recursive step."""
        for predicate, arity in task.step.heads.items():
            self.state.relation(predicate, arity).clear_marks()

    # -- deriving steps again ----------------------------------------------------------------------------------------

    def beside(self, step: StepForms) -> EmbeddedChangingFacts | None:
        """Not where a head is closed by another step."""
        can_replace = all(step.heads.values()) and not step.heads.keys() & self.state.closed.keys()
        return self if can_replace else None

    def can_go_on(self, step: StepForms) -> bool:
        return _can_go_on(step, self.state)

    def derive_beside(self, task: Task, direction: Direction, *, most: int | None = None) -> None:
        if task.step.groups is not None:
            _derive_groups(task.step, self.state)
            return
        with self.work.trying(most) if most is not None else contextlib.nullcontext():
            _derive_beside(task, self.state, direction)

    def go_on_beside(self, task: Task, last: Found, direction: Direction) -> None:
        _go_on_beside(task, self.state, last, direction)

    def derive_in_place(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            _derive_in_place(task, self.state)

    def recount(self, step: StepForms) -> None:
        if isinstance(step.step, RuleStep):
            for name, numbers in _recount(step.rules, self.state).items():
                self._note_gone(name, numbers)

    def direction_of(self, predicate: str, arity: int) -> Direction:
        transaction = self.state
        replaced, maintained = transaction.replaced.get(predicate), transaction.maintained.get(predicate)
        if predicate in transaction.opened:
            # Facts without those of the closure are no change: the closure was there before.
            is_changed = not transaction.is_only_opened(predicate)
            return Direction(is_changed, is_changed)
        if replaced is not None:
            return replaced.direction
        if maintained is None or not (maintained.is_touched or maintained.has_lost):
            return Direction(may_delete=False, may_insert=False)
        deleted, inserted, _ = transaction.change_of(predicate, arity)
        return Direction(deleted > 0 or maintained.has_lost, inserted > 0)

    def check_values(self, tasks: Sequence[Task]) -> None:
        """Rules that bring instances have looked already."""

    def describe(self, task: Task) -> None:
        """There is nothing to add."""

    # -- what choosing a way takes -----------------------------------------------------------------------------------

    @property
    def instances(self) -> int:
        return self.work.instances

    def change_of(self, predicate: str, arity: int) -> tuple[int, int, int]:
        """How many visible facts of a predicate went and came, and how many of those that were there are left."""
        return self.state.change_of(predicate, arity)

    def is_replaced(self, predicate: str) -> bool:
        return predicate in self.state.replaced

    def was_closed(self, predicates: Mapping[str, int]) -> bool:
        return not self.state.opened.keys().isdisjoint(predicates)

    def size(self, predicate: str, arity: int) -> int:
        """How many facts are visible now."""
        return self.state.current(predicate, arity).size

    def supported_size(self, predicate: str, arity: int) -> int:
        """About how many facts a step that derives a predicate goes over."""
        return self.state.supported(predicate, arity).relation.size

    def counted_by(self, owner: str, predicate: str, arity: int) -> int:
        """How many instances an owner has counted that derive facts of a predicate."""
        relation = self.state.supported(predicate, arity).relation
        return int(relation.support_of(owner)[: relation.size].sum())

    def may_lose(self, task: Task) -> bool:
        """Whether a step may lose a fact at all."""
        transaction = self.state
        if task.removed_rules or any(transaction.views.has_facts(delta) for delta in task.rules.losing):
            return True
        return any(len(transaction.relation(name, arity).lost_rows()) for name, arity in task.step.heads.items())

    def is_small(self, step: StepForms) -> bool:
        return False

    def gains_by_a_job(self, steps: Sequence[StepForms]) -> bool:
        return False

    # -- closures ----------------------------------------------------------------------------------------------------

    def form_of(self, step: StepForms) -> str:
        """The name of the form in which the facts of a step are kept; empty where that is fact by fact."""
        closed = self._closed_by(step)
        return closed.form if closed is not None else ""

    def _closed_by(self, step: StepForms) -> ClosedPredicate | None:
        """The closed predicate of a step."""
        if not step.recursive or not self.state.closed:
            return None
        (first, *_) = step.heads
        return self.state.closed.get(first)

    def follows(self, task: Task) -> bool:
        step: Any = task.step
        if not step.recursive:
            return False
        closed = self._closed_by(step)
        if closed is not None:
            task.report.strategy = closed.form
            self._follow_closure(step, closed)
            return True
        return not step.alternates and step.owner in self._change.new and self._enclose(task, step)

    def _follow_closure(self, step: StepForms, closed: ClosedPredicate) -> None:
        transaction, predicate, edges = self.state, closed.predicate, closed.module.step
        maintained = transaction.maintained.get(predicate)
        if maintained is None and self._is_read(predicate, step):
            maintained = transaction.relation(predicate, 2)
        found = closed.update(transaction.difference(edges, 2) if edges is not None else None)
        if maintained is None:
            transaction.store.relations[predicate] = closed.relation()
            return
        replacement = ReplacedByClosure(maintained, closed.relation(), found)
        if self._strategy.replaces and found.count * _LARGE_PART > maintained.visible_count:
            transaction.replace(predicate, replacement)
        else:
            replacement.settle()

    def _is_read(self, predicate: str, step: StepForms) -> bool:
        """Whether another step reads a predicate, or one that is no more has read it."""
        if self._readers is None:
            self._readers = Counter(name for one in self._steps for name in one.inputs)
        own = predicate in step.inputs
        return self._readers[predicate] > own or predicate in self._change.read_before

    def _enclose(self, task: Task, step: StepForms) -> bool:
        """Closes a predicate by a step with new rules, without running one of them; False where that is not possible."""
        if not (self._may_close and self._strategy.follows_closures):
            return False
        module, transaction = closure_module(step.rules.step.modules), self.state
        if module is None or module.predicate is None:
            return False
        external, universe = transaction.external(module.predicate, step.owner), transaction.store.universe
        edges = transaction.current(module.step, 2).facts if module.step is not None else None
        try:
            if external is not None:
                before = transaction.replaced[module.predicate].before
                closed = ClosedPredicate(module, step.owner, external, edges, universe)
            else:
                before = transaction.relation(module.predicate, 2)
                closed = closure_of_relation(module, step.owner, before, edges, universe)
        except DoesNotFit:
            return False
        started_from = external.relation if external is not None else None
        after = Enclosed(before, closed.relation(), step.owner, started_from, direction(task, self))
        transaction.enclose_at_commit(module.predicate, closed, after)
        task.report.strategy, task.report.reason = module.name, "its rules are new"
        return True

    def _disclose(self, predicate: str, steps: Sequence[StepForms], strategy: Strategy) -> None:
        """A closed predicate has come to need rules: from now on it is kept fact by fact."""
        transaction = self.state
        closed = transaction.closed[predicate]
        (step,) = (step for step in steps if step.owner == closed.owner)
        transaction.keep_relation(predicate, relation_of_closure(closed))
        if strategy.counts_instances(step):
            _recount(step.rules, transaction)
            maintained = transaction.relation(predicate, 2)
            self.carried += changes_of_relation(predicate, maintained)
            maintained.commit()

    def keep_closures(self, steps: Sequence[StepForms]) -> None:
        """Keep the predicates that hyper-nodes close as closures from now on: after new rules, and after a store was opened."""
        transaction = self.state
        for step in steps:
            module = closure_module(step.rules.step.modules) if step.recursive else None
            if module is not None and module.predicate is not None and module.predicate not in transaction.closed:
                maintained = transaction.relation(module.predicate, 2)
                edges = transaction.visible(module.step) if module.step is not None else None
                with contextlib.suppress(DoesNotFit):
                    closed = closure_of_relation(module, step.owner, maintained, edges, transaction.store.universe)
                    if self.keeps_journal:
                        self.carried += changes_by_closing(module.predicate, step.owner, maintained)
                    transaction.keep_closure(module.predicate, closed)

    # -- what a journal has to know ----------------------------------------------------------------------------------

    def carry(self) -> None:
        """Let what the current transaction changes be part of what the next one tells a journal."""
        self._carrying = self.support_changes() if self.keeps_journal else []

    def changed_support(self, outcome: Outcome) -> ChangedSupport:
        """Return what the current transaction, which is computed, does to the support of facts."""
        return ChangedSupport(self._is_large, self.support_changes, self.state.supports, outcome)

    def support_changes(self) -> list[SupportChange]:
        """Return the changes of the current transaction in the support of facts, with those carried along to it."""
        closed, found = self.state.closed, list(self.carried)
        for one in closed.values():
            found += changes_of_closure(one)
        for name, maintained in self.state.maintained.items():
            if name not in closed:
                found += changes_of_relation(name, maintained)
        return found


def explicit_rows(relation: Relation) -> Codes:
    """The explicit facts of a relation; without owners, all are."""
    if not relation.owners:
        return relation.facts
    return relation.rows[np.flatnonzero(relation.support_of(EXPLICIT)[: relation.size])]


# -- whole steps -------------------------------------------------------------------------------------------------------

# Rules run over the facts after the transaction: beside what is there, in place, or to count their instances.


def _derive_beside(task: Task, transaction: EmbeddedTransaction, direction: Direction) -> None:
    step = task.rules.step
    store = _inputs(task, transaction)
    store.counted = not step.recursive
    others = {name: transaction.others(name, arity, step.owner) for name, arity in task.rules.heads.items()}
    for name, relation in others.items():
        store.relations[name] = relation_of(relation.facts) if step.recursive else relation
        if relation.size:
            # Other owners will look for their facts in it: numbers in the set from the beginning save filling another one then.
            store.relations[name].number_rows()
    evaluation = Evaluation(store, transaction.work)
    with transaction.work.counting(_facts_with(task, transaction, store)):
        report = evaluation.evaluate(step.rules, step.modules, recursive=step.recursive, owner=step.owner)
    task.report.rounds += report.rounds if step.recursive else 0
    for name, relation in others.items():
        found = store.relations[name]
        after = _with_support(found, relation, step.owner) if step.recursive else found
        transaction.set_recomputed(name, after, direction)


def _can_go_on(step: StepForms, transaction: EmbeddedTransaction) -> bool:
    """Whether the rounds of a step can begin with facts that are there, and end before a fixpoint."""
    return Evaluation(RelationStore(), transaction.work).can_go_on(step.rules.step.rules, step.rules.step.modules)


def _go_on_beside(task: Task, transaction: EmbeddedTransaction, last: Found, direction: Direction) -> None:
    """Copy what is there; the rounds are those of a first materialisation."""
    step = task.rules.step
    store = _inputs(task, transaction)
    evaluation = Evaluation(store, transaction.work)
    starts, known = {}, {}
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        is_old = (maintained.flags[: maintained.relation.size] & GONE) == 0
        new = last.get(name, _NOBODY)  # the last round may have brought facts of other heads only
        is_old[new] = False
        known[name] = np.concatenate((np.flatnonzero(is_old), new))
        store.relations[name] = relation_of(maintained.rows(known[name]))
        if any(owner != step.owner for owner in maintained.relation.owners):
            store.relations[name].number_rows()
        starts[name] = len(known[name]) - len(new)
    with transaction.work.counting(_facts_with(task, transaction, store)):
        task.report.rounds += evaluation.go_on(step.rules, starts).rounds
    for name, arity in task.rules.heads.items():
        before, after = transaction.relation(name, arity).relation, store.relations[name]
        after.number_rows()
        for owner in before.owners:
            after.support_of(owner)[: len(known[name])] = before.support_of(owner)[known[name]]
        after.mark(step.owner, len(known[name]))
        transaction.set_recomputed(name, after, direction)


def _with_support(found: Relation, others: Relation, owner: str) -> Relation:
    """Return the facts that a recursive step derives, with its own support; `others` are the facts of other owners."""
    known = others.size
    if not np.array_equal(found.facts[:known], others.facts):  # a closure has its own order
        rows = found.facts
        found = relation_of(np.concatenate([others.facts, rows[~others.contains(rows)]]))
    found.number_rows()
    for other in others.owners:
        found.support_of(other)[:known] = others.support_of(other)[:known]
    found.mark(owner, known)
    return found


def _recount(rules: StepRules, transaction: EmbeddedTransaction) -> Found:
    """Set the support of a step to the instances of its rules over the facts that are visible now; return the rows that this
    left without support."""
    gone = {}
    for name, arity in rules.heads.items():
        found = Relation(arity, counted=True)
        for rule in rules.step.rules:
            if rule.head.predicate == name:
                transaction.views.run(rules.whole[rule.name], found, _COUNT)
        maintained = transaction.supported(name, arity)
        numbers = maintained.place(facts_of(found))
        gone[name] = maintained.set_support(rules.step.owner, numbers, found.support_of(_COUNT)[: len(numbers)])
    return gone


def _derive_in_place(task: Task, transaction: EmbeddedTransaction) -> None:
    step = task.rules.step
    store = _inputs(task, transaction)
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        store.relations[name] = relation_of(maintained.rows(maintained.supported_by_others(step.owner, GONE)))
    evaluation = Evaluation(store, transaction.work)
    with transaction.work.counting(_facts_with(task, transaction, store)):
        report = evaluation.evaluate(step.rules, step.modules, recursive=True, owner=step.owner)
    task.report.rounds += report.rounds
    for name, arity in task.rules.heads.items():
        maintained = transaction.relation(name, arity)
        numbers = maintained.place(facts_of(store.relations[name]))
        own = numbers[maintained.external_support(step.owner, numbers) == 0]
        maintained.set_support(step.owner, own, 1)


def _facts_with(task: Task, transaction: EmbeddedTransaction, store: RelationStore) -> Callable[[], int]:
    """The number of facts where those of the step's heads are the ones in a store; a later step may take what others have."""
    heads = {name: arity for name, arity in task.rules.heads.items() if not is_auxiliary(name)}
    if not transaction.work.run.counts_facts:
        return lambda: 0
    others = transaction.work.facts()
    for name, arity in heads.items():
        _, inserted, left = transaction.change_of(name, arity)
        others += transaction.unsettled.get(name, 0) - left - inserted - store.relations[name].size
    return lambda: others + sum(store.relations[name].size for name in heads)


def _inputs(task: Task, transaction: EmbeddedTransaction) -> RelationStore:
    """The current facts that other steps derive."""
    store = RelationStore()
    store.universe = transaction.store.universe
    arities = {atom.predicate: atom.arity for rule in task.rules.step.rules for atom in atoms_of_rule(rule)}
    for name, arity in arities.items():
        if name not in task.rules.heads:
            store.relations[name] = transaction.current(name, arity)
    return store


def _derive_groups(step: StepForms, transaction: EmbeddedTransaction) -> None:
    """All groups of an aggregation."""
    aggregation, universe = step.step, transaction.store.universe
    assert isinstance(aggregation, AggregateStep)
    bindings = facts_of(transaction.current(aggregation.bindings, len(aggregation.names)))
    columns = {name: place for place, name in enumerate(aggregation.names)}
    found = facts_of(aggregate_rows(bindings, columns, aggregation.group_by, aggregation.operations, universe))
    after = Relation(found.shape[1], universe.code_bits, counted=True)
    after.append_distinct(np.ascontiguousarray(found), step.owner)
    transaction.set_recomputed(aggregation.result, after)
