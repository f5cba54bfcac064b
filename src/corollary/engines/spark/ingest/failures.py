"""What Spark says when it cannot read something, as an error that names the stage and the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue
from corollary.diagnostics.catalogue import Kind

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]\s*(.*?)(?:\s*SQLSTATE: \w+|\n\s*at |$)", re.DOTALL)
_CAUSE = re.compile(r"^Caused by: [\w.$]+(?:Exception|Error): (.*)$", re.MULTILINE)
_UNREADABLE = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "FAILED_JDBC")


@contextmanager
def named_failures(stage: str, source: str, span: Span | None = None, kind: Kind | None = None) -> Iterator[None]:
    """Errors of Spark inside become a `ProgramError` that says which stage failed on which source, and why in a line."""
    try:
        yield
    except Exception as error:
        if not is_of_spark(error):
            raise
        condition, why = explained(error)
        found = catalogue.UNREADABLE_DATA if condition.startswith(_UNREADABLE) else catalogue.BROKEN_DATA
        raise ProgramError([Diagnostic(kind or found, f"{stage}: cannot read {source}: {why}", span)]) from error


@contextmanager
def named_write_failures(stage: str, source: str) -> Iterator[None]:
    """The same where what was read is written to the workspace."""
    try:
        yield
    except Exception as error:
        if not (is_of_spark(error) or isinstance(error, OSError)):  # what the driver writes itself
            raise
        reason = error.strerror or str(error) if isinstance(error, OSError) else explained(error)[1]
        message = f"{stage}: cannot store the facts of {source}: {reason}"
        raise ProgramError([Diagnostic(catalogue.UNUSABLE_WORKSPACE, message)]) from error


def is_of_spark(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j")


def explained(error: Exception) -> tuple[str, str]:
    """The condition that Spark names, or "", and its message in one line, with the last cause where there is one."""
    text = str(error)
    if found := _CONDITION.search(text):
        condition, message = found[1], found[2]
    else:
        condition, message = "", re.sub(r"^An error occurred while calling \S+\s*:?\s*", "", text)
        message = re.sub(r"^[\w.$]+(?:Exception|Error): ", "", message).partition("\n")[0]
    message = " ".join(message.split())
    causes = _CAUSE.findall(f"{text}\n{getattr(error, '_stackTrace', None) or ''}")
    if causes and causes[-1] not in message:
        message = f"{message.rstrip('.')}: {causes[-1].strip()}"
    return condition, message[:600]
