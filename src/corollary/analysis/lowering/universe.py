"""Unsafe rules: an unlimited variable ranges over the universe, all constants of the program and of its facts.

The universe is an auxiliary predicate fed by every argument of every predicate, and by every constant in a rule. Of a
derived predicate, the explicit facts are enough, and the facts of rules that make new constants: all other facts
contain only constants that are in the universe anyway. This is used only if feeding the universe with everything would
put a negation into a recursion. The explicit facts of a predicate then become an auxiliary predicate of their own,
which engines fill.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
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
_STATED = "\0stated\0"
_EXTERNAL = "\0external\0"


def limited_by_universe(
    rules: Sequence[Rule], written: Set[str], arities: Mapping[str, int], meaning: Meaning
) -> tuple[Rule, ...]:
    """Return the rules with the universe as the range of each unlimited variable.

    `written` are the names of the program's own rules. The rules of equality may make terms, too, but only from what is
    in the universe; for them it is a predicate like any other.
    """
    limited = tuple(replace(rule, body=body_with_universe(rule)) for rule in rules)
    feeding = _with_constants(rules, limited, _feeding(arities))
    if meaning.is_well_founded:
        return feeding
    graph = RuleGraph.of(feeding, local=meaning.is_local)
    if not any(graph.is_undecided(node) for node in graph.hyper_nodes):
        return feeding
    negated = _below_negation(limited, local=meaning.is_local) & arities.keys()
    making = [
        rule for rule in limited if rule.head.predicate in negated and rule.name in written and _makes_constants(rule)
    ]
    whole = {rule.head.predicate for rule in making if rule.has_head_aggregate}  # its groups need all arguments
    by_rules = (one for rule in making if rule.head.predicate not in whole for one in _feeding_by(rule))
    return _with_constants(rules, limited, (*_feeding(arities, negated - whole), *by_rules))


def stated_predicates(graph: RuleGraph) -> dict[str, Atom]:
    """Return the predicates of explicit facts that rules read, each with an atom that selects its facts."""
    only = (rule.body[0] for rule in graph.rules.values() if len(rule.body) == 1)
    return {
        atom.predicate: replace(atom, predicate=chosen)
        for atom in only
        if type(atom) is Atom and (chosen := chosen_from(atom.predicate)) is not None
    }


def external_predicate(predicate: str) -> str:
    """Return the auxiliary predicate for the explicit facts of a predicate, and for those that other rules derive for it."""
    return _EXTERNAL + predicate


def closed_predicate(external: str) -> str | None:
    """Return the predicate that is closed over an auxiliary one; None for any other predicate."""
    return external.removeprefix(_EXTERNAL) if external.startswith(_EXTERNAL) else None


def chosen_from(predicate: str) -> str | None:
    """Return the predicate whose explicit facts an auxiliary predicate contains; None for any other one."""
    for prefix in (_STATED, _EXTERNAL):
        if predicate.startswith(prefix):
            return predicate.removeprefix(prefix)
    return None


def body_with_universe(rule: Rule) -> tuple[BodyElement, ...]:
    """Return the body with the universe as the range of each unlimited variable; `_` gets no value by it."""
    return _limited_body(rule.body, rule.head.arguments)


def with_universe(query: Query) -> Query:
    """Return the query with the universe as the range of each unlimited variable."""
    return replace(query, body=_limited_body(query.body, ()))


def _with_constants(rules: Iterable[Rule], limited: tuple[Rule, ...], feeding: Iterable[Rule]) -> tuple[Rule, ...]:
    found = dict.fromkeys(constant for rule in rules for constant in _constants(rule))
    constants = [
        Rule(f"universe {number}", Atom(UNIVERSE, (constant,)), ()) for number, constant in enumerate(found, 1)
    ]
    return (*limited, *feeding, *constants)


def _feeding(arities: Mapping[str, int], only_explicit: Set[str] = frozenset()) -> Iterator[Rule]:
    for predicate, arity in arities.items():
        known = variables(arity)
        facts = Atom(_STATED + predicate if predicate in only_explicit else predicate, known)
        for position in range(arity):
            yield Rule(f"{predicate} universe {position + 1}", Atom(UNIVERSE, (known[position],)), (facts,))


def _feeding_by(rule: Rule) -> Iterator[Rule]:
    for position, argument in enumerate(rule.head.arguments, 1):
        yield Rule(f"{rule.name} makes universe {position}", Atom(UNIVERSE, (argument,)), rule.body)


def _below_negation(limited: Iterable[Rule], *, local: bool) -> set[str]:
    """Return the predicates that depend on the universe through a negation or an aggregate, and therefore must not feed it."""
    graph = RuleGraph.of((*limited, Rule(UNIVERSE, Atom(UNIVERSE, variables(1)), ())), local=local)
    reached, edges = graph.rule_edges.reached_from([UNIVERSE]), graph.rule_edges.edges_out_of
    strict = [user for _, user, kinds in edges(reached) if any(kind.is_strict for kind in kinds)]
    return {graph.rules[name].head.predicate for name in graph.rule_edges.reached_from(strict)}


def _limited_body(body: tuple[BodyElement, ...], head: tuple[Term, ...]) -> tuple[BodyElement, ...]:
    inner = tuple(map(_limited_inside, body))
    limited = limited_variables(inner)
    wanted = [variable for term in head for variable in variables_of(term)]
    for element in inner:
        elsewhere = {one.name for other in inner if other is not element for one in element_variables(other)}
        elsewhere |= {variable.name for variable in wanted}
        alone = isinstance(element, Negation) and isinstance(element.element, Atom)
        # A variable that occurs only under one negation is existential.
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
    """Return whether a rule may derive facts with new constants, which are not in the program or its facts."""
    terms = [*rule.head.arguments, *(term for element in rule.body for term in all_terms_of(element))]
    plain = all(isinstance(part, (Variable, Wildcard, Constant)) for term in terms for part in subterms(term))
    return not plain or any(isinstance(element, Aggregation) for element in rule.body)
