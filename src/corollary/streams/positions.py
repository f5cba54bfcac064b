"""How far a named stream has come: its position commits with the version that its update makes, so both are there or none.

Each source says what a position is: a place in a file, a number of updates, an entry of a journal.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from corollary.transactions import Change

STREAMS = "streams"
"""The mark of a version that has the positions, by name of the stream."""


class Marked(Protocol):
    """The part of a knowledge base in a directory that positions use."""

    @property
    def marks(self) -> dict[str, Any]: ...

    def marking(self, **marks: Any) -> AbstractContextManager[None]: ...

    def apply(self, *changes: Change) -> Any: ...


class Positions:
    """Where a stream stands in its source."""

    def __init__(self, kb: Marked, name: str) -> None:
        self._kb = kb
        self._name = name

    @property
    def last(self) -> Any:
        """The position that was committed last; None where this stream is new."""
        return self._kb.marks.get(STREAMS, {}).get(self._name)

    def committing(self, position: Any) -> AbstractContextManager[None]:
        """The transaction inside says how far the stream has come; where it fails, the stream has not."""
        return self._kb.marking(**{STREAMS: {**self._kb.marks.get(STREAMS, {}), self._name: position}})

    def pass_over(self, position: Any) -> None:
        """An update that changes nothing, since it was rejected."""
        with self.committing(position):
            self._kb.apply(Change())
