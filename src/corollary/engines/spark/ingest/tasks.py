"""The tasks of a load: pieces of text, and batches of columns, as rows of ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.ingest.rows import RowMaker, TaskEncoder
from corollary.engines.spark.terms.ids import NO_COLLISIONS, CollisionTable
from corollary.io.formats import Format
from corollary.io.options import ReadOptions
from corollary.io.read import DataFile, without_byte_order_mark
from corollary.io.rejects import LISTED, Rejects
from corollary.language.cells import MEANING

# -- text task ---------------------------------------------------------------------------------------------------------

# The task that reads text: pieces of csv, tsv, JSON lines, N-Triples, N-Quads or Turtle as rows of ids.
#
# Lines arrive as Arrow batches and become pieces of plain text, because the readers of `io` take much text at once.
# What a reader says about a piece (which line was rejected, and why) is reported with the file and the block of the
# piece; the driver knows the name of the file and the line on which a block starts.

THIS_FILE = "\x00"
"""The placeholder for the name of a file in messages of tasks."""
PIECE = 1 << 23
"""Bytes of text that are read together."""


@dataclass(frozen=True)
class Piece:
    """Some lines of a block of a file, in order; a block is what one task reads of a file."""

    file: int
    block: int
    data: pa.Buffer
    is_first: bool
    """Whether this is the first piece of its block."""
    is_last: bool


@dataclass(frozen=True)
class ReadText:
    """How to read text in pieces of whole lines. `width` is the number of resulting columns.

    A quoted cell of a csv file may contain line breaks. A row that is incomplete at the end of a piece is kept for the
    next one. A block that ends inside a quote is reported: the next one starts in the middle of a row, so the file must
    be read in one block.
    """

    form: Format
    options: ReadOptions
    width: int
    names: tuple[str, ...] | None = None
    collisions: CollisionTable = NO_COLLISIONS

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.read(pieces(batches))

    def read(self, found: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
        maker = RowMaker(self.width)
        encoder = TaskEncoder(maker, self.collisions)
        block: _Block | None = None
        for piece in found:
            if piece.is_first or block is None:
                block = _Block(self, piece.file, piece.block, maker, encoder)
            yield from block.take(piece)
        yield from encoder.finish()


class _Block:
    """The reading of one block."""

    def __init__(self, how: ReadText, file: int, start: int, maker: RowMaker, encoder: TaskEncoder) -> None:
        self._how = how
        self._file, self._start = file, start
        self._maker, self._encoder = maker, encoder
        self._lines = 0
        self._is_started = self._is_broken = False
        self._rest: pa.Buffer | None = None
        self._unread: list[pa.Buffer] = []

    def take(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        data, is_open = self._whole_rows(piece)
        if data is not None and not self._is_broken:
            try:
                if piece.block == 0 and not self._is_started:
                    data = self._behind_header(data)
                self._is_started = True
                yield from self._read(data)
                self._lines += self._line_count(data)
            except ProgramError as error:
                self._is_broken = True
                yield self._maker.errors(self._file, error)
        if piece.is_last:
            yield self._maker.block(self._file, self._start, self._lines, is_open=is_open)

    def _whole_rows(self, piece: Piece) -> tuple[pa.Buffer | None, bool]:
        """Return the rows that this piece completes, None if there are none yet, and whether a quote is open at its end."""
        self._unread.append(piece.data)
        left = len(self._rest) if self._rest is not None else 0
        if left > sum(map(len, self._unread)) and not piece.is_last:
            return None, True  # searching a long cell again for each piece would take quadratic time
        data = self._unread[0] if len(self._unread) == 1 and not left else _joined(self._rest, *self._unread)
        self._unread, self._rest = [], None
        if not self._how.form.has_quotes or not _has(data, b'"'):
            return data, False
        from corollary.io.delimited import delimiter_of
        from corollary.io.lines import record_lines

        view = np.frombuffer(data, np.uint8)
        _, starts, unfinished = record_lines(view, ord(delimiter_of(self._how.options, self._how.form)), ord('"'))
        if unfinished < 0 or piece.is_last:
            return data, unfinished >= 0
        cut = int(starts[unfinished])
        self._rest = data.slice(cut)
        return (data.slice(0, cut) if cut else None), True

    def _behind_header(self, data: pa.Buffer) -> pa.Buffer:
        """Return the data after the header row, which must be the same in all files of a load."""
        how = self._how
        data = without_byte_order_mark(data)
        if not how.form.is_delimited or not how.options.header:
            return data
        from corollary.io.delimited import delimiter_of, first_record

        cells, end = first_record(data, delimiter_of(how.options, how.form), quoted=how.form.has_quotes)
        if cells and tuple(cells) != how.names:
            message = f"{THIS_FILE}: its columns are {', '.join(cells)}, and those of other files {', '.join(how.names or ())}"
            raise ProgramError([Diagnostic(catalogue.BROKEN_DATA, message)])
        self._lines += self._line_count(data.slice(0, end))
        return data.slice(end)

    def _line_count(self, data: pa.Buffer) -> int:
        """Return the number of lines as readers count them: only in tables does a carriage return end a line."""
        view = np.frombuffer(data, np.uint8)
        if not self._how.form.is_delimited:
            return int(np.count_nonzero(view == ord("\n")))
        from corollary.io.lines import line_count

        return int(line_count(view))

    def _read(self, data: pa.Buffer) -> Iterator[pa.RecordBatch]:
        how = self._how
        loaded = how.form.read(DataFile(Path(THIS_FILE), how.options, how.width, data, how.names))
        yield from self._rejected(loaded.rejects)
        if loaded.table.num_rows:
            try:
                yield from self._encoder.table(loaded.table)
            except ValueError as error:
                raise ProgramError([Diagnostic(catalogue.BAD_ROW, f"{THIS_FILE}: {error}")]) from None

    def _rejected(self, rejects: Rejects) -> Iterator[pa.RecordBatch]:
        if not len(rejects):
            return
        listed = list(rejects)
        lines = [self._lines + one.line for one in listed]
        yield self._maker.rejects(
            self._file, self._start, lines, [one.reason for one in listed], [one.text for one in listed]
        )
        if more := len(rejects) - len(listed):
            yield self._maker.unlisted(self._file, self._start, more)


def _joined(*parts: pa.Buffer | None) -> pa.Buffer:
    return pa.py_buffer(b"".join(part for part in parts if part is not None))


def _has(data: pa.Buffer, sign: bytes) -> bool:
    return bool((np.frombuffer(data, np.uint8) == sign[0]).any())


# -- lines as pieces of text ----------------------------------------------------------------------------------------------


def pieces(batches: Iterable[pa.RecordBatch], size: int = PIECE) -> Iterator[Piece]:
    """Yield pieces of about `size` bytes from batches of the columns text (with its line break), file and block."""
    blocks = _Pieces(size)
    for batch in batches:
        if batch.num_rows:
            yield from blocks.take(batch)
    yield from blocks.finish()


class _Pieces:
    def __init__(self, size: int) -> None:
        self._size = size
        self._key: tuple[int, int] | None = None
        self._is_first = True
        self._parts: list[pa.Buffer] = []
        self._held = 0

    def take(self, batch: pa.RecordBatch) -> Iterator[Piece]:
        texts, files, blocks = batch.columns[0], batch.columns[1].to_numpy(), batch.columns[2].to_numpy()
        starts = np.flatnonzero((np.diff(files, prepend=~files[:1]) != 0) | (np.diff(blocks, prepend=~blocks[:1]) != 0))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(files)], strict=True):
            key = (int(files[start]), int(blocks[start]))
            if key != self._key:
                yield from self.finish()
                self._key, self._is_first = key, True
            elif self._held >= self._size:
                yield self._piece(is_last=False)
            part = _bytes(texts, start, stop)
            self._parts.append(part)
            self._held += len(part)

    def finish(self) -> Iterator[Piece]:
        if self._key is not None:
            yield self._piece(is_last=True)
            self._key = None

    def _piece(self, *, is_last: bool) -> Piece:
        assert self._key is not None
        data = self._parts[0] if len(self._parts) == 1 else pa.py_buffer(b"".join(self._parts))
        piece = Piece(*self._key, data, self._is_first, is_last)
        self._parts, self._held, self._is_first = [], 0, False
        return piece


def _bytes(texts: pa.Array, start: int, stop: int) -> pa.Buffer:
    """Return the bytes of consecutive rows."""
    is_large = pa.types.is_large_binary(texts.type)
    _, offsets, data = texts.buffers()
    bounds: Any = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    first, last = int(bounds[texts.offset + start]), int(bounds[texts.offset + stop])
    return data.slice(first, last - first) if data is not None else pa.py_buffer(b"")


# -- columns task ------------------------------------------------------------------------------------------------------

_ROWS = 1 << 17  # encoded together


@dataclass(frozen=True)
class ReadColumns:
    """How to read columns. `meanings` are those of texts; with `lists_nulls`, rows with a null are listed, not only
    counted.

    With `is_unit`, the only column tells that a predicate without arguments holds.
    """

    names: tuple[str, ...]
    meanings: tuple[bytes | None, ...]
    lists_nulls: bool
    is_unit: bool = False
    collisions: CollisionTable = NO_COLLISIONS

    @property
    def width(self) -> int:
        return 0 if self.is_unit else len(self.names)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        maker = RowMaker(self.width)
        encoder = TaskEncoder(maker, self.collisions)
        listed = 0
        for table in _tables(batches):
            try:
                wrong, reasons = _nulls(table, self.names)
                if len(wrong):
                    here = reasons[: max(0, LISTED - listed)] if self.lists_nulls else []
                    listed += len(here)
                    yield maker.rejects(0, 0, [0] * len(here), here, [""] * len(here))
                    if len(wrong) > len(here):
                        yield maker.unlisted(0, 0, len(wrong) - len(here))
                    kept = np.ones(table.num_rows, np.bool_)
                    kept[wrong] = False
                    table = table.filter(pa.array(kept))
                if table.num_rows:
                    yield from encoder.table(self._described(table))
            except ValueError as error:
                yield maker.errors(0, ProgramError([Diagnostic(catalogue.BAD_ROW, f"{THIS_FILE}: {error}")]))
                return
        yield from encoder.finish()

    def _described(self, table: pa.Table) -> pa.Table:
        if self.is_unit:
            return table.select([])
        fields, columns = [], []
        for place, (name, meaning) in enumerate(zip(self.names, self.meanings, strict=True)):
            column = in_utc(table.column(place))
            fields.append(pa.field(name, column.type, metadata={MEANING: meaning} if meaning else None))
            columns.append(column)
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if count >= _ROWS:
            yield pa.Table.from_batches(held).combine_chunks()
            held, count = [], 0
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def _nulls(table: pa.Table, names: tuple[str, ...]) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[str]]:
    """Return the rows with a null, and the reason why each of them is rejected."""
    first = np.full(table.num_rows, len(names))
    for place in reversed(range(len(names))):
        column = table.column(place)
        if column.null_count:
            first[pc.is_null(column).to_numpy().astype(np.bool_)] = place
    wrong = np.flatnonzero(first < len(names))
    return wrong, [f"column '{names[place]}' is null" for place in first[wrong].tolist()]


def in_utc(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column without the session's time zone, which Spark adds to points in time."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz not in (None, "UTC"):
        return column.cast(pa.timestamp(kind.unit, "UTC"))
    return column
