"""Lines on their way through a task: Arrow batches, each line with its file and block, as pieces of plain text.

The readers of data files take text and not lines, and they take a lot of it at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

PIECE = 1 << 23
"""Bytes of text that are read together."""


@dataclass(frozen=True)
class Piece:
    """Some lines of a block of a file, in order; a block is what one task reads of a file."""

    file: int
    block: int
    data: pa.Buffer
    is_first: bool
    """No piece of the block came before this one."""
    is_last: bool


def pieces(batches: Iterable[pa.RecordBatch], size: int = PIECE) -> Iterator[Piece]:
    """Pieces of about `size` bytes from batches of the columns text (with its line break), file and block."""
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
    """The bytes of rows that follow each other."""
    is_large = pa.types.is_large_binary(texts.type)
    _, offsets, data = texts.buffers()
    bounds: Any = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    first, last = int(bounds[texts.offset + start]), int(bounds[texts.offset + stop])
    return data.slice(first, last - first) if data is not None else pa.py_buffer(b"")
