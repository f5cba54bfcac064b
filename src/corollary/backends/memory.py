"""What is said where memory does not suffice for what rules derive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from corollary.diagnostics import Diagnostic, ProgramError, catalogue

_MESSAGE = "there is not enough memory for what the rules derive"
_HINT = (
    "rules that make new constants may have no end: the limits 'facts', 'rounds', 'seconds' and 'depth' stop them, "
    "and a query with mode='demand' derives only what it needs"
)


@contextmanager
def memory_as_a_limit() -> Iterator[None]:
    """Memory that is used up is a limit that was reached."""
    try:
        yield
    except MemoryError as error:
        raise ProgramError([Diagnostic(catalogue.LIMIT_REACHED, _MESSAGE, None, _HINT)]) from error
