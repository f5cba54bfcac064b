"""What a program or a script of changes contains, in words: to check that the generator reaches every feature."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from corollary.analysis import analyse
from corollary.program import (
    AggregateOperation,
    AggregateTerm,
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    Clause,
    Comparison,
    Constant,
    FunctionTerm,
    Iri,
    Literal,
    Minus,
    Negation,
    Program,
    Rule,
    Variable,
    Wildcard,
    all_terms_of,
    atoms_of,
    element_variables,
    subterms,
)
from tests.generator.bodies import X, Y, Z
from tests.generator.changes import Scenario
from tests.generator.programs import facts_of, key_of


def program_features(program: Program) -> set[str]:
    """The features of one program, each named once."""
    found = set(_whole_program(program))
    for rule in program.rules:
        found |= {*_recursion(rule), *_negation(rule), *_aggregates(rule), *_terms(rule), *_shape(rule)}
    return found


def _whole_program(program: Program) -> Iterator[str]:
    derived = {rule.head.predicate for rule in program.rules}
    stated = {block.predicate for block in program.facts}
    used = {atom.predicate for rule in program.rules for atom, _ in atoms_of(rule.body)}
    graph = nx.DiGraph(
        (atom.predicate, rule.head.predicate) for rule in program.rules for atom, _ in atoms_of(rule.body)
    )
    if any(len(component - {"l"}) > 1 for component in nx.strongly_connected_components(graph)):
        yield "mutual recursion"
    if derived & stated:
        yield "a predicate of facts and rules"
    for name in analyse(program).modules:
        closures = [one for one in name.split("+")[:-1] if one in ("transitive", "symmetric-transitive")]
        yield from (f"a {one} closure among other rules" for one in closures)
        yield from ("several closures in one hyper-node" for _ in closures[1:])
    if used - derived - stated:
        yield "an empty relation"
    if len(program.rules) > len(derived) > 1:
        yield "several rules for one predicate"
    values = [value for block in program.facts for row in block.rows for value in row]
    yield from {f"a fact with a value of type {type(value).__name__}" for value in values}
    yield from {f"a fact of arity {block.arity}" for block in program.facts}


def _recursion(rule: Rule) -> Iterator[str]:
    own = [atom for atom in rule.body if isinstance(atom, Atom) and atom.predicate == rule.head.predicate != "l"]
    atoms = [atom for atom in rule.body if isinstance(atom, Atom)]
    if len(own) > 1:
        yield "nonlinear recursion"
    if len(own) == 1 and len(atoms) == 2:
        yield "left-linear recursion" if atoms[0] is own[0] else "right-linear recursion"
    if own and any(isinstance(part, Arithmetic) for element in rule.body for part in _parts(element)):
        yield "arithmetic through recursion"
    path = rule.head.predicate
    if rule.head.arguments == (X, Y):
        guard = Comparison("!=", X, Y)
        steps = Atom(path, (X, Z)), Atom(path, (Z, Y))
        if rule.body == (Atom(path, (Y, X)),):
            yield "symmetry"
        if rule.body == steps:
            yield "transitivity"
        if rule.body == (*steps, guard):
            yield "transitivity with a guard"
        if rule.body[:2] == steps and isinstance(rule.body[-1], Atom) and len(rule.body) > 2:
            yield "transitivity with conditions"


def _negation(rule: Rule) -> Iterator[str]:
    outside = set(rule.head.arguments)
    for element in rule.body:
        outside |= set() if isinstance(element, Negation) else set(element_variables(element))
    for element in rule.body:
        if not isinstance(element, Negation):
            continue
        if isinstance(element.element, Comparison):
            yield "a negated comparison"
            continue
        yield "a negated atom"
        if element.element.predicate == rule.head.predicate:
            yield "local stratification"
        parts = list(_parts(element))
        if any(isinstance(part, Variable) and part not in outside for part in parts):
            yield "an existential variable under negation"
        if any(isinstance(part, Wildcard) for part in parts):
            yield "a wildcard under negation"
        if any(isinstance(part, Arithmetic) for part in parts):
            yield "arithmetic under negation"


def _aggregates(rule: Rule) -> Iterator[str]:
    heads = [term for term in rule.head.arguments if isinstance(term, AggregateTerm)]
    literals = [element for element in rule.body if isinstance(element, Aggregation)]
    operations = [operation for literal in literals for operation in literal.operations]
    both: list[AggregateTerm | AggregateOperation] = [*heads, *operations]
    yield from (f"{term.function} in a head" for term in heads)
    yield from (f"{operation.function} in AGGREGATE" for operation in operations)
    if any(one.distinct for one in both):
        yield "a distinct aggregate"
    if len(heads) > 1:
        yield "two aggregates in a head"
    if len(literals) > 1:
        yield "two AGGREGATEs in a body"
    if any(not literal.group_by for literal in literals):
        yield "an AGGREGATE without groups"
    if any(isinstance(element, Negation) for literal in literals for element in literal.body):
        yield "a negation in AGGREGATE"
    if any(isinstance(one.argument, Arithmetic) for one in both):
        yield "an aggregate of an expression"


def _terms(rule: Rule) -> Iterator[str]:
    body = [part for element in rule.body for part in _parts(element)]
    head = [part for argument in rule.head.arguments for part in subterms(argument)]
    for part in (*body, *head):
        if isinstance(part, Arithmetic):
            yield f"the operator {part.operator}"
        if isinstance(part, (FunctionTerm, Minus)):
            yield "a function" if isinstance(part, FunctionTerm) else "a minus"
    if any(isinstance(part, Arithmetic) for part in rule.head.arguments):
        yield "arithmetic in a head"
    if any(isinstance(part, Constant) for part in rule.head.arguments[rule.head.predicate == "l" :]):
        yield "a constant in a head"
    for element in rule.body:
        if isinstance(element, Comparison):
            yield f"the comparison {element.operator}"
        if isinstance(element, Assignment):
            yield "BIND"
        if isinstance(element, Atom):
            kinds = {type(argument) for argument in element.arguments[element.predicate == "l" :]}
            yield from ("a constant in a body" for _ in kinds & {Constant})
            yield from ("a wildcard in a body" for _ in kinds & {Wildcard})
            yield from ("arithmetic in an atom" for _ in kinds & {Arithmetic})
    if any(isinstance(part, Constant) and isinstance(part.value, (Iri, Literal, str)) for part in (*body, *head)):
        yield "a constant that is no number"


def _shape(rule: Rule) -> Iterator[str]:
    yield f"a head of arity {rule.head.arity}"
    atoms = [element for element in rule.body if isinstance(element, Atom)]
    if not atoms and all(isinstance(element, (Comparison, Assignment)) for element in rule.body):
        yield "a rule without atoms"
    variables = [set(element_variables(atom)) for atom in atoms]
    if len(variables) == 2 and all(variables) and not variables[0] & variables[1]:
        yield "a cartesian product"
    if any(atom.arguments.count(term) > 1 for atom in atoms for term in element_variables(atom)):
        yield "a repeated variable"
    if any(isinstance(element, Negation) for element in rule.body[:1]):
        yield "a negation before what limits its variables"


def _parts(element: Atom | Comparison | Negation | Assignment | Aggregation) -> Iterator[object]:
    return (part for term in all_terms_of(element) for part in subterms(term))


def scenario_features(scenario: Scenario) -> set[str]:
    """What happens in a script of changes."""
    return set(_script(scenario))


def _script(scenario: Scenario) -> Iterator[str]:
    removed: dict[str | None, Clause] = {}
    for program, change in zip(scenario.programs(), scenario.changes, strict=False):
        present = set(facts_of(program))
        inserted, deleted = {key_of(fact) for fact in change.insert}, {key_of(fact) for fact in change.delete}
        derived = {rule.head.predicate for rule in program.rules}
        added = {clause.name for clause in change.add_rules}
        features = {
            "a fact is inserted": inserted - present,
            "a fact is inserted again": inserted & present,
            "a fact is deleted": (deleted & present) - inserted,
            "a fact that is not there is deleted": deleted - present,
            "a fact is inserted and deleted at once": inserted & deleted,
            "a fact of a derived predicate is inserted": {name for name, _ in inserted} & derived,
            "a fact of a derived predicate is deleted": {name for name, _ in deleted & present} & derived,
            "a rule is added": change.add_rules,
            "a rule is removed": change.remove_rules,
            "a removed rule comes back": [clause for clause in change.add_rules if clause.name in removed],
            "a rule is removed and added at once": added & {*change.remove_rules},
            "facts and rules change at once": (inserted or deleted) and (change.add_rules or change.remove_rules),
        }
        yield from (feature for feature, witnesses in features.items() if witnesses)
        clauses = {clause.name: clause for clause in program.of_type(Clause)}
        removed |= {name: clauses[name] for name in change.remove_rules}
