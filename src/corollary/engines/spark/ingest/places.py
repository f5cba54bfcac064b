"""Where data is: a file, a directory or a pattern of files, here or where Spark finds it; a database; a Delta table."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.sources.formats import Format, format_of
from corollary.sources.options import ReadOptions

ORC, JDBC = "orc", "jdbc"
"""Formats that only Spark reads."""
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
_GLOB = re.compile(r"[*?\[\]{}\\]")


@dataclass(frozen=True)
class Place:
    """`given` is what people call it, `address` what Spark is told, `local` the path where this machine has it too."""

    given: str
    address: str
    form: Format | str
    local: Path | None = None

    @property
    def is_one_file(self) -> bool:
        return self.local is not None and self.local.is_file()

    def name_of(self, address: str) -> str:
        """What people call one of its files, from the address by which Spark knows it."""
        path = re.sub(r"^file:/+", "/", unquote(address))
        if self.local is None:
            return path
        root = str(self.local.absolute())
        if path == root:
            return self.given
        return os.path.join(self.given, path[len(root) + 1 :]) if path.startswith(root + os.sep) else path


def place_of(path: str | os.PathLike[str], options: ReadOptions) -> Place:
    """Where a path leads; raises `ProgramError` where nothing is there, or where the format is unknown.

    What exists on this machine is taken from here, whatever signs its name has. Everything else is an address for Spark, in
    which `*` and its like stand for several files.
    """
    given = os.fspath(path)
    if given.startswith("jdbc:"):
        return Place(given, given, JDBC)
    if address := _ADDRESS.fullmatch(given):  # a Path has one slash where the address had two
        scheme, rest = address[1], address[2]
        if scheme != "file":
            return Place(given, f"{scheme}://{rest}", _form(Path(rest), options))
        given = "/" + rest
    local = Path(given)
    try:
        exists = local.exists()
    except OSError:
        exists = False
    if exists:
        address_here = "file://" + _GLOB.sub(r"\\\g<0>", str(local.absolute()))
        return Place(given, address_here, _form(local, options), local)
    if local.is_absolute() or _GLOB.search(given):
        return Place(given, given if local.is_absolute() else str(local.absolute()), _form(local, options))
    raise unreadable(given, "No such file or directory", options)


def _form(path: Path, options: ReadOptions) -> Format | str:
    named = options.format
    word = (named if named is not None else path.suffix.removeprefix(".")).lower()
    if word == ORC:
        return ORC
    if named is None and path.is_dir():
        if (path / "_delta_log").is_dir():
            return Format.DELTA
        if not word:
            return _form_of_files(path, options)
    return format_of(path, named, options.span)


def _form_of_files(directory: Path, options: ReadOptions) -> Format | str:
    """The format of the files of a directory, which must have one."""
    files = sorted(file for file in directory.rglob("*") if file.is_file() and file.name[0] not in "._")
    if not files:
        return format_of(directory, None, options.span)
    forms = {_form(file, options) for file in files}
    if len(forms) > 1:
        message = f"{directory} has files of several formats: {', '.join(sorted(forms))}"
        hint = 'format = "csv" says which one they all have'
        raise ProgramError([Diagnostic(catalogue.UNKNOWN_FORMAT, message, options.span, hint)])
    return forms.pop()


def unreadable(given: str, why: str, options: ReadOptions) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.UNREADABLE_DATA, f"cannot read {given}: {why}", options.span)])
