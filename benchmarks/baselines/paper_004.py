"""Backward/Forward with marking as the program of paper 004 does it, whose rule applications its tables count.

Insertions are the engine's, with marks counted when they are taken up. The deletions of the program
([dred-mark-eval](https://github.com/M-Illich/dred-mark-eval), which the paper names) differ from the letter of Algorithm 1, and
each difference can be seen in the published counts:

- Everything goes depth first: what becomes of a fact is followed to its end before the search that met it goes on. When a fact is
  proven, what else the facts being checked need beside it is looked for before anything is derived from it.
- Marked facts do not wait in W. They are taken up one by one, before block c; one that another check has reached is not counted
  as a mark.
- What could not be proven is deleted right after each check, not when W is empty.
- No fact is delayed (set Y) before all marked facts were checked, so backward chaining visits facts that were known to be proven:
  these are the additional applications of the paper's Table 1.
- Block c passes over delayed facts, which are proven already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from corollary.engines.embedded.marking import backward_forward as bf
from corollary.engines.embedded.marking.backward_forward import (
    MARKING,
    give_up_unproven,
    marks,
    next_affected,
    next_start,
)
from corollary.engines.embedded.marking.matching import F_FACT, head_of, next_instance, start_search
from corollary.engines.embedded.marking.region import Method
from corollary.engines.embedded.marking.tables import (
    EXPLICIT,
    MARKED,
    NONE,
    P_LEVELS,
    P_LEVELS_END,
    PRESENT,
    C,
    D,
    V,
    W,
    Y,
)
from corollary.engines.embedded.marking.work import (
    BUDGET,
    DONE,
    LEFT,
    LIST_C,
    LIST_MARKED,
    LIST_STARTS,
    LIST_V,
    LIST_W,
    LIST_Y,
    MARKED_STARTS,
    N_BACKWARD,
    N_FORWARD,
    N_IMPLICIT,
    NEEDS_FRAMES,
    OPEN_FRAMES,
    PAUSED,
    SEEN,
    STAGE,
    TAKEN,
    push,
)

# What a frame does for its fact: prove it, look what else is needed beside it, derive from it; or the second while it is delayed.
_CHECK, _NEEDS, _FORWARD, _DELAYED = 0, 1, 2, 3
_PURPOSE = -1  # where a frame says so

_Function = TypeVar("_Function", bound=Callable[..., Any])


def loop(function: _Function) -> _Function:
    """Compile a function as the engine compiles its loops over single facts, for this process."""
    return cast(_Function, njit(nogil=True, _nrt=False)(function))


@loop
def _mark(table: Any, work: Any, fact: Any) -> None:
    if not table.flags[fact] & (MARKED | EXPLICIT):
        table.flags[fact] |= MARKED
        push(work, LIST_MARKED, fact)


@loop
def _open(work: Any, fact: Any, purpose: Any) -> None:
    frame = work.frames[work.scalars[OPEN_FRAMES]]
    start_search(frame, fact)
    frame[_PURPOSE] = purpose
    work.scalars[OPEN_FRAMES] += 1


@loop
def _prove(table: Any, work: Any, fact: Any) -> None:
    if not table.flags[fact] & C:
        push(work, LIST_C, fact)
    table.flags[fact] = (table.flags[fact] & ~np.uint16(W)) | V | C
    push(work, LIST_V, fact)


@loop
def _is_checked(table: Any, fact: Any) -> Any:
    """Whether a fact is being checked and has no proof yet."""
    return (table.flags[fact] & (W | C)) != 0 and not table.flags[fact] & (V | D)


@loop
def _check_others(table: Any, rules: Any, work: Any, plan: Any, frame: Any) -> Any:
    """Have the facts of an instance that were not looked at checked next, explicit ones first; False where there are none."""
    found = False
    count = rules.plans[plan, P_LEVELS_END] - rules.plans[plan, P_LEVELS]
    for is_explicit in (False, True):
        for level in range(count):
            fact = frame[work.chosen + level]
            if not table.flags[fact] & (W | C) and ((table.flags[fact] & EXPLICIT) != 0) == is_explicit:
                table.flags[fact] |= W
                push(work, LIST_W, fact)
                _open(work, fact, _CHECK)
                found = True
    return found


@loop
def _has_proof(table: Any, rules: Any, work: Any, fact: Any, order: Any) -> Any:
    """Whether proven facts derive a fact; it is marked where a marked one is among them."""
    frame = work.search
    start_search(frame, fact)
    plan = next_instance(table, rules, work, True, frame, V, 0, order)
    if plan == NONE:
        return False
    work.scalars[SEEN] += 1
    work.scalars[N_FORWARD] += 1
    if marks(table, work, frame, rules.plans[plan, P_LEVELS_END] - rules.plans[plan, P_LEVELS], MARKING):
        _mark(table, work, fact)
    return True


@loop
def _check(table: Any, rules: Any, work: Any, frame: Any, order: Any) -> None:
    """b) The next instance that may prove a fact; at the end, whether it is proven."""
    scalars, fact = work.scalars, frame[F_FACT]
    if not table.flags[fact] & W:
        scalars[OPEN_FRAMES] -= 1
        return
    is_proven = (table.flags[fact] & (EXPLICIT | Y)) != 0
    while not is_proven:
        plan = next_instance(table, rules, work, True, frame, PRESENT, D, order)
        if plan == NONE:
            break
        scalars[SEEN] += 1
        if _check_others(table, rules, work, plan, frame):
            scalars[N_BACKWARD] += 1
            return
    if is_proven or _has_proof(table, rules, work, fact, order):
        _prove(table, work, fact)
        start_search(frame, fact)
        frame[_PURPOSE] = _NEEDS
        return
    table.flags[fact] = (table.flags[fact] & ~np.uint16(W)) | C
    push(work, LIST_C, fact)
    scalars[OPEN_FRAMES] -= 1


@loop
def _needs(table: Any, rules: Any, work: Any, frame: Any, order: Any) -> None:
    """b) The next fact that one being checked needs beside a proven or delayed one."""
    scalars, fact = work.scalars, frame[F_FACT]
    is_delayed = frame[_PURPOSE] == _DELAYED
    if is_delayed and table.flags[fact] & (W | C):
        scalars[OPEN_FRAMES] -= 1
        return
    while True:
        plan = next_instance(table, rules, work, False, frame, PRESENT, D, order)
        if plan == NONE:
            break
        scalars[SEEN] += 1
        head = head_of(table, rules, plan, frame, work.key)
        if head == NONE or not _is_checked(table, head):
            continue
        if is_delayed:  # it is proven as soon as the others were looked at
            table.flags[fact] |= W
            push(work, LIST_W, fact)
            frame[_PURPOSE] = _CHECK
        if _check_others(table, rules, work, plan, frame) or is_delayed:
            scalars[N_BACKWARD] += 1
            return
    if is_delayed:
        scalars[OPEN_FRAMES] -= 1
    else:
        start_search(frame, fact)
        frame[_PURPOSE] = _FORWARD


@loop
def _derive(table: Any, rules: Any, work: Any, frame: Any, order: Any) -> None:
    """a) The next fact that follows from a proven one and others."""
    scalars = work.scalars
    while True:
        plan = next_instance(table, rules, work, False, frame, V, 0, order)
        if plan == NONE:
            scalars[OPEN_FRAMES] -= 1
            return
        scalars[SEEN] += 1
        head = head_of(table, rules, plan, frame, work.key)
        is_checked = (table.flags[head] & (W | C)) != 0
        if table.flags[head] & V or not (is_checked or (scalars[STAGE] and not table.flags[head] & Y)):
            continue
        scalars[N_FORWARD] += 1
        if marks(table, work, frame, rules.plans[plan, P_LEVELS_END] - rules.plans[plan, P_LEVELS], MARKING):
            _mark(table, work, head)
        if is_checked:
            _prove(table, work, head)
        else:
            table.flags[head] |= Y
            push(work, LIST_Y, head)
        _open(work, head, _NEEDS if is_checked else _DELAYED)
        return


@loop
def delete_phase(table: Any, rules: Any, work: Any, mode: Any, order: Any) -> Any:
    """Blocks a to d, until nothing more is to be deleted; what is has the flag D."""
    scalars = work.scalars
    limit = scalars[SEEN] + BUDGET
    scalars[LEFT] = np.iinfo(np.int64).max  # it is between two of its steps that this program pauses
    while scalars[SEEN] < limit:
        depth = scalars[OPEN_FRAMES]
        if depth + work.instances.shape[1] > len(work.frames):
            return NEEDS_FRAMES
        if depth > 0:
            frame = work.frames[depth - 1]
            if frame[_PURPOSE] == _CHECK:
                _check(table, rules, work, frame, order)
            elif frame[_PURPOSE] == _FORWARD:
                _derive(table, rules, work, frame, order)
            else:
                _needs(table, rules, work, frame, order)
            continue
        if give_up_unproven(table, work):
            continue
        fact = next_start(table, work)
        if fact != NONE:
            scalars[N_IMPLICIT] += scalars[TAKEN + LIST_STARTS] <= scalars[MARKED_STARTS]
        elif not scalars[STAGE]:  # from now on facts are delayed; those that are proven are gone through again for that
            scalars[STAGE] = scalars[LIST_V] + 1
            continue
        elif scalars[TAKEN + LIST_V] + 1 < scalars[STAGE]:
            _open(work, np.int64(work.lists[LIST_V, scalars[TAKEN + LIST_V]]), _FORWARD)
            scalars[TAKEN + LIST_V] += 1
            continue
        else:
            fact = next_affected(table, rules, work, mode, np.uint16(W | C | Y), order)
        if fact == NONE:
            return DONE
        _open(work, fact, _CHECK)
    return PAUSED


def insert_phase(table: Any, rules: Any, work: Any, mode: int, order: Any) -> int:
    """Insert as the engine does, and count no marks: the program counts those that it takes up."""
    counted = work.scalars[N_IMPLICIT]
    status = int(bf.insert_phase(table, rules, work, mode, order))
    work.scalars[N_IMPLICIT] = counted
    return status


METHOD = Method("bf-marking-literal", MARKING, (delete_phase,), (insert_phase,))
