"""Rule instances one after the other: a search that can stop at each instance and continue from there.

A single fact may have too many instances to wait for, and a search may visit as many facts without finding one. So
every visited fact counts, and a search pauses after enough of them.

A frame holds one search: the fact that it starts from, the current plan of the fact, the level reached, the registers,
and the fact chosen on each level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.engines.embedded.marking.tables import (
    BIND,
    KEY,
    L_INDEX,
    L_LOCAL,
    L_OPS,
    L_OPS_END,
    L_PREDICATE,
    L_TESTS,
    L_TESTS_END,
    NONE,
    P_CONSTANTS,
    P_CONSTANTS_END,
    P_HEAD,
    P_HEAD_OPS,
    P_HEAD_OPS_END,
    P_LEVELS,
    P_LEVELS_END,
    P_OPS,
    P_OPS_END,
    P_TESTS,
    P_TESTS_END,
    find,
    first_of_chain,
    part_of_loop,
)
from corollary.engines.embedded.marking.work import IS_PAUSED, LEFT

F_FACT, F_SLOT, F_LEVEL, F_REGISTERS = 0, 1, 2, 3
# Levels of a frame outside its plan: its fact was matched, its plan is done, no plan was tried yet.
_MATCHED, _DONE, FRESH = -1, -2, -3
PAUSE = -2  # instead of a plan: the next call continues the search


@part_of_loop
def _holds(operator: Any, negated: Any, left: Any, right: Any, kinds: Any, ranks: Any) -> Any:
    """Return whether a comparison holds, as in the join kernel: numbers by value, everything else by identity or within
    its kind."""
    if operator <= 1:
        by_value = kinds[left] == kinds[right] and (kinds[left] == 1 or kinds[left] > 4)  # kinds of numbers and moments
        equal = ranks[left] == ranks[right] if by_value else left == right
        found = equal == (operator == 0)
    elif kinds[left] != kinds[right] or kinds[left] == 0:
        found = False
    elif operator == 2:
        found = ranks[left] < ranks[right]
    elif operator == 3:
        found = ranks[left] <= ranks[right]
    elif operator == 4:
        found = ranks[left] > ranks[right]
    else:
        found = ranks[left] >= ranks[right]
    return found != (negated != 0)


@part_of_loop
def _passes(rules: Any, start: Any, stop: Any, frame: Any, order: Any) -> Any:
    for test in range(start, stop):
        left, right = frame[F_REGISTERS + rules.tests[test, 1]], frame[F_REGISTERS + rules.tests[test, 2]]
        if not _holds(rules.tests[test, 0], rules.tests[test, 3], left, right, order[0], order[1]):
            return False
    return True


@part_of_loop
def _binds(table: Any, rules: Any, start: Any, stop: Any, fact: Any, frame: Any) -> Any:
    """Return whether a fact matches the registers; those without a value get one."""
    for op in range(start, stop):
        register = F_REGISTERS + rules.ops[op, 2]
        value = np.int64(table.arguments[fact, rules.ops[op, 1]])
        if rules.ops[op, 0] == BIND:
            frame[register] = value
        elif frame[register] != value:
            return False
    return True


@part_of_loop
def _matches(table: Any, rules: Any, plan: Any, fact: Any, frame: Any, order: Any) -> Any:
    for constant in range(rules.plans[plan, P_CONSTANTS], rules.plans[plan, P_CONSTANTS_END]):
        frame[F_REGISTERS + rules.constants[constant, 0]] = rules.constants[constant, 1]
    if not _binds(table, rules, rules.plans[plan, P_OPS], rules.plans[plan, P_OPS_END], fact, frame):
        return False
    return _passes(rules, rules.plans[plan, P_TESTS], rules.plans[plan, P_TESTS_END], frame, order)


@part_of_loop
def _open(table: Any, rules: Any, level: Any, frame: Any, key: Any) -> Any:
    """Return the first fact to visit on a level."""
    if rules.levels[level, L_INDEX] != NONE:
        return first_of_chain(table, rules, level, frame, F_REGISTERS)
    width = 0
    for op in range(rules.levels[level, L_OPS], rules.levels[level, L_OPS_END]):
        if rules.ops[op, 0] == KEY:
            key[width] = frame[F_REGISTERS + rules.ops[op, 2]]
            width += 1
    return find(table, rules.levels[level, L_PREDICATE], key, width)


@part_of_loop
def _following(table: Any, rules: Any, level: Any, fact: Any) -> Any:
    if rules.levels[level, L_INDEX] == NONE:
        return np.int64(NONE)
    return np.int64(table.links[fact, rules.levels[level, L_LOCAL]])


@part_of_loop
def _next_of_plan(
    table: Any, rules: Any, work: Any, plan: Any, frame: Any, needs: Any, excludes: Any, order: Any
) -> Any:
    """Go to the next instance of a plan and return the plan; NONE if there is none, or PAUSE."""
    scalars, chosen, key = work.scalars, work.chosen, work.key
    first = rules.plans[plan, P_LEVELS]
    count = rules.plans[plan, P_LEVELS_END] - first
    level = frame[F_LEVEL]
    if level == _MATCHED:
        if count == 0:
            frame[F_LEVEL] = _DONE
            return np.int64(plan)
        level = 0
        fact = _open(table, rules, first, frame, key)
    elif level == _DONE:
        return np.int64(NONE)
    else:
        fact = _following(table, rules, first + level, frame[chosen + level])
    while True:
        at = first + level
        while fact != NONE:
            scalars[LEFT] -= 1
            flags = table.flags[fact]
            if (
                (flags & needs) == needs
                and (flags & excludes) == 0
                and table.predicate[fact] == rules.levels[at, L_PREDICATE]
                and _binds(table, rules, rules.levels[at, L_OPS], rules.levels[at, L_OPS_END], fact, frame)
                and _passes(rules, rules.levels[at, L_TESTS], rules.levels[at, L_TESTS_END], frame, order)
            ):
                break
            fact = _following(table, rules, at, fact)
        if fact == NONE:
            level -= 1
            if level < 0:
                frame[F_LEVEL] = _DONE
                return np.int64(NONE)
            if scalars[LEFT] <= 0:  # not within a chain, whose loop a check would slow down by half
                frame[F_LEVEL] = level
                return np.int64(PAUSE)
            fact = _following(table, rules, first + level, frame[chosen + level])
            continue
        frame[chosen + level] = fact
        if level == count - 1:
            frame[F_LEVEL] = level
            return np.int64(plan)
        level += 1
        fact = _open(table, rules, first + level, frame, key)


@part_of_loop
def start_search(frame: Any, fact: Any) -> None:
    frame[F_FACT] = fact
    frame[F_SLOT] = 0
    frame[F_LEVEL] = FRESH


@part_of_loop
def go_on_or_start(work: Any, frame: Any, fact: Any) -> None:
    """Begin the search for a fact, unless it is the one that was paused."""
    if work.scalars[IS_PAUSED]:
        work.scalars[IS_PAUSED] = 0
    else:
        start_search(frame, fact)


@part_of_loop
def next_instance(
    table: Any, rules: Any, work: Any, heads: Any, frame: Any, needs: Any, excludes: Any, order: Any
) -> Any:
    """Return the plan of the next instance with the fact of a frame, as its head or in its body; NONE if there are no
    more, or PAUSE.

    The other facts must have all flags of `needs` and none of `excludes`.
    """
    if work.scalars[LEFT] <= 0:
        return np.int64(PAUSE)
    work.scalars[LEFT] -= 1
    fact = frame[F_FACT]
    firsts = rules.backward_first if heads else rules.forward_first
    plans = rules.backward if heads else rules.forward
    first = firsts[table.predicate[fact]]
    count = firsts[table.predicate[fact] + 1] - first
    while frame[F_SLOT] < count:
        plan = plans[first + frame[F_SLOT]]
        if frame[F_LEVEL] == FRESH:
            frame[F_LEVEL] = _MATCHED if _matches(table, rules, plan, fact, frame, order) else _DONE
        found = _next_of_plan(table, rules, work, plan, frame, needs, excludes, order)
        if found != NONE:
            return found
        frame[F_SLOT] += 1
        frame[F_LEVEL] = FRESH
    return np.int64(NONE)


@part_of_loop
def head_of(table: Any, rules: Any, plan: Any, frame: Any, key: Any) -> Any:
    """Return the number of an instance's head, or NONE; its arguments are then in `key`."""
    width = 0
    for op in range(rules.plans[plan, P_HEAD_OPS], rules.plans[plan, P_HEAD_OPS_END]):
        key[width] = frame[F_REGISTERS + rules.ops[op, 2]]
        width += 1
    return find(table, rules.plans[plan, P_HEAD], key, width)
