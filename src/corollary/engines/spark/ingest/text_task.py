"""The task that reads text: pieces of csv, tsv, JSON lines, N-Triples, N-Quads or Turtle as rows of ids.

The readers are those of `sources`. What they say about a piece (which line was rejected, and why) is told with the file and the
block of the piece; the driver knows what a file is called, and on which line of it a block starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.ingest.encoding import TaskEncoder
from corollary.engines.spark.ingest.pieces import Piece, pieces
from corollary.engines.spark.ingest.rows import RowMaker
from corollary.engines.spark.terms.ids import NO_COLLISIONS, CollisionTable
from corollary.sources.formats import Format
from corollary.sources.options import ReadOptions
from corollary.sources.read import DataFile, read_data
from corollary.sources.rejects import Rejects

THIS_FILE = "\x00"
"""Stands for the name of a file in messages of tasks."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class ReadText:
    """How to read text of which each piece has whole lines. `width` is the number of columns that come out.

    A quoted cell of a csv file may hold line breaks. A row that is not finished at the end of a piece is kept for the next one. A
    block that ends inside a quote says so: the next one starts in the middle of a row, and the file must be read in one block.
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
    """Reads one block."""

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
        """The rows that are complete with this piece, None where there are none yet, and whether a quote is open at its end."""
        self._unread.append(piece.data)
        left = len(self._rest) if self._rest is not None else 0
        if left > sum(map(len, self._unread)) and not piece.is_last:
            return None, True  # looking through a long cell again for each piece would take the square of its length
        data = self._unread[0] if len(self._unread) == 1 and not left else _joined(self._rest, *self._unread)
        self._unread, self._rest = [], None
        if self._how.form is not Format.CSV or not _has(data, b'"'):
            return data, False
        from corollary.sources.delimited import delimiter_of
        from corollary.sources.records import record_lines

        view = np.frombuffer(data, np.uint8)
        _, starts, unfinished = record_lines(view, ord(delimiter_of(self._how.options, self._how.form)), ord('"'))
        if unfinished < 0 or piece.is_last:
            return data, unfinished >= 0
        cut = int(starts[unfinished])
        self._rest = data.slice(cut)
        return (data.slice(0, cut) if cut else None), True

    def _behind_header(self, data: pa.Buffer) -> pa.Buffer:
        """What follows the row that names the columns, which must be the same in all files of a load."""
        how = self._how
        if memoryview(data)[: len(_BOM)] == _BOM:
            data = data.slice(len(_BOM))
        if how.form not in (Format.CSV, Format.TSV) or not how.options.header:
            return data
        from corollary.sources.delimited import delimiter_of, first_record

        cells, end = first_record(data, delimiter_of(how.options, how.form), quoted=how.form is Format.CSV)
        if cells and tuple(cells) != how.names:
            message = f"{THIS_FILE}: its columns are {', '.join(cells)}, and those of other files {', '.join(how.names or ())}"
            raise ProgramError([Diagnostic(catalogue.BROKEN_DATA, message)])
        self._lines += self._line_count(data.slice(0, end))
        return data.slice(end)

    def _line_count(self, data: pa.Buffer) -> int:
        """As the readers count: a carriage return ends a line of a table only."""
        view = np.frombuffer(data, np.uint8)
        if self._how.form not in (Format.CSV, Format.TSV):
            return int(np.count_nonzero(view == ord("\n")))
        from corollary.sources.records import line_count

        return int(line_count(view))

    def _read(self, data: pa.Buffer) -> Iterator[pa.RecordBatch]:
        how = self._how
        loaded = read_data(DataFile(Path(THIS_FILE), how.options, how.width, data, how.names), how.form)
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
        is_numbered = self._how.form is not Format.TURTLE
        lines = [self._lines + one.line if is_numbered else 0 for one in listed]
        yield self._maker.rejects(
            self._file, self._start, lines, [one.reason for one in listed], [one.text for one in listed]
        )
        if more := len(rejects) - len(listed):
            yield self._maker.unlisted(self._file, self._start, more)


def _joined(*parts: pa.Buffer | None) -> pa.Buffer:
    return pa.py_buffer(b"".join(part for part in parts if part is not None))


def _has(data: pa.Buffer, sign: bytes) -> bool:
    return bool((np.frombuffer(data, np.uint8) == sign[0]).any())
