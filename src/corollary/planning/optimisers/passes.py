"""The optimiser passes in order. Each can be switched off by name, and none changes what a rule derives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from decimal import Decimal

from corollary.planning.optimisers.equalities import constants_for_variables, join_condition
from corollary.planning.optimisers.order import most_restrictive_first, producers_first
from corollary.planning.optimisers.subsumption import without_subsumed
from corollary.program import (
    AggregateTerm,
    Aggregation,
    Constant,
    Iri,
    Rule,
    Term,
    Variable,
    Wildcard,
    all_terms_of,
    subterms,
)


def without_duplicates(rule: Rule, *, exact: bool = False) -> Rule:
    body = tuple(dict.fromkeys(rule.body))
    return rule if len(body) == len(rule.body) else replace(rule, body=body)


PASSES: dict[str, Callable[..., Rule]] = {
    "join-condition": join_condition,
    "constants": constants_for_variables,
    "duplicates": without_duplicates,
    "literal-order": most_restrictive_first,
}
SUBSUMED, ORDER = "subsumed-rules", "rule-order"
NAMES = (*PASSES, SUBSUMED, ORDER)
_EXACT_AGGREGATES = ("count", "min", "max")


def optimised_rule(rule: Rule, without: Collection[str] = (), *, exact: bool = False) -> Rule:
    """Return the rule after all passes; `exact` means that no constant it will ever see equals another one."""
    for name, run in PASSES.items():
        if name not in without:
            rule = run(rule, exact=exact)
    return rule


def optimised_rules(rules: Iterable[Rule], without: Collection[str] = (), *, exact: bool = False) -> list[Rule]:
    """Return the rules of one hyper-node without those that another one subsumes; none of them may ever be removed alone."""
    found = [optimised_rule(rule, without, exact=exact) for rule in rules]
    if SUBSUMED not in without:
        found = without_subsumed(found)
    return found if ORDER in without else producers_first(found)


def make_only_exact(rules: Iterable[Rule]) -> bool:
    """Return whether rules introduce no constant that may equal another one: they contain none, and compute nothing."""
    for rule in rules:
        for term in (*rule.head.arguments, *(one for element in rule.body for one in all_terms_of(element))):
            if isinstance(term, AggregateTerm) and term.function.lower() not in _EXACT_AGGREGATES:
                return False
            parts = list(subterms(term))[isinstance(term, AggregateTerm) :]
            if not all(isinstance(part, (Variable, Wildcard)) or _is_exact(part) for part in parts):
                return False
        aggregations = [one for one in rule.body if isinstance(one, Aggregation)]
        operations = [operation for one in aggregations for operation in one.operations]
        if not all(operation.function.lower() in _EXACT_AGGREGATES for operation in operations):
            return False
    return True


def _is_exact(term: Term) -> bool:
    return isinstance(term, Constant) and isinstance(term.value, (int, Decimal, str, Iri))
