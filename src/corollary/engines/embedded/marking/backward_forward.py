"""Backward/Forward with marking: Algorithm 1 of paper 004, one rule instance at a time.

The blocks a to g are those of the paper. Each loop can stop at its top and continue from there: when more room is
needed, and now and then so that limits can be checked. There are two differences from the paper: marked facts do not
wait all at once but are taken one by one, as block c would find them; and if every head that a fact of the next update
helps to derive is marked, block c does not search for them again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.engines.embedded.marking.matching import (
    F_FACT,
    PAUSE,
    go_on_or_start,
    head_of,
    next_instance,
    start_search,
)
from corollary.engines.embedded.marking.tables import (
    COMPLETE,
    EXPLICIT,
    MARKED,
    NONE,
    P_HEAD,
    P_LEVELS,
    P_LEVELS_END,
    PRESENT,
    QUEUED,
    C,
    D,
    V,
    W,
    Y,
    add,
    has_room,
    loop,
    part_of_loop,
)
from corollary.engines.embedded.marking.work import (
    CHECKED_DONE,
    DONE,
    IS_PAUSED,
    IS_SEARCHING,
    LEFT,
    LIST_C,
    LIST_D,
    LIST_EXPLICIT,
    LIST_MARKED,
    LIST_QUEUE,
    LIST_STARTS,
    LIST_V,
    LIST_W,
    LIST_Y,
    N_BACKWARD,
    N_DELETIONS,
    N_FORWARD,
    N_IMPLICIT,
    N_INSERTIONS,
    NEEDS_FRAMES,
    NEEDS_ROOM,
    OPEN_FRAMES,
    PAUSED,
    SEEN,
    TAKEN,
    push,
)

# How marks are made and used, as bits of a mode.
UNMARKED, MARKING = 0, 1
COMPLETING = 2  # heads that already exist are marked, too, so that nothing is searched when their facts are deleted
PASSING_ON = 4  # implicit facts pass marks on, for delete and rederive


@part_of_loop
def marks(table: Any, work: Any, frame: Any, count: Any, mode: Any) -> Any:
    """Return whether an instance uses a fact that passes its mark on to the head."""
    if work.scalars[LIST_EXPLICIT] == 0:
        return False
    wanted = np.uint16(MARKED) if mode & PASSING_ON else np.uint16(EXPLICIT | MARKED)
    found = (table.flags[frame[F_FACT]] & wanted) == wanted
    for level in range(count):
        found |= (table.flags[frame[work.chosen + level]] & wanted) == wanted
    return found


@part_of_loop
def mark(table: Any, work: Any, fact: Any) -> None:
    if not table.flags[fact] & (MARKED | EXPLICIT):
        table.flags[fact] |= MARKED
        push(work, LIST_MARKED, fact)
        work.scalars[N_IMPLICIT] += 1


@part_of_loop
def _prove(table: Any, work: Any, fact: Any) -> None:
    """Move a fact from waiting to checked and proven."""
    table.flags[fact] = (table.flags[fact] & ~np.uint16(W)) | V | C
    push(work, LIST_V, fact)
    push(work, LIST_C, fact)


@loop
def _forward(table: Any, rules: Any, work: Any, mode: Any, order: Any) -> None:
    """a) Prove everything that follows from a proven fact and others."""
    frame, scalars = work.search, work.scalars
    go_on_or_start(work, frame, work.lists[LIST_V, scalars[TAKEN + LIST_V]])
    while True:
        plan = next_instance(table, rules, work, False, frame, V, 0, order)
        if plan == PAUSE:
            scalars[IS_PAUSED] = 1
            return
        if plan == NONE:
            scalars[TAKEN + LIST_V] += 1
            return
        scalars[SEEN] += 1
        head = head_of(table, rules, plan, frame, work.key)
        if table.flags[head] & (V | Y):
            continue
        scalars[N_FORWARD] += 1
        count = rules.plans[plan, P_LEVELS_END] - rules.plans[plan, P_LEVELS]
        if mode != UNMARKED and marks(table, work, frame, count, mode):
            mark(table, work, head)
        if table.flags[head] & W:
            _prove(table, work, head)
        elif table.flags[head] & C:
            table.flags[head] |= V
            push(work, LIST_V, head)
        else:
            table.flags[head] |= Y
            push(work, LIST_Y, head)


@part_of_loop
def _last_waiting(table: Any, work: Any) -> Any:
    stack = work.lists[LIST_W]
    while work.scalars[LIST_W] > 0:
        fact = np.int64(stack[work.scalars[LIST_W] - 1])
        if table.flags[fact] & W:
            return fact
        work.scalars[LIST_W] -= 1
    return np.int64(NONE)


@loop
def _backward(table: Any, rules: Any, work: Any, fact: Any, order: Any) -> Any:
    """b) Search one step for the last of the waiting facts; return False if there is no room for its search."""
    scalars, chosen = work.scalars, work.chosen
    if table.flags[fact] & (EXPLICIT | Y):
        _prove(table, work, fact)
        return True
    while scalars[OPEN_FRAMES] > 0 and not table.flags[work.frames[scalars[OPEN_FRAMES] - 1, F_FACT]] & W:
        scalars[OPEN_FRAMES] -= 1
    if scalars[OPEN_FRAMES] == 0 or work.frames[scalars[OPEN_FRAMES] - 1, F_FACT] != fact:
        if scalars[OPEN_FRAMES] == len(work.frames):
            return False
        start_search(work.frames[scalars[OPEN_FRAMES]], fact)
        scalars[OPEN_FRAMES] += 1
    frame = work.frames[scalars[OPEN_FRAMES] - 1]
    while True:
        plan = next_instance(table, rules, work, True, frame, PRESENT, D, order)
        if plan == PAUSE:
            return True
        if plan == NONE:
            table.flags[fact] = (table.flags[fact] & ~np.uint16(W)) | C
            push(work, LIST_C, fact)
            scalars[OPEN_FRAMES] -= 1
            return True
        scalars[SEEN] += 1
        found = False
        for level in range(rules.plans[plan, P_LEVELS_END] - rules.plans[plan, P_LEVELS]):
            needed = frame[chosen + level]
            if not table.flags[needed] & (W | C):
                table.flags[needed] |= W
                push(work, LIST_W, needed)
                found = True
        if found:
            scalars[N_BACKWARD] += 1
            return True


@part_of_loop
def next_start(table: Any, work: Any) -> Any:
    """Make the next marked fact that was not visited wait, and return it; NONE if there is none."""
    scalars = work.scalars
    while scalars[TAKEN + LIST_STARTS] < scalars[LIST_STARTS]:
        fact = np.int64(work.lists[LIST_STARTS, scalars[TAKEN + LIST_STARTS]])
        scalars[TAKEN + LIST_STARTS] += 1
        if not table.flags[fact] & (W | C):
            table.flags[fact] |= W
            push(work, LIST_W, fact)
            return fact
    return np.int64(NONE)


@loop
def next_affected(table: Any, rules: Any, work: Any, mode: Any, passed_over: Any, order: Any) -> Any:
    """c) Return the next fact that uses a deleted one and has none of the flags `passed_over`; or NONE, or PAUSE."""
    scalars, frame = work.scalars, work.deletion
    while scalars[IS_SEARCHING] or scalars[TAKEN + LIST_D] < scalars[LIST_D]:
        if not scalars[IS_SEARCHING]:
            fact = np.int64(work.lists[LIST_D, scalars[TAKEN + LIST_D]])
            scalars[TAKEN + LIST_D] += 1
            if mode & COMPLETING and table.flags[fact] & COMPLETE:
                continue
            start_search(frame, fact)
            scalars[IS_SEARCHING] = 1
        while True:
            plan = next_instance(table, rules, work, False, frame, PRESENT, 0, order)
            if plan == PAUSE:
                return np.int64(PAUSE)
            if plan == NONE:
                break
            scalars[SEEN] += 1
            head = head_of(table, rules, plan, frame, work.key)
            if not table.flags[head] & passed_over:
                scalars[N_DELETIONS] += 1
                table.flags[head] |= W
                push(work, LIST_W, head)
                return head
        scalars[IS_SEARCHING] = 0
    return np.int64(NONE)


@loop
def give_up_unproven(table: Any, work: Any) -> Any:
    """d) Delete what was checked and could not be proven; return False if that is nothing."""
    scalars, found = work.scalars, False
    while scalars[CHECKED_DONE] < scalars[LIST_C]:
        fact = work.lists[LIST_C, scalars[CHECKED_DONE]]
        scalars[CHECKED_DONE] += 1
        if not table.flags[fact] & (V | D):
            table.flags[fact] |= D
            push(work, LIST_D, fact)
            found = True
    return found


@loop
def delete_phase(table: Any, rules: Any, work: Any, mode: Any, order: Any) -> Any:
    """Run blocks a to d until nothing more is to be deleted; deleted facts have the flag D."""
    scalars = work.scalars
    while scalars[LEFT] > 0:
        if scalars[TAKEN + LIST_V] < scalars[LIST_V]:
            _forward(table, rules, work, mode, order)
            continue
        fact = _last_waiting(table, work)
        if fact != NONE:
            if not _backward(table, rules, work, fact, order):
                return NEEDS_FRAMES
            continue
        if next_start(table, work) != NONE:
            continue
        if next_affected(table, rules, work, mode, np.uint16(W | C), order) != NONE:
            continue
        if not give_up_unproven(table, work):
            return DONE
    return PAUSED


@loop
def insert_phase(table: Any, rules: Any, work: Any, mode: Any, order: Any) -> Any:
    """f) Add what follows from the facts of the queue. Each instance is found when the last of its facts is taken."""
    scalars, frame = work.scalars, work.search
    while scalars[TAKEN + LIST_QUEUE] < scalars[LIST_QUEUE]:
        fact = np.int64(work.lists[LIST_QUEUE, scalars[TAKEN + LIST_QUEUE]])
        table.flags[fact] &= ~np.uint16(QUEUED)
        go_on_or_start(work, frame, fact)
        while True:
            plan = next_instance(table, rules, work, False, frame, PRESENT, QUEUED, order)
            if plan == PAUSE:
                scalars[IS_PAUSED] = 1
                return PAUSED
            if plan == NONE:
                break
            scalars[SEEN] += 1
            head = head_of(table, rules, plan, frame, work.key)
            count = rules.plans[plan, P_LEVELS_END] - rules.plans[plan, P_LEVELS]
            if head != NONE and table.flags[head] & PRESENT:
                known = table.flags[head] & (MARKED | EXPLICIT)
                if mode & COMPLETING and not known and marks(table, work, frame, count, mode):
                    mark(table, work, head)
                continue
            if head == NONE:
                if not has_room(table):
                    table.flags[fact] |= QUEUED
                    return NEEDS_ROOM
                head = add(table, rules, rules.plans[plan, P_HEAD], work.key, 0)
            table.flags[head] |= PRESENT | QUEUED
            push(work, LIST_QUEUE, head)
            scalars[N_INSERTIONS] += 1
            if mode != UNMARKED and marks(table, work, frame, count, mode):
                mark(table, work, head)
        scalars[TAKEN + LIST_QUEUE] += 1
    return DONE
