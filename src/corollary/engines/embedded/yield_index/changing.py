"""Insertion and deletion (Algorithms 4 and 5), fact by fact.

A fact goes from post to post. At each it is listed, then the other end of its links is updated, then the instances with the
fact at this post are made, if it has partners everywhere: every instance is reported exactly once, at the last post that
completes it or the first one that breaks it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.yield_index.activation import ENOUGH, activate, activate_matches, passes
from corollary.engines.embedded.yield_index.entries import entry_of, is_by_value
from corollary.engines.embedded.yield_index.layout import (
    ABSENT,
    BY_ORDER,
    COUNT,
    F_ARITY,
    F_FREE,
    F_LOOKUPS,
    F_LOOKUPS_END,
    F_POSTS,
    F_POSTS_END,
    F_WIDTH,
    FACTS,
    G_KEY,
    G_NUMBER,
    G_SIZE,
    HAS_GIVEN_UP,
    HASHED,
    LISTED,
    LIVE,
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
    S_AT,
    S_BIT,
    S_LISTED,
    S_LOCAL,
    S_MODE,
    S_PARTNER,
    S_SIZE,
    S_WATCHED,
    USED,
    WAITING,
    WATCHED,
)
from corollary.engines.embedded.yield_index.linking import counted, has_partner, link, push_changes, spread, unlink


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
    """Takes in new facts from row `start` on; gives the row where it stopped, the output and its length.

    An index that is constructed for facts that are there already activates nothing.
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
    """Whether a fact passes the filters of a post; what no order knows is never less or greater than anything."""
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
    """The entries of a fact's keys, each looked up once for all posts."""
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
    """The first fact with its key takes all instances away that it forbids."""
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
    """Takes facts away: partners that lose their last match fall back to dummies and wait."""
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
