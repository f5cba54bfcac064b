"""Well-founded semantics: negation may go through recursion, variables may be unlimited and constants may turn out equal.

All rules together are applied until nothing new appears, with negated facts looked up in a set that stays the same meanwhile:
so everything only grows, and no order of rules matters. From an empty set this gives all that is possible; against that, all that
is surely true; against that in turn a smaller set of what is possible, and so on, until nothing changes (the alternating
fixpoint). For a stratified program the two are the same in the end, and what `evaluate` finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from corollary.analysis import limited_variables
from corollary.program import (
    EQUALITY,
    Atom,
    BodyElement,
    Constant,
    Negation,
    Program,
    Rule,
    Structure,
    Value,
    Variable,
    all_terms_of,
    element_variables,
    subterms,
    variables_of,
)
from corollary.settings import ALL_BITS
from tests.oracle.evaluator import Fact, Relations, head_facts, solutions

_UNIVERSE = " universe"
_MOST_EQUALS = 100


def well_founded(
    program: Program, *, unsafe: bool = False, precision: int = ALL_BITS
) -> tuple[dict[str, set[Fact]], dict[str, set[Fact]]]:
    """The facts that are true and those that are undefined, by predicate; the program has no aggregates.

    With `unsafe`, variables that nothing limits range over all constants of the rules and of the facts. `precision` is how many
    bits of doubles comparisons regard.
    """
    rules = [_limited(rule) if unsafe else rule for rule in program.rules]
    true = Relations(precision=precision)
    while True:
        possible = _consequences(program, rules, against=true)
        surely = _consequences(program, rules, against=possible)
        if len(surely) == len(true):
            break
        true = surely
    names = {*possible.names(), *(rule.head.predicate for rule in program.rules)} - {_UNIVERSE}
    return {name: true.of(name) for name in names}, {name: possible.of(name) - true.of(name) for name in names}


def _consequences(program: Program, rules: Sequence[Rule], against: Relations) -> Relations:
    facts = Relations(against, against.precision)
    for block in program.facts:
        facts.add(block.predicate, (tuple(map(Constant, row)) for row in block.rows))
    facts.add(_UNIVERSE, [(constant,) for rule in program.rules for constant in _constants(rule)])
    while True:
        new = [facts.add(rule.head.predicate, head_facts(rule, solutions(rule.body, facts))) for rule in rules]
        new += [facts.add(name, list(_with_equals(name, facts))) for name in facts.names() - {EQUALITY}]
        known = [(constant,) for name in facts.names() for fact in facts.of(name) for constant in fact]
        if not any([*new, facts.add(_UNIVERSE, known)]):
            return facts


def _with_equals(name: str, facts: Relations) -> Iterator[Fact]:
    """Every fact with each of its constants replaced by those that are equal to it."""
    sides: defaultdict[Constant, set[Constant]] = defaultdict(set)
    for left, right in facts.of(EQUALITY):
        sides[left].add(right)
        sides[right].add(left)
    for fact in facts.of(name) if sides else ():
        yield from product(*(_equals(constant, sides) for constant in fact))


def _equals(constant: Constant, sides: Mapping[Constant, set[Constant]]) -> set[Constant]:
    """All that one side of an equality in place of the other, anywhere in a constant, leads to."""
    found, waiting = {constant}, [constant]
    while waiting:
        new = set(map(Constant, _replaced(waiting.pop().value, sides))) - found
        found |= new
        waiting += new
        if len(found) > _MOST_EQUALS:
            raise ValueError(f"more than {_MOST_EQUALS} constants are equal to {constant}")
    return found


def _replaced(value: Value, sides: Mapping[Constant, set[Constant]]) -> Iterator[Value]:
    yield from (other.value for other in sides.get(Constant(value), ()))
    parts = value.arguments if isinstance(value, Structure) else value if isinstance(value, tuple) else ()
    for place, part in enumerate(parts):
        for other in _replaced(part, sides):
            changed = (*parts[:place], other, *parts[place + 1 :])
            yield Structure(value.name, changed) if isinstance(value, Structure) else changed
        for rest in sides.get(Constant(parts[place:]), ()) if isinstance(value, tuple) and place else ():
            if isinstance(rest.value, tuple):
                yield (*parts[:place], *rest.value)


# -- unsafe rules --------------------------------------------------------------------------------------------------


def _limited(rule: Rule) -> Rule:
    wanted = {variable.name for term in rule.head.arguments for variable in variables_of(term)}
    for element in rule.body:
        others = {one.name for other in rule.body if other is not element for one in element_variables(other)}
        mine = {one.name for one in element_variables(element)}
        wanted |= mine & (wanted | others) if _negates_an_atom(element) else mine
    missing = sorted(wanted - limited_variables(rule.body))
    atoms = tuple(Atom(_UNIVERSE, (variable,)) for variable in map(Variable, missing))
    return Rule(rule.name, rule.head, (*rule.body, *atoms))


def _negates_an_atom(element: BodyElement) -> bool:
    return isinstance(element, Negation) and isinstance(element.element, Atom)


def _constants(rule: Rule) -> Iterator[Constant]:
    terms = [*rule.head.arguments, *(term for element in rule.body for term in all_terms_of(element))]
    yield from (part for term in terms for part in subterms(term) if isinstance(part, Constant))
