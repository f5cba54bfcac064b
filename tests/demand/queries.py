"""Random queries about generated programs: constants where they meet something, conjunctions, negation, comparisons."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from corollary.language import print_element, print_program
from corollary.program import (
    Atom,
    BodyElement,
    Comparison,
    Constant,
    Negation,
    Program,
    Query,
    Term,
    Variable,
    Wildcard,
    atoms_of,
)
from tests.generator import EVERYTHING, Profile, programs

_NAMES = ("X", "Y", "Z")


@dataclass(frozen=True)
class Asked:
    """A program and a query about it; shown as text that can be pasted into a file."""

    program: Program
    query: Query

    def __repr__(self) -> str:
        return f"\n{print_program(self.program)}?- {', '.join(map(print_element, self.query.body))}."


@st.composite
def asked(draw: st.DrawFn, profile: Profile = EVERYTHING) -> Asked:
    program = draw(programs(profile))
    arities = _arities(program)
    constants = _constants(program)
    derived = [name for name in arities if any(rule.head.predicate == name for rule in program.rules)]

    def atom(likely: list[str]) -> Atom:
        name = draw(st.sampled_from([*likely * 3, *arities] or ["e2"]))
        return Atom(name, tuple(draw(_terms(constants)) for _ in range(arities.get(name, 2))))

    body: list[BodyElement] = [atom(derived) for _ in range(draw(st.sampled_from((1, 1, 1, 2, 2, 3))))]
    bound = [argument for one in body if isinstance(one, Atom) for argument in one.arguments]
    variables = sorted({argument.name for argument in bound if isinstance(argument, Variable)})
    if profile.negation and draw(st.booleans()):
        negated = atom(derived)
        arguments = (
            one if not isinstance(one, Variable) or one.name in variables else Wildcard() for one in negated.arguments
        )
        body.append(Negation(Atom(negated.predicate, tuple(arguments))))
    if variables and draw(st.sampled_from((False, False, True))):
        operator = draw(st.sampled_from(("=", "!=", "<", ">=")))
        sides = st.sampled_from([Variable(name) for name in variables]) | st.sampled_from(constants)
        body.append(Comparison(operator, Variable(draw(st.sampled_from(variables))), draw(sides)))
    return Asked(program, Query(tuple(draw(st.permutations(body)))))


def _terms(constants: list[Constant]) -> st.SearchStrategy[Term]:
    variables = st.sampled_from([Variable(name) for name in _NAMES])
    return st.one_of([variables, variables, st.sampled_from(constants), st.just(Wildcard())])


def _arities(program: Program) -> dict[str, int]:
    rules = program.rules
    atoms = [atom for rule in rules for atom in (rule.head, *(one for one, _ in atoms_of(rule.body)))]
    return {**{atom.predicate: atom.arity for atom in atoms}, **{one.predicate: one.arity for one in program.facts}}


def _constants(program: Program) -> list[Constant]:
    values = [value for block in program.facts for row in block.rows for value in row]
    return list(dict.fromkeys(map(Constant, [*values, 1, 2])))
