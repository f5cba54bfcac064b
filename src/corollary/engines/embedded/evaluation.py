"""Evaluating one hyper-node: its rules to a fixpoint, semi-naively, or by a matching closure algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from corollary.analysis import Module, ModuleKind
from corollary.analysis.lowering import SAME, is_possible
from corollary.engines.embedded.closures import closure
from corollary.engines.embedded.closures.closure import (
    LinearClosure,
    Reversed,
    SymmetricClosure,
    TooLarge,
    congruent_predicate,
    expand,
)
from corollary.engines.embedded.kernels.rounds import FEW_ROWS, FINISHED, LARGE, STOPPED, NotInRounds, Rounds
from corollary.engines.embedded.kernels.runner import PreparedPlan, Work, looked_up_by_value
from corollary.engines.embedded.relations.relation import Pairs, Relation
from corollary.engines.embedded.values.aggregation import aggregate_rows
from corollary.engines.embedded.values.ordering import Ordering, ValueKeys, value_keys_of
from corollary.engines.embedded.values.universe import Universe, may_equal_others
from corollary.planning import (
    Access,
    AggregateSource,
    ByValue,
    Column,
    NormalRule,
    RulePlan,
    Use,
    Version,
    linearise,
    plan_rule,
    predicates_of_body,
)
from corollary.planning.normal_form import alternates
from corollary.planning.steps import is_auxiliary
from corollary.program import Atom, Variable
from corollary.settings import SEMI_NAIVE

_SMALL_ROUNDS = 6  # rounds with few rows after which the next ones run in the kernel
_LONG = 200  # rounds until something that did not work is tried again
_WORTH_A_SESSION = 20  # rounds; for fewer, a session of the kernel does not pay
_ROUNDS_IN_A_CALL = 5_000
_MOST_ROWS_IN_ROUNDS = 20_000  # rows that may be scanned for each new row
_WORTH_A_RUN = 256  # rows; fewer wait for the next round, in which the other rules may add more


@dataclass
class PlanReport:
    """How often a plan ran, and its results."""

    plan: RulePlan
    runs: int = 0
    instances: int = 0
    new_facts: int = 0


@dataclass
class Report:
    """The cost of evaluating a hyper-node."""

    strategy: str
    rounds: int = 0
    instances: int = 0
    plans: dict[int, PlanReport] = field(default_factory=dict)

    def of_plan(self, plan: RulePlan) -> PlanReport:
        return self.plans.setdefault(id(plan), PlanReport(plan))


class RelationStore:
    """The relations of a knowledge base by predicate, over one universe."""

    def __init__(self, *, counted: bool = False) -> None:
        self.universe = Universe()
        self.relations: dict[str, Relation] = {}
        self.counted = counted
        self._widened_for = 0  # below this size of the universe, every key is wide enough

    @property
    def size(self) -> int:
        """The number of facts in all relations."""
        return sum(relation.size for relation in self.relations.values())

    @property
    def facts(self) -> int:
        """The number of facts of predicates in the program."""
        return sum(relation.size for name, relation in self.relations.items() if not is_auxiliary(name))

    def known(self, predicate: str) -> Relation | None:
        """Return the relation of a predicate if it exists and its keys can hold every code; called in every round."""
        return self.relations.get(predicate) if self.universe.size < self._widened_for else None

    def make_room(self, constants: int) -> int:
        """Make room for this many new constants, in the universe and in all keys; return the first code beyond the room."""
        self.universe.make_room(constants)
        codes = self.universe.size + constants
        bits = (codes + 1).bit_length()
        for known in self.relations.values():
            if bits > known.code_bits:
                known.widen(bits)
        self._widened_for = max(self._widened_for, (1 << bits) - 1)
        return codes

    def relation(self, predicate: str, arity: int) -> Relation:
        """Return the relation of a predicate, made now if it is new, with keys that can hold every existing code."""
        relation = self.relations.get(predicate)
        if relation is None:
            bits = max(self.universe.code_bits, self._widened_for.bit_length())
            relation = self.relations[predicate] = Relation(arity, bits, counted=self.counted)
        if self.universe.size >= self._widened_for:
            for known in self.relations.values():
                known.widen(self.universe.code_bits)
            self._widened_for = (1 << self.universe.code_bits) - 1
        return relation


class FactCount:
    """The number of facts in a store, at a cost in proportion to the predicates of the current hyper-node."""

    def __init__(self, store: RelationStore) -> None:
        self._store = store
        self._settled = store.facts
        self._known = len(store.relations)
        self._heads: frozenset[str] = frozenset()

    def begin(self, heads: Iterable[str]) -> int:
        """Let these predicates grow, and new ones arrive; return the number of facts so far."""
        before = self._settled
        self._heads = frozenset(name for name in heads if not is_auxiliary(name))
        self._settled -= self._growing()
        return before

    def end(self) -> int:
        """Return the number of all facts, after the predicates have grown."""
        is_fewer = len(self._store.relations) < self._known  # a predicate stored as a closure has no relation any more
        self._settled = self._store.facts if is_fewer else self()
        self._known = len(self._store.relations)
        self._heads = frozenset()
        return self._settled

    def __call__(self) -> int:
        relations = self._store.relations
        new = islice(reversed(relations), max(0, len(relations) - self._known))
        others = (name for name in new if name not in self._heads and not is_auxiliary(name))
        return self._settled + self._growing() + sum(relations[name].size for name in others)

    def _growing(self) -> int:
        relations = self._store.relations
        return sum(relations[name].size for name in self._heads if name in relations)


Plans: TypeAlias = dict[tuple[object, ...], tuple[NormalRule, RulePlan]]


class Evaluation:
    """Runs rules over a store. `without` names optimisations to leave out.

    `known` are the plans of an evaluation with about as many facts, which can be reused for the same rules.
    """

    def __init__(
        self, store: RelationStore, work: Work, *, without: frozenset[str] = frozenset(), known: Plans | None = None
    ) -> None:
        self.store = store
        self.universe = store.universe
        self._work = work
        self._without = without
        self._by_value = looked_up_by_value(store.universe, work, "value-joins" in without)
        self._by_order = looked_up_by_value(store.universe, work, "range-joins" in without)
        self._growing: dict[str, tuple[int, int]] = {}
        self._owner: str | None = None
        self._aggregates: dict[int, Relation] = {}
        self._projections: dict[tuple[str, int, tuple[Column, ...]], Relation] = {}
        self.plans: Plans = {}  # each with its rule, whose identity is in the key
        self._known = known or {}
        self._prepared_plans: dict[int, PreparedPlan] = {}
        self._distinct: dict[tuple[str, int, int], int] = {}

    @cached_property
    def _ordering(self) -> Ordering:
        return Ordering(self.universe)

    # -- hyper-nodes -------------------------------------------------------------------------------------------------

    def evaluate(
        self, rules: Sequence[NormalRule], modules: Sequence[Module], *, recursive: bool, owner: str = ""
    ) -> Report:
        """Add to the store everything that these rules of one hyper-node derive.

        In a counted store, the facts of a nonrecursive hyper-node have its number of derivations; a recursive one owns
        the facts that it found first.
        """
        before = self._work.instances
        self._work.begin_rounds()
        heads = {rule.head.predicate: rule.head.arity for rule in rules}
        sizes = {predicate: self.store.relation(predicate, arity).size for predicate, arity in heads.items()}
        self._owner = owner if self.store.counted and not recursive else None
        report = Report(modules[0].name if len(modules) == 1 else "recursive")
        if not recursive:
            self._growing = {name: (0, self.store.relations[name].size) for name in heads}
            self._count_round(report)
            for rule in rules:
                self._run(rule, None, report)
        elif alternates(rules):
            report.strategy = "alternating"
            alternate(rules, self.store.relations, lambda some: self._new_fixpoint(some, report))
        elif "representatives" not in self._without and (predicate := congruent_predicate(rules)) is not None:
            report.strategy = "representatives"
            same = self.store.relation(SAME, 2)
            expand(self.store.relation(predicate, heads[predicate]), same, self.universe.size, self._work)
        elif not (len(modules) == 1 and self._close(modules[0])):
            report.strategy = "recursive"
            self._fixpoint_with_modules(rules, modules, report)
        self._growing.clear()
        if recursive and self.store.counted:
            for predicate, size in sizes.items():
                self.store.relations[predicate].mark(owner, size)
        self._owner = None
        report.instances = self._work.instances - before
        return report

    def can_go_on(self, rules: Sequence[NormalRule], modules: Sequence[Module]) -> bool:
        """Return whether the fixpoint of a recursive hyper-node is computed with these rules as they are, over existing
        rows."""
        if alternates(rules) or congruent_predicate(rules) is not None:
            return False
        return "closures" in self._without or not linearise(rules, modules)[1]

    def go_on(self, rules: Sequence[NormalRule], starts: Mapping[str, int]) -> Report:
        """Add what follows from the rows of the heads from `starts` on; the consequences of earlier rows must exist already."""
        before, report = self._work.instances, Report("recursive")
        self._work.begin_rounds()
        self._growing = dict.fromkeys(starts, (0, 0))
        seen = [{name: starts[name] for name in predicates_of_body(rule.body) & starts.keys()} for rule in rules]
        self._run_rounds(rules, starts, seen, report)
        self._growing.clear()
        report.instances = self._work.instances - before
        return report

    def _new_fixpoint(self, rules: Sequence[NormalRule], report: Report) -> None:
        """Run a fixpoint over relations that may have been replaced since the last one."""
        self._growing.clear()
        self._prepared_plans.clear()
        self._projections.clear()
        self._fixpoint(rules, {rule.head.predicate: rule.head.arity for rule in rules}, report)

    def answers(self, query: NormalRule) -> Relation:
        """Return the distinct answers to a query."""
        self._growing.clear()
        result = Relation(query.head.arity, self.universe.code_bits)
        self._run_into(query, None, result, Report("query"))
        return result

    def _fixpoint_with_modules(self, rules: Sequence[NormalRule], modules: Sequence[Module], report: Report) -> None:
        """Run the fixpoint of all rules, with closure rules replaced by linear ones over external facts."""
        externals: dict[str, str] = {}
        if "closures" not in self._without and not self._may_have_equal_numbers(rules, modules):
            rules, externals = linearise(rules, modules)
            if externals:
                report.strategy = "+".join(module.name for module in modules)
        for external, predicate in externals.items():
            known = self.store.relations[predicate]
            self.store.relation(external, 2).append_distinct(known.facts)
        self._fixpoint(rules, {rule.head.predicate: rule.head.arity for rule in rules}, report)
        for external in externals:
            del self.store.relations[external]

    def _fixpoint(self, rules: Sequence[NormalRule], heads: dict[str, int], report: Report) -> None:
        for predicate, arity in heads.items():
            self.store.relation(predicate, arity)
        if SEMI_NAIVE in self._without:
            self._run_naively(rules, heads, report)
            return
        self._growing = dict.fromkeys(heads, (0, 0))
        # By rule, the predicates that it reads: with many rules and many heads, all heads would be too much.
        seen = [dict.fromkeys(predicates_of_body(rule.body) & heads.keys(), 0) for rule in rules]
        self._count_round(report)
        for rule, seen_rows in zip(rules, seen, strict=True):
            self._see_new_rows(seen_rows)
            self._run(rule, None, report)
        self._run_rounds(rules, heads, seen, report)

    def _run_naively(self, rules: Sequence[NormalRule], heads: Iterable[str], report: Report) -> None:
        """Run all rules over all facts, round by round, until a round finds nothing new."""
        relations = [self.store.relations[name] for name in heads]
        size = -1
        while size != (size := sum(relation.size for relation in relations)):
            self._count_round(report)
            self._growing = {name: (0, self.store.relations[name].size) for name in heads}
            for rule in rules:
                self._run(rule, None, report)

    def _run_rounds(
        self, rules: Sequence[NormalRule], heads: Iterable[str], seen: Sequence[dict[str, int]], report: Report
    ) -> None:
        """Run rounds until no rule has unseen rows."""
        due = DueRules(seen)
        small, is_first = 0, True
        while self._run_once(rules, seen, report, due):
            if is_first:
                is_first = False
            else:  # consecutive rounds with few rows
                small = small + 1 if due.new_facts < FEW_ROWS else min(small, 0)
            if small > _SMALL_ROUNDS and "small-rounds" not in self._without:
                small = 0 if self._run_small_rounds(rules, heads, seen, report) else -_LONG
                due.add_all()

    def _run_small_rounds(
        self, rules: Sequence[NormalRule], heads: Iterable[str], seen: Sequence[dict[str, int]], report: Report
    ) -> bool:
        """Run rounds in the kernel while that succeeds; return False if it is not worth another try soon."""
        session: Rounds | None = None
        while True:
            if session is None:
                try:
                    session = Rounds(self, rules, list(heads))
                except NotInRounds:
                    return False
            left = self._work.rounds_left
            most = _ROUNDS_IN_A_CALL if left is None else min(_ROUNDS_IN_A_CALL, left)
            if most <= 0:
                return True  # the ordinary way reports that there are too many
            results, spans = session.run(seen, most)
            why, rule, pipeline, rounds, instances = results.tolist()
            session.note(report)
            report.rounds += rounds
            self._work.instances += instances
            self._work.pass_rounds(rounds)
            self._work.check()
            if why in (FINISHED, LARGE):
                return True
            if why == STOPPED:
                # An unfinished delta of the kernel runs again from its start: heads that exist already are recognised.
                self._growing = {
                    name: (int(spans[0, number]), int(spans[1, number])) for number, name in enumerate(heads)
                }
                for position in session.positions_from(rule, pipeline):
                    if _has_rows(self._growing[_predicate(rules[rule].body.sources[position])]):
                        self._run(rules[rule], position, report)
                if rounds < _WORTH_A_SESSION:
                    return False
                session = None

    def _run_once(
        self, rules: Sequence[NormalRule], seen: Sequence[dict[str, int]], report: Report, due: DueRules
    ) -> bool:
        """Give each rule its unseen rows; return False if there are none.

        A rule sees what earlier rules have just derived, and a rule that only feeds itself continues while it derives
        much: that takes fewer and larger runs than one round for all rules.
        """
        has_run = False
        for number in due.in_order():
            rule, seen_rows = rules[number], seen[number]
            head, starts_round = rule.head.predicate, not has_run
            relation = self.store.relations[head]
            size = relation.size
            feeds_itself = {_predicate(source) for source in rule.body.sources if self.is_growing(source)} == {head}
            while self._run_on_new_rows(rule, seen_rows, report, starts_round=starts_round):
                has_run = starts_round = True
                if not feeds_itself or relation.size - seen_rows[head] < _WORTH_A_RUN:
                    break
            due.grown(head, relation.size - size, number)
        return has_run

    def _run_on_new_rows(self, rule: NormalRule, seen: dict[str, int], report: Report, *, starts_round: bool) -> bool:
        self._see_new_rows(seen)
        growing = [(position, _predicate(source)) for position, source in enumerate(rule.body.sources)]
        changed = [position for position, name in growing if _has_rows(self._growing.get(name, (0, 0)))]
        if changed and starts_round:
            self._count_round(report)
        for position in changed:
            self._run(rule, position, report)
        return bool(changed)

    def _see_new_rows(self, seen: dict[str, int]) -> None:
        """Make the rows derived since a rule last ran its delta."""
        for predicate, start in seen.items():
            end = self.store.relations[predicate].size
            self._growing[predicate] = (start, end)
            seen[predicate] = end

    def _count_round(self, report: Report) -> None:
        report.rounds += 1
        self._work.next_round()

    def _close(self, module: Module) -> bool:
        """Replace the module's relation by its closure; return False if no closure algorithm fits."""
        if "closures" in self._without or module.predicate is None:
            return False
        relation = self.store.relations[module.predicate]
        if module.guarded and not self._distinct_by_value(relation):
            return False
        try:
            pairs = self._closed(module, relation)
        except TooLarge:
            return False
        if pairs is None:
            return False
        if relation.size:
            relation.become(pairs)
        return True

    def _distinct_by_value(self, relation: Relation) -> bool:
        """Return whether no two constants of a relation have equal values; the guard X != Y compares values, but a
        closure compares constants."""
        return not may_equal_others(self.universe.kinds[relation.facts])

    def _may_have_equal_numbers(self, rules: Sequence[NormalRule], modules: Sequence[Module]) -> bool:
        """Return whether a guard among the modules may meet numbers that are equal, yet different constants."""
        if not any(module.guarded for module in modules):
            return False
        known = self.universe.kinds[: self.universe.size]
        return may_equal_others(known) or any(rule.body.computes for rule in rules)

    def _closed(self, module: Module, relation: Relation) -> Pairs | None:
        seeds, size = relation.facts, self.universe.size
        match module.kind:
            case ModuleKind.TRANSITIVE:
                reflexive = seeds[seeds[:, 0] == seeds[:, 1]] if module.guarded else None
                return LinearClosure(seeds, seeds, size, reflexive)
            case ModuleKind.SYMMETRIC_TRANSITIVE:
                return SymmetricClosure(seeds, size, guarded=module.guarded)
            case ModuleKind.LEFT_LINEAR | ModuleKind.RIGHT_LINEAR if not module.guarded and module.step is not None:
                # With the guard, a chain of steps must not pass through its own target, which only rounds get right.
                step = self.store.relation(module.step, 2).facts
                if module.kind is ModuleKind.RIGHT_LINEAR:
                    return LinearClosure(step, seeds, size)
                return Reversed(LinearClosure(step[:, ::-1], seeds[:, ::-1], size))
            case _:
                return None

    # -- rules -------------------------------------------------------------------------------------------------------

    def _run(self, rule: NormalRule, delta: int | None, report: Report) -> None:
        self._run_into(rule, delta, self.store.relation(rule.head.predicate, rule.head.arity), report)

    def _run_into(self, rule: NormalRule, delta: int | None, into: Relation, report: Report) -> None:
        if any(map(self._is_empty, rule.body.sources)):
            self._check_aggregates(rule)
            return  # no plan is needed
        self._aggregates.clear()
        plan = self._plan(rule, delta)
        measured = report.of_plan(plan)
        instances, size = self._work.instances, into.size
        if delta is not None or not self._join_densely(plan, rule, into):
            self._prepared(plan, rule).run(into, self._owner)
        measured.runs += 1
        measured.instances += self._work.instances - instances
        measured.new_facts += into.size - size

    def _check_aggregates(self, rule: NormalRule) -> None:
        """Raise if an aggregation of a rule has no value and the settings make that an error: its body has instances of
        its own."""
        for source in rule.body.sources:
            if isinstance(source, AggregateSource) and not self._work.discards_errors:
                self._aggregate(source)

    def _is_empty(self, source: Atom | AggregateSource) -> bool:
        if not isinstance(source, Atom):
            return False
        relation = self.store.relations.get(source.predicate)
        return relation is None or relation.size == 0

    def plan_in_rounds(self, rule: NormalRule, delta: int) -> RulePlan:
        """Return the plan of a rule whose atom at `delta` ranges over new rows, without ranges: new constants of rounds
        have no order yet.

        Raise `NotInRounds` if scanning all rows would cost more than a round outside the kernel.
        """
        plan = self._plan(rule, delta)
        ranged = [one for one in plan.operations if isinstance(one, Access) and one.range is not None]
        if any(self.size(one.source) > _MOST_ROWS_IN_ROUNDS for one in ranged):
            raise NotInRounds
        return self._plan(rule, delta, ranges=False) if ranged else plan

    def _prepared(self, plan: RulePlan, rule: NormalRule) -> PreparedPlan:
        if id(plan) not in self._prepared_plans:
            # Facts that are only possible so far may not hold in the end.
            stops = not self._work.discards_errors and not is_possible(rule.head.predicate)
            body = rule.body if stops else None
            self._prepared_plans[id(plan)] = PreparedPlan(plan, self, self._work, body)
        return self._prepared_plans[id(plan)]

    def _plan(self, rule: NormalRule, delta: int | None, *, ranges: bool = True) -> RulePlan:
        sizes = tuple(_magnitude(self.size(source)) for source in rule.body.sources)
        keep_all = "exists" in self._without or self._owner is not None
        by_order = self._by_order if ranges else ByValue.NOTHING
        key = (id(rule), delta, sizes, keep_all, self._by_value, by_order)
        found = self.plans.get(key)
        if found is None:
            found = self._known.get(key)
            if found is None or found[0] is not rule:
                versions = self._versions(rule, delta)
                plan = plan_rule(rule, self, versions, keep_all=keep_all, by_value=self._by_value, by_order=by_order)
                found = rule, plan
            self.plans[key] = found
        return found[1]

    def _versions(self, rule: NormalRule, delta: int | None) -> tuple[Version, ...]:
        """Return the versions of sources: old rows before the delta atom, all rows after it, so that no instance is
        tried twice."""
        versions = []
        for position, source in enumerate(rule.body.sources):
            grows = isinstance(source, Atom) and source.predicate in self._growing
            if delta is None or not grows or position > delta:
                versions.append(Version.FULL)
            else:
                versions.append(Version.DELTA if position == delta else Version.OLD)
        return tuple(versions)

    def _join_densely(self, plan: RulePlan, rule: NormalRule, into: Relation) -> bool:
        if "dense-joins" in self._without or self._growing.keys() & {_predicate(s) for s in rule.body.sources}:
            return False
        sides = _dense_sides(plan)
        if sides is None or any(self.relation(atom).size for atom in rule.body.negated):
            return False
        left, right = (_oriented(self.relation(source).facts, swap) for source, swap in sides)
        if not closure.pays(left, right, self.universe.size, counted=self._owner is not None):
            return False
        if self._owner is not None:
            closure.insert_counted(left, right, self.universe.size, into, self._owner)
            return True
        pairs = closure.join(left, right, self.universe.size)
        if into.size == 0:
            into.append_distinct(pairs)
        else:
            into.insert(pairs)
        return True

    # -- for pipelines --------------------------------------------------------------------------------------------

    def relation(self, source: Atom | AggregateSource) -> Relation:
        if isinstance(source, Atom):
            return self.store.known(source.predicate) or self.store.relation(source.predicate, source.arity)
        if id(source) not in self._aggregates:
            self._aggregates[id(source)] = self._aggregate(source)
        return self._aggregates[id(source)]

    def _aggregate(self, source: AggregateSource) -> Relation:
        names = source.ranged
        rule = NormalRule("aggregate", Atom("", tuple(Variable(name) for name in names)), source.body)
        bindings = Relation(len(names), self.universe.code_bits)
        kept = self._aggregates
        self._aggregates = {}
        plan = plan_rule(rule, self, keep_all=True, by_value=self._by_value, by_order=self._by_order)
        PreparedPlan(plan, self, self._work, source.body).run(bindings)
        self._aggregates = kept
        columns = {name: position for position, name in enumerate(names)}
        return aggregate_rows(bindings.facts, columns, source.group_by, source.operations, self.universe)

    def row_range(self, source: Atom | AggregateSource, version: Version) -> tuple[int, int]:
        if isinstance(source, Atom) and source.predicate in self._growing:
            start, end = self._growing[source.predicate]
            if version is Version.DELTA:
                return start, end
            return 0, start if version is Version.OLD else end
        return 0, self.relation(source).size

    def is_growing(self, source: Atom | AggregateSource) -> bool:
        return isinstance(source, Atom) and source.predicate in self._growing

    def visibility(self, source: Atom | AggregateSource) -> None:
        """Return None: all rows are visible here."""
        return

    def projection(self, source: Atom, columns: tuple[Column, ...]) -> Relation:
        relation = self.relation(source)
        key = (source.predicate, relation.size, columns)
        if key not in self._projections:
            rows = relation.facts
            first: dict[int, int] = {}
            for position, column in enumerate(columns):
                if column.use is Use.BIND:
                    first[column.register] = position
                elif column.use is Use.CHECK:
                    rows = rows[rows[:, position] == rows[:, first[column.register]]]
            kept = [position for position, column in enumerate(columns) if column.use is Use.KEY]
            projected = Relation(len(kept), self.universe.code_bits)
            projected.insert(rows[:, kept])
            self._projections[key] = projected
        self._projections[key].widen(self.universe.code_bits)  # computations may have added larger codes since
        return self._projections[key]

    def order(self, *, texts: bool) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        return self._ordering.arrays(texts=texts)

    @property
    def value_keys(self) -> ValueKeys:
        return value_keys_of(self.universe)

    def compares_columns(self, *, texts: bool) -> bool:
        return self._ordering.is_costly(texts=texts)

    # -- statistics --------------------------------------------------------------------------------------------------

    def size(self, source: Atom | AggregateSource) -> int:
        if "join-order" in self._without:
            return 1000
        return self.relation(source).size if isinstance(source, Atom) else 1000

    def distinct(self, source: Atom | AggregateSource, column: int) -> int:
        """Return an estimate that stays the same until the relation is of another magnitude, as plans do."""
        if not isinstance(source, Atom) or "join-order" in self._without:
            return 100
        relation = self.relation(source)
        key = (source.predicate, column, _magnitude(relation.size))
        if key not in self._distinct:
            self._distinct[key] = _distinct_in(relation, column)
        return self._distinct[key]


def _has_rows(span: tuple[int, int]) -> bool:
    return span[0] < span[1]


def _magnitude(size: int) -> int:
    """Return a number that changes when a size has grown about tenfold, so that rules are planned again."""
    return (size.bit_length() + 2) // 3


def _distinct_in(relation: Relation, column: int) -> int:
    """Return the number of distinct values in a column, from a sample: the sample's number if values repeat, otherwise
    in proportion."""
    sample = relation.facts[:: max(1, relation.size // 2000), column]
    if not len(sample):
        return 1
    found = len(np.unique(sample))
    return found if found * 2 < len(sample) else max(1, found * relation.size // len(sample))


def _predicate(source: Atom | AggregateSource) -> str:
    return source.predicate if isinstance(source, Atom) else ""


def _dense_sides(plan: RulePlan) -> tuple[tuple[Atom, bool], tuple[Atom, bool]] | None:
    """Return the two atoms of `h(X, Z) :- a(X, Y), b(Y, Z)` in this direction, and whether their columns are exchanged;
    None for other plans."""
    accesses = [operation for operation in plan.operations if isinstance(operation, Access)]
    if len(accesses) != len(plan.operations) or len(accesses) != 2 or len(plan.head_registers) != 2:
        return None
    pairs = []
    for access in accesses:
        registers = [column.register for column in access.columns]
        if not isinstance(access.source, Atom) or len(registers) != 2 or len(set(registers)) != 2 or access.exists:
            return None
        if access.range is not None or any(not isinstance(argument, Variable) for argument in access.source.arguments):
            return None
        pairs.append((access.source, registers))
    start, goal = plan.head_registers
    for (left, left_registers), (right, right_registers) in (pairs, pairs[::-1]):
        middle = set(left_registers) & set(right_registers)
        if start in left_registers and goal in right_registers and len(middle) == 1 and not {start, goal} & middle:
            return (left, left_registers[0] != start), (right, right_registers[1] != goal)
    return None


def _oriented(rows: np.ndarray[Any, Any], swap: bool) -> np.ndarray[Any, Any]:
    return rows[:, ::-1] if swap else rows


Fixpoint = Callable[[Sequence[NormalRule]], None]
"""Runs rules until they derive nothing new."""


def alternate(rules: Sequence[NormalRule], relations: dict[str, Relation], fixpoint: Fixpoint) -> None:
    """Add what is true and what is possible to the relations: the alternating fixpoint of well-founded semantics.

    The rules of a hyper-node with a negation inside come in two kinds (see `analysis.lowering.doubling`). Those for
    possible facts run from nothing, against the facts known to be true so far; then those for true facts continue,
    against the possible ones. The true facts only grow and the possible ones only shrink, so this ends; what is then
    possible but not true is undefined. At the start, the relations contain the facts that other owners support.
    """
    over = [rule for rule in rules if is_possible(rule.head.predicate)]
    under = [rule for rule in rules if not is_possible(rule.head.predicate)]
    start = {rule.head.predicate: relations[rule.head.predicate] for rule in over}
    known = -1
    while (now := _size(under, relations)) != known:
        known = now
        for predicate, relation in start.items():
            relations[predicate] = _copied(relation)
        fixpoint(over)
        fixpoint(under)
    for predicate, relation in start.items():
        found = relations[predicate]
        relation.widen(found.code_bits)
        relation.insert(found.facts[relation.size :])
        relations[predicate] = relation


def _size(rules: Sequence[NormalRule], relations: dict[str, Relation]) -> int:
    return sum(relations[predicate].size for predicate in {rule.head.predicate for rule in rules})


def _copied(relation: Relation) -> Relation:
    copied = Relation(relation.arity, relation.code_bits)
    copied.insert(relation.facts)
    return copied


class DueRules:
    """The rules that may have unseen rows, so that the cost of a round depends only on what happens in it."""

    def __init__(self, seen: Sequence[dict[str, int]]) -> None:
        self._count = len(seen)
        self._readers: dict[str, list[int]] = {}
        for number, predicates in enumerate(seen):
            for predicate in predicates:
                self._readers.setdefault(predicate, []).append(number)
        self._now: list[int] = []
        self._later: set[int] = set()
        self._queued: set[int] = set()
        self.new_facts = 0
        """The number of facts that the last round added."""
        self.add_all()

    def add_all(self) -> None:
        self._later.update(range(self._count))

    def in_order(self) -> Iterator[int]:
        """Yield the numbers of the rules of one round in order, including those that become due during the round."""
        self._now, self._queued, self._later, self.new_facts = sorted(self._later), self._later, set(), 0
        while self._now:
            yield heappop(self._now)

    def grown(self, predicate: str, count: int, number: int) -> None:
        """Note that the rule with this number has added this many facts."""
        if not count:
            return
        self.new_facts += count
        for reader in self._readers.get(predicate, ()):
            if reader <= number:
                self._later.add(reader)
            elif reader not in self._queued:
                self._queued.add(reader)
                heappush(self._now, reader)
