"""Programs whose facts are distributed over the nodes of a network, as one node sees them."""

from __future__ import annotations

from dataclasses import replace

from corollary.program.atoms import Atom, BodyElement, Comparison
from corollary.program.rules import Clause, Program
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


def _local(body: tuple[BodyElement, ...], address: Constant) -> list[Comparison]:
    marked = [one.arguments[one.location] for one in body if isinstance(one, Atom) and one.location is not None]
    return [Comparison("=", argument, address) for argument in dict.fromkeys(marked)]
