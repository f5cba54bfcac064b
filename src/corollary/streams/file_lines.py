"""The lines of a file of updates, from the place on where an earlier stream has stopped."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from hashlib import blake2s
from pathlib import Path
from typing import Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.streams.update_lines import OPEN

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
        text: str = line.decode("utf-8", "surrogateescape")  # what is wrong with it is a matter of its update
        return text

    def _growing(self) -> bytes:
        """A line that is finished; nothing when somebody has closed the stream."""
        begun = b""
        has_waited = False
        assert self._is_over is not None
        while not self._is_over.is_set():
            line: bytes = self._file.readline()
            if line and has_waited:
                self._check_same(len(begun))
            has_waited = False
            begun += line
            if begun.endswith(b"\n"):
                return begun
            if not line:
                self._check_same(len(begun))
                self._is_over.wait(_POLL)
                has_waited = True
        return b""

    def _check_same(self, begun: int) -> None:
        """A file that was cut or replaced while it was followed: what it has now is not what comes next."""
        opened = os.fstat(self._file.fileno())
        if not stat.S_ISREG(opened.st_mode):
            return
        try:
            named = os.stat(self._path)
        except FileNotFoundError:
            raise _moved(f"{self._path} is gone; it was read up to line {self.number}") from None
        if (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino):
            raise _moved(f"{self._path} is another file now; the old one was read up to line {self.number}")
        before = os.pread(self._file.fileno(), len(self._tail), self._offset - len(self._tail))
        if opened.st_size < self._offset + begun or before != self._tail:
            raise _moved(f"{self._path} was cut or rewritten after line {self.number} had been read")

    def _go_on(self, position: dict[str, Any]) -> None:
        """Go to a position, if what stands before it is what stood there."""
        offset, length, number = position["offset"], position["length"], position["line"]
        self._file.seek(max(0, offset - length))
        self._tail = self._file.read(length)
        if blake2s(self._tail, digest_size=16).hexdigest() != position["before"] or self._file.tell() != offset:
            raise _moved(f"{self._path} is not the file that was read up to line {number}")
        if offset and not self._tail.endswith(b"\n"):
            rest = self._file.readline()  # of the last line, which had no end
            if rest.strip():
                raise _moved(f"{self._path}: line {number} has grown since it was read")
            self._offset += len(rest)
            self._tail = (self._tail + rest)[-_REMEMBERED:]
        if position.get(OPEN):
            following = self._file.readline().strip()
            if following and not following.startswith(b"{"):
                hint = "put a blank line there, if another update begins"
                raise _moved(
                    f"{self._path}: the update that ended with line {number} has grown since it was read", hint
                )
            self._file.seek(self._offset)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _moved(message: str, hint: str = "a stream of another name starts at the beginning") -> ProgramError:
    return ProgramError([Diagnostic(catalogue.STREAM_MOVED, message, None, hint)])
