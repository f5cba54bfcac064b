"""Many small programs as one: each keeps to predicates and rules of its own, and Spark is asked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corollary.language import parse_program
from corollary.program import Aggregation, Atom, BodyElement, Clause, FactBlock, Negation, Program, Query
from tests.oracle import Fact


def together(programs: Sequence[Program]) -> Program:
    """One program with the rules, the facts and the queries of all; the queries are rules for predicates of their own."""
    statements: list[Clause | FactBlock] = []
    for number, program in enumerate(programs):
        for facts in program.facts:
            statements.append(replace(facts, predicate=name_in(number, facts.predicate)))
        for rule in program.rules:
            body = tuple(_element(number, element) for element in rule.body)
            statements.append(Clause((_atom(number, rule.head),), body, rule_in(number, rule.name)))
        for place, query in enumerate(program.queries):
            statements.append(_query(number, place, query))
    return Program.of(statements)


def facts_of(number: int, found: dict[str, set[Fact]]) -> dict[str, set[Fact]]:
    """What belongs to one of the programs, under its own names."""
    prefix = name_in(number, "")
    return {name.removeprefix(prefix): rows for name, rows in found.items() if name.startswith(prefix)}


def answers_of(number: int, program: Program, found: dict[str, set[Fact]]) -> list[set[Fact]]:
    return [found.get(_answer(number, place), set()) for place in range(len(program.queries))]


def parsed(texts: Sequence[str]) -> list[Program]:
    return [parse_program(text) for text in texts]


def _query(number: int, place: int, query: Query) -> Clause:
    body = tuple(_element(number, element) for element in query.body)
    return Clause((Atom(_answer(number, place), query.variables),), body, f"{number} query {place}")


def _answer(number: int, place: int) -> str:
    return f"answer {number} {place}"


def rule_in(number: int, name: str) -> str:
    return f"{number} {name}"


def name_in(number: int, predicate: str) -> str:
    return f"program {number}: {predicate}"


def _atom(number: int, atom: Atom) -> Atom:
    return replace(atom, predicate=name_in(number, atom.predicate))


def _element(number: int, element: BodyElement) -> BodyElement:
    match element:
        case Atom():
            return _atom(number, element)
        case Negation(element=Atom() as atom):
            return replace(element, element=_atom(number, atom))
        case Aggregation():
            return replace(element, body=tuple(_element(number, inner) for inner in element.body))
        case _:
            return element
