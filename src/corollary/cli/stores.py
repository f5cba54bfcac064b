"""Helpers for the commands that work on a knowledge base in a directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from corollary.cli.options import Data
from corollary.cli.output import plural, terminal_for_errors
from corollary.cli.progress import announce_compiling
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.io.formats import format_of
from corollary.io.options import ReadOptions
from corollary.io.read import read_file
from corollary.knowledge_base import KnowledgeBase
from corollary.language import parse, read_source
from corollary.program import Clause, FactBlock, PrefixDeclaration, Program
from corollary.program.arities import name_with_arity
from corollary.transactions import TransactionResult

ProgramsOrStore = Annotated[
    list[Path],
    typer.Argument(
        metavar="PROGRAM",
        help="Program files, read as one program, or the directory of a knowledge base; - is the standard input.",
    ),
]
StorePath = Annotated[Path, typer.Argument(metavar="PATH", help="The directory of the knowledge base.")]
VersionOption = Annotated[
    int | None, typer.Option("--version", metavar="N", help="Read this version instead of the latest.")
]


def open_store(path: Path, version: int | None = None, engine: str = "embedded") -> KnowledgeBase:
    announce_compiling()
    return KnowledgeBase.open(path, version=version, engine=engine)


def opened_store(paths: Sequence[Path], data: Data, version: int | None = None) -> KnowledgeBase | None:
    """Open the knowledge base in a directory, if that is the only path; None if the paths are programs."""
    if len(paths) != 1 or not paths[0].is_dir():
        return None
    if data != Data():
        raise typer.BadParameter(
            "not for a knowledge base in a directory, which has its own facts; `corollary update` changes them"
        )
    return open_store(paths[0], version)


def read_facts(kb: KnowledgeBase, files: Sequence[Path]) -> dict[str, Any]:
    """Return facts by predicate, from programs or from data files that are named after their predicates."""
    found: dict[str, Any] = {}
    for path in files:
        for predicate, rows in _facts_of(kb, path):
            if predicate in found:
                raise typer.BadParameter(f"two files have facts of {predicate}; use two updates", param_hint=str(path))
            found[predicate] = rows
    return found


def _facts_of(kb: KnowledgeBase, path: Path) -> list[tuple[str, Any]]:
    if path.suffix.lower() in (".dl", ".datalog"):
        parsed = parse(read_source(path), prefixes=kb.program.prefixes)
        if parsed.errors:
            raise ProgramError(parsed.diagnostics)
        if wrong := list(_no_facts(parsed.program)):
            raise ProgramError(wrong)
        rows: dict[str, list[Any]] = {}
        for facts in parsed.program.facts:
            sized = name_with_arity(facts.predicate, facts.arity)
            rows.setdefault(sized if kb.settings.mixed_arities else facts.predicate, []).extend(facts.rows)
        return list(rows.items())
    format_of(path)
    predicate = kb.data_name(path.stem)
    loaded = read_file(path, ReadOptions(), None if kb.settings.mixed_arities else kb.arity(predicate))
    if len(loaded.rejects):
        raise loaded.rejects.as_error()
    return [(predicate, loaded.table)]


def _no_facts(program: Program) -> Iterator[Diagnostic]:
    """Yield an error for each statement of a file of facts that is not a fact: ignoring it would make a different change."""
    for statement in program.statements:
        if isinstance(statement, (FactBlock, PrefixDeclaration)):
            continue
        what, hint = "another statement", None
        if isinstance(statement, Clause):
            what, hint = "a fact with variables", "facts can only have constants"
            if statement.body:
                what, hint = "a rule", "`corollary update --add-rules FILE` adds rules"
        message = f"a file of facts may only have facts without variables, but this is {what}"
        yield Diagnostic(catalogue.BAD_ROW, message, statement.span, hint)


def print_result(kb: KnowledgeBase, result: TransactionResult) -> None:
    """Print one line to standard error: the version, and what changed."""
    inserted = sum(len(result.inserted[name]) for name in result.inserted)
    deleted = sum(len(result.deleted[name]) for name in result.deleted)
    report = result.report
    explicit = f"explicit: {report.explicit_inserted:,} and {report.explicit_deleted:,}"
    terminal_for_errors().print(
        f"version {kb.version}: {plural(inserted, 'fact')} inserted and {deleted:,} deleted ({explicit})", markup=False
    )
