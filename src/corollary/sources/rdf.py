"""N-Triples, N-Quads and Turtle as tables of terms: subject, predicate, object, and the graph where it is asked for.

Blank nodes become IRIs of the form `_:label`. A label belongs to the knowledge base, not to the file: the same label in two
files is the same node. Nodes without a label get one that depends on the contents of their file only.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.language.cells import MEANING, SMALL_INTEGER, TERMS, term_value
from corollary.language.literals import LiteralError
from corollary.sources.formats import Format
from corollary.sources.read import DataFile, Loaded
from corollary.sources.rejects import LISTED, Rejects

_NAMES = ("subject", "predicate", "object", "graph")
_NO_GRAPH = '""'  # the empty string stands for the default graph
_PIECE = 1 << 25
_GENERATED = re.compile(r"_:[0-9a-f]{20,32}")


def read_rdf(file: DataFile, form: Format) -> Loaded:
    """The triples of a file; four columns are given where four are wanted and the format has them."""
    width = 4 if form is Format.NQUADS and file.arity == 4 else 3
    if form is Format.TURTLE:
        columns = _turtle(file)
        return _valid(file, _table(columns), np.zeros(len(columns[0]), np.int64), Rejects())
    return _Lines(file, form, width).read()


def _table(columns: Iterable[pa.Array]) -> pa.Table:
    arrays = list(columns)
    fields = [pa.field(name, pa.large_string(), metadata={MEANING: TERMS}) for name in _NAMES[: len(arrays)]]
    return pa.Table.from_arrays([array.cast(pa.large_string()) for array in arrays], schema=pa.schema(fields))


def _valid(file: DataFile, table: pa.Table, lines: Any, rejects: Rejects) -> Loaded:
    """Without the rows whose object its datatype does not allow."""
    objects = table.column("object").combine_chunks()
    typed = objects.filter(pc.and_(pc.starts_with(objects, '"'), pc.ends_with(objects, ">")))
    typed = pc.unique(typed.filter(pc.invert(pc.match_substring_regex(typed, SMALL_INTEGER))))
    reasons = {text: reason for text in typed.to_pylist() if (reason := _mistake(text))}
    if reasons:
        wrong = pc.is_in(objects, pa.array(list(reasons), pa.large_string())).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(wrong)[:LISTED].tolist():
            text = " ".join(str(column[row]) for column in table.columns) + " ."
            rejects.add(file.name, int(lines[row]), reasons[objects[row].as_py()], text)
        rejects.count(file.name, max(0, int(wrong.sum()) - LISTED))
        table = table.filter(pa.array(~wrong))
    return Loaded(table, rejects.in_order())


def _mistake(text: str) -> str | None:
    try:
        term_value(text)
    except LiteralError as error:
        return str(error)
    return None


# -- N-Triples and N-Quads -------------------------------------------------------------------------------------------


class _Lines:
    """Reads a file of lines piece by piece: plain lines by a kernel, the others by pyoxigraph."""

    def __init__(self, file: DataFile, form: Format, width: int) -> None:
        self._file = file
        self._form = form
        self._width = width
        self._rejects = Rejects()
        self._data = np.frombuffer(file.text(), np.uint8)

    def read(self) -> Loaded:
        tables, lines = [_table([pa.array([], pa.string())] * self._width)], [np.zeros(0, np.int64)]
        is_utf8 = _is_utf8(self._data)
        first = 1
        for piece in _pieces(self._data):
            for table, numbers in self._read_piece(piece, is_utf8):
                tables.append(table)
                lines.append(numbers + first - 1)
            first += int(np.count_nonzero(piece == ord("\n")))
        return _valid(self._file, pa.concat_tables(tables), np.concatenate(lines), self._rejects)

    def _read_piece(self, piece: Any, is_utf8: bool) -> Iterator[tuple[pa.Table, Any]]:
        from corollary.sources.triples import read_lines

        numbers, terms, bounds = read_lines(piece, 4 if self._form is Format.NQUADS else 3, not is_utf8)
        plain = terms > 0
        columns = [_gather(piece, bounds[plain, 2 * place : 2 * place + 2]) for place in range(self._width)]
        if self._width == 4:
            columns[3] = pc.if_else(pa.array(terms[plain] == 4), columns[3], pa.scalar(_NO_GRAPH, pa.large_string()))
        yield _table(columns), numbers[plain]
        if not plain.all():
            yield self._parse(piece, numbers[~plain], bounds[~plain, :2])

    def _parse(self, piece: Any, numbers: Any, bounds: Any) -> tuple[pa.Table, Any]:
        """The statements of lines that are not plain; those that are none are rejected."""
        rows: list[Sequence[str]] = []
        places: list[int] = []
        for number, (start, stop) in zip(numbers.tolist(), bounds.tolist(), strict=True):
            line = piece[start:stop].tobytes()
            try:
                found = list(_parsed(self._file, line, self._form))
            except SyntaxError as error:
                self._rejects.add(self._file.name, number, _reason(error), line.decode("utf-8", "replace"))
                continue
            rows += found
            places += [number] * len(found)
        columns = list(zip(*rows, strict=True)) if rows else [()] * 4
        table = _table(pa.array(column, pa.large_string()) for column in columns[: self._width])
        return table, np.array(places, np.int64)


def _is_utf8(data: Any) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _PIECE):
            decoder.decode(data[start : start + _PIECE].tobytes(), final=start + _PIECE >= len(data))
    except UnicodeDecodeError:
        return False
    return True


def _pieces(data: Any) -> Iterator[Any]:
    """Parts of some megabytes that end with a line."""
    start = 0
    while start < len(data):
        stop = min(len(data), start + _PIECE)
        while stop < len(data) and data[stop - 1] != ord("\n"):
            ends = np.flatnonzero(data[stop : stop + _PIECE] == ord("\n"))
            stop = stop + int(ends[0]) + 1 if len(ends) else min(len(data), stop + _PIECE)
        yield data[start:stop]
        start = stop


def _gather(piece: Any, bounds: Any) -> pa.Array:
    from corollary.sources.triples import gather_texts

    texts, offsets = gather_texts(piece, np.ascontiguousarray(bounds))
    return pa.LargeStringArray.from_buffers(len(bounds), pa.py_buffer(offsets), pa.py_buffer(texts))


def _parsed(file: DataFile, text: bytes, form: Format) -> Iterator[Sequence[str]]:
    """The statements of a text as subject, predicate, object and graph; raises `SyntaxError`."""
    oxigraph = _oxigraph(file)
    formats = {
        Format.NTRIPLES: oxigraph.RdfFormat.N_TRIPLES,
        Format.NQUADS: oxigraph.RdfFormat.N_QUADS,
        Format.TURTLE: oxigraph.RdfFormat.TURTLE,
    }
    for quad in oxigraph.parse(text, format=formats[form]):
        if isinstance(quad.object, oxigraph.Triple):
            raise SyntaxError("a triple cannot be a term here")
        graph = _NO_GRAPH if isinstance(quad.graph_name, oxigraph.DefaultGraph) else str(quad.graph_name)
        yield str(quad.subject), str(quad.predicate), str(quad.object), graph


def _oxigraph(file: DataFile) -> Any:
    try:
        import pyoxigraph
    except ImportError:
        message = f"reading {file.path} needs the package pyoxigraph"
        hint = "pip install 'corollary[rdf]'"
        raise ProgramError([Diagnostic(catalogue.MISSING_PACKAGE, message, file.options.span, hint)]) from None
    return pyoxigraph


def _reason(error: SyntaxError) -> str:
    return re.sub(r"^Parser error .*?: ", "", error.msg)


# -- Turtle --------------------------------------------------------------------------------------------------------------


def _turtle(file: DataFile) -> list[pa.Array]:
    text = bytes(file.text())
    try:
        rows = list(_parsed(file, text, Format.TURTLE))
    except SyntaxError as error:
        raise file.broken(f"line {error.lineno}: {_reason(error)}") from None
    columns = list(zip(*rows, strict=True))[:3] if rows else [()] * 3
    labels = _labels(text, columns)
    return [pa.array([labels.get(term, term) for term in column], pa.large_string()) for column in columns]


def _labels(text: bytes, columns: Iterable[Sequence[str]]) -> dict[str, str]:
    """Labels for the nodes that have none in the text: the parser's own are random."""
    written = {f"_:{label}" for label in re.findall(r"_:([\w.-]+)", text.decode())}
    made = hashlib.sha256(text).hexdigest()[:12]
    nodes = dict.fromkeys(term for column in columns for term in column if _GENERATED.fullmatch(term))
    return {node: f"_:{made}-{number}" for number, node in enumerate(n for n in nodes if n not in written)}
