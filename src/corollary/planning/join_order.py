"""The order of a rule's operations.

Paper 000's heuristic is the start: atoms with constants before those with variables only. Among the rest, the atom that is
expected to multiply the bindings least comes next, from real cardinalities. Comparisons and negations run as soon as their
variables have values, computations as soon as something needs them.
"""

from __future__ import annotations

from corollary.planning.normal_form import (
    AggregateSource,
    Compare,
    Compute,
    NormalBody,
    NormalRule,
    Source,
    source_variables,
)
from corollary.planning.rule_plan import Absence, Access, Column, Operation, RulePlan, Statistics, Use, Version
from corollary.program import Atom, Constant, Term, Variable


def plan_rule(
    rule: NormalRule, statistics: Statistics, versions: tuple[Version, ...] | None = None, *, keep_all: bool = False
) -> RulePlan:
    """The plan of a rule; `versions` tells for each source which rows it ranges over, the delta comes first.

    `keep_all` forbids the short cut for values that nobody uses: derivations are counted, or bindings aggregated.
    """
    return _Planner(rule, statistics, versions or (Version.FULL,) * len(rule.body.sources), keep_all).plan()


class _Planner:
    def __init__(self, rule: NormalRule, statistics: Statistics, versions: tuple[Version, ...], keep_all: bool) -> None:
        self._rule = rule
        self._body: NormalBody = rule.body
        self._statistics = statistics
        self._versions = versions
        self._keep_all = keep_all
        self._registers: dict[str, int] = {}
        self._constants: dict[Constant, int] = {}
        self._next_register = 0
        self._bound: set[str] = set()
        self._operations: list[Operation] = []
        self._computes = list(rule.body.computes)
        self._compares = list(rule.body.compares)
        self._negated = list(rule.body.negated)

    def plan(self) -> RulePlan:
        self._run_ready()
        waiting = list(range(len(self._body.sources)))
        while waiting:
            chosen = self._next_source(waiting)
            waiting.remove(chosen)
            self._access(self._body.sources[chosen], self._versions[chosen])
            self._run_ready()
        self._run_ready(everything=True)
        head = tuple(self._register(argument) for argument in self._rule.head.arguments)
        operations = self._operations if self._keep_all else self._with_exists(head)
        return RulePlan(
            self._rule.name,
            tuple(operations),
            self._rule.head.predicate,
            head,
            dict(self._registers),
            tuple((register, constant) for constant, register in self._constants.items()),
        )

    # -- registers ---------------------------------------------------------------------------------------------------

    def _register(self, term: Term) -> int:
        if isinstance(term, Constant):
            if term not in self._constants:
                self._constants[term] = self._new_register()
            return self._constants[term]
        assert isinstance(term, Variable)
        if term.name not in self._registers:
            self._registers[term.name] = self._new_register()
        return self._registers[term.name]

    def _new_register(self) -> int:
        self._next_register += 1
        return self._next_register - 1

    # -- sources -----------------------------------------------------------------------------------------------------

    def _next_source(self, waiting: list[int]) -> int:
        delta = [number for number in waiting if self._versions[number] is Version.DELTA]
        return delta[0] if delta else min(waiting, key=lambda number: (self._expected(number), number))

    def _expected(self, number: int) -> float:
        """How many rows a binding is expected to meet."""
        source = self._body.sources[number]
        rows = float(self._statistics.size(source))
        for position, term in enumerate(_arguments(source)):
            if self._is_bound(term):
                rows /= max(1, self._statistics.distinct(source, position))
        connected = any(name in self._bound for name in source_variables(source))
        # A product with an unconnected relation is put off while something connected is left.
        return rows if connected or not self._bound or not source_variables(source) else rows * 1e6 + 1e6

    def _is_bound(self, term: Term) -> bool:
        return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in self._bound)

    def _access(self, source: Source, version: Version) -> None:
        self._operations.append(Access(source, self._columns(_arguments(source)), version))
        self._bound.update(source_variables(source))

    def _columns(self, arguments: tuple[Term, ...]) -> tuple[Column, ...]:
        columns: list[Column] = []
        seen: set[str] = set()
        for term in arguments:
            if self._is_bound(term):
                columns.append(Column(Use.KEY, self._register(term)))
            elif isinstance(term, Variable):
                columns.append(Column(Use.CHECK if term.name in seen else Use.BIND, self._register(term)))
                seen.add(term.name)
            else:
                columns.append(Column(Use.SKIP))
        return tuple(columns)

    # -- what needs values -------------------------------------------------------------------------------------------

    def _run_ready(self, *, everything: bool = False) -> None:
        """Appends every test whose variables have values, and the computations that a test or an atom waits for."""
        progress = True
        while progress:
            progress = self._run_tests()
            for compute in [one for one in self._computes if one.inputs <= self._bound]:
                if everything or self._is_wanted(compute):
                    self._computes.remove(compute)
                    self._register(Variable(compute.variable))
                    self._operations.append(compute)
                    self._bound.add(compute.variable)
                    progress = True
                    break

    def _run_tests(self) -> bool:
        ready: list[Compare | Atom] = [one for one in self._compares if one.inputs <= self._bound]
        self._compares = [one for one in self._compares if one not in ready]
        self._operations.extend(one for one in ready if isinstance(one, Compare))
        for atom in list(self._negated):
            if self._shared(atom) <= self._bound:
                self._negated.remove(atom)
                self._operations.append(Absence(atom, self._columns(atom.arguments)))
                ready.append(atom)
        return bool(ready)

    def _shared(self, atom: Atom) -> set[str]:
        """The variables of a negated atom that have values elsewhere; the others are existential."""
        return set(source_variables(atom)) & set(self._body.variables)

    def _is_wanted(self, compute: Compute) -> bool:
        """Whether something that could prune or look up uses the value; otherwise it is computed last."""
        name = compute.variable
        if any(name in compare.inputs for compare in self._compares) or name in self._bound:
            return True
        taken = [operation.source for operation in self._operations if isinstance(operation, Access)]
        return any(name in source_variables(source) for source in self._body.sources if source not in taken)

    # -- short cuts --------------------------------------------------------------------------------------------------

    def _with_exists(self, head: tuple[int, ...]) -> list[Operation]:
        """Marks the accesses whose values nobody uses later: one row is enough."""
        used = set(head)
        operations: list[Operation] = []
        for operation in reversed(self._operations):
            if isinstance(operation, Access) and not isinstance(operation.source, AggregateSource):
                binds = {column.register for column in operation.columns if column.use is Use.BIND}
                has_check = any(column.use is Use.CHECK for column in operation.columns)
                is_delta = operation.version is Version.DELTA
                if not binds & used and not has_check and not is_delta and _is_not_first(operation, self._operations):
                    operation = Access(operation.source, operation.columns, operation.version, exists=True)
            used |= self._reads(operation)
            operations.append(operation)
        return operations[::-1]

    def _reads(self, operation: Operation) -> set[int]:
        if isinstance(operation, (Access, Absence)):
            return {column.register for column in operation.columns if column.use in (Use.KEY, Use.CHECK)}
        return {self._registers[name] for name in operation.inputs} | (
            {self._registers[operation.variable]} if isinstance(operation, Compute) else set()
        )


def _is_not_first(operation: Operation, operations: list[Operation]) -> bool:
    """The first access drives the pipeline, so it goes over its rows even when only their existence counts."""
    first = next((one for one in operations if isinstance(one, Access)), None)
    return operation is not first


def _arguments(source: Source) -> tuple[Term, ...]:
    if isinstance(source, AggregateSource):
        return tuple(Variable(name) for name in source.columns)
    return source.arguments
