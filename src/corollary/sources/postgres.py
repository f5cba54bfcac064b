"""Facts from tables of PostgreSQL, in bulk by COPY."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.sources.options import ReadOptions

if TYPE_CHECKING:
    import psycopg

_READ = {  # by the number of the type in PostgreSQL
    16: pa.bool_(),
    20: pa.int64(),
    21: pa.int64(),
    23: pa.int64(),
    700: pa.float64(),
    701: pa.float64(),
    1082: pa.date32(),
    1114: pa.timestamp("us"),
    1184: pa.timestamp("us", "UTC"),
}
_NUMERIC = 1700


def connect(address: str, user: str | None = None, password: str | None = None) -> psycopg.Connection[Any]:
    try:
        import psycopg
    except ImportError:
        message, hint = "PostgreSQL needs the package psycopg", "pip install 'corollary[postgres]'"
        raise ProgramError([Diagnostic(catalogue.MISSING_PACKAGE, message, None, hint)]) from None
    given: dict[str, Any] = {"user": user, "password": password}
    try:
        return psycopg.connect(address, **{name: one for name, one in given.items() if one is not None})
    except psycopg.Error as error:
        message = f"cannot connect to {shown(address)}: {str(error).strip().partition(chr(10))[0]}"
        raise ProgramError([Diagnostic(catalogue.UNREADABLE_DATA, message)]) from None


def shown(address: str) -> str:
    """An address without the password that it may have."""
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


# -- facts from tables -------------------------------------------------------------------------------------------------


def read_rows(address: str, options: ReadOptions) -> pa.Table:
    """The rows of a table or of a query, with nulls where there are any."""
    import psycopg

    if (options.table is None) == (options.query is None):
        raise options.error("a database needs 'table' or 'query', and not both")
    with connect(address, options.user, options.password) as connection:
        source = f"({options.query}) AS facts" if options.query else _quoted_table(options.table or "")
        try:
            connection.execute("SET TIME ZONE 'UTC'")
            return _copied(connection, source, options)
        except psycopg.Error as error:
            message = f"cannot read {options.table or 'the query'} of {shown(address)}: {str(error).strip()}"
            raise ProgramError([Diagnostic(catalogue.UNREADABLE_DATA, message, options.span)]) from None


def _copied(connection: psycopg.Connection[Any], source: str, options: ReadOptions) -> pa.Table:
    chosen = ", ".join(map(quoted, options.columns)) if options.columns else "*"
    described = connection.execute(f"SELECT {chosen} FROM {source} LIMIT 0").description or []
    names = [f"a{place}" for place in range(1, len(described) + 1)]
    types = {name: _READ.get(column.type_code, pa.string()) for name, column in zip(names, described, strict=True)}
    cursor = connection.cursor()
    with cursor.copy(f"COPY (SELECT {chosen} FROM {source}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)") as copy:
        data = b"".join(bytes(piece) for piece in copy)
    if not data:
        return pa.table({name: pa.array([], types[name]) for name in names})
    table = arrow_csv.read_csv(
        io.BytesIO(data),
        read_options=arrow_csv.ReadOptions(column_names=names),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    for name, column in zip(names, described, strict=True):
        if column.type_code == _NUMERIC:
            table = table.set_column(table.column_names.index(name), name, _decimals(table.column(name)))
    return table


def _decimals(texts: pa.ChunkedArray) -> pa.Array:
    """Decimals of the least width that holds all of them."""
    encoded = texts.combine_chunks().dictionary_encode()
    values = [Decimal(text) if text is not None else None for text in encoded.dictionary.to_pylist()]
    return pa.array([value if value is None or value.is_finite() else None for value in values]).take(encoded.indices)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted_table(name: str) -> str:
    """`schema.table` as people write it; a name with quotes of its own is left as it is."""
    return name if '"' in name else ".".join(map(quoted, name.split(".")))
