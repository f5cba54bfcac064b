"""Files of updates: lines of JSON, or lines of text with a blank line after each update.

The form of each line can be seen from the line itself, so an invalid line affects only its own update.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from hashlib import blake2s
from pathlib import Path
from typing import Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.language import NOTHING, parse
from corollary.program.arities import name_with_arity
from corollary.streams.updates import Arrived, malformed, of_json
from corollary.transactions import Change

# -- file lines --------------------------------------------------------------------------------------------------------

# The lines of a file of updates, from the position at which an earlier stream has stopped.

_POLL = 0.05  # seconds between two checks of a growing file
_REMEMBERED = 256  # bytes before a position that identify the file


class FileLines(Iterator[str]):
    """The lines of a file. `position` is where the next line starts, as a JSON value. With `is_over`, wait for more lines at
    the end."""

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
        text: str = line.decode("utf-8", "surrogateescape")  # an invalid line is reported with its update
        return text

    def _growing(self) -> bytes:
        """Return a finished line; an empty one if the stream has been closed."""
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
        """Raise `ProgramError` if the file was truncated or replaced while it was followed."""
        opened = os.fstat(self._file.fileno())
        if not stat.S_ISREG(opened.st_mode):
            return
        try:
            named = os.stat(self._path)
        except FileNotFoundError:
            raise _moved(f"{self._path} has been removed; it was read up to line {self.number}") from None
        if (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino):
            raise _moved(f"{self._path} has been replaced; the old file was read up to line {self.number}")
        before = os.pread(self._file.fileno(), len(self._tail), self._offset - len(self._tail))
        if opened.st_size < self._offset + begun or before != self._tail:
            raise _moved(f"{self._path} was truncated or rewritten after line {self.number} had been read")

    def _go_on(self, position: dict[str, Any]) -> None:
        """Go to a position; raise `ProgramError` if the text before it has changed."""
        offset, length, number = position["offset"], position["length"], position["line"]
        self._file.seek(max(0, offset - length))
        self._tail = self._file.read(length)
        if blake2s(self._tail, digest_size=16).hexdigest() != position["before"] or self._file.tell() != offset:
            raise _moved(f"{self._path} is not the file that was read up to line {number}")
        if offset and not self._tail.endswith(b"\n"):
            rest = self._file.readline()  # the rest of the last line, which was unfinished
            if rest.strip():
                raise _moved(f"{self._path}: line {number} has grown since it was read")
            self._offset += len(rest)
            self._tail = (self._tail + rest)[-_REMEMBERED:]
        if position.get(OPEN):
            following = self._file.readline().strip()
            if following and not following.startswith(b"{"):
                hint = "put a blank line there if another update begins"
                raise _moved(
                    f"{self._path}: the update that ended with line {number} has grown since it was read", hint
                )
            self._file.seek(self._offset)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _moved(message: str, hint: str = "a stream of another name starts at the beginning") -> ProgramError:
    return ProgramError([Diagnostic(catalogue.STREAM_MOVED, message, None, hint)])


# -- update lines ------------------------------------------------------------------------------------------------------

OPEN = "is_open"
"""The key in a position which tells that the update before it ended with the file instead of a blank line."""

_TEXT = re.compile(r"\s*(add|delete)\(")
_WHOLE_TEXT = re.compile(r"\s*(add|delete)\((.*)\)\s*\.\s*$")
_COMMENT = ("%", "//")
_BYTE_ORDER_MARK = "\ufeff"
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Kind(Enum):
    BLANK = auto()
    COMMENT = auto()
    JSON = auto()
    TEXT = auto()
    OTHER = auto()


@dataclass(frozen=True)
class _Line:
    number: int
    text: str
    position: Any

    @property
    def kind(self) -> _Kind:
        text = self.text.strip()
        if not text:
            return _Kind.BLANK
        if text.startswith("{"):
            return _Kind.JSON
        if text.startswith(_COMMENT):
            return _Kind.COMMENT
        return _Kind.TEXT if _TEXT.match(text) else _Kind.OTHER


def read_updates(
    lines: Iterable[str], name: str, prefixes: Mapping[str, str] | None = None, first: int = 1
) -> Iterator[Arrived]:
    """Yield the updates of a file, each of them when it is complete.

    `first` is the number of the first line. Lines that know their position give it to the updates that end there.
    """
    reader = _UpdateReader(name, prefixes or {})
    for number, text in enumerate(lines, first):
        text = text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text
        yield from reader.read(_Line(number, text, getattr(lines, "position", None)))
    yield from reader.end()


class _UpdateReader:
    """Reads lines and yields complete updates; keeps the lines of an incomplete one, and the form of the last one."""

    def __init__(self, name: str, prefixes: Mapping[str, str]) -> None:
        self._name = name
        self._prefixes = prefixes
        self._block: list[_Line] = []
        self._form: _Kind | None = None
        self._has_comment = False

    def read(self, line: _Line) -> Iterator[Arrived]:
        kind = line.kind
        if kind is _Kind.BLANK:
            if self._block:
                yield from self._complete(line.position)
            elif self._form is _Kind.TEXT and not self._has_comment:
                yield Arrived(self._place(line), Change(), position=line.position)
            self._has_comment = False
        elif kind is _Kind.COMMENT:
            self._has_comment = True
        elif kind is _Kind.JSON:
            yield from self._complete()
            self._form = kind
            yield self._json(line)
        elif kind is _Kind.TEXT:
            self._form = kind
            self._block.append(line)
        elif self._form is _Kind.JSON and not self._block:
            yield self._neither(line)
        else:  # a mistake in an update of several lines invalidates all of it, so all its lines are read first
            self._block.append(line)

    def end(self) -> Iterator[Arrived]:
        """Yield the last update, which is complete at the end of the file."""
        position = self._block[-1].position if self._block else None
        yield from self._complete({**position, OPEN: True} if isinstance(position, dict) else position)

    def _complete(self, position: Any = None) -> Iterator[Arrived]:
        block, self._block = self._block, []
        if not any(line.kind is _Kind.TEXT for line in block):
            yield from map(self._neither, block)
            return
        update = self._of_text(block)
        update.position = position if position is not None else block[-1].position
        yield update

    # -- one update --------------------------------------------------------------------------------------------------

    def _place(self, line: _Line) -> str:
        return f"{self._name}:{line.number}"

    def _json(self, line: _Line) -> Arrived:
        update = self._unreadable([line]) or of_json(line.text, self._place(line))
        update.position = line.position
        return update

    def _neither(self, line: _Line) -> Arrived:
        message = "a line of updates is a JSON object, or add(F). or delete(F)."
        update = self._unreadable([line]) or malformed(self._place(line), message, line.text)
        update.position = line.position
        return update

    def _unreadable(self, block: list[_Line]) -> Arrived | None:
        """Return a malformed update if a line is not UTF-8: its bytes were read as surrogates, which no valid text
        contains."""
        for line in block:
            if not line.text.isascii():
                try:
                    line.text.encode("utf-8")
                except UnicodeEncodeError as error:
                    message = f"this is not UTF-8 (character {error.start + 1} of the line)"
                    text = _SURROGATE.sub(_escaped, "".join(one.text for one in block))
                    return malformed(self._place(line), message, text)
        return None

    def _of_text(self, block: list[_Line]) -> Arrived:
        unreadable = self._unreadable(block)
        if unreadable is not None:
            return unreadable
        text = "".join(line.text for line in block)
        facts: dict[str, list[str]] = {"add": [], "delete": []}
        for line in block:
            matched = _WHOLE_TEXT.match(line.text)
            if matched is None:
                return malformed(self._place(line), "a line of an update is add(F). or delete(F).", text)
            facts[matched[1]].append(matched[2])
        try:
            insert, delete = (_facts(facts[kind], self._prefixes) for kind in ("add", "delete"))
        except ValueError as error:
            return malformed(self._place(block[0]), str(error), text)
        return Arrived(self._place(block[0]), Change(insert, delete), None, text)


def _escaped(surrogate: re.Match[str]) -> str:
    """Return a byte that `surrogateescape` has decoded, in a printable form."""
    code = ord(surrogate[0])
    return f"\\x{code & 0xFF:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def _facts(texts: list[str], prefixes: Mapping[str, str]) -> dict[str, list[Any]]:
    if not texts:
        return {}
    parsed = parse("".join(f"{text}.\n" for text in texts), prefixes=dict(prefixes), permissions=NOTHING)
    if parsed.errors:
        raise ValueError(f"this is not a fact: {parsed.errors[0].message}")
    found: dict[str, list[Any]] = {}
    sizes = {(block.predicate, block.arity) for block in parsed.program.facts}
    for block in parsed.program.facts:
        is_alone = sum(name == block.predicate for name, _ in sizes) == 1
        name = block.predicate if is_alone else name_with_arity(block.predicate, block.arity)
        found.setdefault(name, []).extend(block.rows)
    if sum(map(len, found.values())) != len(texts):
        raise ValueError("each line of an update has one fact, without variables")
    return found
