"""Atomic outputs: files, and directories of the parts that Spark tasks write.

A directory cannot be renamed onto another one. If the system can exchange two names in one step, we do that; otherwise the
old output is moved away first, and moved back if the second step fails.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from corollary.diagnostics import Diagnostic, ProgramError, catalogue

_HERE = -100  # AT_FDCWD of Linux
_EXCHANGE = 2  # RENAME_EXCHANGE


@contextmanager
def replacing(path: str | os.PathLike[str], *, also_parts: bool = False) -> Iterator[Path]:
    """Give a temporary path beside `path`; at the end of the block, what was written there replaces `path`, unless the block
    failed.

    With `also_parts`, either of the two may be a directory of parts. Raise `ProgramError` if the output cannot be written, or
    would replace a directory with other files.
    """
    target = Path(path)
    if also_parts:
        _check_replaceable(target)
    aside = target.with_name(f".{target.name[:100]}.{os.getpid()}.{uuid.uuid4().hex[:8]}.part")
    try:
        yield aside
        put(aside, target) if also_parts else os.replace(aside, target)
    except OSError as error:
        raise unwritable(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        remove(aside)


def put(aside: Path, target: Path) -> None:
    """Replace `target` by `aside`; either the old content is gone, or everything is as before."""
    if not os.path.lexists(target) or not (aside.is_dir() or target.is_dir()):
        os.replace(aside, target)
        return
    if not _exchange(aside, target):
        old = aside.with_name(aside.name + ".old")
        os.rename(target, old)
        try:
            os.rename(aside, target)
        except OSError:
            os.rename(old, target)
            raise
        remove(old)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; return False if the system or its file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _check_replaceable(target: Path) -> None:
    if target.is_dir():
        others = [path.name for path in target.iterdir() if not path.name.startswith(("part-", "_", "."))]
        if others or (target / "_delta_log").is_dir():
            what = "is a Delta table" if not others else f"is a directory that holds other files: {others[0]}"
            raise unwritable(f"cannot write {target}: it {what}", "choose another name, or remove it")


def unwritable(message: str, hint: str | None = None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.UNWRITABLE_FILE, message, None, hint)])
