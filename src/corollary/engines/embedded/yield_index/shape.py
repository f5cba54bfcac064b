"""A rule as a tree of atoms: which of them are linked, and how.

Two atoms of a body are linked because they share variables (IS), because a comparison connects them (InequalityS), or
only because they are in the same rule. The links form a tree, so that whether a fact can be part of an instance is
decided link by link. A variable that a tree cannot cover (the rule has a cycle) is tested when instances are made. A
negated atom is linked to one atom that has all its variables (TS). Conditions on one atom (CS, AddressS) are tested
before a fact is inserted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from corollary.planning import NormalRule
from corollary.planning.normal_form import Compare
from corollary.program import Atom, Constant, Variable, Wildcard

EQUAL, ORDERED, NEGATED = "equal", "ordered", "negated"
IDENTICAL = "=="  # identity; "=" compares numbers by value
_MOST_ATOMS = 60  # each neighbour has a bit of a mask
_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Cell:
    """A column of the fact at an atom's position."""

    place: int
    column: int


@dataclass(frozen=True)
class JoinLink:
    """A link: facts at `one` and at `other` match if their columns agree pair by pair; an ordered link has one pair."""

    kind: str
    one: int
    other: int
    columns: tuple[int, ...]
    other_columns: tuple[int, ...]
    operator: str = IDENTICAL


@dataclass(frozen=True)
class Test:
    """`left operator right` for cells or constants; a `negated` test holds if the comparison does not."""

    operator: str
    left: Cell | Constant
    right: Cell | Constant
    negated: bool = False

    @property
    def places(self) -> set[int]:
        return {side.place for side in (self.left, self.right) if isinstance(side, Cell)}


@dataclass
class RuleShape:
    """The tree of a rule; `atoms` are the positive ones, then the negated ones; positions count them."""

    name: str
    head: Atom
    atoms: list[Atom]
    positive: int
    links: list[JoinLink] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)  # across several positions
    filters: list[list[Test]] = field(default_factory=list)  # at one position each
    head_cells: list[Cell | Constant] = field(default_factory=list)


def fits(rule: NormalRule) -> bool:
    """Return whether a rule consists of atoms and comparisons only, with each negated atom's variables in one other atom."""
    return misfit(rule) is None


def misfit(rule: NormalRule) -> str | None:
    """Return the reason why a rule cannot have a Yield index; None if it can."""
    body = rule.body
    if not body.sources:
        return "its body has no atom"
    if body.computes or not all(compare.is_simple for compare in body.compares):
        return "it computes values"
    if len(body.sources) + len(body.negated) > _MOST_ATOMS:
        return f"it has more than {_MOST_ATOMS} atoms"
    if not all(isinstance(atom, Atom) for atom in (*body.sources, *body.negated)):
        return "it has an aggregate"
    if not rule.head.arity or not all(isinstance(atom, Atom) and atom.arity for atom in (*body.sources, *body.negated)):
        return "it has an atom without arguments"
    if any(_guard(atom, body.sources) is None for atom in body.negated):
        return "no single atom has all variables of a negated one"
    return None


def compares(shape: RuleShape) -> bool:
    """Return whether values are compared by order or by value instead of only by identity."""
    tests = [*shape.tests, *(test for one in shape.filters for test in one)]
    return any(one.operator != IDENTICAL for one in tests) or any(one.operator != IDENTICAL for one in shape.links)


def _guard(negated: Atom, sources: Sequence[object]) -> int | None:
    """Return the position of an atom with all variables of a negated one, None if there is none."""
    wanted = {term.name for term in negated.arguments if isinstance(term, Variable)}
    if any(not isinstance(term, (Variable, Constant)) for term in negated.arguments):
        return None
    for place, atom in enumerate(sources):
        if isinstance(atom, Atom) and wanted <= {t.name for t in atom.arguments if isinstance(t, Variable)}:
            return place
    return None


def shape_of(rule: NormalRule) -> RuleShape:
    """Return the tree of a rule that fits."""
    positive = [atom for atom in rule.body.sources if isinstance(atom, Atom)]
    shape = RuleShape(rule.name, rule.head, [*positive, *rule.body.negated], len(positive))
    return _Shaper(shape, rule.body.compares).shaped()


class _Shaper:
    def __init__(self, shape: RuleShape, compares: Sequence[Compare]) -> None:
        self._shape = shape
        self._compares = compares
        self._tree = _Forest(shape.positive)
        self._cells: dict[str, list[Cell]] = {}
        for place, atom in enumerate(shape.atoms[: shape.positive]):
            for column, term in enumerate(atom.arguments):
                if isinstance(term, Variable):
                    self._cells.setdefault(term.name, []).append(Cell(place, column))

    def shaped(self) -> RuleShape:
        shape = self._shape
        shape.filters = [_own_tests(place, atom) for place, atom in enumerate(shape.atoms)]
        known = self._known_variables()
        self._link_equal(known)
        compares = self._link_ordered(self._take_filters())
        self._link_rest()
        self._link_negated()
        shape.tests += [self._test(compare) for compare in compares]
        shape.tests += self._uncovered(known)
        for term in shape.head.arguments:
            shape.head_cells.append(self._side(term))
        return shape

    def _side(self, term: object) -> Cell | Constant:
        if isinstance(term, Variable):
            return self._cells[term.name][0]
        assert isinstance(term, Constant)
        return term

    def _test(self, compare: Compare) -> Test:
        return Test(compare.operator, self._side(compare.left), self._side(compare.right), compare.negated)

    def _known_variables(self) -> set[str]:
        """Return variables that equal a constant, on which facts need not agree."""
        found = set()
        for compare in self._compares:
            sides = (compare.left, compare.right)
            if compare.operator == "=" and not compare.negated and any(isinstance(one, Constant) for one in sides):
                found |= {one.name for one in sides if isinstance(one, Variable)}
        return found

    def _take_filters(self) -> list[Compare]:
        """Turn comparisons that one atom decides into its filters (with a constant, into filters of every atom
        concerned); return the others."""
        rest = []
        for compare in self._compares:
            names = [one.name for one in (compare.left, compare.right) if isinstance(one, Variable)]
            places = [{cell.place for cell in self._cells[name]} for name in names]
            common = set.intersection(*places) if places else set(range(self._shape.positive))
            for place in sorted(common):
                self._shape.filters[place].append(self._test_at(compare, place))
            if not common:
                rest.append(compare)
        return rest

    def _test_at(self, compare: Compare, place: int) -> Test:
        def side(term: object) -> Cell | Constant:
            if isinstance(term, Variable):
                return next(cell for cell in self._cells[term.name] if cell.place == place)
            return self._side(term)

        return Test(compare.operator, side(compare.left), side(compare.right), compare.negated)

    # -- the tree ----------------------------------------------------------------------------------------------------

    def _link_equal(self, known: set[str]) -> None:
        """Make a tree with as many shared variables as possible; if the rule has no cycle, it covers all of them."""
        shared: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for name, cells in self._cells.items():
            first = {cell.place: cell.column for cell in reversed(cells)}
            for one, other in combinations(sorted(first), 2):
                if name not in known:
                    shared.setdefault((one, other), []).append((first[one], first[other]))
        for (one, other), pairs in sorted(shared.items(), key=lambda item: (-len(item[1]), item[0])):
            if self._tree.join(one, other):
                pairs = sorted(pairs)
                columns, others = zip(*pairs, strict=True)
                self._shape.links.append(JoinLink(EQUAL, one, other, tuple(columns), tuple(others)))

    def _link_ordered(self, compares: list[Compare]) -> list[Compare]:
        rest = []
        for compare in compares:
            left, right = self._side(compare.left), self._side(compare.right)
            fits = compare.operator in _TURNED and not compare.negated
            if fits and isinstance(left, Cell) and isinstance(right, Cell) and self._tree.join(left.place, right.place):
                link = JoinLink(ORDERED, left.place, right.place, (left.column,), (right.column,), compare.operator)
                self._shape.links.append(link)
            else:
                rest.append(compare)
        return rest

    def _link_rest(self) -> None:
        for other in range(1, self._shape.positive):
            if self._tree.join(0, other):
                self._shape.links.append(JoinLink(EQUAL, 0, other, (), ()))

    def _link_negated(self) -> None:
        shape = self._shape
        for place in range(shape.positive, len(shape.atoms)):
            guard = _guard(shape.atoms[place], shape.atoms[: shape.positive])
            assert guard is not None
            pairs: dict[int, int] = {}
            for column, term in enumerate(shape.atoms[place].arguments):
                if isinstance(term, Variable):
                    cell = next(one for one in self._cells[term.name] if one.place == guard)
                    pairs.setdefault(cell.column, column)
            columns = tuple(sorted(pairs))
            shape.links.append(JoinLink(NEGATED, guard, place, columns, tuple(pairs[column] for column in columns)))

    def _uncovered(self, known: set[str]) -> list[Test]:
        """Return tests for variables whose atoms are not connected by links, so that facts of an instance must be compared."""
        found = []
        for name, cells in self._cells.items():
            forest = _Forest(self._shape.positive)
            for link in self._shape.links:
                if link.kind == EQUAL and name not in known and self._links_by(link, name):
                    forest.join(link.one, link.other)
            first = cells[0]
            for cell in cells[1:]:
                if cell.place != first.place and forest.join(first.place, cell.place):
                    found.append(Test(IDENTICAL, first, cell))
        return found

    def _links_by(self, link: JoinLink, name: str) -> bool:
        term = Variable(name)
        one = self._shape.atoms[link.one].arguments
        return any(one[column] == term for column in link.columns)


def _own_tests(place: int, atom: Atom) -> list[Test]:
    """Return tests of one atom: constants first (the one at a location before all others), then repeated variables."""
    constants = [
        (column != atom.location, Test(IDENTICAL, Cell(place, column), term))
        for column, term in enumerate(atom.arguments)
        if isinstance(term, Constant)
    ]
    tests = [test for _, test in sorted(constants, key=lambda one: one[0])]
    first: dict[str, int] = {}
    for column, term in enumerate(atom.arguments):
        assert isinstance(term, (Variable, Constant, Wildcard))
        if isinstance(term, Variable) and first.setdefault(term.name, column) != column:
            tests.append(Test(IDENTICAL, Cell(place, first[term.name]), Cell(place, column)))
    return tests


class _Forest:
    """Which positions are connected."""

    def __init__(self, places: int) -> None:
        self._root = list(range(places))

    def find(self, place: int) -> int:
        while self._root[place] != place:
            place = self._root[place]
        return place

    def join(self, one: int, other: int) -> bool:
        """Connect two positions; return False if they are connected already."""
        roots = self.find(one), self.find(other)
        self._root[roots[1]] = roots[0]
        return roots[0] != roots[1]
