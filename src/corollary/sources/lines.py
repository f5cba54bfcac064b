"""Rows as lines of text: csv, tsv, JSON lines and N-Triples. The writers of files and the tasks of Spark use the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.embedded.relation import Codes
from corollary.engines.embedded.tables import decode_texts, kinds_of, text_column
from corollary.engines.embedded.universe import Kind, Universe
from corollary.language import print_value
from corollary.program import Iri, Literal, Structure, Value, datatype_of
from corollary.program.values import RDF
from corollary.sources.formats import Format
from corollary.sources.json_lines import json_text

_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_ABSOLUTE = re.compile(r'(?:[A-Za-z][A-Za-z0-9+.-]*|_):[^\x00-\x20<>"{}|^`\\]*')
_BARE = (Kind.INTEGER, Kind.STRING, Kind.IRI)  # whose texts in a table are those of the universe
_PIECE = 1 << 19  # rows that are turned into text together


class Lines:
    """The rows of a relation as lines of one format; `names` are its columns, `target` is what messages call the output."""

    def __init__(
        self, form: Format, names: Sequence[str], *, target: object, predicate: str | None, header: bool = False
    ) -> None:
        self._form = form
        self._names = tuple(names)
        self._target = target
        self._predicate = predicate
        self._header = header

    @property
    def first_line(self) -> str | None:
        """The line that names the columns, where the format has one and it is asked for."""
        if not self._header or self._form not in (Format.CSV, Format.TSV):
            return None
        return ("," if self._form is Format.CSV else "\t").join(self._names)

    def pieces(self, universe: Universe, rows: Codes) -> Iterator[memoryview | bytes]:
        """The bytes of a whole file, many lines at a time."""
        if self.first_line is not None:
            yield f"{self.first_line}\n".encode()
        for start in range(0, len(rows), _PIECE):
            piece = rows[start : start + _PIECE]
            yield from _joined(self.of(universe, [piece[:, place] for place in range(len(self._names))], len(piece)))

    def of(self, universe: Universe, columns: Sequence[Codes], count: int) -> pa.Array:
        """A line for each row, without its end."""
        if not self._names:
            return pa.array(["[]" if self._form is Format.JSON else "()"] * count, pa.large_string())
        return self._lines(universe, [np.ascontiguousarray(codes) for codes in columns])

    def _lines(self, universe: Universe, columns: list[Codes]) -> pa.Array:
        match self._form:
            case Format.CSV:
                cells = [_quoted(_texts(universe, codes, cell_text), alone=len(columns) == 1) for codes in columns]
                return _join(*cells, separator=",")
            case Format.TSV:
                return _join(*(self._tabbed(universe, codes) for codes in columns), separator="\t")
            case Format.JSON:
                cells = [_json_texts(universe, codes) for codes in columns]
                if self._header:
                    cells = [_join(f"{json_text(name)}: ", cell) for name, cell in zip(self._names, cells, strict=True)]
                opening, closing = "{}" if self._header else "[]"
                return _join(opening, _join(*cells, separator=", "), closing)
            case _:
                return self._triples([self._terms(universe, codes) for codes in columns])

    def _tabbed(self, universe: Universe, codes: Codes) -> pa.Array:
        texts = _texts(universe, codes, cell_text)
        if pc.any(pc.match_substring_regex(texts, "[\t\r\n]")).as_py():
            hint = "write a csv file, which has quotes"
            raise cannot_write(f"{self._target}: a tsv file cannot hold a text with a tab or a line break", hint)
        return texts

    def _triples(self, terms: list[Any]) -> pa.Array:
        name = self._predicate or ""
        if len(terms) == 3:
            self._check_iris(terms[0], blank=True)
            self._check_iris(terms[1], blank=False)
        elif len(terms) in (1, 2) and _ABSOLUTE.fullmatch(name) and name[0] != "_":
            self._check_iris(terms[0], blank=True)
            iri, is_a = print_iri(name), print_iri(RDF + "type")
            terms = [terms[0], is_a, iri] if len(terms) == 1 else [terms[0], iri, terms[1]]
        else:
            hint = "three columns are triples, and facts with one or two arguments of a predicate whose name is an IRI"
            raise cannot_write(f"{self._target}: these facts are no triples", hint)
        return _join(*terms, ".", separator=" ")

    def _terms(self, universe: Universe, codes: Codes) -> pa.Array:
        if kinds_of(universe, codes) == {Kind.IRI}:
            texts = text_column(universe, codes).cast(pa.large_string())
            if pc.all(pc.match_substring_regex(texts, f"^(?:{_ABSOLUTE.pattern})$")).as_py() and not pc.any(
                pc.starts_with(texts, "_:")
            ):
                return _join("<", texts, ">")
        plain = _plain_texts(universe, codes, Kind.STRING, '["\\\\\n\r\t]')
        return _join('"', plain, '"') if plain is not None else _texts(universe, codes, self._ntriples, ())

    def _ntriples(self, value: Value) -> str:
        is_term = not isinstance(value, (Structure, tuple))
        if not is_term or (isinstance(value, Iri) and not _ABSOLUTE.fullmatch(value.value)):
            raise cannot_write(f"{self._target}: {print_value(value)[:60]} is no RDF term")
        return ntriples_term(value)

    def _check_iris(self, terms: pa.Array, *, blank: bool) -> None:
        wrong = terms.filter(pc.invert(pc.match_substring_regex(terms, "^<|^_:" if blank else "^<")))
        if len(wrong):
            place = "the subject" if blank else "the predicate"
            raise cannot_write(f"{self._target}: {wrong[0].as_py()[:60]} cannot be {place} of a triple: it is no IRI")


def _texts(
    universe: Universe, codes: Codes, text_of: Callable[[Value], str], bare: Collection[Kind] = _BARE
) -> pa.Array:
    return decode_texts(universe, codes, text_of, bare).cast(pa.large_string())


def _json_texts(universe: Universe, codes: Codes) -> pa.Array:
    for kind, opening, closing in ((Kind.STRING, '"', '"'), (Kind.IRI, '{"@id": "', '"}')):
        plain = _plain_texts(universe, codes, kind, r'["\\\x00-\x1f]')
        if plain is not None:
            return _join(opening, plain, closing)
    return _texts(universe, codes, json_text, (Kind.INTEGER,))


def _plain_texts(universe: Universe, codes: Codes, kind: Kind, special: str) -> pa.Array | None:
    """The texts of a column of one kind in which no character needs an escape; None for every other column."""
    if kinds_of(universe, codes) != {kind}:
        return None
    texts = text_column(universe, codes).cast(pa.large_string())
    return None if pc.any(pc.match_substring_regex(texts, special)).as_py() else texts


def _join(*parts: pa.Array | str, separator: str = "") -> pa.Array:
    """The texts of each row one after the other; a plain text is the same in every row."""
    kind = pa.large_string()
    columns = [pa.scalar(part, kind) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*columns, pa.scalar(separator, kind))


def _joined(lines: pa.Array) -> Iterator[memoryview]:
    ended = _join(lines, "\n")
    _, offsets, data = ended.buffers()
    if data is not None:
        bounds = np.frombuffer(offsets, np.int64)
        yield memoryview(data)[int(bounds[ended.offset]) : int(bounds[ended.offset + len(ended)])]


def cell_text(value: Value) -> str:
    """The text of a constant in a table: read back, numbers and booleans are what they were, everything else is a string."""
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
    """In quotes where a csv file needs them; an empty cell that is alone in its row would be an empty line."""
    needed = pc.match_substring_regex(texts, '[",\r\n]|^$' if alone else '[",\r\n]')
    if not pc.any(needed).as_py():
        return texts
    return pc.if_else(needed, _join('"', pc.replace_substring(texts, '"', '""'), '"'), texts)


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


def cannot_write(message: str, hint: str | None = None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.UNWRITABLE_FACTS, message, None, hint)])
