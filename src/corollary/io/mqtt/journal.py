"""A journal of messages: each has a number, and is on disk before it is acknowledged to the broker.

A line of JSON each, in files of some megabytes. Once all messages of a file are applied, it may be deleted.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue

_LARGEST_FILE = 8 << 20
_DONE = "done"


@dataclass(frozen=True)
class Message:
    """One message, or a gap, for which `lost` says what may be missing."""

    number: int
    topic: str = ""
    payload: bytes = b""
    identifier: int = 0
    """What the broker calls it until it is acknowledged."""
    retained: bool = False
    time: float = 0.0
    lost: str = ""

    def to_line(self) -> bytes:
        fields = {**asdict(self), "payload": base64.b64encode(self.payload).decode()}
        return json.dumps(fields, ensure_ascii=False).encode() + b"\n"

    @staticmethod
    def of_line(line: bytes) -> Message:
        fields: dict[str, Any] = json.loads(line)
        return Message(**{**fields, "payload": base64.b64decode(fields["payload"])})


class Journal:
    """A directory of messages, numbered from 1; `end` is the number of the last message on disk, `done` that of the last
    applied."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: IO[bytes] | None = None
        self._lock: IO[bytes] | None = None
        self._pending = 0
        folder.mkdir(parents=True, exist_ok=True)
        self.end = self._last_number()

    # -- writing -----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the journal for writing by this object only; drop an incomplete last line."""
        self._lock = open(self.folder / "lock", "ab")  # noqa: SIM115 held until `close`
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            self._lock = None
            message = f"another process writes messages into {self.folder}"
            raise ProgramError([Diagnostic(catalogue.UNREADABLE_STREAM, message)]) from None
        for file in self._files()[-1:]:
            whole = sum(len(line) for line in _whole_lines(file))
            if whole < file.stat().st_size:
                os.truncate(file, whole)
        self.end = self._last_number()

    def append(
        self, topic: str, payload: bytes, *, identifier: int = 0, retained: bool = False, lost: str = ""
    ) -> Message:
        """Append a message, which will be on disk after `sync`."""
        assert self._lock is not None
        self._pending += 1
        message = Message(self.end + self._pending, topic, payload, identifier, retained, time.time(), lost)
        if self._file is None or self._file.tell() > _LARGEST_FILE:
            self._close_file()
            self._file = open(self.folder / f"messages-{message.number:012}.jsonl", "ab")  # noqa: SIM115
        self._file.write(message.to_line())
        return message

    def sync(self) -> None:
        if self._pending and self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self.end, self._pending = self.end + self._pending, 0

    def close(self) -> None:
        self._close_file()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    # -- reading -----------------------------------------------------------------------------------------------------

    def messages(self, after: int, until: int | None = None) -> Iterator[Message]:
        """Yield the messages with numbers greater than `after`, in order."""
        files = self._files()
        firsts = [_first_number(file) for file in files]
        for place, file in enumerate(files):
            is_over = until is not None and firsts[place] > until
            if is_over or (place + 1 < len(files) and firsts[place + 1] <= after + 1):
                continue
            for line in _whole_lines(file):
                message = Message.of_line(line)
                if until is not None and message.number > until:
                    return
                if message.number > after:
                    yield message

    @property
    def first(self) -> int:
        """The number of the first message that is kept."""
        return _first_number(self._files()[0]) if self._files() else self.end + 1

    @property
    def done(self) -> int:
        try:
            return int((self.folder / _DONE).read_text())
        except (OSError, ValueError):
            return self.first - 1

    def forget(self, until: int) -> None:
        """Remove the files whose messages are all up to this one: those were applied."""
        (self.folder / _DONE).write_text(str(until))
        files = self._files()
        for file, following in pairwise(files):
            if _first_number(following) <= until + 1:
                file.unlink(missing_ok=True)

    def recent(self, count: int) -> list[Message]:
        return list(self.messages(self.end - count))

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("messages-*.jsonl"))

    def _last_number(self) -> int:
        files = self._files()
        if not files:
            return self.done if (self.folder / _DONE).exists() else 0
        last = _first_number(files[-1]) - 1
        for line in _whole_lines(files[-1]):
            last = Message.of_line(line).number
        return last


def _first_number(file: Path) -> int:
    return int(file.stem.rpartition("-")[2])


def _whole_lines(file: Path) -> Iterator[bytes]:
    """The lines that are finished, up to the first that is not."""
    with open(file, "rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                return
            yield line
