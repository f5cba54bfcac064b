"""Facts on their way into an engine: from Python, from files, from `@input`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.program import Facts, InputDeclaration
from corollary.program.arities import full_names, name_of_rows, size_of
from corollary.sources.formats import format_of
from corollary.sources.named_files import files_of_directory, place_of_input
from corollary.sources.options import ReadOptions
from corollary.sources.read import Loaded, read_file
from corollary.sources.rejects import Rejects

if TYPE_CHECKING:
    from corollary.engines.embedded.encoder import Encoder
    from corollary.engines.embedded.engine import EmbeddedEngine
    from corollary.engines.embedded.relation import Codes

_DATABASES = ("postgresql://", "postgres://")
_LARGE = 1 << 23  # bytes of a table from which on its memory is given back at once


class Loader:
    """Inserts explicit facts, each call all or nothing. The engine is started with the first of them.

    `arities` are the numbers of arguments known so far, `defined` the predicates that got facts or a file (even an empty one).
    """

    def __init__(
        self, start_engine: Callable[[], EmbeddedEngine], *, base: Path, strict: bool, mixed: bool = False
    ) -> None:
        self._start_engine = start_engine
        self._base = base
        self._strict = strict
        self._mixed = mixed
        self.arities: dict[str, int] = {}
        self.defined: set[str] = set()
        self.rejects = Rejects()

    @cached_property
    def _engine(self) -> EmbeddedEngine:
        return self._start_engine()

    @cached_property
    def _encoder(self) -> Encoder:
        from corollary.engines.embedded.encoder import Encoder

        return Encoder(self._engine.universe)

    # -- from Python -------------------------------------------------------------------------------------------------

    def insert(self, predicate: str, facts: Any) -> int:
        return self._insert(predicate, self.encoded(predicate, facts))

    def encoded(self, predicate: str, facts: Any) -> Codes:
        """Facts from Python as codes, not inserted yet."""
        try:
            return self._encoder.facts(facts, self._width(predicate))
        except ValueError as error:
            raise _bad_rows(f"facts of '{predicate}': {error}") from None

    def named(self, predicate: str, width: int) -> str:
        """The predicate of facts with so many arguments: where names have several numbers of them, these choose one."""
        return name_of_rows(predicate, width, self.arities) if self._mixed else predicate

    def _width(self, predicate: str) -> int | None:
        known = self.arities.get(predicate)
        return size_of(predicate) if known is None and self._mixed else known

    def check_width(self, predicate: str, width: int) -> None:
        """Facts of that many arguments fit what is known of the predicate."""
        known = self.arities.get(predicate, width)
        if width != known:
            raise _bad_rows(f"facts of '{predicate}': there are {width} columns, expected {known}")

    def insert_written(self, facts: Facts) -> int:
        """Facts of a program's text."""
        return self._insert(facts.predicate, self._encoder.rows(facts.rows, facts.arity))

    def _insert(self, predicate: str, codes: Codes) -> int:
        if not len(codes):
            self._define(predicate)
            return 0
        predicate = self.named(predicate, codes.shape[1])
        self.defined.add(predicate)
        self.arities.setdefault(predicate, codes.shape[1])
        return self._engine.insert(predicate, codes)

    def _define(self, predicate: str) -> None:
        """There might have been facts; a name of several predicates means all of them."""
        self.defined.update(full_names(predicate, self.arities) if self._mixed else [predicate])

    # -- from files --------------------------------------------------------------------------------------------------

    def load_file(self, predicate: str, path: str | PathLike[str], options: ReadOptions) -> int:
        if str(path).startswith(_DATABASES):
            return self._load_table_of_database(predicate, str(path), options)
        path = Path(path)
        loaded = self._accepted(read_file(path, options, self._width(predicate)))
        if not loaded.table.num_rows:
            self._define(predicate)
            return 0
        self._check_width(predicate, loaded.table.num_columns, str(path), options)
        try:
            codes = self._encoder.table(loaded.table)
        except ValueError as error:
            raise _bad_rows(f"{path}: {error}", options) from None
        is_large = loaded.table.nbytes > _LARGE
        del loaded
        if is_large:
            _release_texts()
        return self._insert(predicate, codes)

    def _load_table_of_database(self, predicate: str, address: str, options: ReadOptions) -> int:
        """Rows of PostgreSQL; those with a null are left out, as no constant stands for one."""
        from corollary.sources.parquet import without_nulls
        from corollary.sources.postgres import read_rows, shown
        from corollary.sources.read import DataFile

        table = read_rows(address, options)
        name = options.table or shown(address)
        loaded = self._accepted(without_nulls(DataFile(Path(name), options), table))
        self._check_width(predicate, loaded.table.num_columns, name, options)
        return self._insert(predicate, self._encoder.table(loaded.table))

    def load_directory(self, directory: Path, full_name: Callable[[str], str], *, header: bool) -> int:
        """The facts of all data files of a directory, whose names are those of the predicates."""
        files = files_of_directory(directory, full_name, self.arities, header=header, mixed=self._mixed)
        count = sum(self.load_file(*file) for file in files)
        if count:
            _release_texts()
        return count

    def load_declared(self, declaration: InputDeclaration) -> None:
        """The file of an `@input`, which is looked up beside the file that says so."""
        base, options = place_of_input(declaration, self._base)
        self.load_file(declaration.predicate, base / declaration.location, options)

    def load_triples(self, path: Path) -> int:
        """The triples of an RDF file as facts of their predicates."""
        from corollary.sources.vertical import facts_of_triples

        options = ReadOptions()
        if not format_of(path).is_rdf:
            message, hint = f"{path} is no RDF file", "nt, nq and ttl files are"
            raise ProgramError([Diagnostic(catalogue.UNKNOWN_FORMAT, message, None, hint)])
        loaded = self._accepted(read_file(path, options, 3))
        found = facts_of_triples(self._engine.universe, self._encoder.table(loaded.table), self.arities)
        for predicate, codes in found:
            self._check_width(predicate, codes.shape[1], str(path), options)
        return sum(self._insert(predicate, codes) for predicate, codes in found)

    def _accepted(self, loaded: Loaded) -> Loaded:
        if self._strict and len(loaded.rejects):
            raise loaded.rejects.as_error()
        self.rejects.include(loaded.rejects)
        return loaded

    def _check_width(self, predicate: str, width: int, source: str, options: ReadOptions) -> None:
        known = self.arities.get(predicate, width)
        if width != known:
            arguments = f"{known} argument{'' if known == 1 else 's'}"
            columns = "1 column" if width == 1 else f"{width} columns"
            raise _bad_rows(f"{source}: '{predicate}' has {arguments}, and there are {columns}", options)


def _bad_rows(message: str, options: ReadOptions | None = None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.BAD_ROW, message, options.span if options else None)])


def _release_texts() -> None:
    """What Arrow read makes room for the facts; its allocator would keep it for later."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
