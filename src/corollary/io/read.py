"""Reading a data file: which reader it takes, and what all of them need."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.io.formats import Format, format_of
from corollary.io.options import DATABASE, ReadOptions
from corollary.io.rejects import Rejects

if TYPE_CHECKING:
    import pyarrow as pa

_BOM = b"\xef\xbb\xbf"


@dataclass
class Loaded:
    """The rows of a file that can be loaded, and those that cannot."""

    table: pa.Table
    rejects: Rejects = field(default_factory=Rejects)


@dataclass(frozen=True)
class RowLayout:
    """The shape of the rows of a file: the number of columns, and their names where rows do not have them."""

    width: int
    names: tuple[str, ...] | None = None


Beginning: TypeAlias = Callable[[int], "pa.Buffer"]
"""Gives the beginning of a file: whole lines of it, or bytes where it has none; more with each attempt, counted from 0."""
BEGINNING_LINES = (1_000, 100_000)
BEGINNING_BYTES = (1 << 20, 1 << 26)


@dataclass(frozen=True)
class DataFile:
    """A file to read: its name as people know it, how to read it, and how many columns are wanted, where that is known.

    `data` is a part of the file that was read by others; it consists of whole rows. `names` are its columns, where the row that
    says so is not in the data.
    """

    path: Path
    options: ReadOptions
    arity: int | None = None
    data: pa.Buffer | None = None
    names: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return str(self.path)

    def buffer(self) -> pa.Buffer:
        """Return its bytes, mapped into memory where that is possible."""
        import pyarrow as pa

        if self.data is not None:
            return self.data
        try:
            if self.path.is_file() and self.path.stat().st_size:
                with pa.memory_map(self.name) as mapped:
                    return mapped.read_buffer()
            return pa.py_buffer(self.path.read_bytes())
        except OSError as error:
            raise self.unreadable(error) from None

    def text(self) -> pa.Buffer:
        """Return its bytes without the byte order mark that a text may start with."""
        return without_byte_order_mark(self.buffer()) if self.data is None else self.data

    def unreadable(self, error: OSError) -> ProgramError:
        message = f"cannot read {self.path}: {error.strerror or error}"
        return ProgramError([Diagnostic(catalogue.UNREADABLE_DATA, message, self.options.span)])

    def broken(self, message: str) -> ProgramError:
        return ProgramError([Diagnostic(catalogue.BROKEN_DATA, f"{self.path}: {message}", self.options.span)])


def without_byte_order_mark(data: pa.Buffer) -> pa.Buffer:
    """Return the bytes of a text after the byte order mark that it may start with."""
    start = memoryview(data)[: len(_BOM)].tobytes()  # Arrow's bytes are signed, and equal no others beyond ASCII
    return data.slice(len(_BOM)) if start == _BOM else data


def read_file(path: Path, options: ReadOptions, arity: int | None = None) -> Loaded:
    """Return the rows of a file as a table; `arity` is how many columns they should have, where that is known.

    Raise `ProgramError` where the file as a whole cannot be read.
    """
    form = format_of(path, options.format, options.span)
    check_options(form, options)
    return form.read(DataFile(path, options, arity))


def read_pieces(path: Path, options: ReadOptions, arity: int | None = None) -> Iterator[Loaded]:
    """Like `read_file`, in one or more tables for callers that need not have all rows at once; each has all rejects so far."""
    form = format_of(path, options.format, options.span)
    check_options(form, options)
    yield from form.pieces(DataFile(path, options, arity))


def check_options(form: Format, options: ReadOptions) -> None:
    """Raise `ProgramError` for an option that means nothing for a format."""
    for name in ("header", "delimiter", "types", "columns", "base", *DATABASE):
        if getattr(options, name) and name not in form.options:
            raise options.error(f"'{name}' does not apply to {form} files")


def is_utf8(data: Any) -> bool:
    """Return whether a buffer is UTF-8; Arrow finds that out at the speed of memory."""
    import pyarrow as pa

    buffer = pa.py_buffer(data)
    bounds = pa.py_buffer(struct.pack("=qq", 0, buffer.size))
    try:
        pa.LargeStringArray.from_buffers(1, bounds, buffer).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
