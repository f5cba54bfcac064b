"""Spark jobs under watch: the main thread stays free to notice Ctrl-C and limits, and takes running jobs back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_LOOK_EVERY = 0.1


def run_watched(spark: SparkSession, functions: Sequence[Callable[[], T]], check: Callable[[], None]) -> list[T]:
    """The results of functions that run side by side, each in a thread. Where `check` raises, or one of them, or the user
    interrupts, the Spark jobs of all of them are cancelled first.
    """
    tag = f"corollary-{uuid.uuid4().hex}"

    def tagged(function: Callable[[], T]) -> T:
        spark.addTag(tag)
        try:
            return function()
        finally:
            spark.removeTag(tag)

    pool = ThreadPoolExecutor(max_workers=len(functions), thread_name_prefix="corollary")
    try:
        waiting: list[Future[T]] = [pool.submit(tagged, function) for function in functions]
        while not all(one.done() for one in waiting):
            check()
            done, _ = wait(waiting, timeout=_LOOK_EVERY)
            for one in done:
                one.result()
        return [one.result() for one in waiting]
    except BaseException:
        _cancel(spark, tag, waiting)
        raise
    finally:
        pool.shutdown(wait=True)


def _cancel(spark: SparkSession, tag: str, waiting: Sequence[Future[T]]) -> None:
    """A function between two jobs starts another one, so they are cancelled until nobody runs any more."""
    while not all(one.done() for one in waiting):
        spark.interruptTag(tag)
        wait(waiting, timeout=_LOOK_EVERY)
