"""The body of one rule rewritten for a demand (sideways information passing): guarded by the demand, with demands for
its atoms.

Values pass from atom to atom (`next_atom`). What is known before an atom is the demand for it. A *supplementary*
predicate holds a part of the body that several rules would otherwise compute again, or of which little is needed later.

If nothing that is known before an atom is needed after it, it does not matter which demanded value an answer belongs
to. Such an atom is asked *alone*: through a demand of its own, for answers without the demanded values.

Two properties of the language need care. An equality gives a variable its value only if it is the first in the text
that can; and a variable that atoms bind is compared by value. So a demand never binds a variable that the body
computes, and computations stay together, after all atoms. The demanded value of a computed variable gets a name of its
own; it is tested early, and demands for other atoms are computed from it (`_asked`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import product
from typing import Protocol

from corollary.analysis import limited_variables
from corollary.program import (
    AggregateTerm,
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    FunctionTerm,
    Minus,
    Negation,
    Rule,
    Term,
    Variable,
    Wildcard,
    all_terms_of,
    atoms_of,
    element_variables,
    rename_element,
    subterms,
    variables_of,
)
from corollary.program.arithmetic import is_number
from corollary.program.datatypes import single
from corollary.program.patterns import is_pattern, with_children
from corollary.program.rewrite import rewrite_term
from corollary.program.values import XSD
from corollary.reasoning.demand.patterns import EXISTENTIAL, FREE, KNOWN, shown_terms

# -- sideways information passing --------------------------------------------------------------------------------------

# The order in which the atoms of a body pass values on to each other, and which of their arguments have values by then.


def next_atom(waiting: Sequence[Atom], bound: Collection[str], is_demanded: Callable[[Atom], bool]) -> int:
    """Return the position of the next atom: first those with known arguments, and stored facts before derived ones.

    Atoms that compute with variables without a value come last.
    """

    def order(place: int) -> tuple[bool, bool, bool, float, int]:
        atom = waiting[place]
        known = sum(is_bound(argument, bound) for argument in atom.arguments)
        return bool(unlimited(atom, bound)), not known, is_demanded(atom), -known / max(1, atom.arity), place

    return min(range(len(waiting)), key=order)


def unlimited(atom: Atom, bound: Collection[str]) -> set[str]:
    """Return the variables of an atom that have no value and get none from its facts: those inside expressions."""
    return {variable.name for variable in element_variables(atom)} - set(bound) - limited_variables([atom])


def is_bound(term: Term, bound: Collection[str]) -> bool:
    """Return whether a term has a value when these variables have one."""
    return all(
        part.name in bound if isinstance(part, Variable) else not isinstance(part, Wildcard) for part in subterms(term)
    )


def known_terms(
    atom: Atom, bound: Set[str], given: Set[str], assigned: Mapping[str, Term], *, recursive: bool
) -> list[Term | None]:
    """Return a term with the value of each argument of an atom, given variables that have values; None for the other
    arguments.

    `assigned` are expressions that BIND makes identical with a variable. If the predicate is `recursive`, a demand that
    computes its values from other demands might never end; so only values that facts have `given` are used in
    computations.
    """
    terms: list[Term | None] = []
    for argument in atom.arguments:
        if isinstance(argument, Variable) and argument.name not in bound:
            argument = assigned.get(argument.name, argument)
        simple = isinstance(argument, (Variable, Constant))
        allowed = simple or not recursive or all(variable.name in given for variable in variables_of(argument))
        terms.append(argument if allowed and is_bound(argument, bound) else None)
    return terms


# -- values ------------------------------------------------------------------------------------------------------------

# Values that equalities give: with `M = N - 1`, a demand for N is a demand for M.
#
# `=` compares numbers by value across their types, but facts are looked up by constants. So a demand for a computed
# number is a demand for that number in each numeric type. Only arithmetic is used, because its result is always a
# number.
#
# A demand computed from another demand of the same recursion might never end. It is made only if it moves towards a
# bound: `N > 0` with `M = N - 1` comes to an end.

_TYPES = ("decimal", "double", "float")
_ZEROS = (Constant(-0.0), Constant(single(-0.0)))
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


def expressions_of(variable: Variable, body: Sequence[BodyElement]) -> Iterator[Arithmetic | Minus]:
    """Yield the arithmetic that equalities of a body compare with a variable."""
    for one in body:
        if isinstance(one, Comparison) and one.operator == "=":
            for side, other in ((one.left, one.right), (one.right, one.left)):
                if side == variable and isinstance(other, (Arithmetic, Minus)) and variable not in variables_of(other):
                    yield other


def comes_to_an_end(expression: Term, body: Sequence[BodyElement]) -> bool:
    """Return whether applying this expression repeatedly runs into a bound of the body.

    `!=` counts as a bound only if no comparison bounds the other direction; otherwise the recursion ends without the
    demand, too.
    """
    step = _step(expression)
    if step is None:
        return False
    variable, is_upwards = step
    bounds = {operator for one in body if (operator := _bound_of(variable, one)) is not None}
    lower, upper = bool(bounds & {">", ">="}), bool(bounds & {"<", "<="})
    ahead, behind = (upper, lower) if is_upwards else (lower, upper)
    return ahead or ("!=" in bounds and not behind)


def is_bound_test(element: BodyElement) -> bool:
    """Return whether an element is a comparison that gives no variable a value."""
    return isinstance(element, Comparison) and element.operator in _TURNED


def types_of(expression: Term) -> Iterator[tuple[Term, tuple[BodyElement, ...]]]:
    """Yield the number as a constant of each type, with the conditions for it; zero has a sign in two of the types."""
    yield from ((FunctionTerm(XSD + name, (expression,)), ()) for name in _TYPES)
    yield from ((zero, (Comparison("=", expression, Constant(0)),)) for zero in _ZEROS)


def _step(expression: Term) -> tuple[Variable, bool] | None:
    """Return the variable to which the expression adds a constant, and whether the constant is positive."""
    match expression:
        case Arithmetic(operator="+", left=Variable() as variable, right=Constant(value=by)):
            sign = 1
        case Arithmetic(operator="+", left=Constant(value=by), right=Variable() as variable):
            sign = 1
        case Arithmetic(operator="-", left=Variable() as variable, right=Constant(value=by)):
            sign = -1
        case _:
            return None
    return (variable, sign * by > 0) if is_number(by) and by != 0 else None  # type: ignore[operator]


def _bound_of(variable: Variable, element: BodyElement) -> str | None:
    """Return the operator by which the element compares the variable with a number, None if it does not."""
    if isinstance(element, Comparison) and element.operator in _TURNED:
        for side, other, operator in (
            (element.left, element.right, element.operator),
            (element.right, element.left, _TURNED[element.operator]),
        ):
            if side == variable and isinstance(other, Constant) and is_number(other.value):
                return operator
    return None


# -- bodies ------------------------------------------------------------------------------------------------------------

_LARGE = 2  # atoms that are worth a supplementary predicate
_MOST_COMPUTED = 2  # atoms; fewer are not worth a supplementary predicate


class Demands(Protocol):
    """The rewriting that a body is part of."""

    def is_demanded(self, atom: Atom) -> bool:
        """Return whether the facts of the atom are derived by demand instead of completely."""
        ...

    def is_recursive(self, rule: Rule, atom: Atom) -> bool: ...

    def pattern(self, predicate: str, known: str) -> str:
        """Return the pattern of a demand for which these arguments are known."""
        ...

    def demand(self, predicate: str, pattern: str, *, negated: bool) -> tuple[str, str]:
        """Return the predicate of the answers to a demand, and that of the demand itself."""
        ...

    def demand_alone(self, predicate: str, pattern: str, demand: str | None) -> tuple[str, str] | None:
        """Like `demand`, for a separate demand, or for the one that is given; return None if that is not possible."""
        ...

    def add(self, wanted_name: str, head: Atom, body: Iterable[BodyElement]) -> None: ...

    def supplement(self, wanted_name: str) -> str: ...

    @property
    def computes(self) -> bool:
        """Whether demands may be computed; if so, an expression without a value must not be an error."""
        ...

    def limit_growth(self) -> None:
        """Note that a recursion which could make new values for ever was restricted by its demand."""
        ...


class DemandedBody:
    """The rewriting of one body; `label` names the rules it adds, `keeps_all` keeps every variable, because an
    aggregate counts them."""

    def __init__(self, demands: Demands, rule: Rule, label: str, *, keeps_all: bool) -> None:
        self._demands = demands
        self._rule = rule
        self._label = label
        self._keeps_all = keeps_all
        self._computes = demands.computes
        self._outside: set[str] = set()
        self._segment: list[BodyElement] = []
        self._has_lead = False  # the segment starts with the demand, or with a supplementary predicate
        self._bound: dict[str, None] = {}
        self._given: set[str] = set()
        self._assigned: dict[str, Term] = {}
        self._elements: Sequence[BodyElement] = ()
        self._asked: dict[str, Variable] = {}  # the demanded values of variables that the body computes
        self._made = 0

    def rewrite(
        self, elements: Sequence[BodyElement], outside: Sequence[Term], asked: tuple[str, Sequence[Term]] | None
    ) -> tuple[BodyElement, ...]:
        """Return the rewritten body, after adding rules for its demands.

        `outside` are the terms that need the variables of the body. `asked` is the predicate of the demand for the
        body, with the term of each argument that the demand knows.
        """
        self._outside = {variable.name for term in outside for variable in variables_of(term)}
        self._elements = elements
        self._assigned = {one.variable.name: one.expression for one in elements if isinstance(one, Assignment)}
        atoms = [element for element in elements if isinstance(element, Atom)]
        by_atoms = limited_variables(atoms)
        others: list[BodyElement] = [element for element in elements if not isinstance(element, Atom)]
        negated = [one for one in others if isinstance(one, Negation) and isinstance(one.element, Atom)]
        tests = [one for one in others if one not in negated and _tests(one, by_atoms)]
        late = [one for one in others if one not in negated and one not in tests]
        if asked is not None:
            late += self._guard(*asked, by_atoms)
            tests += self._early(late)
        while atoms:
            self._place(tests)
            atom = self._computable(atoms.pop(next_atom(atoms, self._bound, self._demands.is_demanded)), tests)
            self._go_on(atom, [*atoms, *tests, *late, *negated])
        self._place(tests)
        return self._with_negations([*tests, *late], negated, limited_variables(elements))

    # -- the demand --------------------------------------------------------------------------------------------------

    def _guard(self, predicate: str, terms: Sequence[Term], by_atoms: set[str]) -> list[BodyElement]:
        """Put the demand first; return the assignments that tie its values to those that the body computes."""
        arguments: list[Term] = []
        computed: list[BodyElement] = []
        for term in terms:
            if isinstance(term, (AggregateTerm, Wildcard)):  # the result is known only after everything else
                arguments.append(Wildcard())
            else:
                arguments.append(self._known_part(term, by_atoms, computed))
        guard = Atom(predicate, tuple(arguments))
        self._segment.append(guard)
        self._has_lead = True
        self._bound.update(dict.fromkeys(variable.name for variable in element_variables(guard)))
        return computed

    def _known_part(self, term: Term, by_atoms: set[str], computed: list[BodyElement]) -> Term:
        """Return the pattern that takes a demanded value apart like a term of the head, with a new variable for each
        computed part."""
        if isinstance(term, Constant) or (isinstance(term, Variable) and term.name in by_atoms):
            return term
        if is_pattern(term):
            if any(self._demands.is_recursive(self._rule, atom) for atom, _ in atoms_of(self._rule.body)):
                self._demands.limit_growth()
            return with_children(term, lambda child: self._known_part(child, by_atoms, computed))
        variable = self._new_variable()
        computed.append(Assignment(term, variable))
        if isinstance(term, Variable):
            self._asked.setdefault(term.name, variable)
        return variable

    def _early(self, late: Iterable[BodyElement]) -> list[BodyElement]:
        """Return the comparisons of computed values, rewritten to test the demanded values early."""
        if not self._computes:
            return []
        tests = [one for one in late if is_bound_test(one)]
        named = [one for one in tests if any(variable.name in self._asked for variable in element_variables(one))]
        return [rename_element(one, self._asked_name) for one in named]

    def _asked_name(self, variable: Variable) -> Variable:
        return self._asked.get(variable.name, variable)

    def _new_variable(self) -> Variable:
        """Return a variable that the rule does not contain."""
        self._made += 1
        return Variable(f"Asked{self._made}{self._marks}")

    @property
    def _marks(self) -> str:
        terms = (*self._rule.head.arguments, *(term for element in self._rule.body for term in all_terms_of(element)))
        longest = max((len(variable.name) for term in terms for variable in variables_of(term)), default=0)
        return "_" * max(0, longest - len("Asked"))

    # -- atoms -------------------------------------------------------------------------------------------------------

    def _go_on(self, atom: Atom, later: Sequence[BodyElement]) -> None:
        """Append an atom, as a demand if it is derived by demand; `later` is the rest of the body."""
        if not self._demands.is_demanded(atom):
            if self._narrows([atom, *later]):
                self._summarise([], [atom, *later])
            self._take(atom)
        elif not self._ask_alone(atom, later):
            if self._size >= _LARGE or self._narrows([atom, *later]):
                self._summarise([], [atom, *later])
            self._take(self._ask(atom, self._bound.keys(), negated=False))

    def _computable(self, atom: Atom, tests: list[BodyElement]) -> Atom:
        """Return the atom with new variables for expressions over variables that only later atoms bind; the expressions
        become tests."""
        missing = unlimited(atom, self._bound)
        arguments = list(atom.arguments)
        for place, term in enumerate(arguments):
            if any(variable.name in missing for variable in variables_of(term)):
                arguments[place] = variable = self._new_variable()
                tests.append(Assignment(term, variable))
        return replace(atom, arguments=tuple(arguments))

    def _take(self, atom: Atom) -> None:
        self._segment.append(atom)
        names = limited_variables([atom])
        self._bound.update(dict.fromkeys(one.name for one in element_variables(atom) if one.name in names))
        self._given |= names

    def _place(self, tests: list[BodyElement]) -> None:
        """Append the tests whose variables all have values."""
        ready = [test for test in tests if all(variable.name in self._bound for variable in element_variables(test))]
        self._segment += ready
        tests[:] = [test for test in tests if test not in ready]

    def _ask(self, atom: Atom, bound: Iterable[str], *, negated: bool) -> Atom:
        """Add the demand for an atom; return the atom over the answers to it."""
        terms, pattern = self._known(atom, bound)
        computed = self._computed(atom, pattern) if not negated and self._computes else {}
        known = "".join(KNOWN if place in computed else letter for place, letter in enumerate(pattern))
        if computed and (whole := self._demands.pattern(atom.predicate, known)) == known:
            terms, pattern = [computed.get(place, term) for place, term in enumerate(terms)], whole
        else:
            computed = {}
        answers, demand = self._demands.demand(atom.predicate, pattern, negated=negated)
        for types in product(*(types_of(term) for term in computed.values())):
            given = dict(zip(computed, (term for term, _ in types), strict=True))
            asked = [given.get(place, term) for place, term in enumerate(terms)]
            head = Atom(demand, _chosen(asked, pattern))
            if head not in self._segment:
                conditions = [condition for _, some in types for condition in some]
                self._demands.add(f"{self._label}_demand", head, [*self._segment, *conditions])
        return replace(atom, predicate=answers)

    def _computed(self, atom: Atom, pattern: str) -> dict[int, Term]:
        """Return the values of an atom's arguments that can be computed from known ones; in a recursion, only if that ends."""
        is_recursive = self._demands.is_recursive(self._rule, atom)
        if KNOWN in pattern and not is_recursive:
            return {}
        found: dict[int, Term] = {}
        for place, term in enumerate(atom.arguments):
            if isinstance(term, Variable) and pattern[place] == FREE and len(found) < _MOST_COMPUTED:
                for expression in expressions_of(term, self._elements):
                    named = rewrite_term(expression, self._asked_name)
                    known = is_bound(named, self._bound)
                    given = all(variable.name in self._given for variable in variables_of(named))
                    if known and (given or not is_recursive):
                        found.setdefault(place, named)
                    elif known and comes_to_an_end(expression, self._elements):
                        found.setdefault(place, named)
                        self._demands.limit_growth()
        return found

    def _ask_alone(self, atom: Atom, later: Sequence[BodyElement]) -> bool:
        """Append an atom over answers without the demanded values, if nothing known so far is needed later; return
        whether that was done."""
        terms, pattern = self._known(atom, self._bound.keys())
        rest = [argument for argument, letter in zip(atom.arguments, pattern, strict=True) if letter == FREE]
        needed = self._needed(later) | {variable.name for term in rest for variable in variables_of(term)}
        if self._keeps_all or KNOWN not in pattern or needed & self._bound.keys():
            return False
        wanted = _chosen(terms, pattern)
        match self._segment:
            case [Atom() as guard] if self._has_lead and guard.arguments == wanted and _are_any(wanted):
                given: str | None = guard.predicate
            case _:
                given = None
        if given is None and self._demands.is_recursive(self._rule, atom):
            return False
        alone = self._demands.demand_alone(atom.predicate, pattern.replace(KNOWN, EXISTENTIAL), given)
        if alone is None:
            return False
        answers, demand = alone
        if given is None:
            self._demands.add(f"{self._label}_demand", Atom(demand, wanted), self._segment)
        self._segment, self._has_lead, self._bound, self._given = [], False, {}, set()
        self._take(Atom(answers, shown_terms(atom.arguments, pattern.replace(KNOWN, EXISTENTIAL))))
        return True

    def _known(self, atom: Atom, bound: Iterable[str]) -> tuple[list[Term | None], str]:
        recursive = self._demands.is_recursive(self._rule, atom)
        terms = known_terms(atom, set(bound), self._given, self._assigned, recursive=recursive)
        known = "".join(FREE if term is None else KNOWN for term in terms)
        return terms, self._demands.pattern(atom.predicate, known)

    # -- supplementary predicates ------------------------------------------------------------------------------------

    @property
    def _size(self) -> int:
        return sum(isinstance(element, Atom) for element in self._segment) - self._has_lead

    def _needed(self, later: Iterable[BodyElement]) -> set[str]:
        return {variable.name for element in later for variable in element_variables(element)} | self._outside

    def _narrows(self, later: Sequence[BodyElement]) -> bool:
        """Return whether at most one of several known variables is needed later, so that many instances become one."""
        kept = self._needed(later) & self._bound.keys()
        return not self._keeps_all and self._size > 0 and len(kept) <= 1 < len(self._bound)

    def _summarise(self, computed: Sequence[BodyElement], later: Sequence[BodyElement]) -> None:
        """Replace the body rewritten so far by an atom of a supplementary predicate."""
        names = dict.fromkeys([*self._bound, *(one.name for element in computed for one in element_variables(element))])
        used = self._needed(later)
        kept = [Variable(name) for name in names if self._keeps_all or name in used]
        summary = Atom(self._demands.supplement(f"{self._label}_so_far"), tuple(kept))
        self._demands.add(f"{self._label}_so_far", summary, [*self._segment, *computed])
        self._segment, self._has_lead = [summary], True
        self._bound = dict.fromkeys(variable.name for variable in kept)

    # -- negation ----------------------------------------------------------------------------------------------------

    def _with_negations(
        self, late: list[BodyElement], negated: Sequence[Negation], limited: set[str]
    ) -> tuple[BodyElement, ...]:
        """Return the body with its negations last: their demands consist of what everything else has found."""
        asks = [one for one in negated if isinstance(one.element, Atom) and self._demands.is_demanded(one.element)]
        if asks and (late or self._size >= _LARGE):
            self._summarise(late, negated)
            late = []
        kept: list[BodyElement] = []
        for negation in negated:
            atom = negation.element
            assert isinstance(atom, Atom)
            if negation in asks:
                negation = replace(negation, element=self._ask(atom, limited, negated=True))
            kept.append(negation)
        return (*self._segment, *late, *kept)


def _chosen(terms: Sequence[Term | None], pattern: str) -> tuple[Term, ...]:
    """Return the terms that a demand with this pattern contains."""
    return tuple(term for term, letter in zip(terms, pattern, strict=True) if letter == KNOWN and term is not None)


def _are_any(terms: Sequence[Term]) -> bool:
    """Return whether the terms match every demand: distinct variables only."""
    return all(isinstance(term, Variable) for term in terms) and len(set(terms)) == len(terms)


def _tests(element: BodyElement, by_atoms: set[str]) -> bool:
    """Return whether an element only tests values that atoms provide."""
    is_test = isinstance(element, (Comparison, Assignment, Negation))
    return is_test and all(variable.name in by_atoms for variable in element_variables(element))
