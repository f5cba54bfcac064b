"""Replacing variables in terms, bodies and rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from corollary.program.atoms import AggregateOperation, Aggregation, Assignment, Atom, BodyElement, Comparison, Negation
from corollary.program.rules import Rule
from corollary.program.terms import AggregateTerm, Arithmetic, FunctionTerm, ListTerm, Minus, Part, Term, Variable

Replacement: TypeAlias = Callable[[Variable], Term]
Renaming: TypeAlias = Callable[[Variable], Variable]


def rewrite_term(term: Term, by: Replacement) -> Term:
    match term:
        case Variable():
            return by(term)
        case Arithmetic():
            return replace(term, left=rewrite_term(term.left, by), right=rewrite_term(term.right, by))
        case Minus():
            return replace(term, operand=rewrite_term(term.operand, by))
        case FunctionTerm():
            return replace(term, arguments=tuple(rewrite_term(argument, by) for argument in term.arguments))
        case ListTerm():
            tail = None if term.tail is None else rewrite_term(term.tail, by)
            return replace(term, items=tuple(rewrite_term(item, by) for item in term.items), tail=tail)
        case AggregateTerm():
            return replace(term, argument=rewrite_term(term.argument, by))
        case Part():
            return replace(term, term=rewrite_term(term.term, by))
        case _:
            return term


def rewrite_atom(atom: Atom, by: Replacement) -> Atom:
    return replace(atom, arguments=tuple(rewrite_term(argument, by) for argument in atom.arguments))


def rename_element(element: BodyElement, by: Renaming) -> BodyElement:
    """Return the element with its variables renamed, including those local to an aggregation."""
    match element:
        case Atom():
            return rewrite_atom(element, by)
        case Comparison():
            return replace(element, left=rewrite_term(element.left, by), right=rewrite_term(element.right, by))
        case Negation():
            inner = rename_element(element.element, by)
            assert isinstance(inner, (Atom, Comparison))
            return replace(element, element=inner)
        case Assignment():
            return replace(element, expression=rewrite_term(element.expression, by), variable=by(element.variable))
        case Aggregation():
            return replace(
                element,
                body=tuple(rename_element(inner, by) for inner in element.body),
                group_by=tuple(by(variable) for variable in element.group_by),
                operations=tuple(_rename_operation(operation, by) for operation in element.operations),
            )


def _rename_operation(operation: AggregateOperation, by: Renaming) -> AggregateOperation:
    return replace(operation, argument=rewrite_term(operation.argument, by), result=by(operation.result))


def without_names(rule: Rule) -> Rule:
    """Return the rule with its variables renamed in order of appearance and without its own name.

    Two rules are the same rule if and only if these are equal.
    """
    names: dict[str, Variable] = {}

    def by(variable: Variable) -> Variable:
        return names.setdefault(variable.name, Variable(f"V{len(names)}"))

    head = rewrite_atom(rule.head, by)
    return Rule("", head, tuple(rename_element(element, by) for element in rule.body))
