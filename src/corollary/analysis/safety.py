"""Safety: every variable of a rule gets its values from a positive atom, an equality or a BIND."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from corollary.diagnostics import Diagnostic, catalogue
from corollary.language import print_rule
from corollary.program import (
    AggregateTerm,
    Aggregation,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
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
from corollary.program.evaluation import solutions_of
from corollary.program.patterns import computed_parts, has_unknown_parts, is_pattern, pairs, pattern_variables

_HERE = "this comparison"
_NOTHING = Constant(0)
_HINT = "bind it with a positive atom, an equality or BIND"


def check_rule_safety(rule: Rule, body: tuple[BodyElement, ...] | None = None) -> list[Diagnostic]:
    """Return one error for each unlimited variable, with the rule. `body` may limit more than the rule's own body."""
    body = rule.body if body is None else body
    if _is_plainly_safe(rule.head, body):
        return []
    note = f"in rule {rule.name}: {print_rule(rule)}" if rule.body else None
    if not body:
        parts = _open_parts(rule.head)
        return _once(_unsafe(part, f"a fact cannot contain {_shown(part)}", _fact_hint(part)) for part in parts)
    return _once(_check(body, rule.head.arguments, "the head"), note)


def _is_plainly_safe(head: Atom, body: Sequence[BodyElement]) -> bool:
    """Return whether atoms of variables and constants limit everything, as in most rules, which then need no further checks."""
    limited: set[str] = set()
    others: list[Term] = [*head.arguments]
    for element in body:
        match element:
            case Atom():
                for argument in element.arguments:
                    if type(argument) is Variable:
                        limited.add(argument.name)
                    elif type(argument) not in (Constant, Wildcard):
                        return False
            case Comparison():
                others += (element.left, element.right)
            case Negation(element=Atom() as atom):
                others += atom.arguments
            case _:
                return False
    return bool(limited) and all(
        type(term) is Constant or (type(term) is Variable and term.name in limited) for term in others
    )


def check_query_safety(query: Query) -> list[Diagnostic]:
    return _once(_check(query.body, (), "the query"))


def limited_variables(body: Sequence[BodyElement]) -> set[str]:
    """Return the names of the variables that the body limits (papers 000 and 001: positive atoms, equalities, assignments)."""
    limited = {variable.name for element in body for variable in _limits_at_once(element)}
    equalities = [element for element in body if isinstance(element, (Comparison, Assignment))]
    changed = True
    while changed:
        changed = False
        for equality in equalities:
            for variable, term in _assignable(equality):
                if variable.name not in limited and _is_limited(term, limited):
                    limited.add(variable.name)
                    changed = True
    return limited


def _limits_at_once(element: BodyElement) -> Iterator[Variable]:
    if isinstance(element, Atom):
        for argument in element.arguments:
            yield from pattern_variables(argument)
    elif isinstance(element, Aggregation):
        yield from element_variables(element)


def _assignable(element: Comparison | Assignment) -> Iterator[tuple[Variable, Term]]:
    """Yield variables, each with a term that gives it a value if the term has one: an equality works in both directions."""
    if isinstance(element, Assignment):
        yield element.variable, element.expression
    elif element.operator == "=":
        found = pairs(element.left, element.right)
        if found is None:  # it never holds, whatever the values of its variables
            yield from ((variable, _NOTHING) for variable in element_variables(element))
        for left, right in found or ():
            yield from ((variable, right) for variable in pattern_variables(left))
            yield from ((variable, left) for variable in pattern_variables(right))
        yield from solutions_of(element)


def _is_limited(term: Term, limited: set[str]) -> bool:
    return all(
        part.name in limited if isinstance(part, Variable) else not isinstance(part, Wildcard)
        for part in subterms(term)
    )


def _check(body: Sequence[BodyElement], head: Sequence[Term], head_name: str) -> Iterator[Diagnostic]:
    limited = limited_variables(body)
    for term in head:
        for part in _parts(term):
            if isinstance(part, Wildcard):
                yield _unsafe(part, f"'_' cannot stand in {head_name}", "name the variable and bind it in the body")
            elif part.name not in limited:
                yield _unsafe(part, f"variable {part.name} of {head_name} is not bound in the body", _HINT)
    for element in body:
        yield from _check_element(element, limited, body, head)


def _check_element(
    element: BodyElement, limited: set[str], body: Sequence[BodyElement], head: Sequence[Term]
) -> Iterator[Diagnostic]:
    match element:
        case Atom():
            for argument in element.arguments:
                yield from _check_terms(computed_parts(argument), limited, "this argument")
        case Comparison(operator="=") if is_pattern(element.left) or is_pattern(element.right):
            found = pairs(element.left, element.right)
            if found is None:
                computed = (*computed_parts(element.left), *computed_parts(element.right))
                yield from _check_terms(computed, limited, _HERE)
            for left, right in found or ():
                yield from _check_terms(
                    [left, right] if _are_open(left, right) else _closed(left, right), limited, _HERE
                )
        case Comparison():
            yield from _check_terms([element.left, element.right], limited, _HERE)
        case Assignment():
            yield from _check_terms([element.expression], limited, "BIND")
        case Negation(element=Comparison(operator="=") as comparison) if _is_form_test(comparison):
            yield from _check_terms(_closed(comparison.left, comparison.right), limited, "a negated comparison")
        case Negation(element=Comparison() as comparison):
            yield from _check_terms([comparison.left, comparison.right], limited, "a negated comparison")
        case Negation(element=Atom() as atom):
            yield from _check_negation(element, atom, limited, body, head)
        case Aggregation():
            yield from _check_aggregation(element, body, head)


def _is_form_test(comparison: Comparison) -> bool:
    """Return whether one side is a function term or a list with unknown parts, and the other has a value: `not X = f(_)`."""
    sides = (comparison.left, comparison.right)
    return any(map(has_unknown_parts, sides)) and not _are_open(*sides)


def _are_open(left: Term, right: Term) -> bool:
    """Return whether `_` occurs on both sides, so that neither has anything to match."""
    return all(any(isinstance(part, Wildcard) for part in subterms(side)) for side in (left, right))


def _closed(left: Term, right: Term) -> Iterator[Term]:
    """Yield the terms that need a value for two terms to be matched: all except `_` as a part of a function term or a list."""
    for side in (left, right):
        yield from pattern_variables(side)
        yield from computed_parts(side)


def _check_terms(terms: Iterable[Term], limited: set[str], place: str) -> Iterator[Diagnostic]:
    for term in terms:
        for part in _parts(term):
            if isinstance(part, Wildcard):
                yield _unsafe(part, f"'_' has no value in {place}", "name the variable and bind it")
            elif part.name not in limited:
                yield _unsafe(part, f"variable {part.name} of {place} is not bound", _HINT)


def _check_negation(
    negation: Negation, atom: Atom, limited: set[str], body: Sequence[BodyElement], head: Sequence[Term]
) -> Iterator[Diagnostic]:
    """Yield errors for a negated comparison: a variable that occurs only here is existential; one that occurs
    elsewhere, too, must be limited."""
    for argument in atom.arguments:
        yield from _check_terms(computed_parts(argument), limited, "this argument")
    elsewhere = {variable.name for term in head for variable in variables_of(term)}
    for element in body:
        if element is not negation:
            elsewhere |= {variable.name for variable in element_variables(element)}
    for variable in element_variables(atom):
        if variable.name not in limited and variable.name in elsewhere:
            message = f"variable {variable.name} under negation is not bound, and it occurs elsewhere in the rule too"
            yield _unsafe(variable, message, _HINT)


def _check_aggregation(
    aggregation: Aggregation, body: Sequence[BodyElement], head: Sequence[Term]
) -> Iterator[Diagnostic]:
    results = [operation.result for operation in aggregation.operations]
    inner_head = [*aggregation.group_by, *(operation.argument for operation in aggregation.operations)]
    yield from _check(aggregation.body, inner_head, "AGGREGATE")
    groups = {variable.name for variable in aggregation.group_by}
    inner = {v.name for element in aggregation.body for term in all_terms_of(element) for v in variables_of(term)}
    for result in results:
        if result.name in inner:
            message = f"the result {result.name} of AGGREGATE is also a variable of its body"
            yield Diagnostic(catalogue.LOCAL_VARIABLE, message, result.span, "use another name for the result")
    outside = [variable for term in head for variable in variables_of(term)]
    outside += [v for element in body if element is not aggregation for v in element_variables(element)]
    for variable in outside:
        if variable.name in inner - groups:
            message = f"variable {variable.name} is local to AGGREGATE and has no value outside it"
            hint = f"add {variable.name} to ON, or use another name outside"
            yield Diagnostic(catalogue.LOCAL_VARIABLE, message, variable.span, hint)


def _parts(term: Term) -> Iterator[Variable | Wildcard]:
    return (part for part in subterms(term) if isinstance(part, (Variable, Wildcard)))


def _open_parts(head: Atom) -> Iterator[Variable | Wildcard | AggregateTerm]:
    for argument in head.arguments:
        if isinstance(argument, AggregateTerm):
            yield argument
        else:
            yield from _parts(argument)


def _shown(part: Variable | Wildcard | AggregateTerm) -> str:
    if isinstance(part, Variable):
        return f"the variable {part.name}"
    return "'_'" if isinstance(part, Wildcard) else f"the aggregate '{part.function}'"


def _fact_hint(part: Variable | Wildcard | AggregateTerm) -> str:
    if not isinstance(part, Variable) or part.name.startswith("_") or (part.span and part.span.text.startswith("?")):
        return "a fact consists of constants"
    if part.name in ("True", "False"):
        return f"the boolean is written {part.name.lower()}"
    return f'a word with a capital first letter is a variable: write "{part.name}" for the string'


def _unsafe(part: Variable | Wildcard | AggregateTerm, message: str, hint: str) -> Diagnostic:
    return Diagnostic(catalogue.UNSAFE_VARIABLE, message, part.span, hint)


def _once(found: Iterable[Diagnostic], note: str | None = None) -> list[Diagnostic]:
    """Return one diagnostic per name, with the rule as a note; "local to AGGREGATE" is preferred to "unsafe"."""
    seen: set[str] = set()
    kept: list[Diagnostic] = []
    for diagnostic in sorted(found, key=lambda one: one.kind is not catalogue.LOCAL_VARIABLE):
        name = diagnostic.span.text.lstrip("?") if diagnostic.span else diagnostic.message
        if name not in seen:
            seen.add(name)
            notes = (note,) if note else ()
            kept.append(Diagnostic(diagnostic.kind, diagnostic.message, diagnostic.span, diagnostic.hint, notes))
    return kept
