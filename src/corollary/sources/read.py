"""Reading a data file: which reader it takes, and what all of them need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.sources.formats import Format, format_of
from corollary.sources.options import DATABASE, ReadOptions
from corollary.sources.rejects import Rejects

if TYPE_CHECKING:
    import pyarrow as pa

_BOM = b"\xef\xbb\xbf"


@dataclass
class Loaded:
    """The rows of a file that can be loaded, and those that cannot."""

    table: pa.Table
    rejects: Rejects = field(default_factory=Rejects)


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
        """Its bytes, mapped into memory where that is possible."""
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
        """Its bytes without the byte order mark that a text may start with."""
        buffer = self.buffer()
        return buffer.slice(len(_BOM)) if self.data is None and memoryview(buffer)[: len(_BOM)] == _BOM else buffer

    def unreadable(self, error: OSError) -> ProgramError:
        message = f"cannot read {self.path}: {error.strerror or error}"
        return ProgramError([Diagnostic(catalogue.UNREADABLE_DATA, message, self.options.span)])

    def broken(self, message: str) -> ProgramError:
        return ProgramError([Diagnostic(catalogue.BROKEN_DATA, f"{self.path}: {message}", self.options.span)])


def read_file(path: Path, options: ReadOptions, arity: int | None = None) -> Loaded:
    """The rows of a file as a table; `arity` is how many columns they should have, where that is known.

    Raises `ProgramError` where the file as a whole cannot be read.
    """
    form = format_of(path, options.format, options.span)
    check_options(form, options)
    return read_data(DataFile(path, options, arity), form)


def read_pieces(path: Path, options: ReadOptions, arity: int | None = None) -> Iterator[Loaded]:
    """The same in one or more tables, for those who need not have all rows at once; each tells all that was rejected so far."""
    form = format_of(path, options.format, options.span)
    check_options(form, options)
    file = DataFile(path, options, arity)
    if form is not Format.PARQUET or path.is_dir():
        yield read_data(file, form)
        return
    from corollary.sources.parquet import parquet_pieces

    yield from parquet_pieces(file)


def read_data(file: DataFile, form: Format) -> Loaded:
    """The rows of a file of that format, or of a part of it.

    >>> import pyarrow as pa
    >>> part = DataFile(Path("seen.csv"), ReadOptions(header=True), data=pa.py_buffer(b"ann,3\\n"), names=("who", "times"))
    >>> read_data(part, Format.CSV).table.to_pylist()
    [{'who': 'ann', 'times': '3'}]
    """
    match form:
        case Format.CSV | Format.TSV:
            from corollary.sources.delimited import read_delimited

            return read_delimited(file, form)
        case Format.PARQUET:
            from corollary.sources.parquet import read_parquet

            return read_parquet(file)
        case Format.DELTA:
            from corollary.sources.delta import read_delta

            return read_delta(file)
        case Format.JSON:
            from corollary.sources.json_lines import read_json_lines

            return read_json_lines(file)
        case _:
            from corollary.sources.rdf import read_rdf

            return read_rdf(file, form)


def check_options(form: Format, options: ReadOptions) -> None:
    """Raises `ProgramError` for an option that means nothing for a format."""
    texts = (Format.CSV, Format.TSV)
    tables = (*texts, Format.PARQUET, Format.DELTA, Format.JSON)
    for name, given, forms in (
        ("header", options.header, texts),
        ("delimiter", options.delimiter, texts),
        ("types", options.types, texts),
        ("columns", options.columns, tables),
        *((name, getattr(options, name), ()) for name in DATABASE),
    ):
        if given and form not in forms:
            raise options.error(f"'{name}' says nothing about a file of the format {form}")
