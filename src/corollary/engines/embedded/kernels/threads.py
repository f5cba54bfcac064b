"""Workers that run a pipeline: one to begin with, and one for each core when there turns out to be much to do.

How much a pipeline has to do is known only when it runs. So one worker starts, and when it has seen so many instances that
threads are worth their while, the others join in and take pieces of the outermost scan. All insert into the same set by steps
that cannot be divided; each writes its new rows to an area of its own, and the areas are pushed together afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from corollary.engines.embedded.kernels import join
from corollary.engines.embedded.relations.relation import Codes

Array: TypeAlias = np.ndarray[Any, Any]

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
ALONE = 1 << 16  # instances, some 2 ms of one worker; waking up and waiting for others costs a tenth of that
_AREA = 1 << 17  # rows; pushed together, they come from the cache
_PIECES, _LONGEST_PIECE = 64, 4096


class Worker:
    """The state of one thread in a pipeline: its registers, where it is in each level, and the heads that wait."""

    def __init__(self, registers: Codes, head_registers: Sequence[int], arity: int, levels: int) -> None:
        self.status = join.YIELDED
        self.state = np.zeros(8, np.int64)
        self.head = np.zeros(join.HEAD_SIZE, np.int64)
        self._head_registers = np.array(head_registers, np.int64)
        self._registers = registers.copy()
        self._current, self._end = np.zeros((2, levels), np.uint64)
        self._keys = np.zeros(join.BUFFER, np.uint64)
        self._waiting = np.zeros(join.BUFFER * max(1, arity), np.uint32)

    def start(self) -> Worker:
        """Constants keep their registers, and all other registers are bound before they are read."""
        self.state[:] = 0
        return self

    @property
    def size(self) -> int:
        """Where its next row would stand."""
        return int(self.state[join.S_SIZE])

    def take_instances(self) -> int:
        """The number of instances since the last time."""
        instances = int(self.state[join.S_INSTANCES])
        self.state[join.S_INSTANCES] = 0
        return instances

    def run(self, levels: Array, tests: Array, pieces: Array, level_count: int, budget: int) -> None:
        self.status = join.run_pipeline(
            levels,
            tests,
            self.head,
            self._head_registers,
            self._registers,
            self._current,
            self._end,
            self._keys,
            self._waiting,
            self.state,
            pieces,
            level_count,
            budget,
        )


def pieces_of(levels: Array) -> Array:
    """The outermost scan in pieces: many, so that no worker is left with a long one, and not too short."""
    low, high = int(levels[join.L_LOW]), int(levels[join.L_HIGH])
    return np.array([low, min(max(1, (high - low) // _PIECES), _LONGEST_PIECE)], np.int64)


def are_left(pieces: Array, levels: Array) -> bool:
    return bool(levels[join.L_OP] == join.SCAN and pieces[join.P_NEXT] < levels[join.L_HIGH])


def give_areas(workers: Sequence[Worker], head: Array, size: int) -> list[int]:
    """Tells each worker where the head is, and where it may write rows; gives the starts of these areas."""
    room = int(head[join.H_LIMIT]) - size
    area = room if len(workers) == 1 else min(room // len(workers), _AREA)
    for number, worker in enumerate(workers):
        worker.head[:] = head
        worker.head[join.H_SHARED] = len(workers) > 1
        worker.state[join.S_SIZE] = size + number * area
        worker.head[join.H_LIMIT] = size + (number + 1) * area
    return [worker.size for worker in workers]


def join_areas(workers: Sequence[Worker], starts: Sequence[int], rows: Codes) -> int:
    """Pushes the new rows together; gives the number of rows afterwards."""
    size = workers[0].size
    for worker, start in zip(workers[1:], starts[1:], strict=True):
        count = worker.size - start
        rows[size : size + count] = rows[start : start + count]
        size += count
    return size


def run_all(workers: Sequence[Worker], *work: Any) -> None:
    """Runs the workers to the end, each in a thread, the first in this one."""
    if len(workers) == 1:
        workers[0].run(*work)
        return
    others = [_pool().submit(worker.run, *work) for worker in workers[1:]]
    try:
        workers[0].run(*work)
    finally:
        _wait_for(others)
    for other in others:
        other.result()


def _wait_for(others: Sequence[Future[None]]) -> None:
    """Even an interrupt has to wait: the threads write to memory that would be gone if somebody went on."""
    try:
        wait(others)
    except BaseException:
        _wait_for(others)
        raise


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, CORES - 1), "corollary")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
