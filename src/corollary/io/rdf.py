"""N-Triples, N-Quads and Turtle as tables of terms: subject, predicate, object, and the graph where it is asked for.

Blank nodes become IRIs of the form `_:label`. A label belongs to the knowledge base, not to the file: the same label in two
files is the same node. Nodes without a label get one that depends on the contents of their file only. Relative IRIs are
resolved against the option `base`; without one they stay as they are written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corollary.diagnostics.packages import optional_package
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.tables import kinds_of, text_column
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.io.delimited import cell_text
from corollary.io.formats import NQUADS, NTRIPLES, TURTLE, Format
from corollary.io.lines import Lines, cannot_write, join_texts, plain_texts, texts_of
from corollary.io.read import Beginning, DataFile, Loaded, RowLayout, is_utf8
from corollary.io.rejects import LISTED, Rejects
from corollary.language import print_value
from corollary.language.cells import MEANING, SMALL_INTEGER, TERMS, term_value
from corollary.language.literals import LiteralError
from corollary.program import Iri, Literal, Structure, Value, datatype_of
from corollary.program.values import RDF

# -- triples -----------------------------------------------------------------------------------------------------------

# Lines of N-Triples and N-Quads in their plain form: IRIs, blank nodes, and literals without escapes.
#
# Most lines of most files are plain, and this takes a hundredth of the time of a parser that makes an object for each term.
# What is not plain is left to that parser, which also says what is wrong with a line.

_LF, _CR, _TAB, _SPACE, _QUOTE, _HASH = 10, 13, 9, 32, 34, 35
_PLUS, _MINUS, _DOT, _SLASH, _COLON, _LESS, _GREATER, _QUESTION, _AT = 43, 45, 46, 47, 58, 60, 62, 63, 64
_BACKSLASH, _CARET, _UNDERSCORE = 92, 94, 95


@njit(inline="always")
def _is_letter(byte: int) -> bool:
    return 65 <= byte <= 90 or 97 <= byte <= 122


@njit(inline="always")
def _is_alphanumeric(byte: int) -> bool:
    return _is_letter(byte) or 48 <= byte <= 57


@njit(inline="always")
def _is_iri_sign(byte: int) -> bool:
    """Whether a character may stand anywhere in an IRI: ! $ & ' ( ) * + , - . / ; = ? @ _ ~ (but not %, which needs digits)."""
    return byte in (33, 36) or 38 <= byte <= 47 or byte in (59, 61, 63, 64, 95, 126)


@njit
def _iri_end(data: Any, at: int, stop: int, relative: bool) -> Any:
    """The place after the IRI that starts here, or -1; only with `relative` it may have no scheme."""
    if at + 1 >= stop or data[at] != _LESS or not _is_letter(data[at + 1]):
        return -1
    has_scheme, may_be_scheme, in_first_part, has_fragment = False, True, True, False
    for place in range(at + 1, stop):
        byte = data[place]
        if byte == _GREATER:
            return place + 1 if has_scheme or relative else -1
        if byte == _COLON:
            if in_first_part and not has_scheme:
                if not may_be_scheme:
                    return -1
                has_scheme = True
            continue
        if byte == _HASH:
            if has_fragment:
                return -1
            has_fragment = True
        elif not (_is_alphanumeric(byte) or byte > 127 or _is_iri_sign(byte)):
            return -1
        may_be_scheme = may_be_scheme and (_is_alphanumeric(byte) or byte in (_PLUS, _MINUS, _DOT))
        in_first_part = in_first_part and byte not in (_SLASH, _QUESTION, _HASH)
    return -1


@njit
def _blank_end(data: Any, at: int, stop: int) -> Any:
    if at + 2 >= stop or data[at + 1] != _COLON or not (_is_alphanumeric(data[at + 2]) or data[at + 2] == _UNDERSCORE):
        return -1
    place = at + 3
    while place < stop and (_is_alphanumeric(data[place]) or data[place] in (_UNDERSCORE, _MINUS)):
        place += 1
    return place


@njit
def _literal_end(data: Any, at: int, stop: int, relative: bool) -> Any:
    place = at + 1
    while place < stop and data[place] != _QUOTE:
        if data[place] == _BACKSLASH:
            return -1
        place += 1
    place += 1
    if place > stop:
        return -1
    if place + 1 < stop and data[place] == _CARET and data[place + 1] == _CARET:
        return _iri_end(data, place + 2, stop, relative)
    if place < stop and data[place] == _AT:
        start = place + 1
        place = start
        while place < stop and (_is_letter(data[place]) or (place > start and _is_tag_part(data, place))):
            place += 1
        return place if place > start and data[place - 1] != _MINUS else -1
    return place


@njit(inline="always")
def _is_tag_part(data: Any, place: int) -> Any:
    return 48 <= data[place] <= 57 or (data[place] == _MINUS and data[place - 1] != _MINUS)


@njit
def _term_end(data: Any, at: int, stop: int, position: int, relative: bool) -> Any:
    """The place after the term at this position of a line (subject 0, predicate 1, object 2, graph 3), or -1."""
    if at >= stop:
        return -1
    if data[at] == _LESS:
        return _iri_end(data, at, stop, relative)
    if data[at] == _UNDERSCORE and position != 1:
        return _blank_end(data, at, stop)
    if data[at] == _QUOTE and position == 2:
        return _literal_end(data, at, stop, relative)
    return -1


@njit
def _skip_space(data: Any, at: int, stop: int) -> int:
    while at < stop and (data[at] == _SPACE or data[at] == _TAB):
        at += 1
    return at


@njit
def _read_line(data: Any, at: int, stop: int, most: int, relative: bool, bounds: Any) -> int:
    """Write the bounds of the terms of a line; return how many there are, 0 for an empty line, -1 for one that is not plain."""
    at = _skip_space(data, at, stop)
    if at == stop or data[at] == _HASH:
        return 0
    for position in range(most + 1):
        if at < stop and data[at] == _DOT and position >= 3:
            at = _skip_space(data, at + 1, stop)
            return position if at == stop or data[at] == _HASH else -1
        end = _term_end(data, at, stop, position, relative) if position < most else -1
        if end < 0:
            return -1
        bounds[2 * position], bounds[2 * position + 1] = at, end
        at = _skip_space(data, end, stop)
    return -1


@njit(cache=True, nogil=True)
def read_lines(data: Any, most: int, ascii_only: bool, relative: bool) -> Any:
    """For each line with a statement its number (from 1), the number of its terms, and their bounds in `data`.

    A line that is not plain has -1 terms, and the bounds of the line. With `relative`, an IRI without a scheme is plain, too.
    """
    size = len(data)
    count = 1
    for at in range(size):
        if data[at] == _LF:
            count += 1
    numbers = np.empty(count, np.int64)
    terms = np.empty(count, np.int8)
    bounds = np.zeros((count, 8), np.int64)
    found = 0
    start = 0
    for number in range(1, count + 1):
        stop = start
        plain = True
        while stop < size and data[stop] != _LF:
            plain = plain and not (ascii_only and data[stop] > 127)
            stop += 1
        end = stop - 1 if stop > start and data[stop - 1] == _CR else stop
        read = _read_line(data, start, end, most, relative, bounds[found]) if plain else -1
        if read != 0:
            numbers[found], terms[found] = number, read
            if read < 0:
                bounds[found, 0], bounds[found, 1] = start, end
            found += 1
        start = stop + 1
    return numbers[:found], terms[:found], bounds[:found]


@njit(cache=True, nogil=True)
def gather_texts(data: Any, bounds: Any) -> Any:
    """The texts between the bounds one after the other, and where each of them starts."""
    count = len(bounds)
    offsets = np.zeros(count + 1, np.int64)
    for i in range(count):
        offsets[i + 1] = offsets[i] + bounds[i, 1] - bounds[i, 0]
    texts = np.empty(max(offsets[count], 1), np.uint8)
    for i in range(count):
        place, start = offsets[i], bounds[i, 0]
        for b in range(bounds[i, 1] - start):
            texts[place + b] = data[start + b]
    return texts, offsets


# -- relative iris -----------------------------------------------------------------------------------------------------

# IRIs without a scheme in RDF: resolved against a base, or kept as they are written where there is none.
#
# The parser knows absolute IRIs only. Before it sees a text, relative IRIs get a scheme of their own, or the base; that
# scheme is taken off again from the terms that it gives back.

_SCHEME = "corollary-no-base:"
_TOKEN = re.compile(
    rb'"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'|"(?:[^"\\\n\r]|\\.)*"|\'(?:[^\'\\\n\r]|\\.)*\''
    rb"|#[^\n\r]*|\\.|(?P<base>(?:@base|(?<![\w:.@-])[Bb][Aa][Ss][Ee])\s*)?<(?P<iri>[^\x00-\x20<>\"{}|^`]*)>",
    re.DOTALL,
)
"""Strings and comments, in which nothing is an IRI, and IRIs."""
_WITH_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*:")
_RELATIVE = re.compile(rb"[^:/?#]*(?:[/?#].*)?\Z", re.DOTALL)
_MARKED = re.compile(rf'(\A|"\^\^)<{_SCHEME}([^"<>]*>)\Z')


def with_absolute_iris(text: bytes, base: str | None, oxigraph: Any) -> bytes:
    """Return the text with each relative IRI resolved against the base, or marked where there is none.

    From a `@base` of the text on, the parser resolves them itself.
    """
    has_own_base = False

    def one(match: re.Match[bytes]) -> bytes:
        nonlocal has_own_base
        iri = match["iri"]
        if iri is None or has_own_base:
            return match[0]
        if match["base"] is not None:
            has_own_base = True
        if _WITH_SCHEME.match(iri) or not _RELATIVE.match(iri):
            return match[0]
        whole = _resolved(iri, base, oxigraph) if base is not None else _SCHEME.encode() + iri
        return (match["base"] or b"") + b"<" + whole + b">"

    return _TOKEN.sub(one, text)


def as_written(term: str) -> str:
    """Return a term of the parser with the relative IRI that its text has.

    >>> as_written("<corollary-no-base:turbine_1>"), as_written('"5"^^<corollary-no-base:metres>')
    ('<turbine_1>', '"5"^^<metres>')
    """
    return _MARKED.sub(r"\1<\2", term) if _SCHEME in term else term


def without_marks(message: str) -> str:
    """Return what the parser says about a text in the words of that text."""
    return message.replace(_SCHEME, "")


@lru_cache(maxsize=4096)
def _resolved(iri: bytes, base: str, oxigraph: Any) -> bytes:
    """Return the absolute IRI; one that cannot be resolved stays as it is, and the parser says why."""
    try:
        (quad,) = oxigraph.parse(b"<> <> <" + iri + b"> .", format=oxigraph.RdfFormat.TURTLE, base_iri=base)
    except (SyntaxError, ValueError):
        return iri
    return str(quad.object.value).encode()


# -- rdf ---------------------------------------------------------------------------------------------------------------

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
            hint = "facts with three arguments are triples; so are facts with one or two arguments if the predicate is an IRI"
            raise cannot_write(f"{self.target}: these facts are not triples", hint)
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
            raise cannot_write(f"{self.target}: {print_value(value)[:60]} is not an RDF term")
        return ntriples_term(value)

    def _check_iris(self, terms: pa.Array, *, blank: bool) -> None:
        wrong = terms.filter(pc.invert(pc.match_substring_regex(terms, "^<|^_:" if blank else "^<")))
        if len(wrong):
            place = "the subject" if blank else "the predicate"
            raise cannot_write(
                f"{self.target}: {wrong[0].as_py()[:60]} cannot be {place} of a triple: it is not an IRI"
            )


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
