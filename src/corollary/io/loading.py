"""Loading facts into an engine: from Python, from files, from `@input`. They are read and encoded first, then added together.

`Loader` is that of the embedded engine; Spark has `Ingest`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.diagnostics import Diagnostic, ProgramError, Span, catalogue
from corollary.io.databases import POSTGRES
from corollary.io.formats import fact_files, format_of
from corollary.io.options import ReadOptions
from corollary.io.read import Loaded, read_file
from corollary.io.rejects import Rejects
from corollary.io.roots import home_of, place_below
from corollary.program import FactBlock, InputDeclaration
from corollary.program.arities import full_names, name_of_rows, size_of
from corollary.reasoning.run import Run, leave_out

if TYPE_CHECKING:
    from corollary.engines.embedded.engine import EmbeddedEngine
    from corollary.engines.embedded.relations.relation import Codes
    from corollary.engines.embedded.values.encoder import Encoder

# -- named files -------------------------------------------------------------------------------------------------------

# The files that a directory holds for predicates, and the place that an `@input` names.


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


# -- loading -----------------------------------------------------------------------------------------------------------

_LARGE = 1 << 23  # bytes of a table from which on its memory is given back at once


@dataclass(frozen=True)
class Encoded:
    """Facts that were encoded before: rows of codes of the universe of the engine that they are for."""

    codes: Codes


class FactLoader:
    """How facts on their way into any engine are named, sized and found.

    `arities` are the numbers of arguments known so far, `defined` the predicates that got facts or a file (even an empty one).
    With `mixed`, a name may be that of several predicates.
    """

    def __init__(self, *, base: Path, strict: bool, mixed: bool, roots: Sequence[str]) -> None:
        self._base = base
        self._roots = roots
        self._strict = strict
        self._mixed = mixed
        self.arities: dict[str, int] = {}
        self.defined: set[str] = set()

    def named(self, predicate: str, width: int) -> str:
        """Return the predicate of facts with so many arguments: where names have several numbers of them, these choose one."""
        return name_of_rows(predicate, width, self.arities) if self._mixed else predicate

    def _width(self, predicate: str) -> int | None:
        known = self.arities.get(predicate)
        return size_of(predicate) if known is None and self._mixed else known

    def _full_names(self, predicate: str) -> list[str]:
        """Return the predicates that got a file without rows: a name of several predicates means all of them."""
        return full_names(predicate, self.arities) if self._mixed else [predicate]

    def _files_of(
        self, directory: Path, full_name: Callable[[str], str], *, header: bool
    ) -> list[tuple[str, Path, ReadOptions]]:
        return files_of_directory(directory, full_name, self.arities, header=header, mixed=self._mixed)

    def _place_of(self, declaration: InputDeclaration) -> tuple[Path | str, ReadOptions]:
        return place_of_input(declaration, self._base, self._roots)


def check_columns_fit(predicate: str, width: int, known: int, source: str, span: Span | None) -> None:
    """Raise `ProgramError` if a source has not as many columns as its predicate has arguments."""
    if width != known:
        arguments = f"{known} argument{'' if known == 1 else 's'}"
        columns = "1 column" if width == 1 else f"{width} columns"
        message = f"{source}: '{predicate}' has {arguments}, but there are {columns}"
        raise ProgramError([Diagnostic(catalogue.BAD_ROW, message, span)])


def not_rdf(path: object) -> ProgramError:
    return ProgramError(
        [Diagnostic(catalogue.UNKNOWN_FORMAT, f"{path} is not an RDF file", None, "RDF files are nt, nq and ttl files")]
    )


class Loader(FactLoader):
    """The explicit facts of one change, which are nowhere but here. The engine is started with the first of them.

    `arities` has these facts, too. `deleted` are the facts that go, `rejects` the rows of files that were left out, if any were.
    """

    def __init__(
        self,
        start_engine: Callable[[], EmbeddedEngine],
        run: Run,
        *,
        base: Path,
        strict: bool,
        mixed: bool = False,
        arities: Mapping[str, int] | None = None,
        roots: Sequence[str] = (),
    ) -> None:
        super().__init__(base=base, strict=strict, mixed=mixed, roots=roots)
        self._start_engine = start_engine
        self._run = run
        self._facts: list[tuple[str, Codes]] = []
        self.arities.update(arities or {})
        self.deleted: dict[str, Codes] = {}
        self.rejects: Rejects | None = None

    @property
    def is_empty(self) -> bool:
        return not self._facts

    def take(self) -> dict[str, Codes]:
        """Return all facts that were read, by predicate; they are not kept here any longer."""
        import numpy as np

        found: dict[str, list[Codes]] = {}
        for predicate, codes in self._facts:
            found.setdefault(predicate, []).append(codes)
        self._facts = []
        return {name: np.concatenate(parts) if len(parts) > 1 else parts[0] for name, parts in found.items()}

    @cached_property
    def _engine(self) -> EmbeddedEngine:
        started = time.monotonic()
        try:
            return self._start_engine()
        finally:
            leave_out(time.monotonic() - started)

    @cached_property
    def _encoder(self) -> Encoder:
        from corollary.engines.embedded.values.encoder import Encoder

        return Encoder(self._engine.universe)

    # -- from Python -------------------------------------------------------------------------------------------------

    def insert(self, predicate: str, facts: Any) -> None:
        self._insert(predicate, self.encoded(predicate, facts))

    def change(self, inserts: Sequence[tuple[str, Any]], deletes: Sequence[tuple[str, Any]]) -> None:
        """Take in facts that come and facts that go."""
        for predicate, facts in inserts:
            self.insert(predicate, facts)
        if not deletes:
            return
        gone = Loader(
            self._start_engine,
            self._run,
            base=self._base,
            strict=self._strict,
            mixed=self._mixed,
            arities=self.arities,
            roots=self._roots,
        )
        for predicate, facts in deletes:
            gone.insert(predicate, facts)
        self.deleted |= gone.take()

    def encoded(self, predicate: str, facts: Any) -> Codes:
        """Return facts from Python as codes."""
        if isinstance(facts, Encoded):
            self.check_width(predicate, facts.codes.shape[1])
            return facts.codes
        try:
            return self._encoder.facts(facts, self._width(predicate))
        except ValueError as error:
            raise _bad_rows(f"facts of '{predicate}': {error}") from None

    def check_width(self, predicate: str, width: int) -> None:
        """Raise `ProgramError` unless facts of that many arguments fit what is known of the predicate."""
        known = self.arities.get(predicate, width)
        if width != known:
            raise _bad_rows(f"facts of '{predicate}': there are {width} columns, expected {known}")

    def insert_program(self, facts: Iterable[FactBlock], inputs: Iterable[InputDeclaration]) -> None:
        """Take in the facts that a program states and the files that it names, which are looked up beside its own file."""
        for block in facts:
            self._insert(block.predicate, self._encoder.rows(block.rows, block.arity))
        for declaration in inputs:
            self.load_declared(declaration)

    def _insert(self, predicate: str, codes: Codes) -> None:
        self._run.check()
        if not len(codes):
            self.defined.update(self._full_names(predicate))
            return
        predicate = self.named(predicate, codes.shape[1])
        self.check_width(predicate, codes.shape[1])
        self.defined.add(predicate)
        self.arities.setdefault(predicate, codes.shape[1])
        self._facts.append((predicate, codes))

    # -- from files --------------------------------------------------------------------------------------------------

    def load_file(self, predicate: str, path: str | PathLike[str], options: ReadOptions) -> None:
        if str(path).startswith(POSTGRES):
            self._load_table_of_database(predicate, str(path), options)
            return
        path = Path(path)
        with self._run.interruptible():
            loaded = read_file(path, options, self._width(predicate))
        self._accept(loaded)
        if not loaded.table.num_rows:
            self.defined.update(self._full_names(predicate))
            return
        self._check_width(predicate, loaded.table.num_columns, str(path), options)
        try:
            codes = self._encoder.table(loaded.table)
        except ValueError as error:
            raise _bad_rows(f"{path}: {error}", options) from None
        is_large = loaded.table.nbytes > _LARGE
        del loaded
        if is_large:
            _release_texts()
        self._insert(predicate, codes)

    def _load_table_of_database(self, predicate: str, address: str, options: ReadOptions) -> None:
        """Take in rows of PostgreSQL; those with a null are left out, as no constant stands for one."""
        from corollary.io.columns import without_nulls
        from corollary.io.databases.postgres import read_rows
        from corollary.io.databases.sql import shown
        from corollary.io.read import DataFile

        with self._run.interruptible():
            table = read_rows(address, options)
        name = options.table or shown(address)
        loaded = without_nulls(DataFile(Path(name), options), table)
        self._accept(loaded)
        self._check_width(predicate, loaded.table.num_columns, name, options)
        self._insert(predicate, self._encoder.table(loaded.table))

    def load_table(self, predicate: str, table: Any, columns: Sequence[str] | None) -> None:
        """Take in the rows of a Spark data frame, or of a table that Spark knows by name."""
        if isinstance(table, str):
            from corollary.engines.spark_session.session import start_session

            table = start_session().table(table)
        with self._run.interruptible():
            rows = (table.select(*columns) if columns else table).toArrow()
        self.insert(predicate, rows)

    def load_directory(self, directory: Path, full_name: Callable[[str], str], *, header: bool) -> None:
        """Take in the facts of all data files of a directory, whose names are those of the predicates."""
        for file in self._files_of(directory, full_name, header=header):
            self.load_file(*file)
        if not self.is_empty:
            _release_texts()

    def load_declared(self, declaration: InputDeclaration) -> None:
        """Take in the file of an `@input`, which is looked up beside the file that says so."""
        place, options = self._place_of(declaration)
        self.load_file(declaration.predicate, place, options)

    def load_triples(self, path: Path, options: ReadOptions) -> None:
        """Take in the triples of an RDF file as facts of their predicates."""
        from corollary.io.vertical import facts_of_triples

        if not format_of(path).is_rdf:
            raise not_rdf(path)
        with self._run.interruptible():
            loaded = read_file(path, options, 3)
        self._accept(loaded)
        found = facts_of_triples(self._engine.universe, self._encoder.table(loaded.table), self.arities)
        for predicate, codes in found:
            self._check_width(predicate, codes.shape[1], str(path), options)
        for predicate, codes in found:
            self._insert(predicate, codes)

    def _accept(self, loaded: Loaded) -> None:
        if self._strict and len(loaded.rejects):
            raise loaded.rejects.as_error()
        if len(loaded.rejects):
            self.rejects = self.rejects or Rejects()
            self.rejects.include(loaded.rejects)

    def _check_width(self, predicate: str, width: int, source: str, options: ReadOptions) -> None:
        check_columns_fit(predicate, width, self.arities.get(predicate, width), source, options.span)


def _bad_rows(message: str, options: ReadOptions | None = None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.BAD_ROW, message, options.span if options else None)])


def _release_texts() -> None:
    """Return to the system the memory that Arrow used for reading; its allocator would keep it, and the facts need it."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
