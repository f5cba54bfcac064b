"""Spark's failures to read something, as errors that name the stage and the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue
from corollary.diagnostics.catalogue import DiagnosticKind

# -- unavailable -------------------------------------------------------------------------------------------------------

# Errors that are raised before Spark runs anything.


class SparkUnavailableError(RuntimeError):
    """Raised if Spark cannot start on this machine: `message` gives the reason, `hint` what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}\nhint: {hint}")
        self.message = message
        self.hint = hint


# -- failures ----------------------------------------------------------------------------------------------------------

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]\s*(.*?)(?:\s*SQLSTATE: \w+|\n\s*at |$)", re.DOTALL)
_CAUSE = re.compile(r"^Caused by: [\w.$]+(?:Exception|Error): (.*)$", re.MULTILINE)
_UNREADABLE = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "FAILED_JDBC")


@contextmanager
def named_failures(
    stage: str, source: str, span: Span | None = None, kind: DiagnosticKind | None = None
) -> Iterator[None]:
    """Raise errors of Spark inside the block as a `ProgramError` with the stage, the source and the reason in one line."""
    try:
        yield
    except Exception as error:
        if not is_of_spark(error):
            raise
        condition, why = explained(error)
        found = catalogue.UNREADABLE_DATA if condition.startswith(_UNREADABLE) else catalogue.BROKEN_DATA
        raise ProgramError([Diagnostic(kind or found, f"{stage}: cannot read {source}: {why}", span)]) from error


def is_of_spark(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j")


def explained(error: Exception) -> tuple[str, str]:
    """Return Spark's error condition, or "", and its message in one line, with the last cause if there is one."""
    text = str(error)
    if found := _CONDITION.search(text):
        condition, message = found[1], found[2]
    else:
        condition, message = "", re.sub(r"^An error occurred while calling \S+\s*:?\s*", "", text)
        message = re.sub(r"^[\w.$]+(?:Exception|Error): ", "", message).partition("\n")[0]
    if "Python worker" in message and (lines := text.strip().splitlines()):
        message = lines[-1]  # the last line of a traceback
    message = " ".join(message.split())
    causes = _CAUSE.findall(f"{text}\n{getattr(error, '_stackTrace', None) or ''}")
    if causes and causes[-1] not in message:
        message = f"{message.rstrip('.')}: {causes[-1].strip()}"
    return condition, message[:600]
