"""Warnings about rules that are most likely not what their author meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from corollary.analysis.shapes import ShapedRules
from corollary.diagnostics import Diagnostic, Span, catalogue, did_you_mean
from corollary.program import (
    WORDS,
    Aggregation,
    Atom,
    FunctionDeclaration,
    FunctionTerm,
    Program,
    Rule,
    Term,
    Variable,
    all_terms_of,
    find_builtin,
    subterms,
    variables_of,
    without_names,
)
from corollary.program.builtins import similar_names
from corollary.program.builtins.declaration import FUNC, PRED, shortened


def check_suspicions(program: Program, shaped: ShapedRules) -> Iterator[Diagnostic]:
    yield from _rule_names(program)
    yield from shaped.check(single_occurrences)
    yield from _nearly_builtin(program, shaped)
    yield from _shared_aggregates(program)
    yield from _repeated_rules(program)


def _rule_terms(rule: Rule) -> Iterator[Term]:
    yield from rule.head.arguments
    for element in rule.body:
        yield from all_terms_of(element)


def single_occurrences(rule: Rule) -> Iterator[Diagnostic]:
    """Return a warning for each variable that a rule mentions once."""
    variables = [part for term in _rule_terms(rule) for part in subterms(term) if isinstance(part, Variable)]
    counts = Counter(variable.name for variable in variables)
    counted = set(map(id, _aggregated_variables(rule)))
    for variable in variables if rule.body else ():
        if counts[variable.name] == 1 and not variable.name.startswith("_"):
            message = f"variable {variable.name} occurs only once in rule {rule.name}"
            hint = "write _ for a value that does not matter"
            if id(variable) in counted:
                hint = f"if it is meant to tell equal values apart, write _{variable.name}; _ would not"
            if variable.name in ("True", "False"):
                hint = f"the boolean is written {variable.name.lower()}"
            yield Diagnostic(catalogue.SINGLE_OCCURRENCE, message, variable.span, hint)


def _aggregated_variables(rule: Rule) -> Iterator[Variable]:
    """The variables of bodies that an aggregate ranges over: there a name tells bindings apart, and `_` does not."""
    for element in rule.body:
        if rule.has_head_aggregate or isinstance(element, Aggregation):
            yield from (variable for term in all_terms_of(element) for variable in variables_of(term))


def _nearly_builtin(program: Program, shaped: ShapedRules) -> Iterator[Diagnostic]:
    declared = {declaration.name for declaration in program.of_type(FunctionDeclaration)}

    def check(rule: Rule) -> Iterator[Diagnostic]:
        for term in _rule_terms(rule):
            for part in subterms(term):
                if not isinstance(part, FunctionTerm) or find_builtin(part.name) or part.name in declared:
                    continue
                hint = did_you_mean(shortened(part.name), [*WORDS, *similar_names(part.name)])
                if hint is None and part.name.startswith((FUNC, PRED)):
                    hint = "`corollary builtins` shows all of them"
                if hint is not None:
                    message = f"'{shortened(part.name)}' is no built-in function, so it stands for itself as a term"
                    yield Diagnostic(catalogue.NEARLY_BUILTIN, message, part.span, hint)

    return shaped.check(check)


def _shared_aggregates(program: Program) -> Iterator[Diagnostic]:
    """Paper 000 forbids two aggregation rules for one predicate; here their facts are united, which may surprise."""
    first: dict[str, Rule] = {}
    for rule in program.rules:
        if rule.has_head_aggregate or any(isinstance(element, Aggregation) for element in rule.body):
            known = first.setdefault(rule.head.predicate, rule)
            if known is not rule:
                message = f"{known.name} and {rule.name} both aggregate into '{rule.head.predicate}'"
                hint = "their results are united: each group may get several values"
                yield Diagnostic(catalogue.SHARED_AGGREGATE, message, rule.head.span, hint)


def _shape(rule: Rule) -> tuple[object, ...]:
    """Return a key that rules with equal meaning share, and most others do not."""
    return rule.head.predicate, *(one.predicate if isinstance(one, Atom) else type(one) for one in rule.body)


def _repeated_rules(program: Program) -> Iterator[Diagnostic]:
    shapes = list(map(_shape, program.rules))
    alike = Counter(shapes)
    seen: dict[Rule, Rule] = {}
    for rule, shape in zip(program.rules, shapes, strict=True):
        if alike[shape] == 1:
            continue
        known = seen.setdefault(without_names(rule), rule)
        if known is not rule and rule.body:
            message = f"rule {rule.name} says the same as {known.name}"
            yield Diagnostic(catalogue.REPEATED_RULE, message, rule.head.span, "remove one of them")


def _rule_names(program: Program) -> Iterator[Diagnostic]:
    """One error per clause whose name, or the name of one of its heads, is taken."""
    first: dict[str, Rule] = {}
    reported: set[Span] = set()
    for rule in program.rules:
        known = first.setdefault(rule.name, rule)
        if known is rule or rule.span in reported:
            continue
        message, hint = f"there are two rules with the name '{rule.name}'", "choose another name"
        span, notes = rule.span, tuple[str, ...]()
        if span is not None and known.span is not None:
            reported.add(span)
            name = span.text.partition(":")[0]
            span, notes = span.source.span(span.start, span.start + len(name)), (f"the other one is at {known.span!r}",)
            hint += f"; if '{name}:' is meant as a prefix, declare it: @prefix {name}: <http://…> ."
        yield Diagnostic(catalogue.DUPLICATE_RULE_NAME, message, span, hint, notes)
