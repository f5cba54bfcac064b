"""The beginning and the end of an update: what changed outside goes in, what changed inside comes out."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.engines.embedded.marking.compiled import loop
from corollary.engines.embedded.marking.fact_table import (
    COMPLETE,
    EXPLICIT,
    MARKED,
    NONE,
    OF_THIS_UPDATE,
    POSITIVE,
    PRESENT,
    QUEUED,
    D,
    add,
    find,
    release,
)
from corollary.engines.embedded.marking.work import (
    CHECKED_DONE,
    IS_SEARCHING,
    KEPT,
    KEPT_BEFORE,
    LIST_C,
    LIST_COMPLETE,
    LIST_D,
    LIST_EXPLICIT,
    LIST_GHOSTS,
    LIST_MARKED,
    LIST_OUT,
    LIST_QUEUE,
    LIST_STARTS,
    LIST_V,
    LIST_W,
    LIST_Y,
    LISTS,
    MARKED_STARTS,
    N_EXPLICIT,
    OPEN_FRAMES,
    STAGE,
    TAKEN,
    push,
)


@loop
def _key(rows: Any, row: Any, key: Any) -> Any:
    for place in range(rows.shape[1]):
        key[place] = rows[row, place]
    return rows.shape[1]


@loop
def load_facts(table: Any, rules: Any, work: Any, predicate: Any, rows: Any, flags: Any) -> None:
    """Distinct facts that were there before; there is room for them."""
    for row in range(len(rows)):
        _key(rows, row, work.key)
        add(table, rules, predicate, work.key, flags[row])


@loop
def mark_explicit(table: Any, rules: Any, work: Any, predicate: Any, rows: Any) -> Any:
    """Marks those of the facts that are there. The consequences of one that is new are still to come: all will be marked.

    Gives the number of those that are not there.
    """
    missing = 0
    for row in range(len(rows)):
        fact = find(table, predicate, work.key, _key(rows, row, work.key))
        if fact == NONE or (table.flags[fact] & (PRESENT | EXPLICIT | MARKED | D)) != PRESENT | EXPLICIT:
            missing += fact == NONE or not table.flags[fact] & PRESENT
            continue
        table.flags[fact] |= MARKED
        if table.flags[fact] & QUEUED:
            table.flags[fact] |= COMPLETE
        push(work, LIST_EXPLICIT, fact)
        work.scalars[N_EXPLICIT] += 1
    return missing


@loop
def take_deleted(table: Any, rules: Any, work: Any, predicate: Any, rows: Any, is_derived: Any, next_rows: Any) -> Any:
    """Facts that nothing outside supports any more. Where the rules may derive one, it is checked; others are deleted.

    `next_rows` are facts of the same predicate that the next update deletes, and what comes back is what `mark_explicit` gives:
    one call from Python is worth more than all that an update of a few facts needs.
    """
    for row in range(len(rows)):
        fact = find(table, predicate, work.key, _key(rows, row, work.key))
        if fact == NONE or not table.flags[fact] & PRESENT:
            continue
        if not is_derived:
            table.flags[fact] |= D
            push(work, LIST_D, fact)
        elif table.flags[fact] & EXPLICIT:
            push(work, LIST_STARTS, fact)
        table.flags[fact] &= ~np.uint16(EXPLICIT)
    return mark_explicit(table, rules, work, predicate, next_rows)


@loop
def take_inserted(table: Any, rules: Any, work: Any, predicate: Any, rows: Any, next_rows: Any) -> Any:
    """Facts that something outside supports from now on; there is room for them. `next_rows` as in `take_deleted`."""
    for row in range(len(rows)):
        fact = find(table, predicate, work.key, _key(rows, row, work.key))
        if fact == NONE:
            fact = add(table, rules, predicate, work.key, 0)
        table.flags[fact] |= EXPLICIT
        if not table.flags[fact] & PRESENT:
            table.flags[fact] |= PRESENT | QUEUED
            push(work, LIST_QUEUE, fact)
    return mark_explicit(table, rules, work, predicate, next_rows)


@loop
def mark_returning(table: Any, rules: Any, work: Any, predicate: Any, rows: Any) -> None:
    """Marks those of the facts that go now and come back with the next update."""
    for row in range(len(rows)):
        fact = find(table, predicate, work.key, _key(rows, row, work.key))
        if fact != NONE and (table.flags[fact] & (PRESENT | D | POSITIVE)) == PRESENT | D:
            table.flags[fact] |= POSITIVE
            work.scalars[N_EXPLICIT] += 1


@loop
def remove_deleted(table: Any, work: Any) -> None:
    """e) What is deleted is not there any more; its number stays its own until the end."""
    for place in range(work.scalars[LIST_D]):
        fact = work.lists[LIST_D, place]
        if table.flags[fact] & D:
            table.flags[fact] &= ~np.uint16(PRESENT)


@loop
def collect(table: Any, rules: Any, work: Any) -> Any:
    """Lists the facts that the rules support no more, then those that nothing but the rules supports; gives both numbers."""
    scalars, flags = work.scalars, table.flags
    scalars[LIST_OUT] = 0
    for place in range(scalars[LIST_D]):
        fact = work.lists[LIST_D, place]
        if (flags[fact] & (D | PRESENT)) == D:
            push(work, LIST_OUT, fact)
    gone = scalars[LIST_OUT]
    for number in (LIST_QUEUE, LIST_STARTS):
        # What only a mark made wait was there before, by the rules: if it is there still, nothing has changed.
        for place in range(scalars[MARKED_STARTS] if number == LIST_STARTS else 0, scalars[number]):
            fact = work.lists[number, place]
            if (flags[fact] & (PRESENT | EXPLICIT)) == PRESENT and not flags[fact] & COMPLETE:
                flags[fact] |= COMPLETE  # once each
                push(work, LIST_OUT, fact)
    for place in range(gone, scalars[LIST_OUT]):
        flags[work.lists[LIST_OUT, place]] &= ~np.uint16(COMPLETE)
    return gone, scalars[LIST_OUT]


@loop
def prepare_next(table: Any, rules: Any, work: Any) -> None:
    """g) Empties the lists; marked facts are where the next update starts."""
    scalars, flags, lists = work.scalars, table.flags, work.lists
    _keep_instances(table, work)
    for place in range(scalars[LIST_GHOSTS]):
        fact = lists[LIST_GHOSTS, place]
        flags[fact] &= ~np.uint16(POSITIVE)
        if not flags[fact] & PRESENT:
            release(table, rules, fact)
    for place in range(scalars[LIST_COMPLETE]):
        flags[lists[LIST_COMPLETE, place]] &= ~np.uint16(COMPLETE)
    scalars[LIST_GHOSTS] = scalars[LIST_COMPLETE] = scalars[LIST_STARTS] = 0
    for place in range(scalars[LIST_MARKED]):
        fact = lists[LIST_MARKED, place]
        flags[fact] &= ~np.uint16(MARKED)
        if (flags[fact] & (PRESENT | EXPLICIT)) == PRESENT:
            push(work, LIST_STARTS, fact)
    for place in range(scalars[LIST_EXPLICIT]):
        fact = lists[LIST_EXPLICIT, place]
        flags[fact] &= ~np.uint16(MARKED)
        if flags[fact] & COMPLETE:
            push(work, LIST_COMPLETE, fact)
    for number in (LIST_W, LIST_C, LIST_V, LIST_Y, LIST_QUEUE):
        for place in range(scalars[number]):
            flags[lists[number, place]] &= ~np.uint16(OF_THIS_UPDATE & ~D)
    for place in range(scalars[LIST_D]):
        fact = lists[LIST_D, place]
        if (flags[fact] & (D | PRESENT)) != D:
            flags[fact] &= ~np.uint16(OF_THIS_UPDATE | POSITIVE)
        elif flags[fact] & POSITIVE:
            flags[fact] &= ~np.uint16(OF_THIS_UPDATE)
            push(work, LIST_GHOSTS, fact)
        else:
            release(table, rules, fact)
    for number in range(LISTS):
        if number != LIST_STARTS and number != LIST_GHOSTS and number != LIST_COMPLETE:
            scalars[number] = 0
        scalars[TAKEN + number] = 0
    scalars[CHECKED_DONE] = scalars[OPEN_FRAMES] = scalars[IS_SEARCHING] = scalars[STAGE] = 0
    scalars[MARKED_STARTS] = scalars[LIST_STARTS]


@loop
def _keep_instances(table: Any, work: Any) -> None:
    """The instances of this update that the next one may need: the head has gone, and each fact is there or comes back."""
    scalars, kept = work.scalars, 0
    for number in range(scalars[KEPT_BEFORE], scalars[KEPT]):
        row = work.instances[number]
        wanted = not table.flags[row[0]] & PRESENT
        for place in range(1, len(row)):
            if row[place] != NONE and not table.flags[row[place]] & (PRESENT | POSITIVE):
                wanted = False
        if wanted:
            for place in range(len(row)):
                work.instances[kept, place] = row[place]
            kept += 1
        elif not table.flags[row[0]] & PRESENT:
            table.flags[row[0]] &= ~np.uint16(POSITIVE)
    scalars[KEPT] = scalars[KEPT_BEFORE] = kept
