"""The oracle: what a program means, in obvious steps over plain Python sets.

Hyper-node by hyper-node, every rule is tried on all facts until nothing new appears. Every engine is compared with this.
Where several equalities could give a variable its value, the first one in the text does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from corollary.analysis import check_evaluable, checked
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
    Variable,
    Wildcard,
    aggregate,
    compare,
    element_variables,
    evaluate_term,
)

Fact = tuple[Constant, ...]
Binding = dict[str, Constant]


def evaluate(program: Program, *, max_facts: int | None = None) -> dict[str, set[Fact]]:
    """The visible facts of every predicate: those of the text and everything that follows from them."""
    graph = checked(program).graph
    if wrong := check_evaluable(program.rules, program.queries):
        raise ProgramError(wrong)
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
    return {name: set(facts.of(name)) for name in facts.names() | mentioned}


def answer(query: Query, facts: dict[str, set[Fact]]) -> set[Fact]:
    """The bindings of the query's variables, in order of appearance; a ground query has one empty answer or none."""
    relations = Relations()
    for name, rows in facts.items():
        relations.add(name, rows)
    names = [variable.name for variable in query.variables]
    return {tuple(row[name] for name in names) for row in solutions(query.body, relations)}


class Relations:
    """Sets of facts by predicate, with look-up by any bound arguments."""

    def __init__(self) -> None:
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
    for element in _in_evaluation_order(body):
        rows = [extended for row in rows for extended in _extend(element, row, facts)]
    return list({frozenset(row.items()): row for row in rows}.values())


def _in_evaluation_order(body: Sequence[BodyElement]) -> list[BodyElement]:
    """What binds variables by itself first, then whatever has all it needs, in the order of the text."""
    ready: list[BodyElement] = []
    waiting: list[BodyElement] = []
    for element in body:
        if isinstance(element, Atom):
            pattern, computed = _without_expressions(element, len(waiting))
            ready.append(pattern)
            waiting.extend(computed)
        else:
            (ready if isinstance(element, Aggregation) else waiting).append(element)
    bound = {variable.name for element in ready for variable in element_variables(element)}
    while waiting:
        element = next((one for one in waiting if _can_run(one, bound)), waiting[0])
        waiting.remove(element)
        ready.append(element)
        if not isinstance(element, Negation):
            bound |= {variable.name for variable in element_variables(element)}
    return ready


def _without_expressions(atom: Atom, number: int) -> tuple[Atom, list[Assignment]]:
    """`p(X + 1)` as `p(V)` and the assignment of X + 1 to V, which compares once V has a value."""
    arguments: list[Term] = []
    computed: list[Assignment] = []
    for position, argument in enumerate(atom.arguments):
        if not isinstance(argument, (Variable, Wildcard, Constant)):
            variable = Variable(f" {number}.{position}")
            computed.append(Assignment(argument, variable))
            argument = variable
        arguments.append(argument)
    return Atom(atom.predicate, tuple(arguments)), computed


def _can_run(element: BodyElement, bound: set[str]) -> bool:
    missing = {variable.name for variable in element_variables(element)} - bound
    match element:
        case Negation():
            return False  # last: by then only its own existential variables have no value
        case Assignment():
            return missing <= {element.variable.name}
        case Comparison(operator="="):
            sides = [side.name for side in (element.left, element.right) if isinstance(side, Variable)]
            return not missing or (len(missing) == 1 and missing <= set(sides) and not _on_both_sides(element))
        case _:
            return not missing


def _on_both_sides(equality: Comparison) -> bool:
    return isinstance(equality.left, Variable) and equality.left == equality.right


def _extend(element: BodyElement, row: Binding, facts: Relations) -> Iterator[Binding]:
    match element:
        case Atom():
            yield from _match(element, row, facts)
        case Aggregation():
            yield from _aggregation(element, row, facts)
        case Assignment():
            yield from _bind(element.variable, element.expression, row)
        case Comparison(operator="=", left=Variable(name=name)) if name not in row:
            assert isinstance(element.left, Variable)
            yield from _bind(element.left, element.right, row)
        case Comparison(operator="=", right=Variable(name=name)) if name not in row:
            assert isinstance(element.right, Variable)
            yield from _bind(element.right, element.left, row)
        case Comparison():
            if _holds(element, row):
                yield row
        case Negation(element=Comparison() as comparison):
            if not _holds(comparison, row):
                yield row
        case Negation(element=Atom() as atom):
            if not any(_match_negated(atom, row, facts)):
                yield row


def _match(atom: Atom, row: Binding, facts: Relations) -> Iterator[Binding]:
    bound = {}
    for position, argument in enumerate(atom.arguments):
        if isinstance(argument, Constant):
            bound[position] = argument
        elif isinstance(argument, Variable) and argument.name in row:
            bound[position] = row[argument.name]
    for fact in facts.matching(atom.predicate, bound):
        extended = dict(row)
        if all(
            extended.setdefault(argument.name, constant) == constant
            for argument, constant in zip(atom.arguments, fact, strict=True)
            if isinstance(argument, Variable)
        ):
            yield extended


def _match_negated(atom: Atom, row: Binding, facts: Relations) -> Iterator[bool]:
    arguments: list[Term] = []
    for argument in atom.arguments:
        if isinstance(argument, (Variable, Wildcard)):
            arguments.append(argument)
        elif (value := _values([argument], row)) is None:
            return  # what has no value is the argument of no fact
        else:
            arguments.append(value[0])
    yield from (True for _ in _match(Atom(atom.predicate, tuple(arguments)), row, facts))


def _bind(variable: Variable, expression: Term, row: Binding) -> Iterator[Binding]:
    value = _values([expression], row)
    if value is not None and row.get(variable.name, value[0]) == value[0]:
        yield {**row, variable.name: value[0]}


def _holds(comparison: Comparison, row: Binding) -> bool:
    sides = _values([comparison.left, comparison.right], row)
    try:
        return sides is not None and compare(comparison.operator, sides[0].value, sides[1].value)
    except EvaluationError:
        return False


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
    values = {name: constant.value for name, constant in row.items()}
    try:
        return tuple(Constant(evaluate_term(term, values)) for term in terms)
    except EvaluationError:
        return None
