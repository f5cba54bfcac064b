"""csv, tsv and facts files: Arrow's reader with the line of every rejected row, and a writer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Universe
from corollary.io.formats import Format
from corollary.io.lines import Lines, cannot_write, join_texts, texts_of
from corollary.io.options import ReadOptions
from corollary.io.read import Beginning, DataFile, Loaded, RowLayout, is_utf8
from corollary.io.rejects import LISTED, Rejects
from corollary.language import print_value
from corollary.language.cells import CELLS, IRIS, MEANING, TERMS
from corollary.language.literals import LiteralError, typed_value
from corollary.program import Structure, Value
from corollary.program.values import XSD

# -- typed -------------------------------------------------------------------------------------------------------------

# Columns of text whose type was declared: what becomes of them, and which cells are not of that type.

_INTEGER = r"[+-]?[0-9]{1,1000}"
_DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DOUBLE = rf"{_DECIMAL}(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN"
_IRI = r'[^\x00-\x20<>"{}|^`\\]+'
_NAMES = {"integer": "an integer", "iri": "an IRI"}


@dataclass(frozen=True)
class Converted:
    """A column and the meaning of its strings; `wrong` marks the cells that are not of the type, None if there are none."""

    column: pa.ChunkedArray
    meaning: bytes | None
    wrong: np.ndarray[Any, np.dtype[np.bool_]] | None = None

    def field(self, name: str) -> pa.Field:
        return pa.field(name, self.column.type, metadata={MEANING: self.meaning} if self.meaning else None)


def article(name: str) -> str:
    """`an integer`, `a date`."""
    return _NAMES.get(name, f"a {name}")


def convert(column: pa.ChunkedArray, name: str) -> Converted:
    """Convert a column of text to a type. Cells that are not of the type get an arbitrary value."""
    match name:
        case "any":
            return Converted(column, CELLS)
        case "string":
            return Converted(column, None)
        case "integer":
            return _integers(column)
        case "decimal":
            return _checked(column, _DECIMAL, "0", CELLS, _canonical_number)
        case "double":
            return _checked(column, _DOUBLE, "0", None, _doubles)
        case "boolean":
            return _checked(column, "true|false|1|0", "0", None, lambda texts: pc.is_in(texts, pa.array(["true", "1"])))
        case "iri":
            return _checked(column, _IRI, "x", IRIS, lambda texts: texts)
        case _:
            return _temporal(column, name)


def _checked(column: pa.ChunkedArray, form: str, instead: str, meaning: bytes | None, make: Any) -> Converted:
    right = pc.match_substring_regex(column, f"^(?:{form})$")
    if pc.all(right).as_py() is not False:
        return Converted(make(column), meaning)
    wrong = ~right.to_numpy().astype(np.bool_)
    return Converted(make(pc.if_else(right, column, instead)), meaning, wrong)


def _integers(column: pa.ChunkedArray) -> Converted:
    if not pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py():  # Arrow would take 0x1F for a number
        try:
            return Converted(pc.cast(column, pa.int64()), None)
        except pa.ArrowInvalid:
            pass
    return _checked(column, _INTEGER, "0", CELLS, _canonical_number)


def _canonical_number(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The form in which cells are recognised: no plus sign, no zeros in front, digits on both sides of a point."""
    texts = pc.utf8_ltrim(texts, "+")
    texts = pc.replace_substring_regex(texts, r"\.$", "")
    texts = pc.replace_substring_regex(texts, r"^(-?)0*(\.|[0-9])", r"\1\2")
    texts = pc.replace_substring_regex(texts, r"^(-?)\.", r"\10.")  # group 1, then "0."
    return pc.if_else(pc.equal(texts, "-0"), "0", texts)


def _doubles(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(pc.utf8_ltrim(texts, "+"), pa.float64())


def _temporal(column: pa.ChunkedArray, name: str) -> Converted:
    """Return dates and times as literals; each different text is checked once."""
    datatype = XSD + name
    texts = pc.utf8_trim_whitespace(column)
    distinct = pc.unique(texts)
    right = pa.array([_is_valid(text, datatype) for text in distinct.to_pylist()], pa.bool_())
    terms = pc.binary_join_element_wise('"', texts, f'"^^<{datatype}>', "")
    if pc.all(right).as_py() is not False:
        return Converted(terms, TERMS)
    wrong = pc.is_in(texts, distinct.filter(pc.invert(right)))
    terms = pc.if_else(wrong, '""', terms)
    return Converted(terms, TERMS, wrong.to_numpy().astype(np.bool_))


def _is_valid(text: str, datatype: str) -> bool:
    try:
        typed_value(text, datatype)
    except LiteralError:
        return False
    return re.search(r'["\\]', text) is None


# -- delimited ---------------------------------------------------------------------------------------------------------

_BLOCK = 1 << 23
_BYTES = "latin-1"  # every byte is a character of it
_PARALLEL = 1 << 26  # bytes from which on threads pay; with them, Arrow does not number the rows that it rejects


def read(file: DataFile, form: Format) -> Loaded:
    """Return the rows of a text file. Quotes have a meaning in csv files only."""
    return _DelimitedReader(file, delimiter_of(file.options, form), quoted=form.has_quotes).read()


def layout(file: DataFile, form: Format, beginning: Beginning) -> RowLayout:
    """Return the columns of the first row, with the names that a header gives them."""
    options = file.options
    if file.arity is not None and not options.header and not options.columns:
        return RowLayout(file.arity)
    head = beginning(0)
    known = read(replace(file, data=head), form).table  # complains about options that do not fit
    if not options.header:
        return RowLayout(known.num_columns)
    cells, _ = first_record(head, delimiter_of(options, form), quoted=form.has_quotes)
    return RowLayout(known.num_columns, tuple(cells))


def delimiter_of(options: ReadOptions, form: Format) -> str:
    return options.delimiter or form.delimiter or ","


def first_record(data: pa.Buffer, delimiter: str, *, quoted: bool) -> tuple[list[str], int]:
    """The cells of the first row that is not blank, and where the next one starts."""
    plain = rb"[^%b\r\n]*+" % re.escape(delimiter.encode())
    cell = rb'(?:"(?:[^"]++|"")*+"?%b|%b)' % (plain, plain) if quoted else plain
    record = rb"[\r\n]*+(%b(?:%b%b)*+)(?:\r\n?|\n|\Z)" % (cell, re.escape(delimiter.encode()), cell)
    found = re.match(record, memoryview(data))
    if found is None or not found[1]:
        return [], len(data)
    cells = re.findall(rb"(?:\A|%b)(%b)" % (re.escape(delimiter.encode()), cell), bytes(found[1]))
    texts = [one.decode("utf-8", "replace") for one in cells]
    return [_unquoted(text) for text in texts] if quoted else texts, found.end()


class _DelimitedReader:
    def __init__(self, file: DataFile, delimiter: str, *, quoted: bool) -> None:
        self._file = file
        self._delimiter = delimiter
        self._quoted = quoted
        self._data = file.text()
        self._rejects = Rejects()
        self._is_bytes = not is_utf8(self._data)

    def read(self) -> Loaded:
        header, width = self._shape()
        if self._file.arity == 0 and not header:
            return self._propositional()
        if not width or not len(self._data):
            return Loaded(self._empty(header))
        names = header or [f"a{position}" for position in range(1, width + 1)]
        table, rows = self._parse(width)
        table, rows = self._drop_open_quote(table, rows)
        table, rows = self._drop_undecodable(table, rows)
        table = self._chosen(table.rename_columns(names), header)
        table = self._converted(table, rows)
        return Loaded(table, self._rejects.in_order())

    # -- shape -------------------------------------------------------------------------------------------------------

    def _shape(self) -> tuple[list[str] | None, int]:
        """The names of the columns, if the file has them, and the number of columns of a row."""
        options, arity = self._file.options, self._file.arity
        if self._file.names is not None:
            self._skipped_lines = 0
            return list(self._file.names), len(self._file.names)
        if options.header:
            from corollary.io.lines import line_count

            cells, end = self._first_record()
            self._skipped_lines = int(line_count(np.frombuffer(self._data[:end], np.uint8)))
            self._data = self._data.slice(end)
            return cells, len(cells)
        self._skipped_lines = 0
        if options.columns:
            raise options.error("'columns' needs column names", "use header = true if the first row names the columns")
        if arity is not None:
            return None, arity
        return None, len(options.types) if options.types else len(self._first_record()[0])

    def _first_record(self) -> tuple[list[str], int]:
        return first_record(self._data, self._delimiter, quoted=self._quoted)

    def _empty(self, header: list[str] | None) -> pa.Table:
        names = header or [f"a{position}" for position in range(1, (self._file.arity or 0) + 1)]
        table = pa.table([pa.array([], pa.string())] * len(names), names=names)
        return self._chosen(table, header)

    def _propositional(self) -> Loaded:
        """Read a predicate without arguments, which holds if there is a line `()`."""
        found = 0
        for number, line in enumerate(bytes(self._data).splitlines(), 1):
            if line.strip() == b"()":
                found = 1
            elif line:
                self._rejects.add(self._file.name, number, "expected ()", line.decode("utf-8", "replace"))
        return Loaded(pa.table({"": [0] * found}).select([]), self._rejects)

    # -- rows --------------------------------------------------------------------------------------------------------

    def _parse(self, width: int) -> tuple[pa.Table, _RowNumbers]:
        """The rows of the right width as columns of text, with their numbers.

        Arrow wants the text of a row that it rejects to be UTF-8. A file that is not is read byte by byte, each of them a
        character; what its cells hold is found out later.
        """
        parallel = len(self._data) > _PARALLEL
        block = _BLOCK
        while True:
            wrong: list[Any] = []
            try:
                table = self._read_csv(width, wrong, parallel=parallel, block=block)
            except pa.ArrowInvalid as error:
                if "straddling" in str(error) and block < len(self._data):  # one row is larger than a block
                    block = min(len(self._data) + 1, (1 << 31) - 1)
                else:
                    raise self._file.broken(str(error)) from None
                continue
            if wrong and parallel:
                parallel = False
                continue
            break
        numbers = _RowNumbers(self, table.num_rows, [row.number for row in wrong])
        for row in wrong[:LISTED]:
            reason = f"{_columns(row.actual_columns)}, expected {width}"
            text = row.text.encode(_BYTES).decode("utf-8", "replace") if self._is_bytes else row.text
            self._rejects.add(self._file.name, numbers.line_of_record(row.number), reason, text)
        self._rejects.count(self._file.name, len(wrong[LISTED:]))
        return table, numbers

    def _read_csv(self, width: int, wrong: list[Any], *, parallel: bool, block: int) -> pa.Table:
        names = [str(position) for position in range(width)]

        def reject(row: Any) -> str:
            wrong.append(row)
            return "skip"

        return pa_csv.read_csv(
            pa.BufferReader(self._data),
            pa_csv.ReadOptions(
                column_names=names,
                use_threads=parallel,
                block_size=block,
                encoding=_BYTES if self._is_bytes else "utf8",
            ),
            pa_csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char='"' if self._quoted else False,
                newlines_in_values=self._quoted and self._has_quotes,
                invalid_row_handler=reject,
            ),
            pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
        )

    def _drop_open_quote(self, table: pa.Table, rows: _RowNumbers) -> tuple[pa.Table, _RowNumbers]:
        """Arrow takes the end of the file for the end of a quote."""
        if not (self._quoted and self._has_quotes) or self.records[2] < 0:
            return table, rows
        return self._without(table, rows, rows.records == self.records[2], lambda row: "a quote is never closed")

    def _drop_undecodable(self, table: pa.Table, rows: _RowNumbers) -> tuple[pa.Table, _RowNumbers]:
        if not self._is_bytes:
            return table, rows
        columns = [_decoded(column.to_pylist()) for column in table.columns]
        wrong = np.array([None in row for row in zip(*columns, strict=True)], np.bool_)
        table = pa.table([pa.array(column, pa.string()) for column in columns], names=table.column_names)
        return self._without(table, rows, wrong, lambda row: "this is not valid UTF-8")

    def _without(self, table: pa.Table, rows: _RowNumbers, wrong: Any, reason: Any) -> tuple[pa.Table, _RowNumbers]:
        places = np.flatnonzero(wrong)
        for row in places[:LISTED].tolist():
            record = int(rows.records[row])
            line = rows.line_of_record(record + 1)
            self._rejects.add(self._file.name, line, reason(row), self._text(record))
        self._rejects.count(self._file.name, len(places[LISTED:]))
        if not len(places):
            return table, rows
        return table.filter(pa.array(~wrong)), rows.without(wrong)

    def _chosen(self, table: pa.Table, header: list[str] | None) -> pa.Table:
        columns = self._file.options.columns
        if not columns or header is None:
            return table
        for name in columns:
            if header.count(name) != 1:
                what = "no column" if name not in header else "more than one column"
                raise self._file.options.error(
                    f"{self._file.path} has {what} '{name}'", f"its columns are {', '.join(header)}"
                )
        return table.select([header.index(name) for name in columns])

    def _converted(self, table: pa.Table, rows: _RowNumbers) -> pa.Table:
        types = self._file.options.types or ("any",) * table.num_columns
        if len(types) != table.num_columns:
            message = f"there are types for {_columns(len(types))}, but {self._file.path} has {table.num_columns}"
            raise self._file.options.error(message)
        found = [convert(column, name) for column, name in zip(table.columns, types, strict=True)]
        fields = [one.field(name) for one, name in zip(found, table.column_names, strict=True)]
        converted = pa.table([one.column for one in found], schema=pa.schema(fields))
        wrong = np.zeros(table.num_rows, np.bool_)
        for one in found:
            if one.wrong is not None:
                wrong |= one.wrong
        if not wrong.any():
            return converted

        def reason(row: int) -> str:
            place = next(place for place, one in enumerate(found) if one.wrong is not None and one.wrong[row])
            return f"'{table.column(place)[row].as_py()[:60]}' in column {place + 1} is not {article(types[place])}"

        return self._without(converted, rows, wrong, reason)[0]

    # -- lines -------------------------------------------------------------------------------------------------------

    @cached_property
    def _has_quotes(self) -> bool:
        view = np.frombuffer(self._data, np.uint8)
        return any((view[start : start + _BLOCK] == ord('"')).any() for start in range(0, len(view), _BLOCK))

    @cached_property
    def records(self) -> tuple[Any, Any, int]:
        from corollary.io.lines import record_lines

        quote = ord('"') if self._quoted else -1
        lines, starts, open_record = record_lines(np.frombuffer(self._data, np.uint8), ord(self._delimiter), quote)
        return lines + self._skipped_lines, starts, open_record

    def _text(self, record: int) -> str:
        _, starts, _ = self.records
        start = int(starts[record])
        stop = int(starts[record + 1]) if record + 1 < len(starts) else len(self._data)
        return bytes(self._data[start : min(stop, start + 1000)]).decode("utf-8", "replace").rstrip("\r\n")


class _RowNumbers:
    """The record of the file that each row of a table comes from, computed when needed."""

    def __init__(self, reader: _DelimitedReader, count: int, rejected: list[int], records: Any = None) -> None:
        self._reader = reader
        self.count = count
        self._rejected = rejected
        if records is not None:
            self.records = records

    @cached_property
    def records(self) -> Any:
        everything = np.arange(self.count + len(self._rejected))
        return np.delete(everything, np.array(self._rejected, np.int64) - 1)

    def without(self, wrong: Any) -> _RowNumbers:
        kept = self.records[~wrong]
        return _RowNumbers(self._reader, len(kept), self._rejected, kept)

    def line_of_record(self, number: int) -> int:
        """Of the record with this number, counted from 1."""
        return int(self._reader.records[0][number - 1])


def _unquoted(cell: str) -> str:
    return (
        re.sub(r'"((?:[^"]|"")*)"?', lambda quoted: quoted[1].replace('""', '"'), cell, count=1)
        if cell[:1] == '"'
        else cell
    )


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _decoded(cells: list[str]) -> list[str | None]:
    """The texts of cells whose characters stand for bytes; None where those are no UTF-8."""
    return [cell if cell.isascii() else _text_of(cell.encode(_BYTES)) for cell in cells]


def _text_of(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


# -- writing -----------------------------------------------------------------------------------------------------------


def lines(
    form: Format, names: Sequence[str], *, target: object, predicate: str | None = None, header: bool = False
) -> Lines:
    """Return the rows of a relation as lines of cells, of which those of csv files may be in quotes."""
    kind = _QuotedLines if form.has_quotes else _PlainLines
    return kind(names, target=target, predicate=predicate, header=header)


class _QuotedLines(Lines):
    delimiter = ","

    @property
    def first_line(self) -> str | None:
        return self.delimiter.join(self.names) if self.header else None

    def rows(self, universe: Universe, columns: list[Codes]) -> pa.Array:
        return join_texts(*(self.cells(universe, codes) for codes in columns), separator=self.delimiter)

    def cells(self, universe: Universe, codes: Codes) -> pa.Array:
        return _quoted(texts_of(universe, codes, cell_text), alone=len(self.names) == 1)


class _PlainLines(_QuotedLines):
    delimiter = "\t"

    def cells(self, universe: Universe, codes: Codes) -> pa.Array:
        texts = texts_of(universe, codes, cell_text)
        if pc.any(pc.match_substring_regex(texts, "[\t\r\n]")).as_py():
            hint = "write a csv file, which has quotes"
            raise cannot_write(f"{self.target}: a tsv file cannot hold a string with a tab or a line break", hint)
        return texts


def cell_text(value: Value) -> str:
    """Return the text of a constant in a cell: numbers and booleans are read back as such, everything else as a string."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if math.isfinite(value):
            text = repr(value)
            return text if "e" in text else f"{text}e0"
        case float():
            return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
        case Decimal():
            return format(value, "f")
        case Structure() | tuple():
            return print_value(value)
        case _:
            return str(value)


def _quoted(texts: pa.Array, *, alone: bool) -> pa.Array:
    """Quote a cell if csv needs it; a single empty cell is quoted, because it would be an empty line."""
    needed = pc.match_substring_regex(texts, '[",\r\n]|^$' if alone else '[",\r\n]')
    if not pc.any(needed).as_py():
        return texts
    return pc.if_else(needed, join_texts('"', pc.replace_substring(texts, '"', '""'), '"'), texts)
