"""Reading a data file: which reader it takes, and what all of them need."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.sources.formats import Format, format_of
from corollary.sources.options import ReadOptions
from corollary.sources.rejects import Rejects

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Loaded:
    """The rows of a file that can be loaded, and those that cannot."""

    table: pa.Table
    rejects: Rejects = field(default_factory=Rejects)


@dataclass(frozen=True)
class DataFile:
    """A file to read: its name as people know it, how to read it, and how many columns are wanted, where that is known."""

    path: Path
    options: ReadOptions
    arity: int | None = None

    @property
    def name(self) -> str:
        return str(self.path)

    def buffer(self) -> pa.Buffer:
        """Its bytes, mapped into memory where that is possible."""
        import pyarrow as pa

        try:
            if self.path.is_file() and self.path.stat().st_size:
                with pa.memory_map(self.name) as mapped:
                    return mapped.read_buffer()
            return pa.py_buffer(self.path.read_bytes())
        except OSError as error:
            raise self.unreadable(error) from None

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
    _check_options(form, options)
    file = DataFile(path, options, arity)
    match form:
        case Format.CSV | Format.TSV:
            from corollary.sources.delimited import read_delimited

            return read_delimited(file, form)
        case Format.PARQUET:
            from corollary.sources.parquet import read_parquet

            return read_parquet(file)
        case Format.JSON:
            from corollary.sources.json_lines import read_json_lines

            return read_json_lines(file)
        case _:
            from corollary.sources.rdf import read_rdf

            return read_rdf(file, form)


def _check_options(form: Format, options: ReadOptions) -> None:
    tables, texts = (Format.CSV, Format.TSV, Format.PARQUET, Format.JSON), (Format.CSV, Format.TSV)
    for name, given, forms in (
        ("header", options.header, texts),
        ("delimiter", options.delimiter, texts),
        ("types", options.types, texts),
        ("columns", options.columns, tables),
    ):
        if given and form not in forms:
            raise options.error(f"'{name}' says nothing about a file of the format {form}")
