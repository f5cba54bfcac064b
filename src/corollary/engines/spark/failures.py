"""Failures of Spark while rules run, as errors that name the stage, the hyper-node and the directory."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any

from corollary.diagnostics import CATALOGUE, Diagnostic, ProgramError, Span, catalogue
from corollary.engines.spark_session.failures import explained, is_of_spark
from corollary.language import print_term
from corollary.planning import AggregateSource, NormalBody, NormalRule
from corollary.program import Term

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FULL = ("No space left on device", "Disk quota exceeded")


class LostRowsError(Exception):
    """Raised when fewer or other rows were read from a checkpoint than had been written to it."""


@contextmanager
def derive_failures(nodes: str, workspace: str) -> Iterator[None]:
    """Raise Spark's errors in the block as errors about deriving these hyper-nodes."""
    try:
        yield
    except LostRowsError as error:
        lost = "the file system lost what Spark had written; nothing was derived from the rest"
        raise _diagnosed(nodes, f"{error}, in {workspace}", lost) from error
    except Exception as error:
        if not is_of_spark(error):
            raise
        is_full = any(one in str(error) for one in _FULL)
        hint = f"the disk of the workspace {workspace} is full, or that of spark.local.dir" if is_full else None
        if "ModuleNotFoundError" in str(error):
            hint = f"tasks run another Python than the driver; start Spark with PYSPARK_PYTHON={sys.executable}"
        why = _FULL[0] if is_full else explained(error)[1]
        raise _diagnosed(nodes, why, hint) from error


def _diagnosed(nodes: str, why: str, hint: str | None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.FAILED_STAGE, f"derive: {nodes}: {why}", None, hint)])


# Errors that explain why the Java process ended during work.
#
# When a thread of Spark runs out of memory, it dies and its callers wait for ever. So while our work is running, such a
# thread ends the whole process, as on the executors of a cluster; Python notices, and the error says so.


OUT_OF_MEMORY = 52
"""The exit code of a Spark process that runs out of memory."""
_HINT = "set spark.driver.memory when you start Spark to give it more; a limit on facts stops earlier"
_LAST_SECONDS = 20
"""How long a process may take to end."""
_LOCK = threading.Lock()
_AT_WORK = 0


@contextmanager
def driver_failures(spark: SparkSession) -> Iterator[None]:
    """Let Java exit inside the block if one of its threads runs out of memory; raise a ProgramError if it has exited."""
    java: Any = getattr(getattr(spark, "_sc", None), "_jvm", None)
    if java is None:  # with Spark Connect, the process belongs to the server
        yield
        return
    try:
        _begin(java)
        try:
            yield
        finally:
            _end(java)
    except Exception as error:
        # Only errors of Spark, and errors made from them, can mean that it has ended.
        is_other = isinstance(error, ProgramError) and error.diagnostics[0].kind is not catalogue.FAILED_STAGE
        ended = None if is_other else _ended(spark)
        if ended is None:
            raise
        raise ProgramError([Diagnostic(catalogue.FAILED_STAGE, ended, None, _HINT)]) from error


def _begin(java: Any) -> None:
    """Install Spark's own handler for uncaught exceptions, unless the process has one."""
    global _AT_WORK
    with _LOCK:
        _AT_WORK += 1
        if _AT_WORK == 1 and java.java.lang.Thread.getDefaultUncaughtExceptionHandler() is None:
            handler = java.org.apache.spark.util.SparkUncaughtExceptionHandler(False)
            java.java.lang.Thread.setDefaultUncaughtExceptionHandler(handler)


def _end(java: Any) -> None:
    global _AT_WORK
    with _LOCK:
        _AT_WORK -= 1
        if not _AT_WORK:
            with suppress(Exception):  # it has ended
                handler = java.java.lang.Thread.getDefaultUncaughtExceptionHandler()
                if handler is not None and "SparkUncaughtExceptionHandler" in handler.getClass().getName():
                    java.java.lang.Thread.setDefaultUncaughtExceptionHandler(None)


def _ended(spark: SparkSession) -> str | None:
    """Return how the Java process ended; None if it is running."""
    context: Any = spark._sc
    with suppress(Exception):
        if not context._jsc.sc().isStopped():
            return None
    process = getattr(context._gateway, "proc", None)
    if process is None:  # started by another program, such as spark-submit
        return "Spark's driver has ended"
    with suppress(TimeoutExpired):
        process.wait(timeout=_LAST_SECONDS)
    match process.poll():
        case None:
            return "Spark was stopped"
        case code if code == OUT_OF_MEMORY:
            return "Spark's driver ran out of memory and has ended"
        case code:
            return f"Spark's driver has ended (exit code {code})"


# A mistake of the program that a task found. Only texts come back from tasks, so the place in the program is found here.


FailureReport = tuple[str, str, str | None]
"""The code, the message and the hint of a diagnostic."""

_EXPRESSION = re.compile(r"in rule (?P<rule>.+?): (?P<term>.+) has no value: ", re.DOTALL)


def failure_report(error: ProgramError) -> FailureReport:
    first = error.diagnostics[0]
    return first.kind.code, first.message, first.hint


def failure_of(code: str, message: str, hint: str | None, rules: Iterable[NormalRule]) -> ProgramError:
    """Return the error for a failed task that ran these rules."""
    return ProgramError([Diagnostic(CATALOGUE[code], message, _place(message, rules), hint)])


def _place(message: str, rules: Iterable[NormalRule]) -> Span | None:
    """Return the span in the program of the expression that a message is about."""
    found = _EXPRESSION.match(message)
    if found is None:
        return None
    terms = (term for rule in rules if rule.name == found["rule"] for term in _terms(rule.body))
    return next((term.span for term in terms if print_term(term) == found["term"]), None)


def _terms(body: NormalBody) -> Iterator[Term]:
    yield from (compute.expression for compute in body.computes)
    yield from (side for compare in body.compares for side in (compare.left, compare.right))
    for source in body.sources:
        if isinstance(source, AggregateSource):
            yield from _terms(source.body)
