"""The kinds of values that the arguments of predicates may hold, as far as facts in the text and rules tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from corollary.program import (
    AggregateTerm,
    Aggregation,
    Arithmetic,
    Assignment,
    Atom,
    BodyElement,
    Comparison,
    Constant,
    FactBlock,
    Iri,
    Literal,
    Minus,
    Program,
    Rule,
    Term,
    Value,
    Variable,
)
from corollary.program.arithmetic import number_of
from corollary.program.datatypes import place_of
from corollary.program.patterns import Form

Kinds = frozenset[str]
"""Names of kinds, in the plural as in messages."""
NUMBERS, TEXTS, BOOLEANS, IRIS = "numbers", "texts", "booleans", "IRIs"
OTHERS = "terms and other values"
_PLAIN: Mapping[type, str] = {int: NUMBERS, Decimal: NUMBERS, float: NUMBERS, str: TEXTS, bool: BOOLEANS, Iri: IRIS}


def kind_of(value: Value) -> str | None:
    """Return the kind within which a value is compared by order; None if it has no order."""
    found = _PLAIN.get(type(value))
    if found is not None or not isinstance(value, Literal):
        return found
    if number_of(value) is not None:
        return NUMBERS
    place = place_of(value)
    return None if place is None else f"values of xsd:{place[0].rpartition('#')[2]}"


@dataclass(frozen=True)
class OtherFacts:
    """The known properties of facts outside the program text: their predicates, and the forms of the terms in them."""

    predicates: Collection[str] = ()
    forms: Callable[[], Set[Form]] = frozenset


NO_OTHER_FACTS = OtherFacts()


class ValueKinds:
    """The least kinds of the arguments of each predicate that facts and rules allow.

    A predicate with an @input or other facts, or with neither facts nor rules, may hold anything.
    """

    def __init__(self, program: Program, others: OtherFacts = NO_OTHER_FACTS) -> None:
        self.program = program
        self.others = others

    def of_variable(self, name: str, body: Iterable[BodyElement]) -> Kinds | None:
        """Return the kinds that the atoms of a body allow for a variable; None if it may hold anything."""
        found: Kinds | None = None
        for element in body:
            match element:
                case Atom():
                    for place, argument in enumerate(element.arguments):
                        if isinstance(argument, Variable) and argument.name == name:
                            found = _common(found, self._of_argument(element.predicate, place))
                case Comparison(operator="=", left=left, right=right):
                    for side, other in ((left, right), (right, left)):
                        if isinstance(side, Variable) and side.name == name and isinstance(other, (Arithmetic, Minus)):
                            found = _common(found, frozenset({NUMBERS}))
                case Assignment(variable=Variable(name=given), expression=Arithmetic() | Minus()) if given == name:
                    found = _common(found, frozenset({NUMBERS}))
                case Aggregation():
                    if any(variable.name == name for variable in element.group_by):
                        found = _common(found, self.of_variable(name, element.body))
                case _:
                    pass
        return found

    def _of_argument(self, predicate: str, place: int) -> Kinds | None:
        columns = self._kinds.get(predicate)
        return None if columns is None or place >= len(columns) else columns[place]

    @cached_property
    def _kinds(self) -> dict[str, list[Kinds | None]]:
        """The kinds of each argument by predicate, None for any kind; predicates that may hold anything are left out."""
        program = self.program
        open_predicates = {*self.others.predicates, *(declaration.predicate for declaration in program.inputs)}
        found: dict[str, list[Kinds | None]] = {}
        for facts in program.facts:
            if facts.predicate not in open_predicates:
                columns = found.setdefault(facts.predicate, [frozenset()] * facts.arity)
                _widen(columns, _columns_of(facts))
        rules = [rule for rule in program.rules if rule.head.predicate not in open_predicates]
        for rule in rules:
            found.setdefault(rule.head.predicate, [frozenset()] * rule.head.arity)
        self.__dict__["_kinds"] = found  # visible to the rules while it grows
        users: dict[str, list[Rule]] = {}
        for rule in rules:
            for predicate in {atom.predicate for atom in rule.body if isinstance(atom, Atom)}:
                users.setdefault(predicate, []).append(rule)
        waiting = dict.fromkeys(rule.name for rule in rules)
        by_name = {rule.name: rule for rule in rules}
        while waiting:
            rule = by_name[next(iter(waiting))]
            del waiting[rule.name]
            head = rule.head
            if _widen(found[head.predicate], [self._of_term(argument, rule.body) for argument in head.arguments]):
                waiting.update(dict.fromkeys(user.name for user in users.get(head.predicate, ())))
        return found

    def _of_term(self, term: Term, body: tuple[BodyElement, ...]) -> Kinds | None:
        match term:
            case Constant():
                return frozenset({kind_of(term.value) or OTHERS})
            case Arithmetic() | Minus():
                return frozenset({NUMBERS})
            case AggregateTerm(function="count" | "sum" | "avg" | "median"):
                return frozenset({NUMBERS})
            case Variable():
                return self.of_variable(term.name, body)
            case _:
                return None


def _columns_of(facts: FactBlock) -> list[Kinds | None]:
    return [_kinds_in(column) for column in zip(*facts.rows, strict=True)] or [frozenset()] * facts.arity


def _kinds_in(column: tuple[Value, ...]) -> Kinds:
    types = set(map(type, column))
    if types <= _PLAIN.keys():
        return frozenset(_PLAIN[one] for one in types)
    return frozenset(kind_of(value) or OTHERS for value in column)


def _widen(columns: list[Kinds | None], by: list[Kinds | None]) -> bool:
    """Add kinds to those of each column; return whether that changed something."""
    changed = False
    for place, (known, new) in enumerate(zip(columns, by, strict=False)):
        if known is None:
            continue
        after = None if new is None else known | new
        if after != known:
            columns[place], changed = after, True
    return changed


def _common(one: Kinds | None, other: Kinds | None) -> Kinds | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
