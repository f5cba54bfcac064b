"""Activation (Algorithms 6 and 7): the instances with a given fact, found along matches only.

A fact is a match towards the previous one if everything after it can be completed. So an activation that follows
matches always leads to an instance, and no fact is visited in vain, except for variables that the tree of links does
not cover.

One fact may complete too many instances to wait for or to store. An activation that visits too much gives up, and the
index with it: such changes are better followed by a strategy that can pause.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from corollary.engines.embedded.yield_index.entries import is_by_value
from corollary.engines.embedded.yield_index.layout import (
    ABSENT,
    BY_ORDER,
    CODE,
    COUNT,
    FOLLOWED,
    FOLLOWING,
    GREATER,
    GREATER_OR_EQUAL,
    H_ARGUMENTS,
    H_ARITY,
    H_RULE,
    HAS_GIVEN_UP,
    HIGH,
    IDENTICAL_CODE,
    LESS_OR_EQUAL,
    LISTED,
    LIVE,
    LOW,
    MOST_LOOKS,
    NEXT,
    NONE,
    OUT_HEAD,
    OUT_RULE,
    OUT_SIGN,
    P_FULL,
    P_HEAD,
    P_MASK,
    P_POSITION,
    P_STEPS,
    P_STEPS_END,
    PREVIOUS,
    Q_LEFT,
    Q_LEFT_COLUMN,
    Q_NEGATED,
    Q_OPERATOR,
    Q_RIGHT,
    Q_RIGHT_COLUMN,
    Q_SIZE,
    S_AT,
    S_EXTREMES,
    S_LOCAL,
    S_MODE,
    S_OPERATOR,
    S_PARTNER,
    S_POST,
    T_FROM,
    T_SIDE,
    T_SIZE,
    T_TESTS,
    T_TESTS_END,
    T_TO,
    TUPLES,
    WASTED,
    WATCHED,
)

ENOUGH = 1 << 18  # rows of output after which a batch is interrupted


@njit(cache=True, nogil=True)
def _holds(operator: Any, left: Any, right: Any, kinds: Any, ranks: Any) -> Any:
    """Return whether a comparison holds, as in the join kernel: numbers by value, everything else by identity or within
    its kind."""
    if operator == IDENTICAL_CODE:
        return left == right
    if operator <= 1:
        by_value = kinds[left] == kinds[right] and is_by_value(kinds[left])
        equal = ranks[left] == ranks[right] if by_value else left == right
        return equal == (operator == 0)
    if kinds[left] != kinds[right] or kinds[left] == 0:
        return False
    if operator == 2:
        return ranks[left] < ranks[right]
    if operator == LESS_OR_EQUAL:
        return ranks[left] <= ranks[right]
    if operator == GREATER:
        return ranks[left] > ranks[right]
    return ranks[left] >= ranks[right]


@njit(cache=True, nogil=True)
def passes(plan: Any, memory: Any, start: Any, stop: Any, chosen: Any, kinds: Any, ranks: Any) -> Any:
    """Return whether the facts chosen for an instance so far pass tests."""
    for test in range(start, stop, Q_SIZE):
        left, right = plan[test + Q_LEFT_COLUMN], plan[test + Q_RIGHT_COLUMN]
        if plan[test + Q_LEFT] != NONE:
            left = memory[chosen[plan[test + Q_LEFT]] + left]
        if plan[test + Q_RIGHT] != NONE:
            right = memory[chosen[plan[test + Q_RIGHT]] + right]
        if _holds(plan[test + Q_OPERATOR], left, right, kinds, ranks) == (plan[test + Q_NEGATED] == 1):
            return False
    return True


@njit(cache=True, nogil=True)
def _emit(plan: Any, memory: Any, head: Any, sign: Any, chosen: Any, out: Any, count: Any) -> Any:
    if count == len(out):
        grown = np.empty((2 * len(out), out.shape[1]), np.int64)
        grown[:count] = out
        out = grown
    out[count, OUT_RULE], out[count, OUT_SIGN] = plan[head + H_RULE], sign
    for at in range(plan[head + H_ARITY]):
        place, column = plan[head + H_ARGUMENTS + 2 * at], plan[head + H_ARGUMENTS + 2 * at + 1]
        out[count, OUT_HEAD + at] = memory[chosen[place] + column] if place != NONE else column
    return out


@njit(cache=True, nogil=True)
def _first_entry(plan: Any, memory: Any, scalars: Any, side: Any, source: Any, kinds: Any) -> Any:
    """Return the first entry with live partners of a fact."""
    at = source + plan[side + S_AT]
    if plan[side + S_MODE] != BY_ORDER:
        return memory[at + WATCHED]
    kind = kinds[memory[memory[at + LISTED] + CODE]]
    which = HIGH if plan[side + S_OPERATOR] <= LESS_OR_EQUAL else LOW
    return scalars[plan[plan[side + S_PARTNER] + S_EXTREMES] + 2 * kind + which]


@njit(cache=True, nogil=True)
def _next_entry(plan: Any, memory: Any, scalars: Any, side: Any, source: Any, entry: Any) -> Any:
    """Return the next entry with live partners of a fact, from the extreme towards the fact's own key."""
    if plan[side + S_MODE] != BY_ORDER:
        return np.int64(NONE)
    operator = plan[side + S_OPERATOR]
    own = memory[source + plan[side + S_AT] + LISTED]
    takes_equal = operator in (LESS_OR_EQUAL, GREATER_OR_EQUAL)
    step = NEXT if operator >= GREATER else PREVIOUS
    local = plan[plan[side + S_PARTNER] + S_LOCAL]
    while entry != own:
        entry = memory[entry + step]
        scalars[FOLLOWED] += 1
        if entry == own and not takes_equal:
            break
        if memory[entry + local + COUNT] > 0:
            return entry
    return np.int64(NONE)


@njit(cache=True, nogil=True)
def activate(
    plan: Any,
    memory: Any,
    scalars: Any,
    post: Any,
    block: Any,
    sign: Any,
    kinds: Any,
    ranks: Any,
    chosen: Any,
    entries: Any,
    out: Any,
    count: Any,
) -> Any:
    """Write all instances with a fact at a post (Algorithm 6); append their heads to the output. If there are too many,
    give up."""
    most = scalars[TUPLES] + scalars[FOLLOWED] + scalars[MOST_LOOKS]
    first, stop = plan[post + P_STEPS], plan[post + P_STEPS_END]
    head = plan[post + P_HEAD]
    chosen[plan[post + P_POSITION]] = block
    if first == stop:
        return _emit(plan, memory, head, sign, chosen, out, count), count + 1
    step, depth = first, 0
    fresh = True
    fact = np.int64(NONE)
    while True:
        side, place = plan[step + T_SIDE], plan[step + T_TO]
        source = chosen[plan[step + T_FROM]]
        partner = plan[side + S_PARTNER]
        local, cells = plan[partner + S_LOCAL], plan[partner + S_AT]
        if fresh:
            if depth > 0:  # the entry of the first fact has been visited already
                scalars[FOLLOWED] += 1
            entries[depth] = _first_entry(plan, memory, scalars, side, source, kinds)
            fact = memory[entries[depth] + local + LIVE]
        else:
            fact = memory[chosen[place] + cells + FOLLOWING]
        while True:
            while fact == NONE and entries[depth] != NONE:
                entries[depth] = _next_entry(plan, memory, scalars, side, source, entries[depth])
                if entries[depth] != NONE:
                    fact = memory[entries[depth] + local + LIVE]
            if fact == NONE:
                break
            scalars[TUPLES] += 1
            if scalars[TUPLES] + scalars[FOLLOWED] > most:
                scalars[HAS_GIVEN_UP] = 1
                return out, count
            chosen[place] = fact
            if passes(plan, memory, plan[step + T_TESTS], plan[step + T_TESTS_END], chosen, kinds, ranks):
                break
            scalars[WASTED] += 1
            fact = memory[fact + cells + FOLLOWING]
        if fact == NONE:
            step -= T_SIZE
            depth -= 1
            if depth < 0:
                return out, count
            fresh = False
        elif step == stop - T_SIZE:
            out = _emit(plan, memory, head, sign, chosen, out, count)
            count += 1
            fresh = False
        else:
            step += T_SIZE
            depth += 1
            fresh = True


@njit(cache=True, nogil=True)
def activate_matches(
    plan: Any,
    memory: Any,
    scalars: Any,
    side: Any,
    entry: Any,
    sign: Any,
    kinds: Any,
    ranks: Any,
    chosen: Any,
    entries: Any,
    out: Any,
    count: Any,
) -> Any:
    """Write all instances with the matches of an entry: those that a negated fact allows or forbids."""
    block = memory[entry + plan[side + S_LOCAL] + LIVE]
    post = plan[side + S_POST]
    while block != NONE and not scalars[HAS_GIVEN_UP]:
        out, count = activate(plan, memory, scalars, post, block, sign, kinds, ranks, chosen, entries, out, count)
        block = memory[block + plan[side + S_AT] + FOLLOWING]
    return out, count


@njit(cache=True, nogil=True)
def activate_facts(
    plan: Any,
    memory: Any,
    scalars: Any,
    longest: Any,
    post: Any,
    blocks: Any,
    start: Any,
    kinds: Any,
    ranks: Any,
    out: Any,
) -> Any:
    """Write the instances of all given facts at a post (Algorithm 7). A waiting fact is recognised by its entry and skipped."""
    chosen, entries = np.empty(longest, np.int64), np.empty(longest, np.int64)
    count = 0
    row = start
    while row < len(blocks) and count < ENOUGH and not scalars[HAS_GIVEN_UP]:
        block = blocks[row]
        mask = memory[block + plan[post + P_MASK]]
        scalars[FOLLOWED] += mask != ABSENT
        if mask == plan[post + P_FULL]:
            scalars[TUPLES] += 1
            out, count = activate(
                plan, memory, scalars, post, block, np.int64(1), kinds, ranks, chosen, entries, out, count
            )
        row += 1
    return row, out, count
