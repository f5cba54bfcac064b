"""One writer at a time. Readers never ask: a version that is there does not change any more."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corollary.diagnostics import catalogue
from corollary.store.problems import naming_what_cannot_be_written, problem

_PATIENCE = 30.0  # seconds that a commit waits for that of another process


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """The only writer of a store; another one waits, and is told where that takes too long."""
    file = root / "lock"
    with naming_what_cannot_be_written(file):
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _wait(handle, root)
        yield
    finally:
        os.close(handle)


def _wait(handle: int, root: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                message = f"{root} is being written by another process"
                raise problem(catalogue.STORE_CONFLICT, message, "nothing was changed; try again later") from None
            time.sleep(0.002)
