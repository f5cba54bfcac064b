"""What the engines cannot evaluate yet: function terms and lists in rules and queries. As constants of facts they are fine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from corollary.diagnostics import Diagnostic, catalogue
from corollary.language import print_rule
from corollary.program import FunctionTerm, ListTerm, Query, Rule, Term, all_terms_of, find_function, subterms


def check_evaluable(rules: Iterable[Rule] = (), queries: Iterable[Query] = ()) -> list[Diagnostic]:
    """An error for each term in these rules and queries that no engine can match or make."""
    found: list[Diagnostic] = []
    for rule in rules:
        terms = [*rule.head.arguments, *(term for element in rule.body for term in all_terms_of(element))]
        note = f"in rule {rule.name}: {print_rule(rule)}"
        message = "function terms and lists in rules cannot be evaluated yet"
        found += [Diagnostic(catalogue.NOT_EVALUATED, message, term.span, None, (note,)) for term in _made(terms)]
    for query in queries:
        terms = [term for element in query.body for term in all_terms_of(element)]
        message = "function terms and lists in queries cannot be evaluated yet"
        found += [Diagnostic(catalogue.NOT_EVALUATED, message, term.span) for term in _made(terms)]
    return found


def _made(terms: Iterable[Term]) -> Iterator[Term]:
    for part in (part for term in terms for part in subterms(term)):
        if isinstance(part, ListTerm) or (isinstance(part, FunctionTerm) and find_function(part.name) is None):
            yield part
