"""Spark jobs under watch: the main thread stays free to notice Ctrl-C and limits, and takes running jobs back."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_LOOK_EVERY = 0.1
_OF_THREAD = threading.local()


def run_watched(spark: SparkSession, functions: Sequence[Callable[[], T]], check: Callable[[], None]) -> list[T]:
    """The results of functions that run side by side, each in a thread; one of them may call this again.

    Where `check` raises, or one of them, or the user interrupts, the Spark jobs of all of them are cancelled first.
    """
    tags = [*getattr(_OF_THREAD, "tags", ()), f"corollary-{uuid.uuid4().hex}"]
    waiting: list[Future[T]] = []

    def tagged(function: Callable[[], T]) -> T:
        with _tagged(spark, tags):
            return function()

    pool = ThreadPoolExecutor(max_workers=len(functions), thread_name_prefix="corollary")
    try:
        waiting += [pool.submit(tagged, function) for function in functions]
        while not all(one.done() for one in waiting):
            check()
            done, _ = wait(waiting, timeout=_LOOK_EVERY)
            for one in done:
                one.result()
        return [one.result() for one in waiting]
    except BaseException:
        # A function between two jobs starts another one, so they are cancelled until nobody runs any more.
        while not all(one.done() for one in waiting):
            _cancel(spark, tags[-1])
            wait(waiting, timeout=_LOOK_EVERY)
        raise
    finally:
        pool.shutdown(wait=True)


@contextmanager
def _tagged(spark: SparkSession, tags: Sequence[str]) -> Iterator[None]:
    """Tags the jobs of this thread. Of a classic session's own tags, only the thread that set them knows what they stand for."""
    _OF_THREAD.tags = tuple(tags)
    for tag in tags:
        if _is_classic(spark):
            spark.sparkContext.addJobTag(tag)
        else:
            spark.addTag(tag)
    try:
        yield
    finally:
        _OF_THREAD.tags = ()
        for tag in tags:
            if _is_classic(spark):
                spark.sparkContext.removeJobTag(tag)
            else:
                spark.removeTag(tag)


def _cancel(spark: SparkSession, tag: str) -> None:
    if _is_classic(spark):
        spark.sparkContext.cancelJobsWithTag(tag)
    else:
        spark.interruptTag(tag)


def _is_classic(spark: SparkSession) -> bool:
    """Spark Connect has no context, and needs none: its tags belong to the session."""
    return "connect" not in type(spark).__module__
