"""The lines of a file of updates, from the place on where an earlier stream has stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from hashlib import blake2s
from pathlib import Path
from typing import Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue

_POLL = 0.05  # seconds between two looks at a file that grows
_REMEMBERED = 256  # bytes before a position that tell one file from another


class FileLines(Iterator[str]):
    """`position` is where the next line starts, as JSON can hold it. With `is_over`, the end is waited for to grow."""

    def __init__(self, path: Path, position: Any = None, is_over: threading.Event | None = None) -> None:
        self._path = path
        self._is_over = is_over
        self._file: Any = None
        self._start = position
        self._offset: int = position["offset"] if position else 0
        self.number: int = position["line"] if position else 0
        self._tail = b""

    @property
    def position(self) -> dict[str, Any]:
        digest = blake2s(self._tail, digest_size=16).hexdigest()
        return {"offset": self._offset, "line": self.number, "before": digest, "length": len(self._tail)}

    def __next__(self) -> str:
        if self._file is None:
            self._file = open(self._path, "rb")  # noqa: SIM115 closed at its end
            if self._start is not None:
                self._go_on(self._start)
        line = self._growing() if self._is_over is not None else self._file.readline()
        if not line:
            self._file.close()
            raise StopIteration
        self._offset += len(line)
        self.number += 1
        self._tail = (self._tail + line)[-_REMEMBERED:]
        text: str = line.decode("utf-8")
        return text

    def _growing(self) -> bytes:
        """A line that is finished; nothing when somebody has closed the stream."""
        begun = b""
        assert self._is_over is not None
        while not self._is_over.is_set():
            line: bytes = self._file.readline()
            begun += line
            if begun.endswith(b"\n"):
                return begun
            if not line:
                self._is_over.wait(_POLL)
        return b""

    def _go_on(self, position: dict[str, Any]) -> None:
        """Goes to a position, if what stands before it is what stood there."""
        offset, length = position["offset"], position["length"]
        self._file.seek(max(0, offset - length))
        self._tail = self._file.read(length)
        if blake2s(self._tail, digest_size=16).hexdigest() != position["before"] or self._file.tell() != offset:
            raise _moved(f"{self._path} is not the file that was read up to line {position['line']}")
        following = self._file.read(1)
        self._file.seek(offset)
        if offset and not self._tail.endswith(b"\n") and following not in (b"", b"\n", b"\r"):
            raise _moved(f"{self._path}: line {position['line']} has grown since it was read")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _moved(message: str) -> ProgramError:
    hint = "a stream of another name starts at the beginning"
    return ProgramError([Diagnostic(catalogue.STREAM_MOVED, message, None, hint)])
