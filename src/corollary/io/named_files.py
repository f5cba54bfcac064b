"""The files that a directory holds for predicates, and the place that an `@input` names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.io.formats import fact_files, format_of
from corollary.io.options import ReadOptions
from corollary.io.roots import home_of, place_below
from corollary.program import InputDeclaration
from corollary.program.arities import full_names


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
        (predicate, path, ReadOptions(header=header and format_of(path).is_delimited))
        for predicate, path in files
        if path.suffix.lower() != ".json" or is_known(predicate)  # most .json files hold something else
    ]


def place_of_input(declaration: InputDeclaration, base: Path, roots: Sequence[str]) -> tuple[Path | str, ReadOptions]:
    """The path or address of an `@input`, looked up beside the file that says so and below the roots, and how it is read."""
    span = declaration.span
    options = ReadOptions.of(dict(declaration.options), span, written=True)
    home = home_of(span, base)
    place = place_below(declaration.location, home, roots, span, setting="inputs_root", word="read")
    return place, replace(options, roots=tuple(roots) or (str(home.absolute()),))
