"""The formats of data files: one entry each, with the module that reads and writes it, and the names of files.

Adding a format is a module and an entry in `FORMATS`. Both engines use what the module has:

    read(file, form)                            the rows of a file, or of a part of one; every format has it
    pieces(file, form)                          the rows some at a time, where that takes less memory
    layout(file, form, beginning)               the columns, known from the beginning of a file: for tasks of Spark
    frame(spark, place, options)                the rows as Spark's own reader gives them, for `Division.COLUMNS` and `TABLE`
    schema(path)                                the columns that a file declares, for `Division.COLUMNS`
    lines(form, names, …)                       rows as lines of text; or, for a format that is none:
    write_tables(tables, schema, path, predicate)       tables of Arrow after each other into one new file
    check_parts(schema, target)                 refuses columns that Spark's own writer loses
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue, did_you_mean
from corollary.program.arities import SizedName

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from corollary.io.framed_files import FramedFiles
    from corollary.io.lines import Lines
    from corollary.io.options import ReadOptions
    from corollary.io.places import InputPlace
    from corollary.io.read import Beginning, DataFile, Loaded, RowLayout
    from corollary.results import Result


class Division(Enum):
    """How the files of a format are divided among the tasks of Spark."""

    ROWS = "pieces of whole lines, where a quoted cell may hold line breaks"
    LINES = "pieces of whole lines"
    FILES = "whole files"
    COLUMNS = "by Spark's own reader, which gives columns"
    TABLE = "by the log of a table, which names its files"


@dataclass(frozen=True)
class Format:
    """A format of data files. `options` are those of `ReadOptions` that mean something for it."""

    name: str
    module: str
    """Below `corollary.io`; imported when a file is read or written."""
    division: Division
    endings: tuple[str, ...] = ()
    """Other endings than its name."""
    options: frozenset[str] = frozenset({"columns"})
    is_written: bool = True
    modes: tuple[str, ...] = ()
    """How an output that is there already may be treated; a file without modes is always replaced as a whole."""
    delimiter: str | None = None
    """Between the cells of a row, unless an option says another one."""
    narrows: bool = True
    """Whether files of it know fewer types than Arrow, so that some columns are written as texts."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_rdf(self) -> bool:
        return "base" in self.options

    @property
    def is_delimited(self) -> bool:
        return self.delimiter is not None

    @property
    def has_quotes(self) -> bool:
        """Whether a cell may be in quotes."""
        return self.division is Division.ROWS

    def read(self, file: DataFile) -> Loaded:
        """Return the rows of a file, or of a part of one; raise `ProgramError` where it cannot be read as a whole."""
        loaded: Loaded = self._module.read(file, self)
        return loaded

    def pieces(self, file: DataFile) -> Iterator[Loaded]:
        """Return the rows of a file in one or more tables; each has everything that was rejected so far."""
        pieces = getattr(self._module, "pieces", None)
        if pieces is None or file.path.is_dir():
            yield self.read(file)
        else:
            yield from pieces(file, self)

    def layout(self, file: DataFile, beginning: Beginning) -> RowLayout:
        """Return the columns of a file that tasks of Spark will read.

        `beginning` gives whole lines from the beginning of it, or bytes where the format has no lines: more with each attempt.
        """
        layout: RowLayout = self._module.layout(file, self, beginning)
        return layout

    def frame(self, spark: SparkSession, place: InputPlace, options: ReadOptions) -> FramedFiles:
        """Return the rows of files as Spark's own reader gives them."""
        framed: FramedFiles = self._module.frame(spark, place, options)
        return framed

    def schema(self, path: Path) -> pa.Schema:
        """Return the columns that a file of this format declares, without reading its rows."""
        return self._module.schema(path)

    # -- writing -----------------------------------------------------------------------------------------------------

    @property
    def is_text(self) -> bool:
        """Whether rows are written as lines of text."""
        return hasattr(self._module, "lines")

    def lines(
        self, names: Sequence[str], *, target: object, predicate: str | None = None, header: bool = False
    ) -> Lines:
        """Return what makes lines of the rows of a relation; `target` is what messages call the output."""
        lines: Lines = self._module.lines(self, names, target=target, predicate=predicate, header=header)
        return lines

    def write(self, result: Result, path: Path, *, target: Path, header: bool, predicate: str | None) -> None:
        """Write rows to a new file at `path`, which will take the place of `target`."""
        if self.is_text:
            self.lines(result.variables, target=target, predicate=predicate, header=header).write(result, path)
        else:
            table = self._stored(result.to_arrow())
            self.write_tables([table], table.schema, path, predicate)

    def write_tables(
        self, tables: Iterable[pa.Table], schema: pa.Schema, path: Path, predicate: str | None = None
    ) -> None:
        """Write tables of one schema after each other into a new file of a format that is no text."""
        self._module.write_tables(tables, schema, path, predicate)

    def check_parts(self, schema: pa.Schema, target: object) -> None:
        """Raise `ProgramError` where Spark's own writer would lose what the constants of a column are."""
        if check := getattr(self._module, "check_parts", None):
            check(schema, target)

    def _stored(self, table: pa.Table) -> pa.Table:
        from corollary.engines.embedded.values.tables import narrowed

        return narrowed(table) if self.narrows else table

    @property
    def _module(self) -> Any:
        return import_module(f"corollary.io.{self.module}")


_TEXT = frozenset({"columns", "header", "delimiter", "types"})
_RDF = frozenset({"base"})

CSV = Format("csv", "delimited", Division.ROWS, options=_TEXT, delimiter=",")
TSV = Format("tsv", "delimited", Division.LINES, ("facts",), options=_TEXT, delimiter="\t")
PARQUET = Format("parquet", "parquet", Division.COLUMNS, ("pq",), narrows=False)
JSON = Format("json", "json_lines", Division.LINES, ("jsonl", "ndjson"))
NTRIPLES = Format("nt", "rdf", Division.LINES, options=_RDF)
NQUADS = Format("nq", "rdf", Division.LINES, options=_RDF, is_written=False)
TURTLE = Format("ttl", "rdf", Division.FILES, ("turtle",), options=_RDF, is_written=False)
DELTA = Format("delta", "delta", Division.TABLE, modes=("overwrite", "append", "error"))
ORC = Format("orc", "orc", Division.COLUMNS)
AVRO = Format("avro", "avro", Division.FILES)

FORMATS = {form.name: form for form in (CSV, TSV, PARQUET, JSON, NTRIPLES, NQUADS, TURTLE, DELTA, ORC, AVRO)}
_ENDINGS = {**FORMATS, **{ending: form for form in FORMATS.values() for ending in form.endings}}
_PLAIN = re.compile(r"\w[\w-]*")


def format_of(path: Path, named: str | None = None, span: Span | None = None) -> Format:
    """Return the format that was named, or that the ending of the file's name says; raise `ProgramError` where there is none."""
    word = named if named is not None else path.suffix.removeprefix(".")
    if found := _ENDINGS.get(word.lower()):
        return found
    known = ", ".join(_ENDINGS)
    message = f"there is no format '{word}'" if word else f"the name of {path} has no ending, so its format is unknown"
    if named is None and word:
        message = f"{path} is of an unknown format: no format has the ending '.{word}'"
    hint = did_you_mean(word, _ENDINGS) or f'there are {known}; or give the format, such as format = "csv"'
    raise ProgramError([Diagnostic(catalogue.UNKNOWN_FORMAT, message, span, hint)])


def fact_files(directory: Path) -> Iterator[tuple[str, Path]]:
    """Return the data files of a directory, each with the predicate that its name says, in the order of their names."""
    for path in sorted(directory.iterdir()):
        if path.suffix.removeprefix(".").lower() in _ENDINGS and not path.name.startswith("."):
            is_delta = _ENDINGS[path.suffix.removeprefix(".").lower()] is DELTA
            yield unquote(path.stem.replace("~", "%") if is_delta else path.stem), path


def file_name(predicate: str, form: Format) -> str:
    """Return the name of a predicate's file: `path.csv`, `p_2.csv` for `p/2`; an IRI is percent-encoded.

    The folder of a Delta table has `~` in place of `%`: deltalake decodes the name of a folder once too often.
    """
    if isinstance(predicate, SizedName):
        predicate = "_".join(predicate.rsplit("/", 1))
    stem = predicate if _PLAIN.fullmatch(predicate) else quote(predicate, safe="")
    stem = re.sub("^[.]", "%2E", stem)
    return f"{stem.replace('~', '%7E').replace('%', '~') if form is DELTA else stem}.{form}"
