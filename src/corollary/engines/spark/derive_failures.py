"""What goes wrong on Spark while rules run, as an error that names the stage, the hyper-node and the directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.ingest.failures import explained, is_of_spark

_FULL = ("No space left on device", "Disk quota exceeded")


class LostRowsError(Exception):
    """Fewer rows, or other ones, were read from a checkpoint than had been written to it."""


@contextmanager
def derive_failures(nodes: str, workspace: str) -> Iterator[None]:
    """Errors of Spark inside are about deriving what these hyper-nodes derive."""
    try:
        yield
    except LostRowsError as error:
        lost = "the file system lost what Spark had written; nothing was derived from the rest"
        raise _diagnosed(nodes, f"{error}, in {workspace}", lost) from error
    except Exception as error:
        if not is_of_spark(error):
            raise
        is_full = any(one in str(error) for one in _FULL)
        hint = f"the disk of the workspace {workspace} is full, or that of spark.local.dir" if is_full else None
        why = _FULL[0] if is_full else explained(error)[1]
        raise _diagnosed(nodes, why, hint) from error


def _diagnosed(nodes: str, why: str, hint: str | None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.FAILED_STAGE, f"derive: {nodes}: {why}", None, hint)])
