"""In which order the atoms of a body pass values on to each other, and which of their arguments have values by then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set

from corollary.analysis import limited_variables
from corollary.program import Atom, Constant, Term, Variable, Wildcard, element_variables, subterms, variables_of


def next_atom(waiting: Sequence[Atom], bound: Collection[str], is_demanded: Callable[[Atom], bool]) -> int:
    """The place of the atom that goes on: one that knows some of its arguments, and facts before what has to be derived.

    Those that compute with variables that have no value yet come last.
    """

    def order(place: int) -> tuple[bool, bool, bool, float, int]:
        atom = waiting[place]
        known = sum(is_bound(argument, bound) for argument in atom.arguments)
        return bool(unlimited(atom, bound)), not known, is_demanded(atom), -known / max(1, atom.arity), place

    return min(range(len(waiting)), key=order)


def unlimited(atom: Atom, bound: Collection[str]) -> set[str]:
    """The variables of an atom that neither have a value nor get one by its facts: those inside of expressions."""
    return {variable.name for variable in element_variables(atom)} - set(bound) - limited_variables([atom])


def is_bound(term: Term, bound: Collection[str]) -> bool:
    """Whether a term has a value where these variables have one."""
    return all(
        part.name in bound if isinstance(part, Variable) else not isinstance(part, Wildcard) for part in subterms(term)
    )


def known_terms(
    atom: Atom, bound: Set[str], given: Set[str], assigned: Mapping[str, Term], *, recursive: bool
) -> list[Term | None]:
    """For each argument of an atom a term that has its value, where these variables have values; None for the others.

    `assigned` are expressions that BIND makes identical with a variable. A demand that computes its values from other demands
    would go on for ever where the predicate is `recursive`: there, only what facts have `given` is computed with.
    """
    terms: list[Term | None] = []
    for argument in atom.arguments:
        if isinstance(argument, Variable) and argument.name not in bound:
            argument = assigned.get(argument.name, argument)
        simple = isinstance(argument, (Variable, Constant))
        allowed = simple or not recursive or all(variable.name in given for variable in variables_of(argument))
        terms.append(argument if allowed and is_bound(argument, bound) else None)
    return terms
