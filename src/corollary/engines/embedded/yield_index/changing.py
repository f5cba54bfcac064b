"""Insertion and deletion (Algorithms 4 and 5), fact by fact.

A fact visits its posts one after the other. At each it is listed, then the other ends of its links are updated, then
the instances with the fact at this post are made, if it has partners everywhere: every instance is reported exactly
once, at the last post that completes it or the first one that breaks it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.yield_index.activation import ENOUGH, activate, activate_matches, passes
from corollary.engines.embedded.yield_index.entries import compared, entry_of, is_by_value
from corollary.engines.embedded.yield_index.layout import (
    ABSENT,
    BY_ORDER,
    CODE,
    COUNT,
    F_ARITY,
    F_FREE,
    F_LOOKUPS,
    F_LOOKUPS_END,
    F_POSTS,
    F_POSTS_END,
    F_WIDTH,
    FACTS,
    FOLLOWED,
    FOLLOWING,
    G_KEY,
    G_NUMBER,
    G_SIZE,
    GREATER_OR_EQUAL,
    HAS_GIVEN_UP,
    HASHED,
    HIGH,
    LESS_OR_EQUAL,
    LISTED,
    LIVE,
    LOW,
    MOVED,
    NEXT,
    NONE,
    P_CHECKED,
    P_FILTERS,
    P_FILTERS_END,
    P_FULL,
    P_MASK,
    P_NEGATED,
    P_POSITION,
    P_SIDES,
    P_SIDES_END,
    P_SIZE,
    PRECEDING,
    PREVIOUS,
    S_AT,
    S_BIT,
    S_EXTREMES,
    S_LISTED,
    S_LOCAL,
    S_MODE,
    S_OPERATOR,
    S_PARTNER,
    S_PARTNER_NEGATED,
    S_POST,
    S_SIZE,
    S_WATCHED,
    USED,
    WAITING,
    WATCHED,
)

# -- linking -----------------------------------------------------------------------------------------------------------

# Semantic entries: facts in the lists of their keys, as matches or as dummies, and the consequences of a switch.
#
# A fact at a post matches towards a neighbour if it has live partners at all *other* neighbours; `mask` has a bit for
# each neighbour with one. When the first live fact arrives at a key, or the last one goes, the facts at the other end
# of the link that watch this key change their bit, and some of them become live or dead themselves: the change cascades
# along the tree.


@njit(inline="always")
def link(plan: Any, memory: Any, side: Any, block: Any, which: Any) -> None:
    """Insert a fact at the front of the list of matches or dummies of its entry."""
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
    """Return whether a fact has a live partner at the other end of a side; under a negation, whether it has none."""
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
    """Add to the number of live facts in a list; return whether this was the first one or was the last."""
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
    """Push the changes at the other end that are caused by the first live fact of a list, or by the loss of the last one."""
    at = block + plan[side + S_AT]
    if plan[side + S_PARTNER_NEGATED]:  # a negated fact matches nothing
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
    """Push the changes that a new lowest or highest live key of a side causes: facts between the two keys gain or lose
    a partner."""
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
    """Push the entries of the partner that `far` reaches and `near` does not; NONE reaches nothing."""
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
    """Process the stack: update facts that watch a key whose first live fact came, or whose last one went."""
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
        if was != is_live:  # never true for the side itself
            unlink(plan, memory, other, block, LIVE if was else WAITING)
            link(plan, memory, other, block, LIVE if is_live else WAITING)
            change = 1 if is_live else -1
            if counted(plan, memory, other, block, change):
                stack, top = push_changes(plan, memory, scalars, other, block, change, kinds, ranks, stack, top)
    return stack, top


# -- changing ----------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def insert_facts(
    plan: Any,
    memory: Any,
    slots: Any,
    nodes: Any,
    scalars: Any,
    longest: Any,
    predicate: Any,
    rows: Any,
    start: Any,
    blocks: Any,
    activates: Any,
    kinds: Any,
    ranks: Any,
    out: Any,
) -> Any:
    """Insert new facts from row `start` on; return the row where it stopped, the output and its length.

    An index that is loaded with existing facts activates nothing.
    """
    chosen, entries = np.empty(longest, np.int64), np.empty(longest, np.int64)
    stack = np.empty((64, 3), np.int64)
    lookups = (plan[predicate + F_LOOKUPS_END] - plan[predicate + F_LOOKUPS]) // G_SIZE
    found = np.empty(lookups + 1, np.int64)
    count = 0
    row = start
    while row < len(rows) and count < ENOUGH and not scalars[HAS_GIVEN_UP]:
        block = _new_block(plan, memory, scalars, predicate)
        for column in range(plan[predicate + F_ARITY]):
            memory[block + column] = rows[row, column]
        blocks[row] = block
        scalars[FACTS] += 1
        for number in range(lookups):
            found[number] = NONE
        for post in range(plan[predicate + F_POSTS], plan[predicate + F_POSTS_END], P_SIZE):
            mask = block + plan[post + P_MASK]
            chosen[plan[post + P_POSITION]] = block
            if plan[post + P_CHECKED] and not _admits(plan, memory, post, block, chosen, kinds, ranks):
                memory[mask] = ABSENT
                continue
            _find_entries(plan, memory, slots, nodes, scalars, post, block, found, kinds, ranks)
            memory[mask] = 0
            if plan[post + P_NEGATED]:
                if activates:
                    out, count = _forbid(plan, memory, scalars, post, block, kinds, ranks, chosen, entries, out, count)
                side = plan[post + P_SIDES]
                link(plan, memory, side, block, LIVE)
                if counted(plan, memory, side, block, 1):
                    stack, top = push_changes(plan, memory, scalars, side, block, 1, kinds, ranks, stack, 0)
                    stack = spread(plan, memory, scalars, kinds, ranks, stack, top)
                continue
            stack = _insert_positive(plan, memory, scalars, post, block, kinds, ranks, stack)
            if activates and memory[mask] == plan[post + P_FULL]:
                out, count = activate(
                    plan, memory, scalars, post, block, np.int64(1), kinds, ranks, chosen, entries, out, count
                )
        row += 1
    return row, out, count


@njit(inline="always")
def _new_block(plan: Any, memory: Any, scalars: Any, predicate: Any) -> Any:
    block = scalars[plan[predicate + F_FREE]]
    if block != NONE:
        scalars[plan[predicate + F_FREE]] = memory[block]
    else:
        block = scalars[USED]
        scalars[USED] += plan[predicate + F_WIDTH]
    return block


@njit(cache=True, nogil=True)
def _admits(plan: Any, memory: Any, post: Any, block: Any, chosen: Any, kinds: Any, ranks: Any) -> Any:
    """Return whether a fact passes the filters of a post; values without an order are never less or greater than others."""
    if not passes(plan, memory, plan[post + P_FILTERS], plan[post + P_FILTERS_END], chosen, kinds, ranks):
        return False
    for side in range(plan[post + P_SIDES], plan[post + P_SIDES_END], S_SIZE):
        if plan[side + S_MODE] != HASHED:
            code = memory[block + plan[plan[plan[side + S_LISTED] + G_KEY]]]
            if plan[side + S_MODE] == BY_ORDER and kinds[code] == 0:
                return False
            if is_by_value(kinds[code]) and np.isnan(ranks[code]):
                return False
    return True


@njit(inline="always")
def _find_entries(
    plan: Any,
    memory: Any,
    slots: Any,
    nodes: Any,
    scalars: Any,
    post: Any,
    block: Any,
    found: Any,
    kinds: Any,
    ranks: Any,
) -> None:
    """Find the entries of a fact's keys, each once for all posts."""
    for side in range(plan[post + P_SIDES], plan[post + P_SIDES_END], S_SIZE):
        at = block + plan[side + S_AT]
        listed, watched = plan[side + S_LISTED], plan[side + S_WATCHED]
        number = plan[listed + G_NUMBER]
        if found[number] == NONE:
            found[number] = entry_of(plan, memory, slots, nodes, scalars, listed, block, kinds, ranks)
        memory[at + LISTED] = found[number]
        number = plan[watched + G_NUMBER]
        if found[number] == NONE:
            found[number] = entry_of(plan, memory, slots, nodes, scalars, watched, block, kinds, ranks)
        memory[at + WATCHED] = found[number]


@njit(inline="always")
def _insert_positive(
    plan: Any, memory: Any, scalars: Any, post: Any, block: Any, kinds: Any, ranks: Any, stack: Any
) -> Any:
    first, stop, full = plan[post + P_SIDES], plan[post + P_SIDES_END], plan[post + P_FULL]
    mask = np.int64(0)
    for side in range(first, stop, S_SIZE):
        if has_partner(plan, memory, scalars, side, block, kinds, ranks):
            mask |= plan[side + S_BIT]
    memory[block + plan[post + P_MASK]] = mask
    top = 0
    for side in range(first, stop, S_SIZE):
        is_live = (mask | plan[side + S_BIT]) == full
        link(plan, memory, side, block, LIVE if is_live else WAITING)
        if is_live and counted(plan, memory, side, block, 1):
            stack, top = push_changes(plan, memory, scalars, side, block, 1, kinds, ranks, stack, top)
    if top > 0:
        stack = spread(plan, memory, scalars, kinds, ranks, stack, top)
    return stack


@njit(cache=True, nogil=True)
def _forbid(
    plan: Any,
    memory: Any,
    scalars: Any,
    post: Any,
    block: Any,
    kinds: Any,
    ranks: Any,
    chosen: Any,
    entries: Any,
    out: Any,
    count: Any,
) -> Any:
    """Remove the instances that a negated fact forbids, if it is the first with its key; return the length of the output."""
    side = plan[post + P_SIDES]
    at = block + plan[side + S_AT]
    if memory[memory[at + LISTED] + plan[side + S_LOCAL] + COUNT] > 0:
        return out, count
    partner, entry, sign = plan[side + S_PARTNER], memory[at + WATCHED], np.int64(-1)
    return activate_matches(plan, memory, scalars, partner, entry, sign, kinds, ranks, chosen, entries, out, count)


@njit(cache=True, nogil=True)
def delete_facts(
    plan: Any,
    memory: Any,
    scalars: Any,
    longest: Any,
    predicate: Any,
    blocks: Any,
    start: Any,
    activates: Any,
    kinds: Any,
    ranks: Any,
    out: Any,
) -> Any:
    """Delete facts; partners that lose their last match become dummies and wait."""
    chosen, entries = np.empty(longest, np.int64), np.empty(longest, np.int64)
    stack = np.empty((64, 3), np.int64)
    count = 0
    row = start
    while row < len(blocks) and count < ENOUGH and not scalars[HAS_GIVEN_UP]:
        block = blocks[row]
        for post in range(plan[predicate + F_POSTS], plan[predicate + F_POSTS_END], P_SIZE):
            mask = memory[block + plan[post + P_MASK]]
            if mask == ABSENT:
                continue
            is_negated = plan[post + P_NEGATED] == 1
            if activates and not is_negated and mask == plan[post + P_FULL]:
                out, count = activate(
                    plan, memory, scalars, post, block, np.int64(-1), kinds, ranks, chosen, entries, out, count
                )
            stack = _delete_at(plan, memory, scalars, post, block, mask, kinds, ranks, stack)
            if activates and is_negated:
                side = plan[post + P_SIDES]
                at = block + plan[side + S_AT]
                if memory[memory[at + LISTED] + plan[side + S_LOCAL] + COUNT] == 0:
                    partner, entry, sign = plan[side + S_PARTNER], memory[at + WATCHED], np.int64(1)
                    out, count = activate_matches(
                        plan, memory, scalars, partner, entry, sign, kinds, ranks, chosen, entries, out, count
                    )
        memory[block] = scalars[plan[predicate + F_FREE]]
        scalars[plan[predicate + F_FREE]] = block
        scalars[FACTS] -= 1
        row += 1
    return row, out, count


@njit(cache=True, nogil=True)
def _delete_at(
    plan: Any, memory: Any, scalars: Any, post: Any, block: Any, mask: Any, kinds: Any, ranks: Any, stack: Any
) -> Any:
    full = plan[post + P_FULL]
    is_negated = plan[post + P_NEGATED] == 1
    top = 0
    for side in range(plan[post + P_SIDES], plan[post + P_SIDES_END], S_SIZE):
        is_live = is_negated or (mask | plan[side + S_BIT]) == full
        unlink(plan, memory, side, block, LIVE if is_live else WAITING)
        if is_live and counted(plan, memory, side, block, -1):
            stack, top = push_changes(plan, memory, scalars, side, block, -1, kinds, ranks, stack, top)
    memory[block + plan[post + P_MASK]] = ABSENT
    return spread(plan, memory, scalars, kinds, ranks, stack, top)
