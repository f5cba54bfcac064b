"""JSON lines: one row a line, as an array or as an object.

JSON's own values are constants: numbers (with a point decimals, with an exponent doubles, as in programs), strings, true and
false; arrays are lists. `{"@id": …}` is an IRI, `{"@value": …, "@type": …}` and `{"@value": …, "@language": …}` are literals,
`{"@function": …, "@arguments": […]}` is a function term.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Kind, Universe
from corollary.io.formats import Format
from corollary.io.lines import Lines, join_texts, plain_texts, texts_of
from corollary.io.read import BEGINNING_LINES, Beginning, DataFile, Loaded, RowLayout
from corollary.io.rejects import Rejects
from corollary.language import print_value
from corollary.language.cells import CELLS, IRIS, MEANING, TERMS
from corollary.language.literals import LiteralError, typed_value
from corollary.program import Iri, Literal, Structure, Value, canonical, identity
from corollary.program.python_values import NoConstant, from_python
from corollary.program.values import RDF, XSD


class _BadRow(ValueError):
    """Raised with the reason why a line is not a row."""


def read(file: DataFile, form: Format) -> Loaded:
    """Return the rows of a file of JSON lines, or of a part of one."""
    rejects = Rejects()
    rows: list[tuple[Any, ...]] = []
    cells: _Cells | None = None
    width = file.arity
    for number, line in enumerate(bytes(file.text()).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            parsed = _parse(line)
            cells = cells or _Cells(file, parsed)
            row = cells.of(parsed)
            width = len(row) if width is None or file.options.columns else width
            if len(row) != width:
                raise _BadRow(f"{len(row)} values, expected {width}")
            rows.append(tuple([cell if type(cell) is int else value_of(cell) for cell in row]))
        except _BadRow as error:
            rejects.add(file.name, number, str(error), line.decode("utf-8", "replace"))
    names = cells.names if cells and cells.names else [f"a{position}" for position in range(1, (width or 0) + 1)]
    return Loaded(_table(rows, names), rejects)


def layout(file: DataFile, form: Format, beginning: Beginning) -> RowLayout:
    """Return the columns of the first row; where it is an object, its keys are the names."""
    for attempt in range(len(BEGINNING_LINES)):
        head = beginning(attempt)
        first = _first_row(head)
        names = tuple(first) if isinstance(first, dict) else ()
        table = read(replace(file, data=head), form).table
        if table.num_rows:
            return RowLayout(table.num_columns, names)
    if file.arity is not None or not len(head):
        return RowLayout(file.arity or 0, names)
    raise file.broken(f"none of the first {BEGINNING_LINES[-1]:,} lines is a row")


def _first_row(text: pa.Buffer) -> Any:
    """Return the first line that is JSON, parsed, or None where there is none."""
    for line in bytes(text).split(b"\n"):
        if line.strip():
            with suppress(_BadRow):
                return _parse(line)
    return None


def _parse(line: bytes) -> Any:
    try:
        return _DECODER.decode(line.decode())
    except UnicodeDecodeError:
        raise _BadRow("this is not valid UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise _BadRow(f"this is not JSON: {error}") from None


def _number(text: str) -> Decimal | float:
    return float(text) if "e" in text or "E" in text else Decimal(text)


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=float)


class _Cells:
    """Converts rows to cells: objects by the keys of the first row (or by the requested columns), arrays as they are."""

    def __init__(self, file: DataFile, first: Any) -> None:
        self._chosen = file.options.columns
        keys = list(first) if isinstance(first, dict) else None
        if file.names is not None:  # what the first row of the file said, which is not in this part of it
            keys = list(file.names) or None
        self.names: list[str] | None = list(self._chosen or ()) or keys

    def of(self, parsed: Any) -> list[Any]:
        if isinstance(parsed, list) and not self._chosen:
            return parsed
        if not isinstance(parsed, dict) or self.names is None:
            kind = "an object" if self.names else "an array"
            raise _BadRow(f"a row must be {kind} here")
        for name in self.names:
            if name not in parsed:
                raise _BadRow(f"there is no '{name}'")
        if not self._chosen and len(parsed) > len(self.names):
            extra = next(name for name in parsed if name not in self.names)
            raise _BadRow(f"'{extra}' is an unexpected column")
        return [parsed[name] for name in self.names]


def value_of(cell: Any) -> Value:
    if isinstance(cell, str) and cell.isascii():
        return cell
    match cell:
        case None:
            raise _BadRow("null is not a constant")
        case str():
            try:
                return from_python(cell)
            except NoConstant as error:
                raise _BadRow(str(error)) from None
        case bool() | int() | float():
            return cell
        case Decimal():
            return canonical(cell)
        case list():
            return tuple(value_of(item) for item in cell)
        case {"@id": str(iri), **rest} if not rest:
            return Iri(iri)
        case {"@value": str(lexical), "@language": str(language), **rest} if not rest:
            return Literal(lexical, RDF + "langString", language.lower())
        case {"@value": str(lexical), "@type": str(datatype), **rest} if not rest:
            try:
                return canonical(typed_value(lexical, datatype))
            except LiteralError as error:
                raise _BadRow(str(error)) from None
        case {"@function": str(name), "@arguments": list(arguments), **rest} if not rest:
            return Structure(name, tuple(value_of(item) for item in arguments))
    raise _BadRow("an object must have @id, @value or @function")


def json_text(value: Value) -> str:
    """Return the JSON text that `value_of` reads back as the same constant."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _quoted(value)
        case float() if math.isfinite(value):
            text = repr(value)
            return text if "e" in text else f"{text}e0"
        case float():
            word = "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
            return _object({"@value": _quoted(word), "@type": _quoted(XSD + "double")})
        case Decimal():
            return format(value, "f")
        case Iri():
            return _object({"@id": _quoted(value.value)})
        case Literal(language=str(language)):
            return _object({"@value": _quoted(value.lexical), "@language": _quoted(language)})
        case Literal():
            return _object({"@value": _quoted(value.lexical), "@type": _quoted(value.datatype)})
        case Structure():
            return _object({"@function": _quoted(value.name), "@arguments": json_text(value.arguments)})
        case tuple():
            return "[" + ", ".join(map(json_text, value)) + "]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _object(parts: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": {text}' for name, text in parts.items()) + "}"


def _table(rows: list[tuple[Value, ...]], names: list[str]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    if not columns:
        return pa.table({"": [0] * len(rows)}).select([])
    made = [_column(column) for column in columns]
    fields = [
        pa.field(name, array.type, metadata={MEANING: meaning} if meaning else None)
        for name, (array, meaning) in zip(names, made, strict=True)
    ]
    return pa.Table.from_arrays([array for array, _ in made], schema=pa.schema(fields))


def _column(values: tuple[Any, ...]) -> tuple[pa.Array, bytes | None]:
    kinds = set(map(type, values))
    if kinds <= {str}:
        return pa.array(values, pa.string()), None
    if kinds == {float}:
        return pa.array(values, pa.float64()), None
    if kinds == {bool}:
        return pa.array(values, pa.bool_()), None
    if kinds == {int} and min(values) >= -(1 << 63) and max(values) < 1 << 63:
        return pa.array(values, pa.int64()), None
    if kinds <= {int, Decimal}:
        return pa.array([format(value, "f") if isinstance(value, Decimal) else str(value) for value in values]), CELLS
    if kinds == {Iri}:
        return pa.array([value.value for value in values]), IRIS
    texts = {key: print_value(value) for key, value in {identity(value): value for value in values}.items()}
    return pa.array([texts[identity(value)] for value in values], pa.string()), TERMS


# -- writing -----------------------------------------------------------------------------------------------------------


def lines(
    form: Format, names: Sequence[str], *, target: object, predicate: str | None = None, header: bool = False
) -> Lines:
    """Return the rows of a relation as arrays, or with a header as objects."""
    return _JsonLines(names, target=target, predicate=predicate, header=header)


class _JsonLines(Lines):
    unit = "[]"

    def rows(self, universe: Universe, columns: list[Codes]) -> pa.Array:
        cells = [_json_texts(universe, codes) for codes in columns]
        if self.header:
            cells = [join_texts(f"{json_text(name)}: ", cell) for name, cell in zip(self.names, cells, strict=True)]
        opening, closing = "{}" if self.header else "[]"
        return join_texts(opening, join_texts(*cells, separator=", "), closing)


def _json_texts(universe: Universe, codes: Codes) -> pa.Array:
    for kind, opening, closing in ((Kind.STRING, '"', '"'), (Kind.IRI, '{"@id": "', '"}')):
        plain = plain_texts(universe, codes, kind, r'["\\\x00-\x1f]')
        if plain is not None:
            return join_texts(opening, plain, closing)
    return texts_of(universe, codes, json_text, (Kind.INTEGER,))
