"""N-Triples, N-Quads and Turtle as tables of terms: subject, predicate, object, and the graph where it is asked for.

Blank nodes become IRIs of the form `_:label`. A label belongs to the knowledge base, not to the file: the same label in two
files is the same node. Nodes without a label get one that depends on the contents of their file only. Relative IRIs are
resolved against the option `base`; without one they stay as they are written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.diagnostics.packages import optional_package
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.tables import kinds_of, text_column
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.io.delimited import cell_text
from corollary.io.formats import NQUADS, NTRIPLES, TURTLE, Format
from corollary.io.lines import Lines, cannot_write, join_texts, plain_texts, texts_of
from corollary.io.read import Beginning, DataFile, Loaded, RowLayout, is_utf8
from corollary.io.rejects import LISTED, Rejects
from corollary.io.relative_iris import as_written, with_absolute_iris, without_marks
from corollary.language import print_value
from corollary.language.cells import MEANING, SMALL_INTEGER, TERMS, term_value
from corollary.language.literals import LiteralError
from corollary.program import Iri, Literal, Structure, Value, datatype_of
from corollary.program.values import RDF

_NAMES = ("subject", "predicate", "object", "graph")
_NO_GRAPH = '""'  # the empty string stands for the default graph
_PIECE = 1 << 25
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_ABSOLUTE = re.compile(r'(?:[A-Za-z][A-Za-z0-9+.-]*|_):[^\x00-\x20<>"{}|^`\\]*')
_GENERATED = re.compile(r"_:[0-9a-f]{20,32}")


def read(file: DataFile, form: Format) -> Loaded:
    """Return the triples of a file, or quads of four columns where four are wanted and the format has them."""
    if form == TURTLE:
        columns = _turtle(file)
        return _valid(file, _table(columns), np.zeros(len(columns[0]), np.int64), Rejects())
    return _Lines(file, form, _width(file, form)).read()


def layout(file: DataFile, form: Format, beginning: Beginning) -> RowLayout:
    """Return the columns that `read` gives; nothing of the file says more."""
    return RowLayout(_width(file, form))


def _width(file: DataFile, form: Format) -> int:
    return 4 if form == NQUADS and file.arity == 4 else 3


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
        has_text = is_utf8(self._data)
        first = 1
        for piece in _pieces(self._data):
            for table, numbers in self._read_piece(piece, has_text):
                tables.append(table)
                lines.append(numbers + first - 1)
            first += int(np.count_nonzero(piece == ord("\n")))
        return _valid(self._file, pa.concat_tables(tables), np.concatenate(lines), self._rejects)

    def _read_piece(self, piece: Any, has_text: bool) -> Iterator[tuple[pa.Table, Any]]:
        from corollary.io.triples import read_lines

        most, relative = 4 if self._form == NQUADS else 3, self._file.options.base is None
        numbers, terms, bounds = read_lines(piece, most, not has_text, relative)
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


def _pieces(data: Any) -> Iterator[Any]:
    """Return parts of some megabytes that end with a line."""
    start = 0
    while start < len(data):
        stop = min(len(data), start + _PIECE)
        while stop < len(data) and data[stop - 1] != ord("\n"):
            ends = np.flatnonzero(data[stop : stop + _PIECE] == ord("\n"))
            stop = stop + int(ends[0]) + 1 if len(ends) else min(len(data), stop + _PIECE)
        yield data[start:stop]
        start = stop


def _gather(piece: Any, bounds: Any) -> pa.Array:
    from corollary.io.triples import gather_texts

    texts, offsets = gather_texts(piece, np.ascontiguousarray(bounds))
    return pa.LargeStringArray.from_buffers(len(bounds), pa.py_buffer(offsets), pa.py_buffer(texts))


def _parsed(file: DataFile, text: bytes, form: Format) -> Iterator[Sequence[str]]:
    """The statements of a text as subject, predicate, object and graph; raises `SyntaxError`."""
    oxigraph = _oxigraph(file)
    formats = {
        NTRIPLES: oxigraph.RdfFormat.N_TRIPLES,
        NQUADS: oxigraph.RdfFormat.N_QUADS,
        TURTLE: oxigraph.RdfFormat.TURTLE,
    }
    text = with_absolute_iris(text, file.options.base, oxigraph)
    for quad in oxigraph.parse(text, format=formats[form]):
        if isinstance(quad.object, oxigraph.Triple):
            raise SyntaxError("a triple cannot be a term here")
        graph = _NO_GRAPH if isinstance(quad.graph_name, oxigraph.DefaultGraph) else str(quad.graph_name)
        yield tuple(map(as_written, (str(quad.subject), str(quad.predicate), str(quad.object), graph)))


def _oxigraph(file: DataFile) -> Any:
    with optional_package("pyoxigraph", f"reading {file.path}", file.options.span):
        import pyoxigraph
    return pyoxigraph


def _reason(error: SyntaxError) -> str:
    return without_marks(re.sub(r"^Parser error .*?: ", "", error.msg))


# -- Turtle --------------------------------------------------------------------------------------------------------------


def _turtle(file: DataFile) -> list[pa.Array]:
    text = bytes(file.text())
    try:
        rows = list(_parsed(file, text, TURTLE))
    except SyntaxError as error:
        raise file.broken(f"line {error.lineno}: {_reason(error)}") from None
    columns = list(zip(*rows, strict=True))[:3] if rows else [()] * 3
    labels = _labels(text, columns)
    return [pa.array([labels.get(term, term) for term in column], pa.large_string()) for column in columns]


def _labels(text: bytes, columns: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return labels for the nodes that have none in the text: the parser's own are random."""
    written = {f"_:{label}" for label in re.findall(r"_:([\w.-]+)", text.decode())}
    made = hashlib.sha256(text).hexdigest()[:12]
    nodes = dict.fromkeys(term for column in columns for term in column if _GENERATED.fullmatch(term))
    return {node: f"_:{made}-{number}" for number, node in enumerate(n for n in nodes if n not in written)}


# -- writing -----------------------------------------------------------------------------------------------------------


def lines(
    form: Format, names: Sequence[str], *, target: object, predicate: str | None = None, header: bool = False
) -> Lines:
    """Return facts as triples: those of three columns, and those of one or two of a predicate whose name is an IRI."""
    return _TripleLines(names, target=target, predicate=predicate, header=header)


class _TripleLines(Lines):
    def rows(self, universe: Universe, columns: list[Codes]) -> pa.Array:
        return self._triples([self._terms(universe, codes) for codes in columns])

    def _triples(self, terms: list[Any]) -> pa.Array:
        name = self.predicate or ""
        if len(terms) == 3:
            self._check_iris(terms[0], blank=True)
            self._check_iris(terms[1], blank=False)
        elif len(terms) in (1, 2) and _ABSOLUTE.fullmatch(name) and name[0] != "_":
            self._check_iris(terms[0], blank=True)
            iri, is_a = print_iri(name), print_iri(RDF + "type")
            terms = [terms[0], is_a, iri] if len(terms) == 1 else [terms[0], iri, terms[1]]
        else:
            hint = "three columns are triples, and facts with one or two arguments of a predicate whose name is an IRI"
            raise cannot_write(f"{self.target}: these facts are no triples", hint)
        return join_texts(*terms, ".", separator=" ")

    def _terms(self, universe: Universe, codes: Codes) -> pa.Array:
        if kinds_of(universe, codes) == {Kind.IRI}:
            texts = text_column(universe, codes).cast(pa.large_string())
            if pc.all(pc.match_substring_regex(texts, f"^(?:{_ABSOLUTE.pattern})$")).as_py() and not pc.any(
                pc.starts_with(texts, "_:")
            ):
                return join_texts("<", texts, ">")
        plain = plain_texts(universe, codes, Kind.STRING, '["\\\\\n\r\t]')
        return join_texts('"', plain, '"') if plain is not None else texts_of(universe, codes, self._ntriples, ())

    def _ntriples(self, value: Value) -> str:
        is_term = not isinstance(value, (Structure, tuple))
        if not is_term or (isinstance(value, Iri) and not _ABSOLUTE.fullmatch(value.value)):
            raise cannot_write(f"{self.target}: {print_value(value)[:60]} is no RDF term")
        return ntriples_term(value)

    def _check_iris(self, terms: pa.Array, *, blank: bool) -> None:
        wrong = terms.filter(pc.invert(pc.match_substring_regex(terms, "^<|^_:" if blank else "^<")))
        if len(wrong):
            place = "the subject" if blank else "the predicate"
            raise cannot_write(f"{self.target}: {wrong[0].as_py()[:60]} cannot be {place} of a triple: it is no IRI")


def print_iri(iri: str) -> str:
    if iri.startswith("_:"):
        return iri
    escaped = _NOT_IN_IRI.sub(lambda match: f"\\u{ord(match.group()):04X}", iri)
    return f"<{escaped}>"


def ntriples_term(value: Value) -> str:
    if isinstance(value, Iri):
        return print_iri(value.value)
    quoted = '"' + cell_text(value).translate(_ESCAPES) + '"'
    if isinstance(value, str):
        return quoted
    if isinstance(value, Literal) and value.language:
        return f"{quoted}@{value.language}"
    return f"{quoted}^^{print_iri(datatype_of(value))}"


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
