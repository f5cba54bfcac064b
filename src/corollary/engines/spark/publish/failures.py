"""Errors while tasks write, as a diagnostic for people instead of the stack traces of two machines.

A task that finds facts which a format cannot hold raises `ProgramError`, of which only a text comes back through Java. So the
task sends the diagnostic as JSON in that text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.publish.forms import Batches
from corollary.engines.spark_session.failures import explained, is_of_spark

_MARK = "corollary-diagnostic:"


class TaskFailure(Exception):
    """Raised in a task; its text is what the driver looks for."""


def telling(run: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """Wrap a function so that a diagnostic that it raises reaches the driver."""

    def tell(batches: Batches) -> Batches:
        try:
            yield from run(batches)
        except ProgramError as error:
            first = error.diagnostics[0]
            parts = {"code": first.kind.code, "message": first.message, "hint": first.hint}
            raise TaskFailure(f"{_MARK}{json.dumps(parts)}") from None

    return tell


@contextmanager
def publishing(target: object) -> Iterator[None]:
    """Errors of Spark in here are about writing `target`."""
    try:
        yield
    except Exception as error:
        if not is_of_spark(error):
            raise
        raise _diagnosed(error, target) from error


def _diagnosed(error: Exception, target: object) -> ProgramError:
    text = str(error)
    start = text.find(_MARK)
    if start >= 0:
        parts, _ = json.JSONDecoder().raw_decode(text[start + len(_MARK) :])
        kind = catalogue.CATALOGUE[parts["code"]]
        return ProgramError([Diagnostic(kind, parts["message"], None, parts["hint"])])
    _, why = explained(error)
    return ProgramError([Diagnostic(catalogue.UNWRITABLE_FILE, f"publish: cannot write {target}: {why}")])
