"""Programs whose facts are distributed over the nodes of a network, as one node sees them."""

from __future__ import annotations

from dataclasses import replace

from corollary.program.atoms import Atom, BodyElement, Comparison
from corollary.program.rules import Clause, Program, Rule
from corollary.program.terms import Constant
from corollary.program.values import Value


def at_address(program: Program, address: Value) -> Program:
    """Return the program for one node: each location argument of a body is the node's address."""
    return Program(
        tuple(
            replace(statement, body=(*statement.body, *_local(statement.body, Constant(address))))
            if isinstance(statement, Clause)
            else statement
            for statement in program.statements
        )
    )


def rule_at_address(rule: Rule, address: Value) -> Rule:
    """Return a rule as one node runs it; the same rule if no atom of its body has a location."""
    return replace(rule, body=(*rule.body, *_local(rule.body, Constant(address))))


def has_location(rule: Rule) -> bool:
    """Return whether an atom of the body of a rule has a location."""
    return any(isinstance(one, Atom) and one.location is not None for one in rule.body)


def _local(body: tuple[BodyElement, ...], address: Constant) -> list[Comparison]:
    marked = [one.arguments[one.location] for one in body if isinstance(one, Atom) and one.location is not None]
    return [Comparison("=", argument, address) for argument in dict.fromkeys(marked)]
