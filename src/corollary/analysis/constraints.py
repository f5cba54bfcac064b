"""The constraint elements of a rule: what facts must have in common to match in its body (paper 003).

The set of all elements (SCE) contains everything twice: `s.2 = t.1` and `t.1 = s.2`. Algorithm 1 reduces it to the
minimal set (MCE), in which every position of a variable equals the first one. An element about a location comes first:
nothing else matters for facts that are stored elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from corollary.language import print_term
from corollary.program import Atom, BodyElement, Comparison, Constant, Negation, Rule, Term, Variable


class ConstraintKind(Enum):
    """The types of semantic entries: constant, variable, inequality, location, and whole facts under a negation."""

    LOCATION = "AddressS"
    CONSTANT = "CS"
    VARIABLE = "IS"
    INEQUALITY = "InequalityS"
    NEGATION = "TS"


INEQUALITY_TYPES = {"=": "EQJ", ">": "GJ", ">=": "GEJ", "<": "LJ", "<=": "LEJ", "!=": "NEJ"}
LOCAL_ADDRESS = "local address"


@dataclass(frozen=True)
class Place:
    """An argument of an atom of the body; `number` distinguishes several atoms of one predicate, and is 0 if there is
    only one."""

    predicate: str
    number: int
    argument: int
    is_negated: bool = False

    def __str__(self) -> str:
        negated = "not " if self.is_negated else ""
        return f"{negated}{self.predicate}{f'[{self.number}]' if self.number else ''}.{self.argument}"


@dataclass(frozen=True)
class ConstraintElement:
    """`left operator right`; the right side is another position, a constant or the address of the node."""

    kind: ConstraintKind
    left: Place
    operator: str
    right: Place | Constant | str

    @property
    def type(self) -> str:
        """The type as in paper 003, with its five types of inequality."""
        name = str(self.kind.value)
        return f"{name} {INEQUALITY_TYPES[self.operator]}" if self.kind is ConstraintKind.INEQUALITY else name

    def __str__(self) -> str:
        right = print_term(self.right) if isinstance(self.right, Constant) else str(self.right)
        return f"{self.left} {self.operator} {right}"


Elements = tuple[ConstraintElement, ...]


def constraint_elements(rule: Rule) -> Elements:
    """Return the SCE: each pair of positions of a shared variable in both directions, then everything else.

    >>> from corollary.language import parse_program
    >>> rule = parse_program("H(A, B, C) :- S(3, X, A), T(X, B), W(X, C).").rules[0]
    >>> ", ".join(map(str, constraint_elements(rule)))
    'S.2 = T.1, S.2 = W.1, T.1 = W.1, T.1 = S.2, W.1 = S.2, W.1 = T.1, S.1 = 3'
    """
    body = _Body(rule.body)
    pairs = [
        (one, other) for places in body.places.values() for at, one in enumerate(places) for other in places[at + 1 :]
    ]
    variables = [*pairs, *((other, one) for one, other in pairs)]
    shared = [ConstraintElement(ConstraintKind.VARIABLE, one, "=", other) for one, other in variables]
    return (*body.locations(), *shared, *body.constants(), *body.inequalities(), *body.negations())


def minimal_elements(elements: Sequence[ConstraintElement]) -> Elements:
    """Algorithm 1: the MCE of an SCE.

    >>> from corollary.language import parse_program
    >>> rule = parse_program("H(A, B, C) :- S(3, X, A), T(X, B), W(X, C).").rules[0]
    >>> ", ".join(map(str, minimal_elements(constraint_elements(rule))))
    'S.1 = 3, T.1 = S.2, W.1 = S.2'
    """
    waiting = [element for element in elements if element.kind is ConstraintKind.VARIABLE]
    found: list[ConstraintElement] = []
    while waiting:
        first = waiting[0].left
        equal = {first, *(element.right for element in waiting if element.left == first)}
        found += [
            ConstraintElement(ConstraintKind.VARIABLE, element.right, "=", first)
            for element in waiting
            if element.left == first and isinstance(element.right, Place)
        ]
        waiting = [element for element in waiting if element.left not in equal and element.right not in equal]
    others = [element for element in elements if element.kind is not ConstraintKind.VARIABLE]
    before = [one for one in others if one.kind in (ConstraintKind.LOCATION, ConstraintKind.CONSTANT)]
    return (*before, *found, *(one for one in others if one not in before))


class _Body:
    """The positions of each variable in the positive atoms of a body."""

    def __init__(self, body: Sequence[BodyElement]) -> None:
        self._body = body
        self._atoms = [one for one in body if isinstance(one, Atom)]
        self._negated = [one.element for one in body if isinstance(one, Negation) and isinstance(one.element, Atom)]
        self.places: dict[str, list[Place]] = {}
        for number, atom in enumerate(self._atoms):
            for argument, term in enumerate(atom.arguments):
                if isinstance(term, Variable):
                    self.places.setdefault(term.name, []).append(self._place(self._atoms, number, argument))

    def _place(self, atoms: Sequence[Atom], number: int, argument: int, *, is_negated: bool = False) -> Place:
        predicate = atoms[number].predicate
        same = [place for place, atom in enumerate(atoms) if atom.predicate == predicate]
        return Place(predicate, same.index(number) + 1 if len(same) > 1 else 0, argument + 1, is_negated)

    def locations(self) -> Iterator[ConstraintElement]:
        for number, atom in enumerate(self._atoms):
            if atom.location is not None:
                place = self._place(self._atoms, number, atom.location)
                yield ConstraintElement(ConstraintKind.LOCATION, place, "=", LOCAL_ADDRESS)

    def constants(self) -> Iterator[ConstraintElement]:
        for number, atom in enumerate(self._atoms):
            for argument, term in enumerate(atom.arguments):
                if isinstance(term, Constant):
                    yield ConstraintElement(
                        ConstraintKind.CONSTANT, self._place(self._atoms, number, argument), "=", term
                    )
        for comparison in self._comparisons():
            for left, operator, right in _both_ways(comparison):
                if isinstance(left, Variable) and isinstance(right, Constant):
                    for place in self.places.get(left.name, ()):
                        yield ConstraintElement(ConstraintKind.CONSTANT, place, operator, right)

    def inequalities(self) -> Iterator[ConstraintElement]:
        """Yield comparisons of two variables, each at its first position."""
        for comparison in self._comparisons():
            left, right = comparison.left, comparison.right
            if isinstance(left, Variable) and isinstance(right, Variable):
                ones, others = self.places.get(left.name), self.places.get(right.name)
                if ones and others:
                    yield ConstraintElement(ConstraintKind.INEQUALITY, ones[0], comparison.operator, others[0])

    def negations(self) -> Iterator[ConstraintElement]:
        for number, atom in enumerate(self._negated):
            for argument, term in enumerate(atom.arguments):
                place = self._place(self._negated, number, argument, is_negated=True)
                if isinstance(term, Constant):
                    yield ConstraintElement(ConstraintKind.NEGATION, place, "=", term)
                elif isinstance(term, Variable) and term.name in self.places:
                    yield ConstraintElement(ConstraintKind.NEGATION, place, "=", self.places[term.name][0])

    def _comparisons(self) -> list[Comparison]:
        return [one for one in self._body if isinstance(one, Comparison)]


_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _both_ways(comparison: Comparison) -> list[tuple[Term, str, Term]]:
    return [
        (comparison.left, comparison.operator, comparison.right),
        (comparison.right, _TURNED[comparison.operator], comparison.left),
    ]
