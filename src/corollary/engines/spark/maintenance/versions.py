"""The relations as rules of a transaction see them: before it, after it, and what changed.

Every version is the relation before the transaction plus a few signed rows, so none of them is ever written.
"""

from __future__ import annotations

from dataclasses import replace

from corollary.engines.spark.maintenance.change_rows import ChangeRows, summed
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.engines.spark.maintenance.transaction import SparkTransaction
from corollary.planning.deltas import CHANGING, DELETED, INSERTED, LEFT_OUT, PROVED, VersionPart, version_of


class SparkVersions:
    """The versions of all predicates. By predicate, `changing` is what a step has just reached, `reached` and `spread`
    what its overdeletion has reached and followed so far.

    `proved` is what was found to follow from the remaining facts. `overlay` is how an unfinished step sees its own
    predicates: signed rows, added to the facts before.
    """

    def __init__(self, transaction: SparkTransaction) -> None:
        self._transaction = transaction
        self.changing: dict[str, ChangeRows] = {}
        self.reached: dict[str, ChangeRows] = {}
        self.spread: dict[str, ChangeRows] = {}
        self.overlay: dict[str, ChangeRows] = {}
        self.proved: dict[str, ChangeRows] = {}
        self._relations: dict[str, SignedRelation] = {}
        self._rows: dict[str, ChangeRows] = {}

    def forget(self) -> None:
        """Drop the cached versions after a change."""
        self._relations.clear()
        self._rows.clear()

    def clear(self) -> None:
        """Drop the sets of a finished step."""
        for marks in (self.changing, self.reached, self.spread, self.overlay, self.proved):
            marks.clear()
        self.forget()

    def change(self, predicate: str, arity: int) -> ChangeRows:
        """Return the signed rows from the facts before the transaction to the current ones."""
        if predicate in self.overlay:
            return self.overlay[predicate]
        return self._transaction.flips_of(predicate, arity)

    def rows(self, versioned: str, arity: int) -> ChangeRows | None:
        """Return the rows of a version that is a change; None for a whole relation."""
        version, predicate = version_of(versioned)
        if version not in (CHANGING, DELETED, INSERTED):
            return None
        if versioned not in self._rows:
            self._rows[versioned] = self._changed(version, predicate, arity)
        return self._rows[versioned]

    def _changed(self, version: str, predicate: str, arity: int) -> ChangeRows:
        if version == CHANGING:
            return self.changing.get(predicate) or self._nothing(arity)
        change = self.change(predicate, arity)
        return change.where(-1).once() if version == DELETED else change.where(+1)

    def relation(self, versioned: str, arity: int) -> SignedRelation:
        """Return a whole relation in some version."""
        known = self._relations.get(versioned)
        if known is None:
            version, predicate = version_of(versioned)
            before = self._before(version, predicate, arity)
            change = self._change_to(version, predicate, arity)
            known = replace(before, segments=(*before.segments, change)) if change.rows else before
            self._relations[versioned] = known
        return known

    def _before(self, version: str, predicate: str, arity: int) -> SignedRelation:
        if version == PROVED:
            return SignedRelation(self._transaction.context, arity)
        return self._transaction.supported(predicate, arity).visible

    def _change_to(self, version: str, predicate: str, arity: int) -> ChangeRows:
        """Return the signed rows from the facts before the transaction to a version."""
        nothing = self._nothing(arity)
        if version == PROVED:
            return self.proved.get(predicate, nothing)
        left_out, change = LEFT_OUT[version], self.change(predicate, arity)
        if VersionPart.NEW in left_out:
            change = change.where(-1) if VersionPart.GONE in left_out else nothing
        marked = {VersionPart.REACHED: self.reached, VersionPart.SPREAD: self.spread, VersionPart.LAST: self.changing}
        taken = [
            marks[predicate].times(-1) for part, marks in marked.items() if part in left_out and predicate in marks
        ]
        return summed([change, *taken])

    def _nothing(self, arity: int) -> ChangeRows:
        return ChangeRows.nothing(self._transaction.context, arity)
