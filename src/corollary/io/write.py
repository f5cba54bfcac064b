"""Writing relations to files, atomically."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from corollary.io.atomic import replacing
from corollary.io.formats import DELTA, Format, format_of
from corollary.io.lines import cannot_write
from corollary.io.options import option_error

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
    """Write the rows of a result; `predicate` is whose facts they are, which N-Triples of one or two columns need.

    `mode` is for Delta tables: "overwrite" (the default), "append" or "error".
    """
    target = Path(path)
    chosen = writable_format(target, form)
    check_mode(chosen, mode)
    if chosen is DELTA:
        from corollary.io.delta import write_table

        write_table(result.to_arrow(), target, mode=mode or "overwrite")
        return
    with replacing(target) as temporary:
        chosen.write(result, temporary, target=target, header=header, predicate=predicate)


def writable_format(target: Path, form: str | None) -> Format:
    """Return the format of an output; raise `ProgramError` where there is none or it is only read."""
    chosen = format_of(target, form)
    if not chosen.is_written:
        raise cannot_write(f"{target}: {chosen} files can be read, but not written", "write N-Triples: .nt")
    return chosen


def check_mode(form: Format, mode: str | None) -> None:
    """Raise `ProgramError` for a mode that a format does not have: a file of facts is always replaced as a whole."""
    if mode is None or mode in form.modes:
        return
    message = f'mode = "{mode}" does not apply to {form} files'
    if form.modes:
        message = f"there is no mode '{mode}'; there are {', '.join(form.modes)}"
    raise option_error(message, None)
