"""Semantic entries: facts in the lists of their keys, as matches or as dummies, and what follows when one changes over.

The fact at a post matches towards a neighbour when it has live partners at all *other* neighbours; `mask` has a bit for each
neighbour with one. When the first live fact arrives at a key, or the last one goes, the facts at the other end of the link
that watch this key change their bit, and some of them become live or dead themselves: the change cascades along the tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.yield_index.entries import compared
from corollary.engines.embedded.yield_index.layout import (
    BY_ORDER,
    CODE,
    COUNT,
    FOLLOWED,
    FOLLOWING,
    GREATER_OR_EQUAL,
    HIGH,
    LESS_OR_EQUAL,
    LISTED,
    LIVE,
    LOW,
    MOVED,
    NEXT,
    NONE,
    P_FULL,
    P_MASK,
    P_NEGATED,
    P_SIDES,
    P_SIDES_END,
    PRECEDING,
    PREVIOUS,
    S_AT,
    S_BIT,
    S_EXTREMES,
    S_LOCAL,
    S_MODE,
    S_OPERATOR,
    S_PARTNER,
    S_PARTNER_NEGATED,
    S_POST,
    S_SIZE,
    WAITING,
    WATCHED,
)


@njit(inline="always")
def link(plan: Any, memory: Any, side: Any, block: Any, which: Any) -> None:
    """Puts a fact at the front of the list of matches or dummies of its entry."""
    cells = plan[side + S_AT]
    at = block + cells
    head = memory[at + LISTED] + plan[side + S_LOCAL] + which
    after = memory[head]
    memory[at + FOLLOWING], memory[at + PRECEDING] = after, NONE
    if after != NONE:
        memory[after + cells + PRECEDING] = block
    memory[head] = block


@njit(cache=True, nogil=True)
def unlink(plan: Any, memory: Any, side: Any, block: Any, which: Any) -> None:
    cells = plan[side + S_AT]
    at = block + cells
    after, before = memory[at + FOLLOWING], memory[at + PRECEDING]
    if before == NONE:
        memory[memory[at + LISTED] + plan[side + S_LOCAL] + which] = after
    else:
        memory[before + cells + FOLLOWING] = after
    if after != NONE:
        memory[after + cells + PRECEDING] = before


@njit(inline="always")
def has_partner(plan: Any, memory: Any, scalars: Any, side: Any, block: Any, kinds: Any, ranks: Any) -> Any:
    """Whether a fact has a live partner at the other end of a side; under a negation, whether it has none."""
    if plan[side + S_MODE] == BY_ORDER:
        found = _has_partner_in_order(plan, memory, scalars, side, block, kinds, ranks)
    else:
        entry = memory[block + plan[side + S_AT] + WATCHED]
        count = memory[entry + plan[plan[side + S_PARTNER] + S_LOCAL] + COUNT]
        found = (count == 0) == (plan[side + S_PARTNER_NEGATED] == 1)
    return found


@njit(cache=True, nogil=True)
def _has_partner_in_order(plan: Any, memory: Any, scalars: Any, side: Any, block: Any, kinds: Any, ranks: Any) -> Any:
    partner = plan[side + S_PARTNER]
    at = block + plan[side + S_AT]
    code = memory[memory[at + LISTED] + CODE]
    operator = plan[side + S_OPERATOR]
    which = HIGH if operator <= LESS_OR_EQUAL else LOW
    extreme = scalars[plan[partner + S_EXTREMES] + 2 * kinds[code] + which]
    if extreme == NONE:
        return False
    sign = compared(code, memory[extreme + CODE], BY_ORDER, kinds, ranks)
    if sign == 0:
        return operator in (LESS_OR_EQUAL, GREATER_OR_EQUAL)
    return (sign < 0) == (operator <= LESS_OR_EQUAL)


@njit(cache=True, nogil=True)
def _pushed(stack: Any, top: Any, side: Any, entry: Any, value: Any) -> Any:
    if top == len(stack):
        grown = np.empty((2 * len(stack), 3), np.int64)
        grown[:top] = stack
        stack = grown
    stack[top, 0], stack[top, 1], stack[top, 2] = side, entry, value
    return stack


@njit(inline="always")
def counted(plan: Any, memory: Any, side: Any, block: Any, change: Any) -> Any:
    """One more or one less live fact in the list of a side; whether it is the first one or was the last."""
    place = memory[block + plan[side + S_AT] + LISTED] + plan[side + S_LOCAL] + COUNT
    memory[place] += change
    return memory[place] == (change > 0)


@njit(cache=True, nogil=True)
def push_changes(
    plan: Any,
    memory: Any,
    scalars: Any,
    side: Any,
    block: Any,
    change: Any,
    kinds: Any,
    ranks: Any,
    stack: Any,
    top: Any,
) -> Any:
    """Push onto the stack the changes that the first live fact of a list, or the loss of the last one, makes at the other end."""
    at = block + plan[side + S_AT]
    if plan[side + S_PARTNER_NEGATED]:  # a negated fact matches nobody
        return stack, top
    if plan[side + S_MODE] == BY_ORDER:
        return _extremes_changed(plan, memory, scalars, side, memory[at + LISTED], change, kinds, ranks, stack, top)
    is_negated = plan[plan[side + S_POST] + P_NEGATED] == 1
    value = np.int64((change > 0) != is_negated)
    return _pushed(stack, top, plan[side + S_PARTNER], memory[at + WATCHED], value), top + 1


@njit(cache=True, nogil=True)
def _extremes_changed(
    plan: Any,
    memory: Any,
    scalars: Any,
    side: Any,
    entry: Any,
    change: Any,
    kinds: Any,
    ranks: Any,
    stack: Any,
    top: Any,
) -> Any:
    """The lowest or highest live key of a side may be another one: who lies between the two has or loses a partner."""
    kind = kinds[memory[entry + CODE]]
    local = plan[side + S_LOCAL]
    for which in range(2):
        place = plan[side + S_EXTREMES] + 2 * kind + which
        old = scalars[place]
        new = entry
        if change > 0:
            if old != NONE:
                sign = compared(memory[entry + CODE], memory[old + CODE], BY_ORDER, kinds, ranks)
                if (sign > 0) != (which == HIGH):
                    continue
        else:
            if old != entry:
                continue
            step = PREVIOUS if which == HIGH else NEXT
            new = memory[entry + step]
            while new != NONE and kinds[memory[new + CODE]] == kind and memory[new + local + COUNT] == 0:
                scalars[FOLLOWED] += 1
                new = memory[new + step]
            if new != NONE and kinds[memory[new + CODE]] != kind:
                new = np.int64(NONE)
        scalars[place] = new
        far, near = (new, old) if change > 0 else (old, new)
        partner = plan[side + S_PARTNER]
        stack, top = _between(plan, memory, scalars, partner, which, far, near, change, kinds, stack, top)
    return stack, top


@njit(cache=True, nogil=True)
def _between(
    plan: Any,
    memory: Any,
    scalars: Any,
    partner: Any,
    which: Any,
    far: Any,
    near: Any,
    change: Any,
    kinds: Any,
    stack: Any,
    top: Any,
) -> Any:
    """The entries of the partner for which `far` is in reach and `near` is not; NONE is out of everybody's reach."""
    operator = plan[partner + S_OPERATOR]
    if (operator <= LESS_OR_EQUAL) != (which == HIGH):
        return stack, top
    takes_equal = operator in (LESS_OR_EQUAL, GREATER_OR_EQUAL)
    step = PREVIOUS if which == HIGH else NEXT
    local = plan[partner + S_LOCAL]
    kind = kinds[memory[far + CODE]]
    entry = far if takes_equal else memory[far + step]
    while entry != NONE and kinds[memory[entry + CODE]] == kind:
        if takes_equal and entry == near:
            break
        scalars[FOLLOWED] += 1
        if memory[entry + local + LIVE] != NONE or memory[entry + local + WAITING] != NONE:
            stack = _pushed(stack, top, partner, entry, np.int64(change > 0))
            top += 1
        if entry == near:
            break
        entry = memory[entry + step]
    return stack, top


@njit(cache=True, nogil=True)
def spread(plan: Any, memory: Any, scalars: Any, kinds: Any, ranks: Any, stack: Any, top: Any) -> Any:
    """Works off the stack: facts that watch a key whose first live fact came, or whose last one went."""
    while top > 0:
        top -= 1
        side, entry, value = stack[top, 0], stack[top, 1], stack[top, 2]
        local, cells = plan[side + S_LOCAL], plan[side + S_AT]
        for which in range(LIVE, WAITING + 1):
            block = memory[entry + local + which]
            while block != NONE:
                scalars[MOVED] += 1
                stack, top = _bit_changed(plan, memory, scalars, side, value, block, kinds, ranks, stack, top)
                block = memory[block + cells + FOLLOWING]
    return stack


@njit(cache=True, nogil=True)
def _bit_changed(
    plan: Any,
    memory: Any,
    scalars: Any,
    side: Any,
    value: Any,
    block: Any,
    kinds: Any,
    ranks: Any,
    stack: Any,
    top: Any,
) -> Any:
    post, bit = plan[side + S_POST], plan[side + S_BIT]
    full, mask = plan[post + P_FULL], block + plan[post + P_MASK]
    before = memory[mask]
    after = before | bit if value else before & ~bit
    memory[mask] = after
    for other in range(plan[post + P_SIDES], plan[post + P_SIDES_END], S_SIZE):
        own = plan[other + S_BIT]
        was, is_live = (before | own) == full, (after | own) == full
        if was != is_live:  # never so for the side itself
            unlink(plan, memory, other, block, LIVE if was else WAITING)
            link(plan, memory, other, block, LIVE if is_live else WAITING)
            change = 1 if is_live else -1
            if counted(plan, memory, other, block, change):
                stack, top = push_changes(plan, memory, scalars, other, block, change, kinds, ranks, stack, top)
    return stack, top
