"""Facts into files: what `--out` and `@output` ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.knowledge_base import KnowledgeBase
from corollary.program import OutputDeclaration
from corollary.sources.formats import Format, file_name, format_of
from corollary.sources.options import DATABASE, ReadOptions, option_error

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


class OutFormat(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"
    NT = "nt"
    JSON = "json"
    DELTA = "delta"


@dataclass(frozen=True)
class _File:
    predicate: str
    path: Path | str
    """A string for what is no file of this machine."""
    format: str | None
    header: bool
    more: Mapping[str, str | None] = field(default_factory=dict)


def publish(kb: KnowledgeBase, directory: Path | None, form: OutFormat | None, *, header: bool) -> list[Path | str]:
    """Writes the files that the program and the command ask for, and gives their names.

    With a directory, these are the predicates of `@output`, or all derived ones where the program has none. A file that an
    `@output` names is written in that directory, or beside the program where there is none.
    """
    wanted = list(_declared(kb, directory, form, header=header))
    if directory is not None:
        if not kb.program.outputs:
            derived = dict.fromkeys(rule.head.predicate for rule in kb.program.rules)
            wanted += [_plain(name, directory, form, header) for name in derived]
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot make the directory {directory}: {error.strerror}"
            raise ProgramError([Diagnostic(catalogue.UNWRITABLE_FILE, message)]) from None
    for file in wanted:
        kb.write(file.predicate, file.path, format=file.format, header=file.header, **file.more)
    return [file.path for file in wanted]


def _plain(predicate: str, directory: Path, form: OutFormat | None, header: bool) -> _File:
    chosen = Format(form or OutFormat.CSV)
    return _File(predicate, directory / file_name(predicate, chosen), None, header)


def _declared(kb: KnowledgeBase, directory: Path | None, form: OutFormat | None, *, header: bool) -> list[_File]:
    files: dict[tuple[str, Path | str], _File] = {}
    for declaration in kb.program.outputs:
        options, mode = _options(declaration)
        if declaration.location is not None and _ADDRESS.match(declaration.location):
            more = {"mode": mode, **{name: getattr(options, name) for name in DATABASE if name != "query"}}
            file = _File(declaration.predicate, declaration.location, options.format, header or options.header, more)
        elif declaration.location is not None:
            path = (directory or _home(declaration)) / declaration.location
            format_of(path, options.format, declaration.span)
            file = _File(declaration.predicate, path, options.format, header or options.header, {"mode": mode})
        elif directory is not None:
            file = _plain(declaration.predicate, directory, form, header or options.header)
        else:
            continue
        files[file.predicate, file.path] = file
    return list(files.values())


def _options(declaration: OutputDeclaration) -> tuple[ReadOptions, str | None]:
    """What an `@output` says, and the mode in which it writes."""
    given = dict(declaration.options)
    known = ("header", "format", "mode", *DATABASE)
    for name in given:
        if name not in known or name == "query":
            hint = "there are header, format, mode"
            raise option_error(f"there is no option '{name}' of @output", declaration.span, hint)
    mode = given.pop("mode", None)
    return ReadOptions.of(given, declaration.span, written=True), str(mode) if mode is not None else None


def _home(declaration: OutputDeclaration) -> Path:
    """Where the program file is that says so; the current directory for a text."""
    span = declaration.span
    is_file = span is not None and Path(span.source.name).is_file()
    return Path(span.source.name).parent if span is not None and is_file else Path()
