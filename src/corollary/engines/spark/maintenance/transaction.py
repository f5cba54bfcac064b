"""One transaction on Spark: changes of support, owner by owner, and the visible facts that change with them.

The store is not touched before `commit`, so giving a transaction up means to forget it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np

from corollary.engines.spark.maintenance.change_rows import (
    TAG,
    ChangeRows,
    Ids,
    distinct_rows,
    hinted,
    no_rows,
    settle,
    summed,
    tagged,
)
from corollary.engines.spark.maintenance.lookup import Lookup
from corollary.engines.spark.maintenance.maintained_store import Counters, MaintainedStore, Supported
from corollary.engines.spark.maintenance.signed_relation import SignedRelation, united
from corollary.engines.spark.relations import COUNT, column_names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from corollary.engines.spark.context import Context

# -- support sums ------------------------------------------------------------------------------------------------------

# Changes of visible facts through changes of support, for facts in the driver.

Numbered = Sequence[tuple[int, Ids]]  # the number of an owner, and rows `c0 …, n`


def visible_changes(known: Numbered, changes: Numbered) -> tuple[Ids, Ids, Ids]:
    """Return the facts that became hidden, those that became visible, and those that some owner stopped supporting,
    each with the number 1.

    `known` is the support before, at least of the facts whose support changes; rows of one owner may repeat and add up.
    """
    parts = [*((number, rows, 1) for number, rows in known), *((number, rows, 0) for number, rows in changes)]
    rows = np.concatenate([rows[:, :-1] for _, rows, _ in parts])
    counts = np.concatenate([rows[:, -1] for _, rows, _ in parts])
    owners = np.concatenate([np.full(len(rows), number, np.int64) for number, rows, _ in parts])
    is_known = np.concatenate([np.full(len(rows), known, np.int64) for _, rows, known in parts])
    facts, fact_of = distinct_rows(rows)
    width = int(owners.max(initial=0)) + 1
    slot = fact_of * width + owners
    before, after = (_sums(slot, numbers, len(facts), width) for numbers in (counts * is_known, counts))
    assert (after >= 0).all(), "support below zero"
    was, now = before.any(axis=1), after.any(axis=1)
    lost = ((before > 0) & (after == 0)).any(axis=1)
    numbered = np.column_stack((facts, np.ones(len(facts), np.int64)))
    return numbered[was & ~now], numbered[now & ~was], numbered[lost]


def _sums(slots: Ids, numbers: Ids, facts: int, owners: int) -> Ids:
    total = np.zeros(facts * owners, np.int64)
    np.add.at(total, slots, numbers)
    return total.reshape(facts, owners)


# -- pending support ---------------------------------------------------------------------------------------------------

# The pending changes in the support of a predicate within a transaction, and the changes of its visible facts.


@dataclass(frozen=True)
class Visible:
    """How the visible facts of a predicate change: `deleted` and `inserted` ones, and those that some owner stopped
    supporting (`lost`)."""

    deleted: ChangeRows
    inserted: ChangeRows
    lost: ChangeRows

    @property
    def is_any(self) -> bool:
        return bool(self.deleted.rows or self.inserted.rows)

    @cached_property
    def flips(self) -> ChangeRows:
        """The deleted and inserted facts as signed rows."""
        return summed([self.inserted, self.deleted.times(-1)])


@dataclass
class Pending:
    """The support that owners gained and lost, and all support of removed owners, whose names may be used again."""

    arity: int
    support: dict[str, list[ChangeRows]] = field(default_factory=dict)
    counted: dict[str, bool] = field(default_factory=dict)
    gone: dict[str, ChangeRows] = field(default_factory=dict)

    @property
    def is_in_driver(self) -> bool:
        changes = [*self.gone.values(), *(change for parts in self.support.values() for change in parts)]
        return all(change.ids is not None for change in changes)

    def changes(self, owners: Iterable[str]) -> list[tuple[int, ChangeRows]]:
        """Return all changes with numbers of owners; known owners are numbered in the given order, before new ones."""
        numbers = {owner: number for number, owner in enumerate(owners)}
        changes = [(numbers[owner], change) for owner, change in self.gone.items()]
        for place, (owner, parts) in enumerate(self.support.items(), len(numbers)):
            is_new = owner in self.gone or owner not in numbers
            changes.append((place if is_new else numbers[owner], summed(parts)))
        return changes


# -- transaction -------------------------------------------------------------------------------------------------------

_BEFORE, _AFTER, _OWNER = "was", "now", "owner"


class SparkTransaction:
    def __init__(self, context: Context, store: MaintainedStore) -> None:
        self.context = context
        self.store = store
        self._pending: dict[str, Pending] = {}
        self._visible: dict[str, Visible] = {}
        self._unsettled: set[str] = set()
        self._handed_over: dict[str, Supported] = {}  # predicates as they were before, under the names of heirs
        self._heirs: list[tuple[str, str, SignedRelation, int]] = []  # support that moved to heirs, with signs
        self.counters = Counters(store.counters)

    # -- support -----------------------------------------------------------------------------------------------------

    def change_support(self, predicate: str, owner: str, change: ChangeRows, *, counted: bool) -> None:
        """Change how often an owner supports facts; `settle` finds what that means for visible facts."""
        if change.rows:
            pending = self._pending.setdefault(predicate, Pending(change.arity))
            pending.support.setdefault(owner, []).append(change)
            pending.counted[owner] = counted
            self._unsettled.add(predicate)

    def withdraw(self, predicate: str, arity: int, owner: str) -> None:
        """Remove an owner with all its support."""
        relation = self.supported(predicate, arity).owners.get(owner)
        if relation is not None:
            change = self._all_of(predicate, relation).times(-1)
            self._pending.setdefault(predicate, Pending(arity)).gone[owner] = change
            self._unsettled.add(predicate)

    def _all_of(self, predicate: str, relation: SignedRelation) -> ChangeRows:
        ids, stored, rows = settle(self.context, relation.supported().df, predicate)
        return ChangeRows(self.context, relation.arity, rows, ids, stored)

    def hand_over(self, predicate: str, arity: int, owners: Sequence[str], heir: str) -> None:
        """Transfer the support of some owners to their heir, as if it had always been the heir's; visible facts do not
        change."""
        before = self.supported(predicate, arity)
        relations = {owner: before.owners[owner] for owner in owners if owner in before.owners}
        if relations:
            together = united(list(relations.values()), predicate)
            self._handed_over[predicate] = before.handed_over(relations, heir, together)
            self._heirs += [(predicate, owner, relation, -1) for owner, relation in relations.items()]
            self._heirs.append((predicate, heir, together, +1))

    def supported(self, predicate: str, arity: int) -> Supported:
        """Return a predicate as it was before the transaction."""
        return self._handed_over.get(predicate) or self.store.supported(predicate, arity)

    def support_change(self, predicate: str, owner: str, arity: int) -> ChangeRows:
        """Return the support that an owner has gained and lost so far."""
        pending = self._pending.get(predicate)
        parts = pending.support.get(owner, []) if pending is not None else []
        return summed(parts) if parts else ChangeRows.nothing(self.context, arity)

    def support_now_by(self, predicate: str, owner: str, arity: int) -> ChangeRows:
        """Return everything that an owner supports at this point of the transaction."""
        relation = self.support_relations(predicate, arity).get(owner)
        return self._all_of(predicate, relation) if relation else ChangeRows.nothing(self.context, arity)

    def owned_only_by(self, predicate: str, arity: int, owner: str, other: str) -> ChangeRows:
        """Return the facts that one owner supports and the other does not."""
        columns = column_names(arity)
        sums = []
        for one in (owner, other):
            parts = self.support_now(predicate, arity, lambda name, one=one: name == one)  # type: ignore[misc]
            if not parts:
                sums.append(no_rows(self.context, arity))
                continue
            df = reduce(lambda left, right: left.union(right), parts)
            sums.append(df.groupBy(*columns).agg({COUNT: "sum"}).where(f"`sum({COUNT})` > 0").select(*columns))
        df = sums[0].join(sums[1], columns, "left_anti").selectExpr(*columns, f"1L AS {COUNT}")
        ids, stored, rows = settle(self.context, df, predicate)
        return ChangeRows(self.context, arity, rows, ids, stored)

    def support_now(self, predicate: str, arity: int, of: Callable[[str], bool]) -> list[DataFrame]:
        """Return parts with the columns `c0 …, n` whose sums are the support by some owners at this point of the
        transaction."""
        relations = self.support_relations(predicate, arity)
        return [part for owner, relation in relations.items() if of(owner) for part in relation.numbers()]

    def support_relations(self, predicate: str, arity: int) -> dict[str, SignedRelation]:
        """Return the current support by each owner within the transaction."""
        pending = self._pending.get(predicate) or Pending(arity)
        relations = {
            owner: relation
            for owner, relation in self.supported(predicate, arity).owners.items()
            if owner not in pending.gone
        }
        for owner, changes in pending.support.items():
            before = relations.get(owner) or SignedRelation(self.context, arity, counted=pending.counted[owner])
            relations[owner] = replace(before, segments=(*before.segments, *changes))
        return relations

    def is_in_driver(self, predicate: str, facts: ChangeRows) -> bool:
        """Return whether these facts and all changes of their predicate are in the driver."""
        pending = self._pending.get(predicate)
        return facts.ids is not None and (pending is None or pending.is_in_driver)

    def has_others(self, predicate: str, arity: int, owner: str) -> bool:
        """Return whether other owners support facts of a predicate."""
        pending = self._pending.get(predicate) or Pending(arity)
        owners = {*self.supported(predicate, arity).owners, *pending.support}
        return bool(owners - {owner})

    # -- visible facts -----------------------------------------------------------------------------------------------

    def visible(self, predicate: str, arity: int) -> Visible:
        """Return how a predicate changed, as far as it is settled."""
        known = self._visible.get(predicate)
        if known is not None:
            return known
        nothing = ChangeRows.nothing(self.context, arity)
        return Visible(nothing, nothing, nothing)

    def flips_of(self, predicate: str, arity: int) -> ChangeRows:
        """Return the changes of visible facts as signed rows."""
        known = self._visible.get(predicate)
        return known.flips if known is not None else ChangeRows.nothing(self.context, arity)

    def has_changed(self, predicate: str) -> bool:
        known = self._visible.get(predicate)
        return known is not None and known.is_any

    def changed(self) -> dict[str, Visible]:
        return {predicate: visible for predicate, visible in self._visible.items() if visible.is_any}

    def settle(self) -> None:
        """Find what has become of the facts whose support changed, for all predicates in one job."""
        waiting = {}
        for number, predicate in enumerate(sorted(self._unsettled)):
            if not self._settle_alone(predicate):
                waiting[number] = predicate
        self._unsettled.clear()
        in_driver = {number: name for number, name in waiting.items() if self._pending[name].is_in_driver}
        if in_driver:
            self._settle_in_driver(list(in_driver.values()))
        others = {number: name for number, name in waiting.items() if number not in in_driver}
        if others:
            self._settle_together(others)

    def _settle_alone(self, predicate: str) -> bool:
        """Settle a predicate whose only owner does not count, so that its facts are the visible ones; return whether
        that was the case."""
        pending = self._pending[predicate]
        changes = [*([change] for change in pending.gone.values()), *pending.support.values()]
        owners = {*self.supported(predicate, pending.arity).owners, *pending.support}
        if len(owners) > 1 or len(changes) > 1 or any(pending.counted.values()):
            return False
        change = summed(changes[0])
        gone = change.where(-1).once()
        self._visible[predicate] = Visible(gone, change.where(+1), gone)
        return True

    def _settle_in_driver(self, predicates: Sequence[str]) -> None:
        """Settle a few facts by looking up their support."""
        lookup = Lookup(self.context)
        places: dict[str, list[int]] = {}
        for predicate in predicates:
            pending = self._pending[predicate]
            owners = self.supported(predicate, pending.arity).owners
            facts = summed([change.once() for _, change in pending.changes(owners)])
            places[predicate] = [lookup.ask(relation, facts) for relation in owners.values()]
        answers = lookup.run()
        for predicate in predicates:
            pending = self._pending[predicate]
            owners = self.supported(predicate, pending.arity).owners
            known = [(number, answers[place]) for number, place in enumerate(places[predicate])]
            changes = [(number, change.ids) for number, change in pending.changes(owners) if change.ids is not None]
            parts = visible_changes(known, changes)
            self._visible[predicate] = Visible(
                *(ChangeRows.of_ids(self.context, pending.arity, part) for part in parts)
            )

    def _settle_together(self, waiting: Mapping[int, str]) -> None:
        frames = {number: self._sums(self._pending[name], name) for number, name in waiting.items()}
        arities = {number: self._pending[name].arity for number, name in waiting.items()}
        df = tagged({number: (df, arities[number]) for number, df in frames.items()}, (_OWNER, _BEFORE, _AFTER))
        columns = [name for name in df.columns if name not in (_OWNER, _BEFORE, _AFTER)]
        by_owner = df.groupBy(*columns, _OWNER).agg({_BEFORE: "sum", _AFTER: "sum"})
        by_owner = by_owner.selectExpr(*columns, f"`sum({_BEFORE})` AS b", f"`sum({_AFTER})` AS a")
        expressions = (
            "IF(sum(b) > 0, 1L, 0L) AS was",
            "IF(sum(a) > 0, 1L, 0L) AS now",
            "max(IF(b > 0 AND a <= 0, 1L, 0L)) AS lost",
            "min(a) AS least",
        )
        found = by_owner.groupBy(*columns).agg(*_expressions(expressions))
        found = found.where("was <> now OR lost = 1 OR least < 0")
        ids, stored, _ = settle(self.context, found, "support")
        for number, predicate in waiting.items():
            self._visible[predicate] = self._of_rows(arities[number], number, ids, stored)

    def _sums(self, pending: Pending, predicate: str) -> DataFrame:
        """Return rows `c0 …, owner, was, now` of the facts whose support changed, with all their known support."""
        columns = column_names(pending.arity)
        supported = self.supported(predicate, pending.arity)
        numbers = {owner: number for number, owner in enumerate(supported.owners)}
        changes = pending.changes(supported.owners)
        keys = _keys(pending.arity, [change for _, change in changes])
        pieces = [
            change.df.selectExpr(*columns, f"{number}L AS {_OWNER}", f"0L AS {_BEFORE}", f"{COUNT} AS {_AFTER}")
            for number, change in changes
        ]
        for owner, relation in supported.owners.items():
            for part in relation.matching(keys):
                pieces.append(
                    part.selectExpr(
                        *columns, f"{numbers[owner]}L AS {_OWNER}", f"{COUNT} AS {_BEFORE}", f"{COUNT} AS {_AFTER}"
                    )
                )
        return reduce(lambda left, right: left.union(right), pieces)

    def _of_rows(self, arity: int, number: int, ids: Ids | None, stored: DataFrame | None) -> Visible:
        """Return the visible changes from rows `tag, c0 …, was, now, lost, least`."""
        columns = column_names(arity)
        if ids is not None:
            mine = ids[ids[:, 0] == number]
            rows = np.column_stack((mine[:, 1 : 1 + len(columns)], np.ones(len(mine), np.int64)))
            was, now, lost, least = (mine[:, place] for place in (-4, -3, -2, -1))
            assert (least >= 0).all(), "support below zero"
            chosen = ((was > now), (was < now), lost > 0)
            return Visible(*(ChangeRows.of_ids(self.context, arity, rows[one]) for one in chosen))
        assert stored is not None
        mine = stored.where(f"{TAG} = {number}")
        parts = []
        for condition in ("was > now", "was < now", "lost = 1"):
            df = mine.where(condition).selectExpr(*columns, f"1L AS {COUNT}")
            parts.append(ChangeRows(self.context, arity, df.count(), None, df))
        return Visible(*parts)

    # -- for the store --------------------------------------------------------------------------------------

    def support_changes(self) -> Iterator[tuple[str, str, ChangeRows]]:
        """Yield predicate, owner and signed changes of all support that the transaction changes."""
        for predicate, owner, relation, sign in self._heirs:
            yield predicate, owner, self._all_of(predicate, relation).times(sign)
        for predicate, pending in self._pending.items():
            for owner, change in pending.gone.items():
                yield predicate, owner, change
            for owner, parts in pending.support.items():
                yield predicate, owner, summed(parts)

    def visible_changes(self) -> Iterator[tuple[str, ChangeRows]]:
        """Yield the visible facts that were inserted and deleted, as signed rows."""
        for predicate, pending in self._pending.items():
            yield predicate, self.flips_of(predicate, pending.arity)

    def arities(self) -> list[tuple[str, int]]:
        """Return the predicates that change, with their arities."""
        return [(predicate, pending.arity) for predicate, pending in self._pending.items()]

    # -- the end -----------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        changed = dict(self._handed_over)
        for predicate, pending in self._pending.items():
            visible = self.visible(predicate, pending.arity)
            support = {owner: summed(parts) for owner, parts in pending.support.items()}
            after = self.supported(predicate, pending.arity)
            for owner in pending.gone:
                after = after.without(owner)
            changed[predicate] = after.changed(predicate, support, visible.flips, pending.counted)
        self.store.replace(changed, self.counters.after())


def _keys(arity: int, changes: Iterable[ChangeRows]) -> DataFrame:
    """Return the distinct facts whose support changes, in as few columns as possible, hinted if they are few."""
    columns = column_names(arity)
    parts = list(changes)
    rows = sum(part.rows for part in parts)
    df = reduce(lambda left, right: left.union(right), (part.df.select(*columns) for part in parts))
    return hinted(df.distinct() if len(parts) > 1 else df, rows)


def _expressions(texts: Iterable[str]) -> list[Column]:
    from pyspark.sql.functions import expr

    return [expr(text) for text in texts]
