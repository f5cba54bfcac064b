"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from corollary.diagnostics import Diagnostic, ProgramError, catalogue


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path beside `path` to write to; what is there at the end takes the place of `path`, unless something went wrong.

    Raises `ProgramError` where the file cannot be written.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        message = f"cannot write {target}: {error.strerror or error}"
        raise ProgramError([Diagnostic(catalogue.UNWRITABLE_FILE, message)]) from None
    finally:
        with suppress(OSError):
            temporary.unlink()
