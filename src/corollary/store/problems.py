"""Problems of a knowledge base in a directory, as diagnostics that name the file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from corollary.diagnostics import Diagnostic, ProgramError, catalogue


def problem(kind: catalogue.DiagnosticKind, message: str, hint: str | None = None) -> ProgramError:
    return ProgramError([Diagnostic(kind, message, None, hint)])


def damaged(file: str | PathLike[str], why: str, hint: str | None = None) -> ProgramError:
    return problem(catalogue.DAMAGED_STORE, f"{file} {why}", hint)


def unwritable(file: str | PathLike[str], error: OSError) -> ProgramError:
    hints = {
        errno.ENOSPC: "the disk is full; what was committed before is safe",
        errno.EDQUOT: "the disk quota is used up; what was committed before is safe",
        errno.EFBIG: "files cannot become that large here; what was committed before is safe",
    }
    message = f"cannot write {error.filename or file}: {error.strerror or error}"
    return problem(catalogue.UNWRITABLE_STORE, message, hints.get(error.errno or 0))


@contextmanager
def naming_what_cannot_be_written(place: str | PathLike[str]) -> Iterator[None]:
    """Raise an `OSError` in the block as a diagnostic that names the file."""
    try:
        yield
    except OSError as error:
        raise unwritable(place, error) from None


@contextmanager
def naming_what_cannot_be_read(file: str | PathLike[str]) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise damaged(file, "is missing") from None
    except OSError as error:
        raise damaged(file, f"cannot be read: {error.strerror or error}") from None
