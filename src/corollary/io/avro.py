"""Avro files. An attribute of a field says which constants its strings stand for, so that they are read back unchanged."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from corollary.diagnostics import ProgramError
from corollary.diagnostics.packages import optional_package
from corollary.io.columns import check_columns, without_nulls
from corollary.io.formats import Format
from corollary.io.read import Beginning, DataFile, Loaded, RowLayout
from corollary.io.rejects import Rejects
from corollary.language.cells import MEANING

_MEANING = "corollary"
"""The attribute of a field that tells the meaning of its texts."""
_PIECE = 1 << 16  # records
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPES: dict[str, pa.DataType] = {
    "int": pa.int64(), "long": pa.int64(), "float": pa.float64(), "double": pa.float64(), "boolean": pa.bool_(),
    "string": pa.string(), "enum": pa.string(), "bytes": pa.binary(), "null": pa.null(), "date": pa.date32(),
    "time-millis": pa.time64("us"), "time-micros": pa.time64("us"), "uuid": pa.string(),
    "timestamp-millis": pa.timestamp("us", "UTC"), "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("us"), "local-timestamp-micros": pa.timestamp("us"),
}  # fmt: skip


def read(file: DataFile, form: Format) -> Loaded:
    """Return the records of a file as rows; one with a null is rejected, since no constant stands for one."""
    found = list(pieces(file, form))
    return Loaded(pa.concat_tables([piece.table for piece in found]), found[-1].rejects)


def pieces(file: DataFile, form: Format) -> Iterator[Loaded]:
    """Return the records some at a time, at least once; each piece has everything that was rejected so far."""
    with optional_package("fastavro", "an Avro file", file.options.span):
        import fastavro

    with _naming_errors(file):
        records = fastavro.reader(pa.BufferReader(file.buffer()))
        schema = _arrow_schema(file, records.writer_schema)
        names = list(file.options.columns or schema.names)
        check_columns(file, schema.names)
        chosen, rejects, before = pa.schema([schema.field(name) for name in names]), Rejects(), 0
        found: Iterator[Any] = iter(records)
        while rows := list(islice(found, _PIECE)):
            yield without_nulls(file, _table(rows, chosen), rejects, before)
            before += len(rows)
        if not before:
            yield Loaded(chosen.empty_table(), rejects)


def layout(file: DataFile, form: Format, beginning: Beginning) -> RowLayout:
    """Return the columns that are asked for, or those that the beginning of a file declares."""
    with optional_package("fastavro", "an Avro file", file.options.span):
        import fastavro

    if file.options.columns:
        return RowLayout(len(file.options.columns))
    with _naming_errors(file):
        return RowLayout(len(_arrow_schema(file, fastavro.reader(pa.BufferReader(beginning(0))).writer_schema)))


def _table(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    arrays = [_array([row[field.name] for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind) and any(isinstance(value, uuid.UUID) for value in values):
        values = [None if value is None else str(value) for value in values]
    return pa.array(values, kind)


def _arrow_schema(file: DataFile, written: Any) -> pa.Schema:
    if not isinstance(written, dict) or written.get("type") != "record":
        raise file.broken("this Avro file holds no records")
    return pa.schema([_arrow_field(file, field) for field in written["fields"]])


def _arrow_field(file: DataFile, field: dict[str, Any]) -> pa.Field:
    kind = field["type"]
    if isinstance(kind, list):
        others = [one for one in kind if one != "null"]
        kind = others[0] if len(others) == 1 else kind if others else "null"
    arrow = _arrow_type(kind)
    if arrow is None:
        shown = kind.get("type") if isinstance(kind, dict) else "a union of several types"
        raise file.broken(f"column '{field['name']}': there are no constants of the type {shown}")
    meaning = field.get(_MEANING)
    return pa.field(field["name"], arrow, metadata={MEANING: meaning.encode()} if isinstance(meaning, str) else None)


def _arrow_type(kind: Any) -> pa.DataType | None:
    if not isinstance(kind, dict):
        return _TYPES.get(kind) if isinstance(kind, str) else None
    logical = kind.get("logicalType")
    if logical == "decimal":
        return pa.decimal128(kind["precision"], kind.get("scale", 0)) if kind["precision"] <= 38 else None
    return _TYPES.get(logical or "") or _arrow_type(kind.get("type"))


@contextmanager
def _naming_errors(file: DataFile) -> Iterator[None]:
    """Raise any error of the reader as a diagnostic that names the file."""
    try:
        yield
    except (ProgramError, MemoryError, GeneratorExit):
        raise
    except Exception as error:
        why = str(error).partition("\n")[0] or type(error).__name__
        raise file.broken(f"this is not a readable Avro file: {why}") from None


# -- writing -----------------------------------------------------------------------------------------------------------


def write_tables(tables: Iterable[pa.Table], schema: pa.Schema, path: Path, predicate: str | None) -> None:
    """Write tables of one schema after each other into a file."""
    with optional_package("fastavro", "an Avro file"):
        import fastavro

    names = [name if _NAME.fullmatch(name) else f"a{place}" for place, name in enumerate(schema.names, 1)]
    fields = [_avro_field(name, field) for name, field in zip(names, schema, strict=True)]
    word = predicate if predicate is not None and _NAME.fullmatch(predicate) else "row"
    parsed = fastavro.parse_schema({"type": "record", "name": word, "fields": fields})
    records = (
        record
        for table in tables
        for batch in table.rename_columns(names).to_batches(_PIECE)
        for record in batch.to_pylist()
    )
    with open(path, "wb") as file:
        fastavro.writer(file, parsed, records, codec="deflate")


def _avro_field(name: str, field: pa.Field) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "type": _avro_type(field.type)}
    if meaning := (field.metadata or {}).get(MEANING):
        found[_MEANING] = meaning.decode()
    return found


def _avro_type(kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_date(kind):
        return {"type": "int", "logicalType": "date"}
    if pa.types.is_timestamp(kind):
        return {"type": "long", "logicalType": "timestamp-micros" if kind.tz else "local-timestamp-micros"}
    if pa.types.is_floating(kind):
        return "double"
    if pa.types.is_integer(kind):
        return "long"
    return "boolean" if pa.types.is_boolean(kind) else "string"
