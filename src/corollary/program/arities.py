"""Predicates with the same name and different arities, told apart by names with arity: `p/1` and `p/2`."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import replace

from corollary.program.atoms import EQUALITY, Aggregation, Atom, BodyElement, Negation, atoms_of
from corollary.program.rules import Clause, FactBlock, InputDeclaration, OutputDeclaration, Program, Query, Statement

_SIZED = re.compile(r"\w+/(\d+)")
_ENDS_IN_NUMBER = re.compile(r"./\d+\Z")


class SizedName(str):
    """The name of a predicate with its arity, `p/2`, which program texts write as `p`."""

    __slots__ = ()

    @property
    def written(self) -> str:
        return self.rpartition("/")[0]


def name_with_arity(name: str, arity: int) -> str:
    """Return `p/2`; a name with arity stays as it is, and so does the equality, which always has two arguments."""
    if name == EQUALITY:
        return name
    ending = f"/{arity}"
    return SizedName(name if name.endswith(ending) else name + ending)


def name_of_rows(name: str, width: int, known: Container[str]) -> str:
    """Return the predicate for rows of this width. A name with another arity stays as it is: the rows do not fit it."""
    return sized(name) if name in known or _SIZED.fullmatch(name) else name_with_arity(name, width)


def sized(name: str) -> str:
    """Return the name as a `SizedName` if it ends with an arity; texts from outside have plain strings."""
    has_number = name != EQUALITY and _ENDS_IN_NUMBER.search(name) is not None
    return SizedName(name) if has_number else name


def with_arities(program: Program) -> Program:
    """Return the program with the arity in the name of each predicate.

    A directive has no arity; it means the predicate of that name if there is only one.
    """
    arities = _arities(program.statements)
    return Program(tuple(_statement(statement, arities) for statement in program.statements))


def query_with_arities(query: Query) -> Query:
    return replace(query, body=_body(query.body))


def size_of(name: str) -> int | None:
    """Return the arity at the end of a name such as `p/2`, None if there is none."""
    found = _SIZED.fullmatch(name)
    return int(found[1]) if found else None


def full_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the predicates that a name without arity may mean."""
    return sorted(
        one for one in known if one == name or (one.startswith(f"{name}/") and one[len(name) + 1 :].isdigit())
    )


def _arities(statements: Iterable[Statement]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for statement in statements:
        if isinstance(statement, FactBlock):
            found.setdefault(statement.predicate, set()).add(statement.arity)
        elif isinstance(statement, (Clause, Query)):
            heads = statement.heads if isinstance(statement, Clause) else ()
            for atom in (*heads, *(atom for atom, _ in atoms_of(statement.body))):
                found.setdefault(atom.predicate, set()).add(atom.arity)
    return found


def _statement(statement: Statement, arities: dict[str, set[int]]) -> Statement:
    match statement:
        case FactBlock():
            return replace(statement, predicate=name_with_arity(statement.predicate, statement.arity))
        case Clause():
            return replace(statement, heads=tuple(map(_atom, statement.heads)), body=_body(statement.body))
        case Query():
            return query_with_arities(statement)
        case InputDeclaration() | OutputDeclaration():
            known = arities.get(statement.predicate, set())
            if len(known) == 1:
                return replace(statement, predicate=name_with_arity(statement.predicate, *known))
            return statement
        case _:
            return statement


def _body(body: tuple[BodyElement, ...]) -> tuple[BodyElement, ...]:
    return tuple(map(_element, body))


def _element(element: BodyElement) -> BodyElement:
    match element:
        case Atom():
            return _atom(element)
        case Negation(element=Atom() as atom):
            return replace(element, element=_atom(atom))
        case Aggregation():
            return replace(element, body=_body(element.body))
        case _:
            return element


def _atom(atom: Atom) -> Atom:
    return replace(atom, predicate=name_with_arity(atom.predicate, atom.arity))
