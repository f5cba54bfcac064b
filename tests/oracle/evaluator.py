"""The oracle: what a program means, in obvious steps over plain Python sets.

Hyper-node by hyper-node, every rule is tried on all facts until nothing new appears. Every engine is compared with this.
Where several equalities could give a variable its value, the first one in the text does.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

from corollary.analysis import checked
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.program import (
    AggregateTerm,
    Aggregation,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    EvaluationError,
    Negation,
    Program,
    Query,
    Rule,
    Term,
    Value,
    Variable,
    Wildcard,
    aggregate,
    compare,
    element_variables,
    evaluate_term,
    subterms,
    variables_of,
)
from corollary.program.arithmetic import number_of
from corollary.program.evaluation import solutions_of
from corollary.program.patterns import (
    check_length,
    check_size,
    computed_parts,
    has_unknown_parts,
    is_pattern,
    with_computed,
)
from corollary.settings import ALL_BITS, DEEPEST
from tests.oracle.matching import Binding, Same, matched, sameness

Fact = tuple[Constant, ...]
_Element: TypeAlias = BodyElement | Same


def evaluate(program: Program, *, max_facts: int | None = None) -> dict[str, set[Fact]]:
    """The visible facts of every predicate: those of the text and everything that follows from them."""
    graph = checked(program).lowered
    facts = Relations()
    for block in program.facts:
        facts.add(block.predicate, (tuple(map(Constant, row)) for row in block.rows))
    for node in graph.hyper_nodes:
        rules = [graph.rules[name] for name in node.rules]
        while sum(facts.add(*_derived(rule, facts)) for rule in rules):
            if max_facts is not None and len(facts) > max_facts:
                message = f"there are more than {max_facts:,} facts, and {node} still derives new ones"
                raise ProgramError([Diagnostic(catalogue.LIMIT_REACHED, message)])
    mentioned = {rule.head.predicate for rule in program.rules}
    return {name: set(facts.of(name)) for name in facts.names() | mentioned if not name.startswith("\0")}


def answer(query: Query, facts: dict[str, set[Fact]]) -> set[Fact]:
    """The bindings of the query's variables, in order of appearance; a ground query has one empty answer or none."""
    relations = Relations()
    for name, rows in facts.items():
        relations.add(name, rows)
    names = [variable.name for variable in query.variables]
    return {tuple(row[name] for name in names) for row in solutions(query.body, relations)}


class Relations:
    """Sets of facts by predicate, with look-up by any bound arguments."""

    def __init__(self, against: Relations | None = None, precision: int = ALL_BITS) -> None:
        self.against = against
        """Where negated facts are looked up, if somewhere else."""
        self.precision = precision
        """How many bits of doubles comparisons regard."""
        self._facts: defaultdict[str, set[Fact]] = defaultdict(set)
        self._indexes: dict[tuple[str, tuple[int, ...]], dict[Fact, list[Fact]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._facts.values()))

    def names(self) -> set[str]:
        return set(self._facts)

    def of(self, predicate: str) -> set[Fact]:
        return self._facts.get(predicate, set())

    def add(self, predicate: str, facts: Iterable[Fact]) -> bool:
        """Whether any of them was new."""
        new = set(facts) - self._facts[predicate]
        if new:
            self._facts[predicate] |= new
            self._indexes = {key: index for key, index in self._indexes.items() if key[0] != predicate}
        return bool(new)

    def matching(self, predicate: str, bound: dict[int, Constant]) -> list[Fact]:
        """The facts that have these constants at these positions."""
        positions = tuple(bound)
        if (predicate, positions) not in self._indexes:
            index: defaultdict[Fact, list[Fact]] = defaultdict(list)
            for fact in self.of(predicate):
                index[tuple(fact[position] for position in positions)].append(fact)
            self._indexes[predicate, positions] = index
        return self._indexes[predicate, positions].get(tuple(bound.values()), [])


# -- rules ---------------------------------------------------------------------------------------------------------


def _derived(rule: Rule, facts: Relations) -> tuple[str, list[Fact]]:
    rows = solutions(rule.body, facts)
    if rule.has_head_aggregate:
        return rule.head.predicate, list(_aggregated_heads(rule.head, rows))
    return rule.head.predicate, head_facts(rule, rows)


def head_facts(rule: Rule, rows: list[Binding]) -> list[Fact]:
    """The head of each instance, with repetitions."""
    heads = (_values(rule.head.arguments, row) for row in rows)
    return [head for head in heads if head is not None]


def _aggregated_heads(head: Atom, rows: list[Binding]) -> Iterator[Fact]:
    """One fact per group; the groups are the values of the arguments that are no aggregates."""
    groups: defaultdict[Fact, list[Fact]] = defaultdict(list)
    for row in rows:
        key = _values([term for term in head.arguments if not isinstance(term, AggregateTerm)], row)
        ranged = _values([term.argument for term in head.arguments if isinstance(term, AggregateTerm)], row)
        if key is not None and ranged is not None:  # an argument without a value discards the instance
            groups[key].append(ranged)
    for key, members in groups.items():
        aggregates = [term for term in head.arguments if isinstance(term, AggregateTerm)]
        results = [_aggregate(term.function, term.distinct, k, members) for k, term in enumerate(aggregates)]
        if None not in results:
            constants, found = iter(key), iter(results)
            yield tuple(
                next(found) if isinstance(term, AggregateTerm) else next(constants)  # type: ignore[misc]
                for term in head.arguments
            )


def _aggregate(function: str, distinct: bool, place: int, members: list[Fact]) -> Constant | None:
    try:
        return Constant(aggregate(function, [member[place].value for member in members], distinct=distinct))
    except EvaluationError:
        return None


# -- bodies --------------------------------------------------------------------------------------------------------


def solutions(body: Sequence[BodyElement], facts: Relations) -> list[Binding]:
    """The distinct bindings of the body's named variables that make all of it true."""
    rows: list[Binding] = [{}]
    for element in in_evaluation_order(body):
        rows = [extended for row in rows for extended in extended_by(element, row, facts)]
    return list({frozenset(row.items()): row for row in rows}.values())


def in_evaluation_order(body: Sequence[BodyElement]) -> list[_Element]:
    """Return the body in an order that can be evaluated: what binds variables by itself first, then, in the order of the text,
    each element as soon as all its variables are bound."""
    ready: list[_Element] = []
    waiting: list[_Element] = []
    for element in body:
        if isinstance(element, Atom):
            pattern, computed = _without_expressions(element, len(waiting))
            ready.append(pattern)
            waiting.extend(computed)
        elif isinstance(element, Comparison) and _has_pattern(element):
            found = sameness(element)
            waiting.extend([Same(Constant(0), Constant(1))] if found is None else found)
        else:
            (ready if isinstance(element, Aggregation) else waiting).append(element)
    bound = {name for element in ready for name in _names(element)}
    while waiting:
        chosen = next((one for one in waiting if _can_run(one, bound)), waiting[0])
        if not _can_run(chosen, bound) and (solved := _solved(waiting, bound)) is not None:
            chosen = solved  # now the equality can be compared
        else:
            waiting.remove(chosen)
        ready.append(chosen)
        if not isinstance(chosen, Negation):
            bound |= _names(chosen)
    return ready


def _solved(waiting: list[_Element], bound: set[str]) -> Assignment | None:
    """Return an assignment to the first variable for which an equality can be solved."""
    for element in waiting:
        for variable, term in solutions_of(element) if isinstance(element, Comparison) else ():
            if variable.name not in bound and {one.name for one in variables_of(term)} <= bound:
                return Assignment(term, variable)
    return None


def _names(element: _Element) -> set[str]:
    if isinstance(element, Same):
        return {variable.name for side in (element.left, element.right) for variable in variables_of(side)}
    return {variable.name for variable in element_variables(element)}


def _has_pattern(comparison: Comparison) -> bool:
    return comparison.operator == "=" and (is_pattern(comparison.left) or is_pattern(comparison.right))


def _without_expressions(atom: Atom, number: int) -> tuple[Atom, list[Assignment]]:
    """`p(X + 1)` as `p(V)` and the assignment of X + 1 to V, which compares once V has a value."""
    computed: list[Assignment] = []

    def name(expression: Term) -> Term:
        variable = Variable(f" {number}.{len(computed)}")
        computed.append(Assignment(expression, variable))
        return variable

    return Atom(atom.predicate, tuple(with_computed(argument, name) for argument in atom.arguments)), computed


def _can_run(element: _Element, bound: set[str]) -> bool:
    missing = _names(element) - bound
    match element:
        case Negation():
            return False  # last: by then only its own existential variables have no value
        case Assignment():
            return missing <= {element.variable.name}
        case Same():
            return _known_side(element, bound) is not None
        case Comparison(operator="="):
            return not missing or (len(missing) == 1 and _gives(element, missing))
        case _:
            return not missing


def _known_side(same: Same, bound: Iterable[str]) -> tuple[Term, Term] | None:
    """A side that has a value and the other one, where the expressions of that one have values, too."""
    for side, other in ((same.left, same.right), (same.right, same.left)):
        needed = [*subterms(side), *(part for one in computed_parts(other) for part in subterms(one))]
        names = {part.name for part in needed if isinstance(part, Variable)}
        if names <= set(bound) and not any(isinstance(part, Wildcard) for part in subterms(side)):
            return side, other
    return None


def _gives(equality: Comparison, missing: set[str]) -> bool:
    """Whether the variable that has no value is one side, and stands nowhere in the other one."""
    sides = ((equality.left, equality.right), (equality.right, equality.left))
    return any(isinstance(one, Variable) and one.name in missing and one not in variables_of(two) for one, two in sides)


def extended_by(element: _Element, row: Binding, facts: Relations) -> Iterator[Binding]:
    match element:
        case Atom():
            yield from _match(element, row, facts)
        case Aggregation():
            yield from _aggregation(element, row, facts)
        case Assignment():
            yield from _bind(element.variable, element.expression, row)
        case Same():
            yield from _same(element, row)
        case Comparison(operator="=", left=Variable(name=name)) if name not in row:
            assert isinstance(element.left, Variable)
            yield from _bind(element.left, element.right, row)
        case Comparison(operator="=", right=Variable(name=name)) if name not in row:
            assert isinstance(element.right, Variable)
            yield from _bind(element.right, element.left, row)
        case Comparison():
            if _holds(element, row, facts.precision):
                yield row
        case Negation(element=Comparison() as comparison):
            has_form = has_unknown_parts(comparison.left) or has_unknown_parts(comparison.right)
            if not (_fits(comparison, row) if has_form else _holds(comparison, row, facts.precision)):
                yield row
        case Negation(element=Atom() as atom):
            if not any(_match_negated(atom, row, facts if facts.against is None else facts.against)):
                yield row


def _match(atom: Atom, row: Binding, facts: Relations) -> Iterator[Binding]:
    bound = {}
    for position, argument in enumerate(atom.arguments):
        if isinstance(argument, Constant):
            bound[position] = argument
        elif isinstance(argument, Variable) and argument.name in row:
            bound[position] = row[argument.name]
    for fact in facts.matching(atom.predicate, bound):
        extended: Binding | None = dict(row)
        for argument, constant in zip(atom.arguments, fact, strict=True):
            extended = matched(argument, constant.value, extended) if extended is not None else None
        if extended is not None:
            yield extended


def _match_negated(atom: Atom, row: Binding, facts: Relations) -> Iterator[bool]:
    try:
        arguments = tuple(with_computed(argument, lambda term: _constant(term, row)) for argument in atom.arguments)
    except EvaluationError:
        return  # what has no value is the argument of no fact
    yield from (True for _ in _match(Atom(atom.predicate, arguments), row, facts))


def _same(same: Same, row: Binding) -> Iterator[Binding]:
    sides = _known_side(same, row)
    assert sides is not None, "safety sees to it that one side has a value"
    try:
        value = _constant(sides[0], row).value
        found = matched(with_computed(sides[1], lambda term: _constant(term, row)), value, row)
    except EvaluationError:
        return
    if found is not None:
        yield found


def _fits(comparison: Comparison, row: Binding) -> bool:
    """Whether a value has the form of a term with unknown parts."""
    asked = sameness(comparison)
    return asked is not None and all(any(True for _ in _same(one, row)) for one in asked)


def _bind(variable: Variable, expression: Term, row: Binding) -> Iterator[Binding]:
    value = _values([expression], row)
    if value is not None and row.get(variable.name, value[0]) == value[0]:
        yield {**row, variable.name: value[0]}


def _holds(comparison: Comparison, row: Binding, precision: int) -> bool:
    sides = _values([comparison.left, comparison.right], row)
    try:
        return sides is not None and compare(comparison.operator, *(_regarded(side.value, precision) for side in sides))
    except EvaluationError:
        return False


def _regarded(value: Value, precision: int) -> Value:
    """Return the value as comparisons see it: a double is rounded to so many bits, as a fraction."""
    number = number_of(value)
    if not isinstance(number, float) or not math.isfinite(number) or number == 0.0:
        return value
    unit = Fraction(2) ** (math.frexp(number)[1] - precision)
    try:
        return float(round(Fraction(number) / unit) * unit)
    except OverflowError:
        return math.copysign(math.inf, number)


def _aggregation(aggregation: Aggregation, row: Binding, facts: Relations) -> Iterator[Binding]:
    groups: defaultdict[Fact, list[Fact]] = defaultdict(list)
    for member in solutions(aggregation.body, facts):
        ranged = _values([operation.argument for operation in aggregation.operations], member)
        if ranged is not None:
            groups[tuple(member[variable.name] for variable in aggregation.group_by)].append(ranged)
    for key, members in groups.items():
        found = dict(zip((variable.name for variable in aggregation.group_by), key, strict=True))
        for k, operation in enumerate(aggregation.operations):
            result = _aggregate(operation.function, operation.distinct, k, members)
            if result is None:
                break
            found[operation.result.name] = result
        else:
            if all(row.get(name, constant) == constant for name, constant in found.items()):
                yield {**row, **found}


# -- terms ---------------------------------------------------------------------------------------------------------


def _values(terms: Sequence[Term], row: Binding) -> Fact | None:
    """The constants that the terms stand for; None where one of them has no value, which discards the instance."""
    try:
        return tuple(_constant(term, row) for term in terms)
    except EvaluationError:
        return None


def _constant(term: Term, row: Binding) -> Constant:
    value = evaluate_term(term, {name: constant.value for name, constant in row.items()})
    if is_pattern(term):
        check_size(value, DEEPEST)
    check_length(value)
    return Constant(value)
