"""Strategies for facts and whole programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from corollary.language import print_program
from corollary.program import Clause, FactBlock, Program, Row, Statement, identity
from tests.generator import vocabulary
from tests.generator.profile import EVERYTHING, Profile
from tests.generator.rules import Pair, rules
from tests.generator.values import pick, pool
from tests.generator.vocabulary import Symbol

Fact: TypeAlias = tuple[str, Row]


class ShownAsText:
    """Hypothesis prints a failing example by this method, and a dataclass field by field where there is none."""

    def _repr_pretty_(self, printer: RepresentationPrinter, _: bool) -> None:
        printer.text(repr(self))


class GeneratedProgram(ShownAsText, Program):
    """A program that shows itself as text, so that a failing example can be pasted into a file."""

    __hash__ = Program.__hash__

    def __eq__(self, other: object) -> bool:
        return self.statements == other.statements if isinstance(other, Program) else NotImplemented

    def __repr__(self) -> str:
        return f"\n{print_program(self)}"


def program_of(facts: Iterable[Fact], clauses: Iterable[Clause], *, facts_first: bool = True) -> GeneratedProgram:
    """A program of facts, each predicate's together, and clauses."""
    rows: dict[tuple[str, int], list[Row]] = {}
    for predicate, row in facts:
        rows.setdefault((predicate, len(row)), []).append(row)
    blocks: list[Statement] = [FactBlock(predicate, arity, block) for (predicate, arity), block in rows.items()]
    statements = [*blocks, *clauses] if facts_first else [*clauses, *blocks]
    return GeneratedProgram(tuple(statements))


def facts_of(program: Program) -> dict[tuple[str, object], Fact]:
    """The explicit facts of a program, each once, by a key that tells constants apart as the language does."""
    found = ((block.predicate, row) for block in program.facts for row in block.rows)
    return {key_of(fact): fact for fact in found}


def key_of(fact: Fact) -> tuple[str, object]:
    predicate, row = fact
    return predicate, identity(row)


def named(pairs: Iterable[Pair], first: int = 1) -> tuple[Clause, ...]:
    """The rules with the names r1, r2 ... from a number on."""
    return tuple(Clause((head,), body, f"r{number}") for number, (head, body) in enumerate(pairs, first))


@cache
def rules_of_any_layer(profile: Profile) -> st.SearchStrategy[list[Pair]]:
    return st.one_of([rules(profile, layer) for layer in vocabulary.LAYERS])


@cache
def programs(profile: Profile = EVERYTHING) -> st.SearchStrategy[GeneratedProgram]:
    """Safe, stratified programs that terminate, with their facts; every rule has a name."""
    return st.one_of([_programs(profile.but(domain=domain)) for domain in profile.domains])


def draw_fact(draw: st.DrawFn, profile: Profile, symbols: Sequence[Symbol]) -> Fact:
    symbol = pick(draw, symbols)
    values = pool(profile)
    return symbol.predicate, tuple(pick(draw, values) for _ in range(symbol.width))


# A slot is filled or, in the simplest case, left empty: programs are rich, and still shrink to nothing.
FILLED = (False, *(True,) * 5)


@st.composite
def _programs(draw: st.DrawFn, profile: Profile) -> GeneratedProgram:
    slots = [vocabulary.stated(profile, number) for number in range(profile.max_facts)]
    facts = [draw_fact(draw, profile, symbols) for symbols in slots if pick(draw, FILLED)]
    pairs: list[Pair] = []
    for number in range(profile.max_groups):
        if pick(draw, FILLED):
            pairs += draw(rules(profile, (1, 2, 3, 1, 2)[number % 5]))
    return program_of(facts, _reordered(draw, named(pairs)), facts_first=pick(draw, (True, True, False)))


def _reordered(draw: st.DrawFn, clauses: Sequence[Clause]) -> Sequence[Clause]:
    """Sometimes turned around: rules need not stand in the order in which they are evaluated."""
    if len(clauses) < 2:
        return clauses
    turn = pick(draw, range(len(clauses)))
    turned = [*clauses[turn:], *clauses[:turn]]
    return turned if pick(draw, (True, False)) else turned[::-1]
