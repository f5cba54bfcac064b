"""Rows as lines of text: what all formats of text have in common. The writers of files and the tasks of Spark use the same."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.tables import decode_texts, kinds_of, text_column
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.program import Value

if TYPE_CHECKING:
    from corollary.results import Result

_BARE = (Kind.INTEGER, Kind.STRING, Kind.IRI)  # whose texts in a table are those of the universe
_PIECE = 1 << 19  # rows that are turned into text together


class Lines(ABC):
    """The rows of a relation as lines of one format; `names` are its columns, `target` is what messages call the output."""

    unit = "()"
    """The line of the only row without columns."""

    def __init__(self, names: Sequence[str], *, target: object, predicate: str | None, header: bool = False) -> None:
        self.names = tuple(names)
        self.target = target
        self.predicate = predicate
        self.header = header

    @property
    def first_line(self) -> str | None:
        """The line that names the columns, where the format has one and it is asked for."""
        return None

    @abstractmethod
    def rows(self, universe: Universe, columns: list[Codes]) -> pa.Array:
        """Return a line for each row, without its end; there is at least one column."""

    def pieces(self, universe: Universe, rows: Codes) -> Iterator[memoryview | bytes]:
        """The bytes of a whole file, many lines at a time."""
        if self.first_line is not None:
            yield f"{self.first_line}\n".encode()
        for start in range(0, len(rows), _PIECE):
            piece = rows[start : start + _PIECE]
            yield from _bytes(self.of(universe, [piece[:, place] for place in range(len(self.names))], len(piece)))

    def of(self, universe: Universe, columns: Sequence[Codes], count: int) -> pa.Array:
        """A line for each row, without its end."""
        if not self.names:
            return pa.array([self.unit] * count, pa.large_string())
        return self.rows(universe, [np.ascontiguousarray(codes) for codes in columns])

    def write(self, result: Result, path: Path) -> None:
        """Write all rows to a new file."""
        with open(path, "wb") as file:
            for piece in self.pieces(*result.codes):
                file.write(piece)


def texts_of(
    universe: Universe, codes: Codes, text_of: Callable[[Value], str], bare: Collection[Kind] = _BARE
) -> pa.Array:
    return decode_texts(universe, codes, text_of, bare).cast(pa.large_string())


def plain_texts(universe: Universe, codes: Codes, kind: Kind, special: str) -> pa.Array | None:
    """The texts of a column of one kind in which no character needs an escape; None for every other column."""
    if kinds_of(universe, codes) != {kind}:
        return None
    texts = text_column(universe, codes).cast(pa.large_string())
    return None if pc.any(pc.match_substring_regex(texts, special)).as_py() else texts


def join_texts(*parts: pa.Array | str, separator: str = "") -> pa.Array:
    """The texts of each row one after the other; a plain text is the same in every row."""
    kind = pa.large_string()
    columns = [pa.scalar(part, kind) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*columns, pa.scalar(separator, kind))


def _bytes(lines: pa.Array) -> Iterator[memoryview]:
    ended = join_texts(lines, "\n")
    _, offsets, data = ended.buffers()
    if data is not None:
        bounds = np.frombuffer(offsets, np.int64)
        yield memoryview(data)[int(bounds[ended.offset]) : int(bounds[ended.offset + len(ended)])]


def cannot_write(message: str, hint: str | None = None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.UNWRITABLE_FACTS, message, None, hint)])


# -- records -----------------------------------------------------------------------------------------------------------

# The records and lines of text. Asked for only when something is wrong, or when there are quotes or a header.

_LF, _CR = 10, 13


@njit(cache=True, nogil=True)
def record_lines(data: Any, delimiter: int, quote: int) -> Any:
    """The line (from 1) and the byte at which each record that is not blank starts, and the last one with an open quote or -1.

    Quotes count at the start of a field only, as in the parser; `quote` is -1 where there are none.
    """
    size = len(data)
    count = 1
    for at in range(size):
        if data[at] == _LF or data[at] == _CR:
            count += 1
    lines, starts = np.empty(count, np.int64), np.empty(count, np.int64)
    found = 0
    line, start = 1, 0
    at = 0
    first_line = 1
    at_field, quoted = True, False
    while at < size:
        byte = data[at]
        ends = byte in (_LF, _CR)
        if ends:
            if byte == _CR and at + 1 < size and data[at + 1] == _LF:
                at += 1
            line += 1
        if quoted:
            if byte == quote:
                if at + 1 < size and data[at + 1] == quote:
                    at += 1
                else:
                    quoted = False
        elif ends:
            blank = data[start] == _LF or data[start] == _CR
            if not blank:
                lines[found], starts[found] = first_line, start
                found += 1
            first_line, start, at_field = line, at + 1, True
        elif byte == delimiter:
            at_field = True
        else:
            quoted = at_field and byte == quote
            at_field = False
        at += 1
    if start < size:
        lines[found], starts[found] = first_line, start
        found += 1
    return lines[:found], starts[:found], found - 1 if quoted else -1


@njit(cache=True, nogil=True)
def line_count(data: Any) -> Any:
    """The number of line ends, which are written in three ways."""
    count = 0
    for at in range(len(data)):
        if data[at] == _LF or (data[at] == _CR and not (at + 1 < len(data) and data[at + 1] == _LF)):
            count += 1
    return count
