"""The facts that a region of rules works on, one number each, with links that lead from any bound columns to them.

Everything is a flat array, so that one compiled loop can find, add and remove single facts. Facts with the same hash are
linked, and so are the facts that an index finds for one key. A number whose fact has gone is used again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from corollary.engines.embedded.marking.compiled import loop, part_of_loop
from corollary.engines.embedded.marking.rule_tables import RuleTables
from corollary.engines.embedded.relations.capacity import check_numbered

# What is known about a fact. Capital letters are the sets of Algorithm 1.
PRESENT, EXPLICIT, MARKED = 1, 2, 4  # in I; supported from outside; affected by the next update
C, D, V, W, Y = 8, 16, 32, 64, 128  # checked, deleted, proven, waiting, delayed
QUEUED = 256  # added, but its consequences are not
COMPLETE = 512  # explicit, and every head that it helps to derive is marked
POSITIVE = 1024  # gone, but the next update brings it back
OF_THIS_UPDATE = C | D | V | W | Y | QUEUED

# Scalars of a table.
USED, FREE, LIVE = 0, 1, 2
NONE = -1

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FIRST_CAPACITY = 1024


class FactTable(NamedTuple):
    """`links` and `back` have a column for each index that a predicate has; `first` a row with the starts of its chains."""

    arguments: Any  # uint32[capacity, widest]
    predicate: Any  # int32[capacity]
    flags: Any  # uint16[capacity]
    hash_first: Any  # int32[buckets]
    hash_next: Any  # int32[capacity]
    first: Any  # int32[indexes, buckets]
    links: Any  # int32[capacity, indexes]
    back: Any  # int32[capacity, indexes]
    scalars: Any  # int64[3]

    @property
    def capacity(self) -> int:
        return len(self.predicate)


def new_table(rules: RuleTables, capacity: int = _FIRST_CAPACITY) -> FactTable:
    buckets = 2 * capacity
    return FactTable(
        np.zeros((capacity, rules.width), np.uint32),
        np.full(capacity, NONE, np.int32),
        np.zeros(capacity, np.uint16),
        np.full(buckets, NONE, np.int32),
        np.full(capacity, NONE, np.int32),
        np.full((rules.indexes, buckets), NONE, np.int32),
        np.full((capacity, rules.indexes), NONE, np.int32),
        np.full((capacity, rules.indexes), NONE, np.int32),
        np.array([0, NONE, 0], np.int64),
    )


def grown(table: FactTable, rules: RuleTables, at_least: int) -> FactTable:
    """Return a copy with room for more facts, and with the facts under their old numbers."""
    check_numbered(at_least)
    room = table.capacity
    while room < at_least:
        room *= 2
    larger, used = new_table(rules, room), int(table.scalars[USED])
    larger.arguments[:used] = table.arguments[:used]
    larger.predicate[:used] = table.predicate[:used]
    larger.flags[:used] = table.flags[:used]
    larger.scalars[:] = table.scalars
    larger.hash_next[:used] = table.hash_next[:used]  # the list of free numbers; the others are linked again
    _link_all(larger, rules.arrays)
    return larger


@part_of_loop
def _mix(seed: Any, code: Any) -> Any:
    mixed = (seed ^ np.uint64(code)) * _MULTIPLIER
    return mixed ^ (mixed >> np.uint64(29))


@part_of_loop
def hash_of(predicate: Any, key: Any, width: Any) -> Any:
    found = _mix(np.uint64(predicate + 1), np.uint64(width))
    for place in range(width):
        found = _mix(found, np.uint64(key[place]))
    return found


@part_of_loop
def bucket_of(hashed: Any, buckets: Any) -> Any:
    return np.int64(hashed & np.uint64(buckets - 1))


@part_of_loop
def find(table: Any, predicate: Any, key: Any, width: Any) -> Any:
    """The number of a fact, present or not; NONE where it has none."""
    fact = np.int64(table.hash_first[bucket_of(hash_of(predicate, key, width), len(table.hash_first))])
    while fact != NONE:
        if table.predicate[fact] == predicate:
            same = True
            for place in range(width):
                if table.arguments[fact, place] != key[place]:
                    same = False
                    break
            if same:
                return fact
        fact = np.int64(table.hash_next[fact])
    return np.int64(NONE)


@part_of_loop
def has_room(table: Any) -> Any:
    return table.scalars[FREE] != NONE or table.scalars[USED] < len(table.predicate)


@loop
def add(table: Any, rules: Any, predicate: Any, key: Any, flags: Any) -> Any:
    """The number of a new fact, for which there is room."""
    scalars = table.scalars
    fact = scalars[FREE]
    if fact != NONE:
        scalars[FREE] = table.hash_next[fact]
    else:
        fact = scalars[USED]
        scalars[USED] += 1
    scalars[LIVE] += 1
    table.predicate[fact] = predicate
    table.flags[fact] = flags
    width = rules.arities[predicate]
    for place in range(width):
        table.arguments[fact, place] = key[place]
    _link(table, rules, fact)
    return fact


@loop
def release(table: Any, rules: Any, fact: Any) -> None:
    """Forgets a fact; its number is free."""
    predicate = table.predicate[fact]
    bucket = bucket_of(hash_of(predicate, table.arguments[fact], rules.arities[predicate]), len(table.hash_first))
    before, at = np.int64(NONE), np.int64(table.hash_first[bucket])
    while at != fact:
        before, at = at, np.int64(table.hash_next[at])
    if before == NONE:
        table.hash_first[bucket] = table.hash_next[fact]
    else:
        table.hash_next[before] = table.hash_next[fact]
    for index in range(rules.index_first[predicate], rules.index_first[predicate + 1]):
        local = index - rules.index_first[predicate]
        previous, following = table.back[fact, local], table.links[fact, local]
        if previous == NONE:
            table.first[local, _index_bucket(table, rules, index, fact)] = following
        else:
            table.links[previous, local] = following
        if following != NONE:
            table.back[following, local] = previous
    table.predicate[fact] = NONE
    table.flags[fact] = 0
    table.hash_next[fact] = table.scalars[FREE]
    table.scalars[FREE] = fact
    table.scalars[LIVE] -= 1


@loop
def _index_bucket(table: Any, rules: Any, index: Any, fact: Any) -> Any:
    hashed = np.uint64(index + 1)
    for place in range(rules.index_columns_first[index], rules.index_columns_first[index + 1]):
        hashed = _mix(hashed, np.uint64(table.arguments[fact, rules.index_columns[place]]))
    return bucket_of(hashed, len(table.hash_first))


@part_of_loop
def first_of_chain(table: Any, rules: Any, level: Any, registers: Any, base: Any) -> Any:
    """The first fact that may fit the key of a level (see `matching`)."""
    index = rules.levels[level, 1]
    hashed = np.uint64(index + 1)
    for op in range(rules.levels[level, 3], rules.levels[level, 4]):
        if rules.ops[op, 0] == 0:
            hashed = _mix(hashed, np.uint64(registers[base + rules.ops[op, 2]]))
    return np.int64(table.first[rules.levels[level, 2], bucket_of(hashed, len(table.hash_first))])


@loop
def _link(table: Any, rules: Any, fact: Any) -> None:
    predicate = table.predicate[fact]
    bucket = bucket_of(hash_of(predicate, table.arguments[fact], rules.arities[predicate]), len(table.hash_first))
    table.hash_next[fact] = table.hash_first[bucket]
    table.hash_first[bucket] = fact
    for index in range(rules.index_first[predicate], rules.index_first[predicate + 1]):
        local = index - rules.index_first[predicate]
        start = _index_bucket(table, rules, index, fact)
        following = table.first[local, start]
        table.links[fact, local] = following
        table.back[fact, local] = NONE
        if following != NONE:
            table.back[following, local] = fact
        table.first[local, start] = fact


@loop
def _link_all(table: Any, rules: Any) -> None:
    for fact in range(table.scalars[USED]):
        if table.predicate[fact] != NONE:
            _link(table, rules, fact)
