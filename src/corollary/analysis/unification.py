"""Whether a rule's head can produce a fact that an atom of a body can use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from corollary.program import (
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    EvaluationError,
    FunctionTerm,
    ListTerm,
    Minus,
    Negation,
    Rule,
    Structure,
    Term,
    Value,
    Variable,
    Wildcard,
    compare,
    equal,
    find_builtin,
    identity,
    rewrite_atom,
    subterms,
)
from corollary.program.builtins import BUILTINS
from corollary.program.builtins.declaration import ROUND_TO_BITS
from corollary.program.evaluation import evaluate_term
from corollary.program.patterns import is_ground

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DECIDABLE = ("Comparison", "Numbers", "Booleans", "Guards")
"""Chapters of built-ins that are evaluated here: others may take long, or are functions of the host program."""


@dataclass(frozen=True, slots=True)
class ConstantBound:
    """A comparison of a variable with a constant by order, `X < 2`, or its negation."""

    operator: str
    constant: Constant
    negated: bool = False

    def contradicts(self, other: ConstantBound) -> bool:
        """Return whether no constant satisfies both."""
        if self.negated:
            return not other.negated and other._implies_inside(self)
        if other.negated:
            return self._implies_inside(other)
        try:
            if self.operator[0] == other.operator[0]:
                compare(self.operator, self.constant.value, other.constant.value)
                return False
            upper, lower = (self, other) if self.operator[0] == "<" else (other, self)
            meets = "<=" if "=" not in upper.operator or "=" not in lower.operator else "<"
            return compare(meets, upper.constant.value, lower.constant.value)
        except EvaluationError:  # nothing can be compared with both
            return True

    def _implies_inside(self, other: ConstantBound) -> bool:
        """Return whether every value within this bound satisfies the comparison that the other one negates."""
        if self.operator[0] != other.operator[0]:
            return False
        reaches = other.operator[0] + ("" if "=" in self.operator and "=" not in other.operator else "=")
        try:
            return compare(reaches, self.constant.value, other.constant.value)
        except EvaluationError:
            return False

    def as_element(self, variable: Variable) -> Comparison | Negation:
        """Return the bound as an element of a body."""
        inside = Comparison(self.operator, variable, self.constant)
        return Negation(inside) if self.negated else inside


@dataclass(frozen=True, slots=True)
class Restricted(Variable):
    """A variable that equals a constant, or none of some constants, by value: `X = 2` is true of 2 and of 2.0e0.

    `bounds` are its comparisons by order with constants, `conditions` all other conditions of a body on it alone.
    """

    value: Constant | None = None
    others: tuple[Constant, ...] = ()
    bounds: tuple[ConstantBound, ...] = ()
    conditions: tuple[Comparison | Negation, ...] = ()


def restrictions(body: Iterable[BodyElement]) -> dict[str, Restricted]:
    """Return, by name, the conditions of a body on single variables."""
    elements = tuple(body)
    found: dict[str, Restricted] = {}
    for element in elements:
        match element:
            case Assignment(expression=term, variable=Variable(name=name)) if known := _constant(term):
                found[name] = Restricted(name, value=known)
            case Comparison() | Negation(element=Comparison()):
                _note(element, found)
    _link(elements, found)
    given = {name: known.value for name, known in found.items() if known.value is not None}
    for element in _of_two_variables(elements) if given else ():
        _note(_with_values(element, given), found)
    _link(elements, found)
    return found


def _link(elements: tuple[BodyElement, ...], found: dict[str, Restricted]) -> None:
    """Transfer what is known about a variable to those equal to it."""
    links = links_of(elements)
    for _ in links:
        for one, other in (*links, *((right, left) for left, right in links)):
            if one in found:
                found[other] = _both(found[one], found.get(other, Restricted(other)))


def _of_two_variables(elements: tuple[BodyElement, ...]) -> Iterator[Comparison | Negation]:
    for element in elements:
        inside = element.element if isinstance(element, Negation) else element
        if isinstance(inside, Comparison) and type(inside.left) is type(inside.right) is Variable:
            yield element  # type: ignore[misc]


def _with_values(element: Comparison | Negation, given: dict[str, Constant]) -> Comparison | Negation:
    """Return the comparison with a variable replaced by the constant that it equals by value, which means the same."""
    inside = element.element if isinstance(element, Negation) else element
    assert isinstance(inside, Comparison)
    left, right = inside.left, inside.right
    assert isinstance(left, Variable)
    assert isinstance(right, Variable)
    kept = left if right.name in given else given.get(left.name, left)
    known = replace(inside, left=kept, right=given.get(right.name, right))
    return Negation(known) if isinstance(element, Negation) else known


def _note(element: Comparison | Negation, found: dict[str, Restricted]) -> None:
    """Add the condition of a comparison on a variable, if it is about a single variable."""
    inside = element.element if isinstance(element, Negation) else element
    assert isinstance(inside, Comparison)
    operator, negated = inside.operator, isinstance(element, Negation)
    for side, other, symbol in (
        (inside.left, inside.right, operator),
        (inside.right, inside.left, _FLIPPED.get(operator, operator)),
    ):
        if isinstance(side, Variable) and (constant := _constant(other)) is not None:
            known = found.get(side.name, Restricted(side.name))
            if symbol in _FLIPPED:
                found[side.name] = replace(known, bounds=(*known.bounds, ConstantBound(symbol, constant, negated)))
            elif (symbol == "=") is not negated:
                found[side.name] = replace(known, value=constant, others=())
            elif known.value is None:
                found[side.name] = replace(known, others=(*known.others, constant))
            return
    name = _only_variable(inside)
    if name is not None:
        known = found.get(name, Restricted(name))
        found[name] = replace(known, conditions=(*known.conditions, element))


def links_of(body: Iterable[BodyElement]) -> list[tuple[str, str]]:
    """Return pairs of variables that a body equates."""
    return [
        (element.left.name, element.right.name)
        for element in body
        if isinstance(element, Comparison)
        and element.operator == "="
        and isinstance(element.left, Variable)
        and isinstance(element.right, Variable)
    ]


def _both(one: Restricted, other: Restricted) -> Restricted:
    """Return what is known about a variable equal to another one by value; conditions may still distinguish equal numbers."""
    bounds = tuple(dict.fromkeys((*other.bounds, *one.bounds)))
    if other.value is not None or one.value is not None:
        return replace(other, value=other.value or one.value, others=(), bounds=bounds)
    return replace(other, others=tuple(dict.fromkeys((*other.others, *one.others))), bounds=bounds)


def _constant(term: Term) -> Constant | None:
    """Return the constant of a term without variables, None if it has none."""
    if isinstance(term, Constant):
        return term
    if not isinstance(term, (Arithmetic, Minus)) or not is_ground(term):
        return None
    try:
        return Constant(evaluate_term(term, {}))
    except EvaluationError:
        return None


def _only_variable(comparison: Comparison) -> str | None:
    """Return the single variable whose value decides a comparison, None if there are others."""
    names: set[str] = set()
    for side in (comparison.left, comparison.right):
        for part in subterms(side):
            if isinstance(part, Variable):
                names.add(part.name)
            elif isinstance(part, FunctionTerm):
                function = BUILTINS.get(part.name)
                if function is None or function.chapter not in _DECIDABLE or function.name == ROUND_TO_BITS:
                    return None
            elif not isinstance(part, (Constant, Arithmetic, Minus)):
                return None
    return next(iter(names)) if len(names) == 1 else None


def refined(atom: Atom, known: dict[str, Restricted]) -> Atom:
    """Return the atom with what is known about its variables."""
    return rewrite_atom(atom, lambda variable: known.get(variable.name, variable)) if known else atom


def refined_head(rule: Rule) -> Atom:
    """Return the head of a rule with the conditions of its body on its variables."""
    return refined(rule.head, restrictions(rule.body))


def refined_atoms(rule: Rule) -> Iterator[tuple[Atom, str]]:
    """Yield every atom of a rule's body, like `atoms_of`, with the conditions on its variables at that position."""
    yield from _refined_atoms(rule.body, {}, aggregated=rule.has_head_aggregate)


def _refined_atoms(
    body: tuple[BodyElement, ...], outside: dict[str, Restricted], *, aggregated: bool
) -> Iterator[tuple[Atom, str]]:
    known = {**outside, **restrictions(body)}
    for element in body:
        match element:
            case Atom():
                yield refined(element, known), "aggregate" if aggregated else "positive"
            case Negation(element=Atom() as atom):
                yield refined(atom, known), "aggregate" if aggregated else "negative"
            case Aggregation():
                # Inside an aggregation, only the variables of its groups are those outside; the others are local.
                groups = {variable.name for variable in element.group_by} & known.keys()
                yield from _refined_atoms(element.body, {name: known[name] for name in groups}, aggregated=True)
            case _:
                pass


# -- unification -------------------------------------------------------------------------------------------------------

_Key: TypeAlias = tuple[object, ...]
_PAIR: _Key = ("an item and the rest of a list",)


def may_unify(head: Atom, atom: Atom) -> bool:
    """Return False only if no fact can be an instance of both; variables of the same name are distinct."""
    if head.predicate != atom.predicate or len(head.arguments) != len(atom.arguments):
        return False
    is_plain = True
    for mine, theirs in zip(head.arguments, atom.arguments, strict=True):
        if type(mine) is Constant and type(theirs) is Constant:
            if mine != theirs:
                return False
        elif type(mine) not in _PLAIN or type(theirs) not in _PLAIN:
            is_plain = False
    if is_plain and _has_distinct_variables(head) and _has_distinct_variables(atom):
        return True
    return _Unifier().unify(head, atom)


_PLAIN = (Variable, Constant, Wildcard)


def _has_distinct_variables(atom: Atom) -> bool:
    names = [argument.name for argument in atom.arguments if type(argument) is Variable]
    return len(names) < 2 or len(set(names)) == len(names)


@dataclass(slots=True)
class _Class:
    """Terms that must be the same constant: its value or form, if known, and the conditions on it."""

    shape: _Key | None = None
    below: tuple[_Key, ...] = ()
    constant: Constant | None = None
    restricted: tuple[Restricted, ...] = ()


class _Unifier:
    """Unification by classes of terms that must be the same: each pair of classes is joined once, so that it always
    ends.

    Lists are chains of pairs, so that there are only as many terms as positions in the two atoms. A class that is part
    of itself would be an infinite term, which no fact contains.
    """

    def __init__(self) -> None:
        self._parents: dict[_Key, _Key] = {}
        self._classes: dict[_Key, _Class] = {}

    def unify(self, head: Atom, atom: Atom) -> bool:
        todo: list[tuple[_Key, _Key]] = []
        for mine, theirs in zip(head.arguments, atom.arguments, strict=True):
            todo.append((self._node("head", mine), self._node("atom", theirs)))
        while todo:
            one, other = (self._root(key) for key in todo.pop())
            if one == other:
                continue
            pairs = self._joined(one, other)
            if pairs is None:
                return False
            todo.extend(pairs)
        return not self._has_cycle()

    def _joined(self, one: _Key, other: _Key) -> list[tuple[_Key, _Key]] | None:
        """Merge two classes and return what must then be joined; None if they cannot be the same constant."""
        mine, theirs = self._classes[one], self._classes[other]
        if any(_are_apart(left, right) for left, right in product(mine.restricted, theirs.restricted)):
            return None
        for known, about in ((mine, theirs), (theirs, mine)):
            if known.shape is not None and any(_excludes(variable, known) for variable in about.restricted):
                return None
        pairs: list[tuple[_Key, _Key]] = []
        if mine.shape is not None and theirs.shape is not None:
            if mine.shape != theirs.shape or (mine.constant is not None and theirs.constant is not None):
                return None  # equal constants would already be one class
            pairs = list(zip(self._below(mine), self._below(theirs), strict=True))
        kept = mine if mine.constant is not None or theirs.shape is None else theirs
        self._parents[other] = one
        restricted = (*mine.restricted, *theirs.restricted)
        self._classes[one] = _Class(kept.shape, kept.below, kept.constant, restricted)
        return pairs

    def _root(self, key: _Key) -> _Key:
        parents = self._parents
        while (parent := parents.get(key)) is not None:
            above = parents.get(parent)
            if above is not None:
                parents[key] = above
            key = parent
        return key

    def _node(self, side: str, term: Term) -> _Key:
        """Return the key of a term. Arithmetic, built-in functions, aggregates and `_` can be any value."""
        if isinstance(term, Variable):
            key: _Key = (side, term.name)
            known = self._classes.setdefault(key, _Class())
            if isinstance(term, Restricted) and not known.restricted:
                known.restricted = (term,)
            return key
        if isinstance(term, Constant):
            return self._value(term.value)
        if isinstance(term, ListTerm):
            below = [self._node(side, item) for item in term.items]
            end = self._value(()) if term.tail is None else self._node(side, term.tail)
            for item in reversed(below):
                end = self._new(_Class(_PAIR, (item, end)))
            return end
        if isinstance(term, FunctionTerm) and find_builtin(term.name) is None:
            arguments = tuple(self._node(side, argument) for argument in term.arguments)
            return self._new(_Class((term.name, len(arguments)), arguments))
        return self._new(_Class())

    def _new(self, made: _Class) -> _Key:
        key = (len(self._classes),)
        self._classes[key] = made
        return key

    def _value(self, value: Value) -> _Key:
        key: _Key = ("value", identity(value))
        if key not in self._classes:
            shape = key
            if isinstance(value, Structure):
                shape = (value.name, len(value.arguments))
            elif isinstance(value, tuple) and value:
                shape = _PAIR
            self._classes[key] = _Class(shape, (), Constant(value))
        return key

    def _below(self, known: _Class) -> tuple[_Key, ...]:
        """Return the parts of a term; a constant is taken apart only if there are more conditions on its parts."""
        value = known.constant.value if known.constant is not None else None
        if isinstance(value, Structure):
            return tuple(map(self._value, value.arguments))
        if isinstance(value, tuple) and value:
            return self._value(value[0]), self._value(value[1:])
        return known.below

    def _has_cycle(self) -> bool:
        """Return whether some class is part of itself."""
        done: set[_Key] = set()
        for start in self._classes:
            if (root := self._root(start)) in done:
                continue
            path, inside = [(root, iter(self._classes[root].below))], {root}
            while path:
                current, below = path[-1]
                part = next((self._root(one) for one in below), None)
                if part is None:
                    path.pop()
                    inside.discard(current)
                    done.add(current)
                elif part in inside:
                    return True
                elif part not in done:
                    path.append((part, iter(self._classes[part].below)))
                    inside.add(part)
        return False


def _excludes(restricted: Restricted, known: _Class) -> bool:
    """Return whether the conditions on a variable exclude constants of this form."""
    if known.constant is not None:
        return excludes(restricted, known.constant)
    # A function term or a list with unknown parts cannot be compared by order.
    is_compared = any(not bound.negated for bound in restricted.bounds)
    return is_compared or (restricted.value is not None and not isinstance(restricted.value.value, (Structure, tuple)))


def excludes(restricted: Restricted, constant: Constant) -> bool:
    """Return whether the conditions on a variable exclude this constant."""
    value = constant.value
    if restricted.value is not None and not equal(restricted.value.value, value):
        return True
    if any(equal(one.value, value) for one in restricted.others):
        return True
    tests = (*(bound.as_element(restricted) for bound in restricted.bounds), *restricted.conditions)
    return any(_fails(test, value) for test in tests)


def _fails(test: Comparison | Negation, value: Value) -> bool:
    """Return whether a comparison with one variable certainly does not hold for this value."""
    inside = test.element if isinstance(test, Negation) else test
    assert isinstance(inside, Comparison)
    names = [part.name for side in (inside.left, inside.right) for part in subterms(side) if isinstance(part, Variable)]
    try:
        sides = (evaluate_term(side, dict.fromkeys(names, value)) for side in (inside.left, inside.right))
        return compare(inside.operator, *sides) is isinstance(test, Negation)
    except EvaluationError:
        return not isinstance(test, Negation)


def _are_apart(one: Restricted, other: Restricted) -> bool:
    """Return whether the conditions on two variables exclude a common value."""
    if one.value is not None and other.value is not None and not equal(one.value.value, other.value.value):
        return True
    for known, about in ((one, other), (other, one)):
        if known.value is not None:
            # For numbers that equal the value, only comparisons certainly have the same result.
            compared = Restricted(about.name, others=about.others, bounds=about.bounds)
            if excludes(compared, known.value):
                return True
    return any(mine.contradicts(theirs) for mine, theirs in product(one.bounds, other.bounds))
