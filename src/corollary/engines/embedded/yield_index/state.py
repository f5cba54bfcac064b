"""The arrays of an index, and how they grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from corollary.engines.embedded.yield_index.layout import (
    FAN_OUT,
    HASHED,
    KEYS,
    NODE_WIDTH,
    NODES,
    NONE,
    SCALARS,
    SLOT_ENTRY,
    SLOT_WIDTH,
    USED,
)
from corollary.engines.embedded.yield_index.plan import Plan

Array: TypeAlias = np.ndarray[Any, Any]

_PLENTY = 1 << 26  # bytes


@dataclass
class State:
    """The arrays: `memory` has the blocks of facts and entries, `slots` keys and their entries, `nodes` trees over
    ordered entries."""

    memory: Array
    slots: Array
    nodes: Array
    scalars: Array

    @classmethod
    def of(cls, plan: Plan) -> State:
        scalars = np.full(plan.scalars, NONE, np.int64)
        scalars[:SCALARS] = 0
        return cls(np.empty(1024, np.int64), _new_slots(64), np.empty((1, NODE_WIDTH), np.int64), scalars)

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        return self.memory, self.slots, self.nodes, self.scalars

    def reserve(self, plan: Plan, predicate: int, facts: int) -> None:
        """Make room for more facts of a predicate, and for the entries that they may add."""
        lookups = plan.lookups[predicate].values()
        hashed = [lookup for lookup in lookups if plan.modes[lookup.index] == HASHED]
        longer = sum(max(0, len(lookup.columns) - 3) for lookup in hashed)  # prefixes of keys have entries, too
        width = plan.widths[predicate] + longer + sum(plan.entry_sizes[lookup.index] for lookup in lookups)
        wanted = int(self.scalars[USED]) + facts * width
        if wanted > len(self.memory):
            factor = 4 if self.memory.nbytes < _PLENTY else 2  # untouched pages cost nothing
            grown = np.empty(max(wanted, len(self.memory) * factor), np.int64)
            used = int(self.scalars[USED])
            grown[:used] = self.memory[:used]
            self.memory = grown
        needed = (int(self.scalars[KEYS]) + facts * (len(hashed) + longer)) * 2
        if needed > len(self.slots):
            slots = _new_slots(1 << max(6, needed.bit_length()))
            _move_slots(self.slots, slots)
            self.slots = slots
        if trees := len(lookups) - len(hashed):
            nodes = int(self.scalars[NODES]) + trees * (facts // (FAN_OUT // 4) + 32)
            if nodes > len(self.nodes):
                more = np.empty((nodes * 2, NODE_WIDTH), np.int64)
                more[: len(self.nodes)] = self.nodes
                self.nodes = more


def _new_slots(count: int) -> Array:
    return np.full((count, SLOT_WIDTH), NONE, np.int64)


@njit(inline="always")
def place_of(first: Any, second: Any, mask: Any) -> Any:
    """Return the slot where the search for a key starts."""
    mixed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (np.uint64(second) + np.uint64(0x632BE59BD9B4E019)) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed >> np.uint64(24)) & np.uint64(mask))


@njit(cache=True, nogil=True)
def _move_slots(old: Any, new: Any) -> None:
    mask = len(new) - 1
    for slot in range(len(old)):
        if old[slot, SLOT_ENTRY] != NONE:
            at = place_of(old[slot, 0], old[slot, 1], mask)
            while new[at, SLOT_ENTRY] != NONE:
                at = (at + 1) & mask
            for column in range(SLOT_WIDTH):
                new[at, column] = old[slot, column]
