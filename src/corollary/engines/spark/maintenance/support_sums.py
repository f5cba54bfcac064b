"""Changes of visible facts that follow from changes of support, for facts that are in the driver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corollary.engines.spark.maintenance.distinct_rows import Ids, distinct_rows

Numbered = Sequence[tuple[int, Ids]]  # the number of an owner, and rows `c0 …, n`


def visible_changes(known: Numbered, changes: Numbered) -> tuple[Ids, Ids, Ids]:
    """The facts that are not visible any more, those that are now, and those that some owner gave up; each with the number 1.

    `known` is the support before, of the facts whose support changes at least; the rows of one owner may repeat and add up.
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
