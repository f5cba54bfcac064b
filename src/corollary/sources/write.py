"""Writing relations: csv, tsv, parquet, Delta, N-Triples and JSON lines, each file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from corollary.sources.atomic import replacing
from corollary.sources.formats import Format, format_of
from corollary.sources.lines import Lines, cannot_write
from corollary.sources.options import option_error

if TYPE_CHECKING:
    from corollary.results import Result


def write_result(
    result: Result,
    path: str | os.PathLike[str],
    *,
    form: str | None = None,
    header: bool = False,
    predicate: str | None = None,
    mode: str | None = None,
) -> None:
    """Writes the rows of a result; `predicate` is whose facts they are, which N-Triples of one or two columns need.

    `mode` is for Delta tables: "overwrite" (which it is when nothing is said), "append" or "error".
    """
    target = Path(path)
    chosen = writable_format(target, form)
    check_mode(chosen, mode)
    if chosen is Format.DELTA:
        from corollary.sources.delta import write_table

        write_table(result.to_arrow(), target, mode=mode or "overwrite")
        return
    with replacing(target) as temporary:
        write_rows(result, temporary, chosen, target=target, header=header, predicate=predicate)


def write_rows(
    result: Result, path: Path, form: Format, *, target: Path, header: bool = False, predicate: str | None = None
) -> None:
    """Writes a file that will take the place of `target`."""
    if form is Format.PARQUET:
        import pyarrow.parquet as parquet

        parquet.write_table(result.to_arrow(), path)
        return
    lines = Lines(form, result.variables, target=target, predicate=predicate, header=header)
    with open(path, "wb") as file:
        for piece in lines.pieces(*result.codes):
            file.write(piece)


def writable_format(target: Path, form: str | None) -> Format:
    """The format of an output; raises `ProgramError` where there is none or it is only read."""
    chosen = format_of(target, form)
    if chosen in (Format.NQUADS, Format.TURTLE):
        raise cannot_write(f"{target}: {chosen} files can be read, but not written", "write N-Triples: .nt")
    return chosen


def check_mode(form: Format, mode: str | None) -> None:
    """Only a table with a log can be appended to: a file of facts is always replaced as a whole."""
    if mode is None or (form is Format.DELTA and mode in MODES):
        return
    message = f'mode = "{mode}" says nothing about a file of the format {form}'
    if form is Format.DELTA:
        message = f"there is no mode '{mode}'; there are {', '.join(MODES)}"
    raise option_error(message, None)


MODES = ("overwrite", "append", "error")
