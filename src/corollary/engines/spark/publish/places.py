"""Outputs that appear whole or not at all, files and directories alike.

A directory cannot be renamed onto another one. Where the system can exchange two names in one step that is done; elsewhere the
old output is moved away first, and moved back where the second step fails.
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
def replacing_output(target: Path) -> Iterator[Path]:
    """A path in the directory of `target` for a file or directory that takes its place at the end, unless something fails.

    Raises `ProgramError` where the output cannot be written, or would remove files that no output has.
    """
    _check_replaceable(target)
    aside = target.with_name(f".{target.name[:100]}.{os.getpid()}.{uuid.uuid4().hex[:8]}.part")
    try:
        yield aside
        put(aside, target)
    except OSError as error:
        raise unwritable(f"cannot write {target}: {error.strerror or error}") from None
    finally:
        remove(aside)


def put(aside: Path, target: Path) -> None:
    """What is at `aside` takes the place of `target`; what was there is gone, or everything is as before."""
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
    """Exchanges two names in one step; False where the system or its file system cannot."""
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


def part_files(directory: Path) -> list[Path]:
    """The files that Spark's tasks wrote, in the order of the tasks."""
    return sorted(path for path in directory.iterdir() if path.name.startswith("part-"))


def _check_replaceable(target: Path) -> None:
    if target.is_dir():
        others = [path.name for path in target.iterdir() if not path.name.startswith(("part-", "_", "."))]
        if others or (target / "_delta_log").is_dir():
            what = "is a Delta table" if not others else f"is a directory that holds other files: {others[0]}"
            raise unwritable(f"cannot write {target}: it {what}", "choose another name, or remove it")


def unwritable(message: str, hint: str | None = None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.UNWRITABLE_FILE, message, None, hint)])
