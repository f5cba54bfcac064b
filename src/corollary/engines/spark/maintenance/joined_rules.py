"""Rules that join a few changed facts with relations cached in the driver, without a Spark job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from corollary.engines.spark.held_relations import HeldRelations
from corollary.engines.spark.maintenance.change_rows import Ids, contained, distinct_rows, row_numbers, summed_ids
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.planning import NormalRule
from corollary.program import Atom, Constant, Variable

_MOST_ROWS = 1_000_000
"""Rows of a join that the driver computes; larger ones are left to Spark."""

NumberOf = Callable[[Constant], int]


def runs_in_driver(rule: NormalRule) -> bool:
    """Return whether a rule needs only the changed facts and relations that the driver may cache."""
    body = rule.body
    if len(body.sources) == 1 and isinstance(body.sources[0], Atom):
        return not (body.negated or body.computes or body.compares)
    return only_joins(rule)


def only_joins(rule: NormalRule) -> bool:
    """Return whether a rule consists only of atoms with variables and constants, each with arguments."""
    body = rule.body
    if body.negated or body.computes or body.compares or len(body.sources) < 2:
        return False
    if not all(isinstance(source, Atom) and source.arity for source in body.sources):
        return False
    atoms = [rule.head, *(source for source in body.sources if isinstance(source, Atom))]
    return all(isinstance(argument, (Constant, Variable)) for atom in atoms for argument in atom.arguments)


@dataclass
class JoinedRule:
    """One such rule; its first atom has the changed facts."""

    rule: NormalRule
    number_of: NumberOf
    held: HeldRelations

    def heads(self, changed: Ids, relation_of: Callable[[Atom], SignedRelation]) -> Ids | None:
        """Return the heads of all instances, which may repeat; None if the driver lacks a relation, or would hold too
        many rows."""
        first, *others = (atom for atom in self.rule.body.sources if isinstance(atom, Atom))
        values = self._values(first, changed)
        if not values:
            return None
        while others:
            atom = max(others, key=lambda one: len(self._known_places(one, values)))
            others.remove(atom)
            joined = self._joined(values, atom, relation_of(atom))
            if joined is None:
                return None
            values = joined
        return self._columns(self.rule.head.arguments, values)

    def _joined(self, values: dict[str, Ids], atom: Atom, relation: SignedRelation) -> dict[str, Ids] | None:
        places = self._known_places(atom, values)
        if not places:
            return None
        wanted = self._columns([atom.arguments[place] for place in places], values)
        keys, of_row = distinct_rows(wanted)
        rows = matching(relation, places, keys, self.held)
        if rows is None:
            return None
        numbers = row_numbers(np.concatenate((keys, rows[:, places])))
        order = np.argsort(numbers[len(keys) :], kind="stable")
        sorted_numbers = numbers[len(keys) :][order]
        mine = numbers[: len(keys)][of_row]
        first, last = np.searchsorted(sorted_numbers, mine, "left"), np.searchsorted(sorted_numbers, mine, "right")
        counts = last - first
        if counts.sum() > _MOST_ROWS:
            return None
        left = np.repeat(np.arange(len(wanted)), counts)
        starts = np.repeat(first - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
        partners = rows[order[starts + np.arange(len(left))]]
        new = self._values(atom, partners)
        chosen = self._fits(atom, partners)
        return {name: column[left][chosen] for name, column in values.items()} | new

    def _known_places(self, atom: Atom, values: dict[str, Ids]) -> tuple[int, ...]:
        return tuple(
            place
            for place, argument in enumerate(atom.arguments)
            if isinstance(argument, Constant) or (isinstance(argument, Variable) and argument.name in values)
        )

    def _values(self, atom: Atom, rows: Ids) -> dict[str, Ids]:
        """Return the values of an atom's variables in the rows that match it."""
        chosen = rows[self._fits(atom, rows)]
        return {
            argument.name: chosen[:, place]
            for place, argument in enumerate(atom.arguments)
            if isinstance(argument, Variable)
        }

    def _fits(self, atom: Atom, rows: Ids) -> np.ndarray:
        """Return which rows have the constants of an atom, and equal values for its repeated variables."""
        fits = np.ones(len(rows), np.bool_)
        seen: dict[str, int] = {}
        for place, argument in enumerate(atom.arguments):
            if isinstance(argument, Constant):
                fits &= rows[:, place] == self.number_of(argument)
            elif isinstance(argument, Variable):
                fits &= rows[:, place] == rows[:, seen.setdefault(argument.name, place)]
        return fits

    def _columns(self, arguments: Sequence[object], values: dict[str, Ids]) -> Ids:
        count = len(next(iter(values.values()))) if values else 0
        columns = [
            np.full(count, self.number_of(argument), np.int64)
            if isinstance(argument, Constant)
            else values[argument.name]  # type: ignore[attr-defined]
            for argument in arguments
        ]
        return np.column_stack(columns or [np.zeros(count, np.int64)])


def matching(relation: SignedRelation, places: tuple[int, ...], keys: Ids, held: HeldRelations) -> Ids | None:
    """Return the rows of a relation whose values in some columns are among the keys; None if the driver lacks part of it."""
    if any(segment.ids is None for segment in relation.segments):
        return None
    parts: list[Ids] = []
    for frame in relation.bases:
        known = held.relation(frame)
        if known is None:
            return None
        found = known.matching(places, keys)
        parts.append(np.column_stack((found[:, :-1], np.ones(len(found), np.int64))))
    for segment in relation.segments:
        if segment.ids is not None and segment.rows:
            parts.append(segment.ids[contained(segment.ids[:, places], keys)])
    if not parts:
        return np.empty((0, relation.arity), np.int64)
    rows = np.concatenate(parts)
    if relation.segments:
        rows = summed_ids(rows)
        rows = rows[rows[:, -1] > 0]
    return rows[:, :-1]
