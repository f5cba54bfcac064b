"""Unsafe rules: a variable that nothing limits ranges over the universe, all constants of the program and of its facts.

The universe is an auxiliary predicate that every argument of every predicate feeds, and every constant in a rule. A derived
predicate need not feed it where its rules make no new constants: what they say is about constants that are in it anyway. That
is made use of only where feeding would turn a negation into one through recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from corollary.analysis.lowering.bodies import variables
from corollary.analysis.meaning import Meaning
from corollary.analysis.rule_graph import RuleGraph
from corollary.analysis.safety import limited_variables
from corollary.program import (
    Aggregation,
    Atom,
    BodyElement,
    Constant,
    Negation,
    Query,
    Rule,
    Term,
    Variable,
    Wildcard,
    all_terms_of,
    element_variables,
    subterms,
    variables_of,
)

UNIVERSE = "\0universe"


def limited_by_universe(
    rules: Sequence[Rule], written: Sequence[Rule], arities: Mapping[str, int], meaning: Meaning
) -> tuple[Rule, ...]:
    """The rules with the universe as the range of each variable that nothing limits.

    `written` are those of the program itself. A predicate that only other rules have facts for, those of equality, is no derived
    one here: its facts are stated, and the universe has no other way to know of their constants.
    """
    limited = tuple(replace(rule, body=body_with_universe(rule)) for rule in rules)
    feeding = _with_constants(rules, limited, arities)
    if meaning.is_well_founded:
        return feeding
    graph = RuleGraph.of(feeding, local=meaning.is_local)
    if not any(graph.is_undecided(node) for node in graph.hyper_nodes):
        return feeding
    made = {rule.head.predicate for rule in rules if _makes_constants(rule)}
    derived = {rule.head.predicate for rule in written}
    needed = {name: arity for name, arity in arities.items() if name in made or name not in derived}
    return _with_constants(rules, limited, needed)


def body_with_universe(rule: Rule) -> tuple[BodyElement, ...]:
    """The body with the universe as the range of each variable that nothing limits; `_` gets no value by it."""
    return _limited_body(rule.body, rule.head.arguments)


def with_universe(query: Query) -> Query:
    """The query with the universe as the range of each variable that nothing limits."""
    return replace(query, body=_limited_body(query.body, ()))


def reads_universe(query: Query) -> bool:
    return any(isinstance(element, Atom) and element.predicate == UNIVERSE for element in query.body)


def _with_constants(rules: Iterable[Rule], limited: tuple[Rule, ...], arities: Mapping[str, int]) -> tuple[Rule, ...]:
    found = dict.fromkeys(constant for rule in rules for constant in _constants(rule))
    stated = [Rule(f"universe {number}", Atom(UNIVERSE, (constant,)), ()) for number, constant in enumerate(found, 1)]
    return (*limited, *_feeding(arities), *stated)


def _feeding(arities: Mapping[str, int]) -> Iterator[Rule]:
    for predicate, arity in arities.items():
        known = variables(arity)
        for position in range(arity):
            name = f"{predicate} universe {position + 1}"
            yield Rule(name, Atom(UNIVERSE, (known[position],)), (Atom(predicate, known),))


def _limited_body(body: tuple[BodyElement, ...], head: tuple[Term, ...]) -> tuple[BodyElement, ...]:
    inner = tuple(map(_limited_inside, body))
    limited = limited_variables(inner)
    wanted = [variable for term in head for variable in variables_of(term)]
    for element in inner:
        elsewhere = {one.name for other in inner if other is not element for one in element_variables(other)}
        elsewhere |= {variable.name for variable in wanted}
        alone = isinstance(element, Negation) and isinstance(element.element, Atom)
        # A variable that occurs under one negation only means "there is none".
        wanted += [one for one in element_variables(element) if not alone or one.name in elsewhere]
    names = dict.fromkeys(variable.name for variable in wanted if variable.name not in limited)
    return (*inner, *(Atom(UNIVERSE, (Variable(name),)) for name in names))


def _limited_inside(element: BodyElement) -> BodyElement:
    if not isinstance(element, Aggregation):
        return element
    ranged = (*element.group_by, *(operation.argument for operation in element.operations))
    return replace(element, body=_limited_body(element.body, ranged))


def _constants(rule: Rule) -> Iterator[Constant]:
    terms = [*rule.head.arguments, *(term for element in rule.body for term in all_terms_of(element))]
    yield from (part for term in terms for part in subterms(term) if isinstance(part, Constant))


def _makes_constants(rule: Rule) -> bool:
    """Whether a rule may derive facts about other constants than those of the program and of its facts."""
    terms = [*rule.head.arguments, *(term for element in rule.body for term in all_terms_of(element))]
    plain = all(isinstance(part, (Variable, Wildcard, Constant)) for term in terms for part in subterms(term))
    return not plain or any(isinstance(element, Aggregation) for element in rule.body)
