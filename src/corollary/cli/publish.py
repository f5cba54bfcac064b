"""Facts into files: what `--out` and `@output` ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import typer

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.io.formats import FORMATS, file_name, format_of
from corollary.io.options import DATABASE, ReadOptions, option_error
from corollary.io.roots import home_of, place_below
from corollary.knowledge_base import KnowledgeBase
from corollary.program import OutputDeclaration

WRITTEN = [name for name, form in FORMATS.items() if form.is_written]


def written_format(name: str | None) -> str | None:
    """Return the name of a format that can be written; raise a usage error for any other."""
    if name is not None and name not in WRITTEN:
        raise typer.BadParameter(f"'{name}' is not one of {', '.join(WRITTEN)}")
    return name


@dataclass(frozen=True)
class _File:
    predicate: str
    path: Path | str
    """A string for what is no file of this machine."""
    format: str | None
    header: bool
    more: Mapping[str, str | None] = field(default_factory=dict)


def publish(kb: KnowledgeBase, directory: Path | None, form: str | None, *, header: bool) -> list[Path | str]:
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


def _plain(predicate: str, directory: Path, form: str | None, header: bool) -> _File:
    chosen = FORMATS[form or "csv"]
    return _File(predicate, directory / file_name(predicate, chosen), None, header)


def _declared(kb: KnowledgeBase, directory: Path | None, form: str | None, *, header: bool) -> list[_File]:
    files: dict[tuple[str, Path | str], _File] = {}
    for declaration in kb.program.outputs:
        options, mode = _options(declaration)
        place = _place(kb, declaration, directory)
        if isinstance(place, str):
            more = {"mode": mode, **{name: getattr(options, name) for name in DATABASE if name != "query"}}
            file = _File(declaration.predicate, place, options.format, header or options.header, more)
        elif (path := place) is not None:
            format_of(path, options.format, declaration.span)
            file = _File(declaration.predicate, path, options.format, header or options.header, {"mode": mode})
        elif directory is not None:
            file = _plain(declaration.predicate, directory, form, header or options.header)
        else:
            continue
        files[file.predicate, file.path] = file
    return list(files.values())


def _options(declaration: OutputDeclaration) -> tuple[ReadOptions, str | None]:
    """Return the options of an `@output`, and the mode in which it writes."""
    given = dict(declaration.options)
    known = ("header", "format", "mode", *DATABASE)
    for name in given:
        if name not in known or name == "query":
            hint = "there are header, format, mode"
            raise option_error(f"there is no option '{name}' of @output", declaration.span, hint)
    mode = given.pop("mode", None)
    return ReadOptions.of(given, declaration.span, written=True), str(mode) if mode is not None else None


def _place(kb: KnowledgeBase, declaration: OutputDeclaration, directory: Path | None) -> Path | str | None:
    """The path or address that an `@output` names: below the directory that the command names, or beside the program file."""
    if declaration.location is None:
        return None
    span, roots = declaration.span, kb.settings.outputs_root
    if directory is not None:  # the command's own word: a root, too
        roots = (str(directory), *roots)
    home = directory or home_of(span, Path())
    return place_below(declaration.location, home, roots, span, setting="outputs_root", word="write")
