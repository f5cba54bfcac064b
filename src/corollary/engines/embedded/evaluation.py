"""Evaluating one hyper-node: its rules to a fixpoint, semi-naively, or by the closure that fits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.analysis import Module, ModuleKind
from corollary.analysis.lowering import SAME
from corollary.engines.embedded import dense_join
from corollary.engines.embedded.aggregation import aggregate_rows
from corollary.engines.embedded.alternating import alternate
from corollary.engines.embedded.closure import LinearClosure, Reversed, SymmetricClosure, TooLarge
from corollary.engines.embedded.congruence import congruent_predicate, expand
from corollary.engines.embedded.ordering import Ordering
from corollary.engines.embedded.relation import Pairs, Relation
from corollary.engines.embedded.runner import PreparedPlan, Work
from corollary.engines.embedded.universe import Universe, may_equal_others
from corollary.planning import (
    Access,
    AggregateSource,
    Column,
    NormalRule,
    RulePlan,
    Use,
    Version,
    linearise,
    plan_rule,
)
from corollary.planning.alternation import alternates
from corollary.program import Atom, Variable

_WORTH_A_RUN = 256  # rows; fewer wait for the next round, where the other rules may bring more


@dataclass
class PlanReport:
    """How often a plan ran, and what came of it."""

    plan: RulePlan
    runs: int = 0
    instances: int = 0
    new_facts: int = 0


@dataclass
class Report:
    """What a hyper-node has cost."""

    strategy: str
    rounds: int = 0
    instances: int = 0
    plans: dict[int, PlanReport] = field(default_factory=dict)


class Store:
    """The relations of a knowledge base by predicate, over one universe."""

    def __init__(self, *, counted: bool = False) -> None:
        self.universe = Universe()
        self.relations: dict[str, Relation] = {}
        self.counted = counted
        self._widened_for = 0  # below this size of the universe every key is wide enough

    @property
    def size(self) -> int:
        """The number of facts in all relations."""
        return sum(relation.size for relation in self.relations.values())

    def known(self, predicate: str) -> Relation | None:
        """The relation of a predicate where there is one and where its keys hold every code; asked in every round."""
        return self.relations.get(predicate) if self.universe.size < self._widened_for else None

    def relation(self, predicate: str, arity: int) -> Relation:
        """The relation of a predicate, made when it is new, with keys that hold every code there is."""
        relation = self.relations.get(predicate)
        if relation is None:
            relation = self.relations[predicate] = Relation(arity, self.universe.code_bits, counted=self.counted)
        if self.universe.size >= self._widened_for:
            for known in self.relations.values():
                known.widen(self.universe.code_bits)
            self._widened_for = (1 << self.universe.code_bits) - 1
        return relation


class Evaluation:
    """Runs rules over a store. `without` names optimisations to leave out."""

    def __init__(self, store: Store, work: Work, *, orders_texts: bool, without: frozenset[str] = frozenset()) -> None:
        self.store = store
        self.universe = store.universe
        self._work = work
        self._without = without
        self._ordering = Ordering(store.universe, texts=orders_texts)
        self._growing: dict[str, tuple[int, int]] = {}
        self._owner: str | None = None
        self._aggregates: dict[int, Relation] = {}
        self._kept: list[NormalRule] = []
        self._projections: dict[tuple[str, int, tuple[Column, ...]], Relation] = {}
        self._plans: dict[tuple[object, ...], RulePlan] = {}
        self._prepared_plans: dict[int, PreparedPlan] = {}
        self._distinct: dict[tuple[str, int, int], int] = {}

    # -- hyper-nodes -------------------------------------------------------------------------------------------------

    def evaluate(
        self, rules: Sequence[NormalRule], modules: Sequence[Module], *, recursive: bool, owner: str = ""
    ) -> Report:
        """Adds to the store everything that these rules of one hyper-node derive.

        In a counted store the facts of a nonrecursive hyper-node carry the number of its derivations; a recursive one owns the
        facts that it found first.
        """
        before = self._work.instances
        self._work.rounds = 0
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
            alternate(rules, self.store.relations, lambda some: self._fixpoint_anew(some, report))
        elif "representatives" not in self._without and (predicate := congruent_predicate(rules)) is not None:
            report.strategy = "representatives"
            same = self.store.relation(SAME, 2)
            expand(self.store.relation(predicate, heads[predicate]), same, self.universe.size, self._work.check)
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

    def _fixpoint_anew(self, rules: Sequence[NormalRule], report: Report) -> None:
        """A fixpoint over relations that may have been replaced since the last one."""
        self._growing.clear()
        self._prepared_plans.clear()
        self._projections.clear()
        self._fixpoint(rules, {rule.head.predicate: rule.head.arity for rule in rules}, report)

    def answers(self, query: NormalRule) -> Relation:
        """The distinct answers of a query."""
        self._growing.clear()
        result = Relation(query.head.arity, self.universe.code_bits)
        self._run_into(query, None, result, Report("query"))
        return result

    def _fixpoint_with_modules(self, rules: Sequence[NormalRule], modules: Sequence[Module], report: Report) -> None:
        """The fixpoint of all rules, with closure rules among them replaced by linear ones over external facts."""
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
        self._growing = dict.fromkeys(heads, (0, 0))
        seen = [dict.fromkeys(heads, 0) for _ in rules]
        self._count_round(report)
        for rule, seen_rows in zip(rules, seen, strict=True):
            self._see_new_rows(seen_rows)
            self._run(rule, None, report)
        while self._run_once(rules, seen, report):
            pass

    def _run_once(self, rules: Sequence[NormalRule], seen: Sequence[dict[str, int]], report: Report) -> bool:
        """Gives each rule the rows that it has not seen; False when there are none.

        A rule sees what those before it have just derived, and one that only feeds itself goes on while it derives much: that
        takes fewer and larger runs than waiting for all rules.
        """
        has_run = False
        for rule, seen_rows in zip(rules, seen, strict=True):
            head, starts_round = rule.head.predicate, not has_run
            feeds_itself = {_predicate(source) for source in rule.body.sources if self.is_growing(source)} == {head}
            while self._run_on_new_rows(rule, seen_rows, report, starts_round=starts_round):
                has_run = starts_round = True
                if not feeds_itself or self.store.relations[head].size - seen_rows[head] < _WORTH_A_RUN:
                    break
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
        """What was derived since a rule ran last becomes its delta."""
        for predicate, start in seen.items():
            end = self.store.relations[predicate].size
            self._growing[predicate] = (start, end)
            seen[predicate] = end

    def _count_round(self, report: Report) -> None:
        report.rounds += 1
        self._work.rounds = report.rounds

    def _close(self, module: Module) -> bool:
        """Replaces the module's relation by its closure; False where no closure fits."""
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
        """The guard X != Y compares values, and a closure constants."""
        return not may_equal_others(self.universe.kinds[relation.facts])

    def _may_have_equal_numbers(self, rules: Sequence[NormalRule], modules: Sequence[Module]) -> bool:
        """Whether a guard among the modules may meet numbers that are equal and yet different constants."""
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
                # With the guard, a chain of steps may not pass through its own target: only rounds get that right.
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
        self._aggregates.clear()
        plan = self._plan(rule, delta)
        measured = report.plans.setdefault(id(plan), PlanReport(plan))
        instances, size = self._work.instances, into.size
        if delta is not None or not self._join_densely(plan, rule, into):
            self._prepared(plan).run(into, self._owner)
        measured.runs += 1
        measured.instances += self._work.instances - instances
        measured.new_facts += into.size - size

    def _prepared(self, plan: RulePlan) -> PreparedPlan:
        if id(plan) not in self._prepared_plans:
            self._prepared_plans[id(plan)] = PreparedPlan(plan, self, self._work)
        return self._prepared_plans[id(plan)]

    def _plan(self, rule: NormalRule, delta: int | None) -> RulePlan:
        sizes = tuple(_magnitude(self.size(source)) for source in rule.body.sources)
        keep_all = "exists" in self._without or self._owner is not None
        key = (id(rule), delta, sizes, keep_all)
        if key not in self._plans:
            self._kept.append(rule)  # the key holds its identity
            versions = self._versions(rule, delta)
            self._plans[key] = plan_rule(rule, self, versions, keep_all=keep_all)
        return self._plans[key]

    def _versions(self, rule: NormalRule, delta: int | None) -> tuple[Version, ...]:
        """Before the delta atom the old rows, behind it all rows: no instance is tried twice."""
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
        if not dense_join.pays(left, right, self.universe.size):
            return False
        if self._owner is not None:
            dense_join.insert_counted(left, right, self.universe.size, into, self._owner)
            return True
        pairs = dense_join.join(left, right, self.universe.size)
        if into.size == 0:
            into.append_distinct(pairs)
        else:
            into.insert(pairs)
        return True

    # -- what pipelines ask ------------------------------------------------------------------------------------------

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
        PreparedPlan(plan_rule(rule, self, keep_all=True), self, self._work).run(bindings)
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
        """All rows are visible here."""
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
        return self._projections[key]

    def order(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
        return self._ordering.arrays()

    @property
    def compares_columns(self) -> bool:
        return self._ordering.is_costly

    # -- statistics --------------------------------------------------------------------------------------------------

    def size(self, source: Atom | AggregateSource) -> int:
        if "join-order" in self._without:
            return 1000
        return self.relation(source).size if isinstance(source, Atom) else 1000

    def distinct(self, source: Atom | AggregateSource, column: int) -> int:
        """An estimate that holds until the relation is of another magnitude, as plans do."""
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
    """Plans are made anew when a size has grown about tenfold."""
    return (size.bit_length() + 2) // 3


def _distinct_in(relation: Relation, column: int) -> int:
    """From a sample: as many as in the sample where they repeat, in proportion where they do not."""
    sample = relation.facts[:: max(1, relation.size // 2000), column]
    if not len(sample):
        return 1
    found = len(np.unique(sample))
    return found if found * 2 < len(sample) else max(1, found * relation.size // len(sample))


def _predicate(source: Atom | AggregateSource) -> str:
    return source.predicate if isinstance(source, Atom) else ""


def _dense_sides(plan: RulePlan) -> tuple[tuple[Atom, bool], tuple[Atom, bool]] | None:
    """The two atoms of `h(X, Z) :- a(X, Y), b(Y, Z)` in this direction, and whether their columns are exchanged."""
    accesses = [operation for operation in plan.operations if isinstance(operation, Access)]
    if len(accesses) != len(plan.operations) or len(accesses) != 2 or len(plan.head_registers) != 2:
        return None
    pairs = []
    for access in accesses:
        registers = [column.register for column in access.columns]
        if not isinstance(access.source, Atom) or len(registers) != 2 or len(set(registers)) != 2 or access.exists:
            return None
        if any(not isinstance(argument, Variable) for argument in access.source.arguments):
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
