"""Which columns of relations hold constants whose values some rule needs.

Everywhere else a constant is nothing but its id. A value is needed where constants are compared, computed with or aggregated, and
where a computed constant meets others: a task that makes "ab" from "a" and "b" has to see that it is the "ab" of the data.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from corollary.planning import AggregateSource, NormalBody, NormalRule
from corollary.program import Atom, Term, Variable

Column = tuple[str, int]


def valued_columns(rules: Iterable[NormalRule]) -> frozenset[Column]:
    """Predicates and positions whose constants these rules have to know by value, however the facts get there."""
    classes = _Classes()
    for number, rule in enumerate(rules):
        _body(classes, (number,), rule.body)
        _atom(classes, (number,), rule.head)
    return classes.valued_columns()


def _body(classes: _Classes, scope: tuple[int, ...], body: NormalBody) -> None:
    for place, source in enumerate(body.sources):
        if isinstance(source, AggregateSource):
            _aggregate(classes, scope, (*scope, place), source)
        else:
            _atom(classes, scope, source)
    for atom in body.negated:
        _atom(classes, scope, atom)
    for compute in body.computes:
        _value(classes, scope, [*compute.inputs, compute.variable])
    for compare in body.compares:
        _value(classes, scope, compare.inputs)


def _aggregate(classes: _Classes, outer: tuple[int, ...], inner: tuple[int, ...], source: AggregateSource) -> None:
    _body(classes, inner, source.body)
    for name in source.group_by:
        classes.join((outer, name), (inner, name))
    for operation in source.operations:
        if operation.function != "count":
            _value(classes, outer, [operation.result.name])
            if isinstance(operation.argument, Variable):
                _value(classes, inner, [operation.argument.name])


def _atom(classes: _Classes, scope: tuple[int, ...], atom: Atom) -> None:
    for place, argument in enumerate(atom.arguments):
        _argument(classes, scope, (atom.predicate, place), argument)


def _argument(classes: _Classes, scope: tuple[int, ...], column: Column, argument: Term) -> None:
    classes.column(column)
    if isinstance(argument, Variable):
        classes.join(column, (scope, argument.name))


def _value(classes: _Classes, scope: tuple[int, ...], names: Iterable[str]) -> None:
    for name in names:
        classes.mark((scope, name))


class _Classes:
    """Columns and variables that may hold the same constants, by union-find."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, Hashable] = {}
        self._columns: set[Column] = set()
        self._marked: set[Hashable] = set()

    def column(self, column: Column) -> None:
        self._columns.add(column)

    def join(self, one: Hashable, other: Hashable) -> None:
        self._parents[self._root(one)] = self._root(other)

    def mark(self, one: Hashable) -> None:
        self._marked.add(one)

    def valued_columns(self) -> frozenset[Column]:
        roots = {self._root(one) for one in self._marked}
        return frozenset(column for column in self._columns if self._root(column) in roots)

    def _root(self, one: Hashable) -> Hashable:
        while (parent := self._parents.get(one, one)) != one:
            one = parent
        return one
