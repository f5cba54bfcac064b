"""The join order: in which order the operations of a rule run.

It starts from paper 000's heuristic: atoms with constants before those with variables only. Among the remaining atoms,
the one expected to multiply the bindings least comes next, by real cardinalities. Comparisons and negations run as soon
as their variables have values, computations as soon as something needs their value.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from corollary.planning.normal_form import (
    AggregateSource,
    Compare,
    Compute,
    NormalBody,
    NormalRule,
    Source,
    source_variables,
)
from corollary.planning.rule_plan import (
    Absence,
    Access,
    Bound,
    ByValue,
    Column,
    Operation,
    Range,
    RulePlan,
    Statistics,
    Use,
    ValueKey,
    ValueOf,
    Version,
)
from corollary.program import Arithmetic, Atom, Constant, Minus, Term, Variable, variables_of


def plan_rule(
    rule: NormalRule,
    statistics: Statistics,
    versions: tuple[Version, ...] | None = None,
    *,
    keep_all: bool = False,
    by_value: ByValue = ByValue.NOTHING,
    by_order: ByValue = ByValue.NOTHING,
    values_last: bool = False,
) -> RulePlan:
    """Return the plan of a rule; `versions` tells which rows each source ranges over, and the delta comes first.

    `keep_all` forbids the existence short cut for unused values, because derivations are counted or bindings
    aggregated. An equality between two atoms connects them like a shared variable; `by_value` says when the plan looks
    rows up by it, and `by_order` when it looks up a range of values for `<` and the like. With `values_last`, no
    expression is computed before all atoms have matched, unless an atom needs its value.
    """
    chosen = versions or (Version.FULL,) * len(rule.body.sources)
    return _Planner(rule, statistics, chosen, keep_all, by_value, by_order, values_last).plan()


class _Planner:
    """The search for a join order. A source, comparison or computation is reconsidered only when one of its variables
    gets a value.

    A body with a hundred atoms has at least a hundred delta rules, each with its own plan, so the cost of a plan must
    be linear in the length of the body.
    """

    def __init__(
        self,
        rule: NormalRule,
        statistics: Statistics,
        versions: tuple[Version, ...],
        keep_all: bool,
        by_value: ByValue,
        by_order: ByValue,
        values_last: bool,
    ) -> None:
        self._rule = rule
        self._by_value = by_value
        self._by_order = by_order
        self._body: NormalBody = rule.body
        self._statistics = statistics
        self._versions = versions
        self._keep_all = keep_all
        self._computes_now = not values_last
        self._registers: dict[str, int] = {}
        self._constants: dict[Constant, int] = {}
        self._next_register = 0
        self._bound: set[str] = set()
        self._operations: list[Operation] = []
        sources = self._body.sources
        self._variables = [source_variables(source) for source in sources]
        self._mentioned: dict[str, list[int]] = {}
        for number, names in enumerate(self._variables):
            for name in dict.fromkeys(names):
                self._mentioned.setdefault(name, []).append(number)
        self._waiting = set(range(len(sources)))
        self._deltas = [number for number in reversed(range(len(sources))) if versions[number] is Version.DELTA]
        self._queue: list[tuple[float, int]] = []
        self._cost: dict[int, float] = {}
        self._sizes: dict[object, int] = {}
        self._distincts: dict[object, int] = {}
        self._computes = _Pending([compute.inputs for compute in self._body.computes])
        self._compares = _Pending([compare.inputs for compare in self._body.compares])
        has_value = set(self._body.variables)
        # A negated atom waits for those of its variables that get values elsewhere; the others are existential.
        self._negated = _Pending([set(source_variables(atom)) & has_value for atom in self._body.negated])
        self._links: list[list[_Link]] = [[] for _ in sources]  # by source: the equalities that may lead to it
        self._bounds: list[list[_Link]] = [[] for _ in sources]  # and the ends of ranges
        self._linked: dict[str, list[int]] = {}  # by variable: the sources that comparisons with it may lead to
        self._looked_up: set[int] = set()  # comparisons that an access already makes
        self._value_registers: dict[Term, int] = {}
        self._computed_ends: dict[Term, Variable] = {}
        for number, compare in enumerate(self._body.compares):
            self._link(number, compare)
        self._compared = Counter(name for compare in self._body.compares for name in compare.inputs)

    def plan(self) -> RulePlan:
        self._run_ready()
        while self._waiting:
            chosen = self._next_source()
            self._waiting.remove(chosen)
            self._access(chosen)
            self._run_ready()
        self._computes_now = True
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

    def _bind(self, names: Iterable[str]) -> None:
        new = [name for name in dict.fromkeys(names) if name not in self._bound]
        is_first = not self._bound and bool(new)
        self._bound.update(new)
        for name in new:
            self._computes.note(name)
            self._compares.note(name)
            self._negated.note(name)
        # Everything not connected with the first source forms a product with it.
        others = self._waiting
        if not is_first:
            mentioned = (self._mentioned.get(name, ()) for name in new)
            linked = (self._linked.get(name, ()) for name in new)
            others = {number for some in (*mentioned, *linked) for number in some}
        self._expect_all(others & self._waiting)

    # -- comparisons between two sources -----------------------------------------------------------------------------

    def _link(self, number: int, compare: Compare) -> None:
        """Register that a comparison leads from the variables of one side to a source with all those of the other."""
        if compare.operator == "!=" or compare.negated:
            return
        mirrored = _MIRRORED[compare.operator]
        for term, operator, other in (
            (compare.left, compare.operator, compare.right),
            (compare.right, mirrored, compare.left),
        ):
            inside, outside = _names(term), _names(other)
            # A constant bounds a range at most; a scan needs no order to skip those rows.
            if not inside or inside & outside or not _may_be_key(term) or not _may_be_key(other):
                continue
            if operator == "=" and not outside:
                continue
            for source in self._mentioned.get(next(iter(inside)), ()):
                if inside <= set(self._variables[source]):
                    links = self._links if operator == "=" else self._bounds
                    links[source].append(_Link(number, term, operator, other, inside, outside))
                    for name in outside:
                        self._linked.setdefault(name, []).append(source)

    def _link_to(self, number: int) -> _Link | None:
        """Return an equality whose other side has a value and whose side in the source does not, None if there is none."""
        return next(filter(self._is_open, self._links[number]), None)

    def _is_open(self, link: _Link) -> bool:
        return link.outside <= self._bound and not link.inside & self._bound and link.compare not in self._looked_up

    def _value_key(self, number: int) -> ValueKey | None:
        """Return the key by which rows of a source are looked up; its register is computed right before."""
        link = self._link_to(number) if self._versions[number] is not Version.DELTA else None
        is_simple = link is not None and isinstance(link.term, Variable) and isinstance(link.other, Variable)
        if link is None or self._by_value is ByValue.NOTHING or (self._by_value is ByValue.VARIABLES and not is_simple):
            return None
        if link.other not in self._value_registers:
            self._value_registers[link.other] = self._new_register()
            self._operations.append(ValueOf(link.other, self._value_registers[link.other]))
        self._looked_up.add(link.compare)
        return ValueKey(link.term, self._value_registers[link.other])

    def _range(self, number: int) -> Range | None:
        """Return the range of values to which rows of a source are limited; computed ends are computed right before."""
        source, keys = self._body.sources[number], self._key_positions(number)
        if self._by_order is ByValue.NOTHING or self._versions[number] is Version.DELTA or len(keys) > 1:
            return None
        rows = self._size(source) / (self._distinct(source, keys[0]) if keys else 1)
        if rows < _WORTH_A_RANGE:
            return None
        ends: dict[Term, dict[bool, _Link]] = {}  # by term: the lower and the upper end
        for link in self._bounds[number]:
            is_simple = isinstance(link.term, Variable) and isinstance(link.other, (Variable, Constant))
            if self._is_open(link) and (is_simple or self._by_order is ByValue.TERMS):
                ends.setdefault(link.term, {}).setdefault(link.operator in (">", ">="), link)
        chosen = max(
            ends.values(), key=lambda some: (any(link.outside for link in some.values()), len(some)), default={}
        )
        if not any(link.outside for link in chosen.values()):
            return None
        lower, upper = (self._end(chosen.get(is_lower)) for is_lower in (True, False))
        return Range(next(iter(chosen.values())).term, lower, upper, keys[0] if keys else None)

    def _end(self, link: _Link | None) -> Bound | None:
        if link is None:
            return None
        self._looked_up.add(link.compare)
        other = link.other
        if not isinstance(other, (Variable, Constant)):
            if other not in self._computed_ends:
                self._computed_ends[other] = Variable(f"\0end {len(self._computed_ends)}")
                self._operations.append(Compute(self._computed_ends[other].name, other))
            other = self._computed_ends[other]
        return Bound(self._register(other), link.operator in ("<=", ">="))

    def _key_positions(self, number: int) -> list[int]:
        arguments = _arguments(self._body.sources[number])
        return [position for position, term in enumerate(arguments) if self._is_bound(term)]

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

    def _next_source(self) -> int:
        if self._deltas:
            return self._deltas.pop()
        if not self._cost:
            self._expect_all(self._waiting)
        while True:
            cost, number = heappop(self._queue)
            if number in self._waiting and self._cost[number] == cost:
                return number

    def _expect_all(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._expect(number)

    def _size(self, source: Source) -> int:
        """Return the number of rows of a source; cached, because long bodies mention a predicate often."""
        key = source.predicate if isinstance(source, Atom) else id(source)
        if key not in self._sizes:
            self._sizes[key] = self._statistics.size(source)
        return self._sizes[key]

    def _distinct(self, source: Source, position: int) -> int:
        key = (source.predicate if isinstance(source, Atom) else id(source), position)
        if key not in self._distincts:
            self._distincts[key] = max(1, self._statistics.distinct(source, position))
        return self._distincts[key]

    def _expect(self, number: int) -> None:
        """Queue a source by the number of rows that a binding is expected to match."""
        source = self._body.sources[number]
        rows = float(self._size(source))
        for position, term in enumerate(_arguments(source)):
            if self._is_bound(term):
                rows /= self._distinct(source, position)
        names, link = self._variables[number], self._link_to(number) if self._links[number] else None
        if link is not None:
            position = next(place for place, term in enumerate(_arguments(source)) if _names(term) <= link.inside)
            rows /= self._distinct(source, position)
        elif self._bound and names and not any(name in self._bound for name in names):
            # A product with an unconnected relation waits while connected sources are left.
            is_ranged = any(link.outside and self._is_open(link) for link in self._bounds[number])
            rows = (rows + 1) * (1e5 if is_ranged else 1e6)
        self._cost[number] = rows
        heappush(self._queue, (rows, number))

    def _is_bound(self, term: Term) -> bool:
        return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in self._bound)

    def _access(self, number: int) -> None:
        source = self._body.sources[number]
        value = self._value_key(number) if self._links[number] else None
        between = self._range(number) if self._bounds[number] and value is None else None
        columns, keys = self._columns(_arguments(source))
        self._operations.append(Access(source, columns, keys, self._versions[number], value=value, range=between))
        self._bind(self._variables[number])

    def _columns(self, arguments: tuple[Term, ...]) -> tuple[tuple[Column, ...], tuple[int, ...]]:
        """Return the columns for the arguments of an atom, and the positions of its key columns."""
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
        return tuple(columns), tuple(place for place, column in enumerate(columns) if column.use is Use.KEY)

    # -- tests and computations ---------------------------------------------------------------------------------------

    def _run_ready(self, *, everything: bool = False) -> None:
        """Append every test whose variables have values, and the computations that a test or an atom needs."""
        progress = True
        while progress:
            progress = self._run_tests()
            for number in self._computes.ready if self._computes_now else ():
                compute = self._body.computes[number]
                if everything or self._is_wanted(compute):
                    self._computes.ready.remove(number)
                    self._register(Variable(compute.variable))
                    self._operations.append(compute)
                    self._bind([compute.variable])
                    progress = True
                    break

    def _run_tests(self) -> bool:
        compares, negated = self._compares.take(), self._negated.take()
        if not self._computes_now:
            late = [number for number in compares if not self._body.compares[number].is_simple]
            self._compares.ready, compares = late, [number for number in compares if number not in late]
        for number in compares:
            compare = self._body.compares[number]
            if number not in self._looked_up:
                self._operations.append(compare)
            self._compared.subtract(compare.inputs)
        for number in negated:
            atom = self._body.negated[number]
            self._operations.append(Absence(atom, *self._columns(atom.arguments)))
        return bool(compares or negated)

    def _is_wanted(self, compute: Compute) -> bool:
        """Return whether an operation that could prune or look up rows uses the value; otherwise it is computed last."""
        name = compute.variable
        if self._compared[name] > 0 or name in self._bound:
            return True
        return any(number in self._waiting for number in self._mentioned.get(name, ()))

    # -- short cuts --------------------------------------------------------------------------------------------------

    def _with_exists(self, head: tuple[int, ...]) -> list[Operation]:
        """Mark the accesses whose values are not used later: one matching row is enough."""
        used = set(head)
        operations: list[Operation] = []
        for operation in reversed(self._operations):
            if isinstance(operation, Access) and not isinstance(operation.source, AggregateSource):
                binds = {column.register for column in operation.columns if column.use is Use.BIND}
                has_check = any(column.use is Use.CHECK for column in operation.columns)
                is_delta = operation.version is Version.DELTA
                if not binds & used and not has_check and not is_delta and _is_not_first(operation, self._operations):
                    operation = replace(operation, exists=True)
            used |= self._reads(operation)
            operations.append(operation)
        return operations[::-1]

    def _reads(self, operation: Operation) -> set[int]:
        if isinstance(operation, (Access, Absence)):
            found = {column.register for column in operation.columns if column.use in (Use.KEY, Use.CHECK)}
            if isinstance(operation, Access) and operation.value is not None:
                found.add(operation.value.register)
            if isinstance(operation, Access) and operation.range is not None:
                found |= {end.register for end in (operation.range.lower, operation.range.upper) if end is not None}
            return found
        return {self._registers[name] for name in operation.inputs} | (
            {self._registers[operation.variable]} if isinstance(operation, Compute) else set()
        )


_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WORTH_A_RANGE = 32  # rows; a scan of fewer is as fast


@dataclass(frozen=True)
class _Link:
    """The comparison `term operator other`: the term is over variables of one source, `other` over variables elsewhere."""

    compare: int
    term: Term
    operator: str
    other: Term
    inside: frozenset[str]
    outside: frozenset[str]


def _names(term: Term) -> frozenset[str]:
    return frozenset(variable.name for variable in variables_of(term))


def _may_be_key(term: Term) -> bool:
    """Return whether the term is a cheap function of each row; built-in functions may call the host."""
    match term:
        case Variable() | Constant():
            return True
        case Minus():
            return _may_be_key(term.operand)
        case Arithmetic():
            return _may_be_key(term.left) and _may_be_key(term.right)
        case _:
            return False


class _Pending:
    """Numbered items that wait for variables; `ready` are those that wait for none, in order."""

    def __init__(self, inputs: Sequence[Collection[str]]) -> None:
        self._missing = [len(names) for names in inputs]
        self._waiting: dict[str, list[int]] = {}
        for number, names in enumerate(inputs):
            for name in names:
                self._waiting.setdefault(name, []).append(number)
        self.ready = [number for number, missing in enumerate(self._missing) if missing == 0]

    def note(self, name: str) -> None:
        """Record that the variable has a value."""
        for number in self._waiting.pop(name, ()):
            self._missing[number] -= 1
            if self._missing[number] == 0:
                insort(self.ready, number)

    def take(self) -> list[int]:
        ready, self.ready = self.ready, []
        return ready


def _is_not_first(operation: Operation, operations: list[Operation]) -> bool:
    """Return whether the operation is not the first access, which drives the pipeline and must go over its rows even
    for existence."""
    first = next((one for one in operations if isinstance(one, Access)), None)
    return operation is not first


def _arguments(source: Source) -> tuple[Term, ...]:
    if isinstance(source, AggregateSource):
        return tuple(Variable(name) for name in source.columns)
    return source.arguments
