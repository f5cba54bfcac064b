"""The normal form of rules, from which plans are made.

Arguments of atoms are variables, constants or `_`; every computed value has a variable of its own; aggregates in heads
and bodies are sources of rows like atoms. The normal form also settles which equality gives a variable its value, as
the language defines it: atoms first, then the first equality in the text that can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from corollary.analysis.lowering import is_possible
from corollary.program import (
    AggregateOperation,
    AggregateTerm,
    Aggregation,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    EvaluationError,
    Negation,
    Query,
    Rule,
    Term,
    Variable,
    Wildcard,
    element_variables,
    evaluate_term,
    subterms,
    variables_of,
)
from corollary.program.evaluation import solutions_of
from corollary.program.patterns import is_ground, is_pattern, pairs, parts, without_unknown_parts

# -- identities --------------------------------------------------------------------------------------------------------

# Identities that a rule must match: function terms and lists, built and taken apart by computations.
#
# `p(f(X, [Y | _]))` becomes `p(V)`, with computations for the parts of V: each gives a variable its value, or compares
# with the value that it already has. In an equality, the side whose variables have values is built, and the other side
# is matched with it.

Fresh: TypeAlias = Callable[[], Variable]


@dataclass(frozen=True)
class Identical:
    """The condition that two terms are the same constant."""

    left: Term
    right: Term


@dataclass(frozen=True)
class Given:
    """The condition that a variable is identical with the value of a term; gives the variable that value if it has none."""

    variable: Variable
    term: Term


Waiting: TypeAlias = Given | Identical


def folded(term: Term) -> Term:
    """Return the constant that a pattern without variables stands for; the term itself if it has variables or no value."""
    if is_pattern(term) and is_ground(term):
        try:
            return Constant(evaluate_term(term, {}), term.span)
        except EvaluationError:
            pass
    return term


def has_pattern(comparison: Comparison) -> bool:
    return comparison.operator == "=" and (is_pattern(comparison.left) or is_pattern(comparison.right))


def next_steps(one: Identical, bound: set[str], fresh: Fresh) -> list[Waiting] | None:
    """Return the next computations of an identity, given variables with values; None if it must wait for more of them."""
    left, right = folded(one.left), folded(one.right)
    if is_pattern(left) and is_pattern(right):
        found = pairs(left, right)
        return _never(left, right, fresh) if found is None else [Identical(one, other) for one, other in found]
    for side, other in ((left, right), (right, left)):
        if isinstance(other, Wildcard):
            return [Given(fresh(), side)] if _is_known(side, bound) else [] if is_pattern(side) else None
        if not _is_known(side, bound):
            continue
        if isinstance(other, Variable):
            return [Given(other, side)]
        return _matched(side, other, bound, fresh)
    return None


def _never(left: Term, right: Term, fresh: Fresh) -> list[Waiting]:
    """Return steps that never match, for terms of different forms; their variables get values nevertheless."""
    value, variables = fresh(), dict.fromkeys(one.name for side in (left, right) for one in variables_of(side))
    impossible = [Given(value, Constant(0)), Given(value, Constant(1))]
    return [*impossible, *(Given(Variable(name), Constant(0)) for name in variables)]


def _matched(side: Term, other: Term, bound: set[str], fresh: Fresh) -> list[Waiting] | None:
    """Return the steps that match a side with a known value against a term that is not a plain variable."""
    if isinstance(side, Variable):
        if is_pattern(other):
            return _taken_apart(side, other, fresh)
        return [Given(side, other)] if _is_known(other, bound) else None
    whole = fresh()
    return [Given(whole, side), Identical(whole, other)]


def _taken_apart(whole: Variable, pattern: Term, fresh: Fresh) -> list[Waiting]:
    found: list[Waiting] = []
    for child, part in parts(pattern, whole):
        child = folded(child)
        if isinstance(child, Variable):
            found.append(Given(child, part))
        elif not isinstance(child, Wildcard):
            piece = fresh()
            found += [Given(piece, part), Identical(piece, child)]
    if not found:  # nothing but `_`: the form still has to match
        _, part = next(iter(parts(pattern, whole)))
        found.append(Given(fresh(), part))
    return found


def _is_known(term: Term, bound: set[str]) -> bool:
    return not _has_wildcard(term) and {variable.name for variable in variables_of(term)} <= bound


def _has_wildcard(term: Term) -> bool:
    return any(isinstance(part, Wildcard) for part in subterms(term))


# -- normal form -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compute:
    """The condition that the variable is identical with the value of the expression; without a value the instance is
    dropped.

    Under negation (`total`) it must not be dropped: there, a missing value becomes a value that no fact has.
    """

    variable: str
    expression: Term
    total: bool = False

    @property
    def inputs(self) -> frozenset[str]:
        return frozenset(variable.name for variable in variables_of(self.expression))


@dataclass(frozen=True)
class Compare:
    """A comparison whose variables have values when it runs; `negated` also holds if the comparison has no value."""

    operator: str
    left: Term
    right: Term
    negated: bool = False

    @property
    def inputs(self) -> frozenset[str]:
        return frozenset(variable.name for side in (self.left, self.right) for variable in variables_of(side))

    @property
    def is_simple(self) -> bool:
        return all(isinstance(side, (Variable, Constant)) for side in (self.left, self.right))

    @property
    def orders(self) -> bool:
        """Whether it compares by order, so that texts need ranks, instead of for equality alone."""
        return self.operator not in ("=", "!=")


@dataclass(frozen=True)
class AggregateSource:
    """The rows of an aggregation: groups and results."""

    body: NormalBody
    group_by: tuple[str, ...]
    operations: tuple[AggregateOperation, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.group_by, *(operation.result.name for operation in self.operations))

    @property
    def ranged(self) -> tuple[str, ...]:
        """The variables whose bindings are distinguished: named ones, and computed ones that groups or results need."""
        needed = {operation.argument.name for operation in self.operations if isinstance(operation.argument, Variable)}
        needed |= set(self.group_by)
        return tuple(name for name in self.body.variables if name in needed or not name.startswith(" "))


Source: TypeAlias = Atom | AggregateSource


@dataclass(frozen=True)
class NormalBody:
    sources: tuple[Source, ...]
    negated: tuple[Atom, ...]
    computes: tuple[Compute, ...]
    compares: tuple[Compare, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """Every variable with a value in an instance, in order of appearance."""
        names: dict[str, None] = {}
        for source in self.sources:
            names.update(dict.fromkeys(source_variables(source)))
        for compute in self.computes:
            names.setdefault(compute.variable)
        return tuple(names)


@dataclass(frozen=True)
class NormalRule:
    name: str
    head: Atom
    body: NormalBody


def predicates_of_body(body: NormalBody) -> set[str]:
    """Return the predicates that a body reads, including those under negation and in aggregations."""
    found = {atom.predicate for atom in body.negated}
    for source in body.sources:
        found |= {source.predicate} if isinstance(source, Atom) else predicates_of_body(source.body)
    return found


def source_variables(source: Source) -> tuple[str, ...]:
    if isinstance(source, AggregateSource):
        return source.columns
    return tuple(argument.name for argument in source.arguments if isinstance(argument, Variable))


def source_columns(source: Source) -> tuple[str | None, ...]:
    """Return the name of the variable in each column, None for columns without one."""
    if isinstance(source, AggregateSource):
        return source.columns
    return tuple(argument.name if isinstance(argument, Variable) else None for argument in source.arguments)


def normalise(rule: Rule) -> NormalRule:
    if all(map(_is_plain, rule.body)) and _is_plain(rule.head):
        return NormalRule(rule.name, rule.head, NormalBody(rule.body, (), (), ()))  # type: ignore[arg-type]
    fresh = _Fresh()
    if rule.has_head_aggregate:
        return _with_head_aggregates(rule, fresh)
    arguments, computes = _flat(rule.head.arguments, fresh)
    body = _body(rule.body, fresh, computes)
    return NormalRule(rule.name, Atom(rule.head.predicate, arguments), body)


_PLAIN = frozenset((Variable, Constant, Wildcard))


def _is_plain(element: BodyElement) -> bool:
    """Return whether this is an atom without computations."""
    return type(element) is Atom and element.location is None and _PLAIN.issuperset(map(type, element.arguments))


def normalise_query(query: Query) -> NormalRule:
    """Return the query as a rule whose head contains the answer."""
    return NormalRule("query", Atom("", query.variables), _body(query.body, _Fresh(), []))


class _Fresh:
    """New variables that no program text can contain."""

    def __init__(self) -> None:
        self._numbers = count()

    def __call__(self) -> Variable:
        return Variable(f" {next(self._numbers)}")


def _flat(terms: tuple[Term, ...], fresh: _Fresh, total: bool = False) -> tuple[tuple[Term, ...], list[Compute]]:
    """Return the terms with a variable for everything that must be computed, and the computations."""
    flat: list[Term] = []
    computes: list[Compute] = []
    for term in terms:
        if not isinstance(term, (Variable, Constant, Wildcard)):
            term = folded(term)
            if not isinstance(term, Constant):
                variable = fresh()
                computes.append(Compute(variable.name, term, total))
                term = variable
        flat.append(term)
    return tuple(flat), computes


def _with_head_aggregates(rule: Rule, fresh: _Fresh) -> NormalRule:
    """Return `p(X, count(T)) :- body` as `p(X, N)` over the aggregation of the body by X."""
    groups: list[Term] = []
    operations: list[AggregateOperation] = []
    head: list[Term] = []
    computes: list[Compute] = []
    for argument in rule.head.arguments:
        if isinstance(argument, AggregateTerm):
            (ranged,), computed = _flat((argument.argument,), fresh)
            result: Term = fresh()
            assert isinstance(result, Variable)
            operations.append(AggregateOperation(argument.function, ranged, result, argument.distinct))
        else:
            (result,), computed = _flat((argument,), fresh)
            groups.append(result)
        head.append(result)
        computes += computed
    names = tuple(dict.fromkeys(group.name for group in groups if isinstance(group, Variable)))
    source = AggregateSource(_body(rule.body, fresh, computes), names, tuple(operations))
    return NormalRule(rule.name, Atom(rule.head.predicate, tuple(head)), NormalBody((source,), (), (), ()))


def _body(elements: tuple[BodyElement, ...], fresh: _Fresh, head_computes: list[Compute]) -> NormalBody:
    sources: list[Source] = []
    negated: list[Atom] = []
    matched: list[_Waiting] = []
    waiting: list[_Waiting] = []
    compares: list[Compare] = []
    for element in elements:
        match element:
            case Atom():
                arguments, computed = _flat(element.arguments, fresh)
                sources.append(Atom(element.predicate, arguments))
                matched += map(_as_identity, computed)
            case Aggregation():
                sources.append(_aggregate_source(element, fresh))
            case Negation(element=Atom() as atom):
                arguments, computed = _flat(atom.arguments, fresh, total=True)
                negated.append(Atom(atom.predicate, arguments))
                head_computes = [*head_computes, *computed]
            case Negation(element=Comparison() as comparison):
                known = without_unknown_parts(comparison)
                compares.append(Compare(known.operator, known.left, known.right, negated=True))
            case Comparison() if has_pattern(element):
                waiting.append(Identical(element.left, element.right))
            case Comparison() | Assignment():
                waiting.append(element)
    computes, others = _settle(
        [*matched, *waiting], {name for source in sources for name in source_variables(source)}, fresh
    )
    return NormalBody(tuple(sources), tuple(negated), (*computes, *head_computes), (*others, *compares))


def _aggregate_source(aggregation: Aggregation, fresh: _Fresh) -> AggregateSource:
    computes: list[Compute] = []
    operations: list[AggregateOperation] = []
    for operation in aggregation.operations:
        (ranged,), computed = _flat((operation.argument,), fresh)
        operations.append(AggregateOperation(operation.function, ranged, operation.result, operation.distinct))
        computes += computed
    body = _body(aggregation.body, fresh, computes)
    return AggregateSource(body, tuple(variable.name for variable in aggregation.group_by), tuple(operations))


_Waiting: TypeAlias = Compute | Comparison | Assignment | Identical


def _as_identity(compute: Compute) -> _Waiting:
    """Return the condition for a computed argument of an atom: patterns are taken apart, everything else is computed
    and compared."""
    if is_pattern(compute.expression):
        return Identical(Variable(compute.variable), compute.expression)
    return compute


def _settle(waiting: list[_Waiting], bound: set[str], fresh: _Fresh) -> tuple[list[Compute], list[Compare]]:
    """Turn each equality that must give a variable its value into a `Compute`, and the others into comparisons."""
    computes: list[Compute] = []
    compares: list[Compare] = []
    bound = set(bound)
    while waiting:
        position, ready = next(
            ((number, found) for number, one in enumerate(waiting) if (found := _ready(one, bound, fresh)) is not None),
            (0, None),
        )
        if ready is None and (solved := _solved(waiting, bound)) is not None:
            computes.append(solved)
            bound.add(solved.variable)
            continue  # now the equality can be a comparison
        element = waiting.pop(position)
        if isinstance(ready, Compute):
            computes.append(ready)
            bound.add(ready.variable)
        elif isinstance(ready, list):
            waiting[position:position] = ready
        elif isinstance(element, Comparison):
            compares.append(Compare(element.operator, element.left, element.right))
    return computes, compares


def _ready(element: _Waiting, bound: set[str], fresh: _Fresh) -> Compute | list[_Waiting] | bool | None:
    """Return how the element can run now: as a `Compute`, as other elements, as a comparison (True), or not yet (None)."""
    if isinstance(element, Identical):
        steps = next_steps(element, bound, fresh)
        return None if steps is None else [_as_compute(step) for step in steps]
    if isinstance(element, Assignment):
        element = Compute(element.variable.name, element.expression)
    if isinstance(element, Compute):
        return element if element.inputs <= bound else None
    missing = {variable.name for variable in element_variables(element)} - bound
    if not missing:
        return True
    if element.operator == "=" and len(missing) == 1 and element.left != element.right:
        for side, other in ((element.left, element.right), (element.right, element.left)):
            if isinstance(side, Variable) and {side.name} == missing:
                compute = Compute(side.name, other)
                return compute if compute.inputs <= bound else None
    return None


def _solved(waiting: list[_Waiting], bound: set[str]) -> Compute | None:
    """Return the computation of the first variable for which an equality can be solved, None if there is none."""
    for element in waiting:
        if isinstance(element, Comparison):
            for variable, term in solutions_of(element):
                compute = Compute(variable.name, term)
                if variable.name not in bound and compute.inputs <= bound:
                    return compute
    return None


def _as_compute(step: Given | Identical) -> _Waiting:
    return Compute(step.variable.name, step.term) if isinstance(step, Given) else step


def alternates(rules: Iterable[NormalRule]) -> bool:
    """Return whether the rules of a hyper-node are of two kinds, for true and for possible facts, that negate each other."""
    known = tuple(rules)
    heads = {rule.head.predicate for rule in known}
    if not any(map(is_possible, heads)):
        return False
    return any(atom.predicate in heads for rule in known for atom in rule.body.negated)
