"""Where files are: a file, a directory or a pattern of files, here or where Spark finds it, or a Delta table."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.io.formats import DELTA, Format, format_of
from corollary.io.options import ReadOptions

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
PATTERN = re.compile(r"[*?\[\]{}\\]")
"""The characters by which a name stands for several files."""


@dataclass(frozen=True)
class InputPlace:
    """`given` is the user's name for it, `address` Spark's, `local` the path where this machine has it too."""

    given: str
    address: str
    form: Format
    local: Path | None = None

    @property
    def is_one_file(self) -> bool:
        return self.local is not None and self.local.is_file()

    def name_of(self, address: str) -> str:
        """Return the user's name for one of its files, given the address by which Spark knows it."""
        path = re.sub(r"^file:/+", "/", unquote(address))
        if self.local is None:
            return path
        root = str(self.local.absolute())
        if path == root:
            return self.given
        return os.path.join(self.given, path[len(root) + 1 :]) if path.startswith(root + os.sep) else path


def input_place(path: str | os.PathLike[str], options: ReadOptions) -> InputPlace:
    """Return where a path leads; raise `ProgramError` where nothing is there, or where the format is unknown.

    What exists on this machine is taken from here, whatever characters its name has. Everything else is an address for Spark, in
    which `*` and its like stand for several files.
    """
    given = os.fspath(path)
    if address := remote_address(given):
        return InputPlace(given, address, _form(Path(address), options))
    given = local_path(given)
    local = Path(given)
    try:
        exists = local.exists()
    except OSError:
        exists = False
    if exists:
        address_here = "file://" + without_pattern(str(local.absolute()))
        return InputPlace(given, address_here, _form(local, options), local)
    if local.is_absolute() or PATTERN.search(given):
        return InputPlace(given, given if local.is_absolute() else str(local.absolute()), _form(local, options))
    raise unreadable(given, "No such file or directory", options)


def remote_address(path: str) -> str | None:
    """Return the address of a path on another file system, with both slashes, of which `Path` leaves one; None for local ones."""
    found = _ADDRESS.fullmatch(path)
    return f"{found[1]}://{found[2]}" if found and found[1] != "file" else None


def local_path(path: str) -> str:
    """Return the path of a `file:` address, or the path itself."""
    found = _ADDRESS.fullmatch(path)
    return f"/{found[2]}" if found and found[1] == "file" else path


def without_pattern(address: str) -> str:
    """Return an address that Spark takes for the name of one file, whatever characters it has."""
    return PATTERN.sub(r"\\\g<0>", address)


def _form(path: Path, options: ReadOptions) -> Format:
    named = options.format
    if named is None and path.is_dir():
        if (path / "_delta_log").is_dir():
            return DELTA
        if not path.suffix:
            return _form_of_files(path, options)
    return format_of(path, named, options.span)


def _form_of_files(directory: Path, options: ReadOptions) -> Format:
    """Return the format of the files of a directory, which must have one."""
    files = sorted(file for file in directory.rglob("*") if file.is_file() and file.name[0] not in "._")
    if not files:
        return format_of(directory, None, options.span)
    forms = {_form(file, options) for file in files}
    if len(forms) > 1:
        message = f"{directory} has files of several formats: {', '.join(sorted(map(str, forms)))}"
        hint = 'choose one with format = "csv"'
        raise ProgramError([Diagnostic(catalogue.UNKNOWN_FORMAT, message, options.span, hint)])
    return forms.pop()


def unreadable(given: str, why: str, options: ReadOptions) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.UNREADABLE_DATA, f"cannot read {given}: {why}", options.span)])
