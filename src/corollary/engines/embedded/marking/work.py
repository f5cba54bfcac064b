"""The lists and counters of one update while it is processed, as arrays that stay in place between calls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from corollary.engines.embedded.marking.tables import RuleTables, part_of_loop

# Lists of facts. The scalar with the number of a list is its length; TAKEN plus that number is how much of it was taken so far.
LIST_W, LIST_C, LIST_V, LIST_Y, LIST_D, LIST_QUEUE = 0, 1, 2, 3, 4, 5
LIST_MARKED = 6  # implicit facts that the next update affects
LIST_EXPLICIT = 7  # explicit facts that the next update deletes
LIST_STARTS = (
    8  # facts to check from the start: those marked before this update, and those that lost their support from outside
)
LIST_GHOSTS = 9  # deleted facts that the next update inserts again
LIST_COMPLETE = 10  # explicit facts all of whose consequences are marked
LIST_OUT = 11  # facts to report
LISTS = 12
TAKEN = 12
CHECKED_DONE, OPEN_FRAMES, IS_SEARCHING, SEEN = 24, 25, 26, 27
N_DELETIONS, N_BACKWARD, N_FORWARD, N_INSERTIONS, N_EXPLICIT, N_IMPLICIT = 28, 29, 30, 31, 32, 33
KEPT, KEPT_BEFORE = 34, 35  # instances for the next update; those among them that this update uses
STAGE = 36  # the stage of an algorithm with several stages; 0 when an update begins
MARKED_STARTS = 37  # how many of the first facts to check are marked ones
LEFT = 38  # how many facts searches may still visit before the loop pauses
IS_PAUSED = 39  # whether the search for its fact continues
SCALARS = 40

DONE, PAUSED, NEEDS_ROOM, NEEDS_FRAMES, NEEDS_INSTANCES = 0, 1, 2, 3, 4
BUDGET = 1 << 22  # facts that searches visit between two checks of limits and Ctrl-C

_FIRST_FRAMES = 256


class MarkingWork(NamedTuple):
    lists: Any  # int32[lists, capacity]: each fact is at most once in a list
    scalars: Any  # int64
    frames: Any  # int64[depth, frame + 1]: the open searches of backward chaining, and their purpose
    search: Any  # int64[frame]
    deletion: Any  # int64[frame]: the search of block c, which other searches interrupt
    key: Any  # int64[widest]
    chosen: Any  # where the chosen facts begin in a frame
    instances: Any  # int32[kept, 1 + longest body]: head and body


def new_work(rules: RuleTables, capacity: int) -> MarkingWork:
    return MarkingWork(
        np.zeros((LISTS, capacity), np.int32),
        np.zeros(SCALARS, np.int64),
        np.zeros((_FIRST_FRAMES, rules.frame + 1), np.int64),
        np.zeros(rules.frame, np.int64),
        np.zeros(rules.frame, np.int64),
        np.zeros(max(1, rules.width), np.int64),
        3 + rules.registers,
        np.zeros((0, 1 + rules.longest), np.int32),
    )


def with_capacity(work: MarkingWork, capacity: int) -> MarkingWork:
    lists = np.zeros((LISTS, capacity), np.int32)
    lists[:, : work.lists.shape[1]] = work.lists
    return work._replace(lists=lists)


def with_more_frames(work: MarkingWork) -> MarkingWork:
    return work._replace(frames=np.concatenate((work.frames, np.zeros_like(work.frames))))


def with_more_instances(work: MarkingWork) -> MarkingWork:
    more = np.zeros((max(64, len(work.instances)), work.instances.shape[1]), np.int32)
    return work._replace(instances=np.concatenate((work.instances, more)))


@part_of_loop
def push(work: Any, number: Any, fact: Any) -> None:
    work.lists[number, work.scalars[number]] = fact
    work.scalars[number] += 1
