"""Running Spark jobs in threads, so that the main thread notices Ctrl-C and limits, and can cancel the jobs.

The metrics that jobs observe are read here, too.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import Observation, SparkSession

    from corollary.engines.spark.context import Context

T = TypeVar("T")
_LOOK_EVERY = 0.1
_OF_THREAD = threading.local()


def run_watched(functions: Sequence[Callable[[], T]], context: Context) -> list[T]:
    """Return the results of functions that run in parallel, each in a thread; one of them may call this again.

    If the run of the context stops at a limit or an interrupt, or if a function raises, all their Spark jobs are
    cancelled first.
    """
    spark = context.spark
    tags = [*getattr(_OF_THREAD, "tags", ()), f"corollary-{uuid.uuid4().hex}"]
    waiting: list[Future[T]] = []

    def tagged(function: Callable[[], T]) -> T:
        with _tagged(spark, tags):
            return function()

    pool = ThreadPoolExecutor(max_workers=len(functions), thread_name_prefix="corollary")
    try:
        waiting += [pool.submit(tagged, function) for function in functions]
        while not all(one.done() for one in waiting):
            context.check()
            done, _ = wait(waiting, timeout=_LOOK_EVERY)
            for one in done:
                one.result()
        return [one.result() for one in waiting]
    except BaseException:
        # A function between two jobs would start another one, so jobs are cancelled until all functions have ended.
        while not all(one.done() for one in waiting):
            with suppress(Exception):  # a driver that has ended runs no job
                _cancel(spark, tags[-1])
            wait(waiting, timeout=_LOOK_EVERY)
        raise
    finally:
        pool.shutdown(wait=True)


@contextmanager
def _tagged(spark: SparkSession, tags: Sequence[str]) -> Iterator[None]:
    """Tag the jobs of this thread. A classic session's tags are known only to the thread that set them."""
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
    """Return whether a session has a context; Spark Connect has none, and its tags belong to the session."""
    return "connect" not in type(spark).__module__


def seen_by(observation: Observation) -> dict[str, Any]:
    """Return the metrics of a finished job; empty if Spark removed the observer because there were no rows."""
    try:
        return observation.get
    except Exception as error:
        if "toPyRow" in str(error):  # PySpark's assertion that metrics have a schema fails if there are none
            return {}
        raise
