"""Delete and rederive with marking (paper 004, section 3.1), one rule instance at a time.

A negative mark tells that the next update deletes a fact, or may: implicit facts pass it on as well, and marked facts
are overdeleted without a rule application. A positive mark is for a fact that is deleted now and inserted again by the
next update; the instances through which its deletion spread are kept, and restore their heads with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.engines.embedded.marking.backward_forward import PASSING_ON, mark, marks
from corollary.engines.embedded.marking.matching import F_FACT, PAUSE, go_on_or_start, head_of, next_instance
from corollary.engines.embedded.marking.tables import (
    EXPLICIT,
    NONE,
    P_LEVELS,
    P_LEVELS_END,
    POSITIVE,
    PRESENT,
    QUEUED,
    D,
    V,
    loop,
)
from corollary.engines.embedded.marking.work import (
    DONE,
    IS_PAUSED,
    KEPT,
    KEPT_BEFORE,
    LIST_D,
    LIST_QUEUE,
    LIST_STARTS,
    LIST_V,
    N_BACKWARD,
    N_DELETIONS,
    N_FORWARD,
    N_IMPLICIT,
    NEEDS_INSTANCES,
    PAUSED,
    SEEN,
    TAKEN,
    push,
)


@loop
def overdelete_phase(table: Any, rules: Any, work: Any, mode: Any, order: Any) -> Any:
    """Overdelete everything that may depend on deleted facts, except for facts with support from outside."""
    scalars, frame, chosen = work.scalars, work.search, work.chosen
    while scalars[TAKEN + LIST_STARTS] < scalars[LIST_STARTS]:
        fact = np.int64(work.lists[LIST_STARTS, scalars[TAKEN + LIST_STARTS]])
        scalars[TAKEN + LIST_STARTS] += 1
        if not table.flags[fact] & D:
            table.flags[fact] |= D
            push(work, LIST_D, fact)
    while scalars[TAKEN + LIST_D] < scalars[LIST_D]:
        go_on_or_start(work, frame, np.int64(work.lists[LIST_D, scalars[TAKEN + LIST_D]]))
        while True:
            plan = next_instance(table, rules, work, False, frame, PRESENT, 0, order)
            if plan == PAUSE:
                scalars[IS_PAUSED] = 1
                return PAUSED
            if plan == NONE:
                break
            scalars[SEEN] += 1
            head = head_of(table, rules, plan, frame, work.key)
            if table.flags[head] & (D | EXPLICIT):
                continue
            count = rules.plans[plan, P_LEVELS_END] - rules.plans[plan, P_LEVELS]
            if mode & PASSING_ON and _comes_back(table, frame, chosen, count):
                if scalars[KEPT] == len(work.instances):
                    return NEEDS_INSTANCES
                _keep(table, work, frame, head, count)
            scalars[N_DELETIONS] += 1
            table.flags[head] |= D
            push(work, LIST_D, head)
        scalars[TAKEN + LIST_D] += 1
    return DONE


@loop
def _comes_back(table: Any, frame: Any, chosen: Any, count: Any) -> Any:
    flags = table.flags[frame[F_FACT]]
    for level in range(count):
        flags |= table.flags[frame[chosen + level]]
    return flags & POSITIVE


@loop
def _keep(table: Any, work: Any, frame: Any, head: Any, count: Any) -> None:
    row = work.instances[work.scalars[KEPT]]
    row[:] = NONE
    row[0] = head
    row[1] = frame[F_FACT]
    for level in range(count):
        row[2 + level] = frame[work.chosen + level]
    work.scalars[KEPT] += 1
    table.flags[head] |= POSITIVE
    work.scalars[N_IMPLICIT] += 1


@loop
def rederive_phase(table: Any, rules: Any, work: Any, mode: Any, order: Any) -> Any:
    """Rederive the overdeleted facts that still follow; they lose the flag D."""
    scalars, frame = work.scalars, work.search
    while True:
        if scalars[TAKEN + LIST_V] < scalars[LIST_V]:
            go_on_or_start(work, frame, np.int64(work.lists[LIST_V, scalars[TAKEN + LIST_V]]))
            while True:
                plan = next_instance(table, rules, work, False, frame, PRESENT, D, order)
                if plan == PAUSE:
                    scalars[IS_PAUSED] = 1
                    return PAUSED
                if plan == NONE:
                    break
                scalars[SEEN] += 1
                head = head_of(table, rules, plan, frame, work.key)
                if table.flags[head] & D:
                    scalars[N_FORWARD] += 1
                    _take_again(table, rules, work, plan, frame, head, mode)
            scalars[TAKEN + LIST_V] += 1
        elif scalars[TAKEN + LIST_QUEUE] < scalars[LIST_D]:  # the queue of insertions is not in use yet
            fact = np.int64(work.lists[LIST_D, scalars[TAKEN + LIST_QUEUE]])
            if table.flags[fact] & D:
                go_on_or_start(work, frame, fact)
                plan = next_instance(table, rules, work, True, frame, PRESENT, D, order)
                if plan == PAUSE:
                    scalars[IS_PAUSED] = 1
                    return PAUSED
                if plan != NONE:
                    scalars[SEEN] += 1
                    scalars[N_BACKWARD] += 1
                    _take_again(table, rules, work, plan, frame, fact, mode)
            scalars[TAKEN + LIST_QUEUE] += 1
        else:
            scalars[TAKEN + LIST_QUEUE] = 0
            return DONE


@loop
def _take_again(table: Any, rules: Any, work: Any, plan: Any, frame: Any, fact: Any, mode: Any) -> None:
    table.flags[fact] = (table.flags[fact] & ~np.uint16(D | POSITIVE)) | V
    push(work, LIST_V, fact)
    count = rules.plans[plan, P_LEVELS_END] - rules.plans[plan, P_LEVELS]
    if mode & PASSING_ON and marks(table, work, frame, count, mode):
        mark(table, work, fact)


@loop
def bring_back(table: Any, work: Any) -> None:
    """Restore the heads of kept instances whose facts exist again."""
    scalars = work.scalars
    for number in range(scalars[KEPT_BEFORE]):
        row = work.instances[number]
        head = np.int64(row[0])
        if table.flags[head] & PRESENT:
            continue
        holds = True
        for place in range(1, len(row)):
            if row[place] != NONE and not table.flags[row[place]] & PRESENT:
                holds = False
        if holds:
            table.flags[head] |= PRESENT | QUEUED
            push(work, LIST_QUEUE, head)
