"""The files that a directory holds for predicates, and the place that an `@input` names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.program import InputDeclaration
from corollary.program.arities import full_names
from corollary.sources.formats import Format, fact_files, format_of
from corollary.sources.options import ReadOptions


def files_of_directory(
    directory: Path, full_name: Callable[[str], str], known: Collection[str], *, header: bool, mixed: bool = False
) -> list[tuple[str, Path, ReadOptions]]:
    """Its data files, each with the predicate that its name says; `known` are the predicates that were heard of before.

    Where names have several numbers of arguments (`mixed`), `p_2.csv` may mean `p/2`.
    """

    def is_known(name: str) -> bool:
        return bool(full_names(name, known)) if mixed else name in known

    def named(name: str) -> str:
        plain, _, size = name.rpartition("_")
        sized = f"{plain}/{size}"
        return sized if mixed and not is_known(name) and sized in known else name

    try:
        files = [(named(full_name(name)), path) for name, path in fact_files(directory)]
    except OSError as error:
        message = f"cannot read {directory}: {error.strerror}"
        raise ProgramError([Diagnostic(catalogue.UNREADABLE_DATA, message)]) from None
    return [
        (predicate, path, ReadOptions(header=header and format_of(path) in (Format.CSV, Format.TSV)))
        for predicate, path in files
        if path.suffix.lower() != ".json" or is_known(predicate)  # most .json files hold something else
    ]


def place_of_input(declaration: InputDeclaration, base: Path) -> tuple[Path, ReadOptions]:
    """The directory in which its file is looked up, that of the file which says so, and how it is read."""
    span = declaration.span
    if span is not None and Path(span.source.name).is_file():
        base = Path(span.source.name).parent
    return base, ReadOptions.of(dict(declaration.options), span, written=True)
