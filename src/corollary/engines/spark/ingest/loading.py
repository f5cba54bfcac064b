"""Loading explicit facts on Spark; each call is all or nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.engines.spark.ingest.output import LocalOutput, Output, StoredOutput, terms_of
from corollary.engines.spark.ingest.rows import SCHEMA, RowKind, RowMaker, TaskEncoder, error_of
from corollary.engines.spark.ingest.sources import SparkSource, python_facts, source_at, table_source, written_facts
from corollary.engines.spark.relations import Frame, LocalFrame, id_schema, union
from corollary.engines.spark.terms.ids import id_of
from corollary.engines.spark.terms.universe import settled
from corollary.engines.spark_session.failures import explained, is_of_spark
from corollary.io.databases import JDBC
from corollary.io.loading import FactLoader, check_columns_fit, not_rdf
from corollary.io.options import ReadOptions
from corollary.io.places import input_place
from corollary.io.rejects import Rejects
from corollary.io.vertical import TYPE, has_type_pairs
from corollary.program import FactBlock, InputDeclaration, Iri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.engines.spark.context import Context
    from corollary.engines.spark.relations import FrameStore

# -- vertical ----------------------------------------------------------------------------------------------------------

# RDF by predicate: triples as p(s, o), and as C(s) if p is rdf:type, with a directory for each predicate.

MOST_PREDICATES = 10_000
"""Predicates and classes of one load: the driver has a data frame for each."""
_ROWS_PER_FILE = 4_000_000


@dataclass(frozen=True)
class _Group:
    """Triples that become the facts of one predicate: those of a property, or those of rdf:type with one class."""

    predicate: str
    arity: int
    is_class: bool
    key: int
    rows: int


def frames_of_triples(context: Context, output: Output, arities: Mapping[str, int], source: str) -> dict[str, Frame]:
    """Return the facts of each predicate; those of one predicate are distinct.

    Instances of a class without an IRI stay pairs of rdf:type; so do all instances if the program has rdf:type as a
    binary predicate.
    """
    from pyspark.sql import functions as F  # noqa: N812

    triples = output.facts().df
    groups = _groups(context, output, triples, arities, source)
    if not groups:
        return {}
    is_type = F.col("c1") == _type_id(context)
    keyed = triples.select(
        "c0", "c2", is_type.alias("t"), F.when(is_type, F.col("c2")).otherwise(F.col("c1")).alias("k")
    )
    classes = {group.key for group in groups if group.is_class}
    rows = [
        (number, group.is_class, group.key, 1 + group.rows // _ROWS_PER_FILE, group.arity)
        for number, group in enumerate(groups)
        if group.predicate != TYPE
    ]
    numbers = context.spark.createDataFrame(rows, "g int, t boolean, k long, parts int, arity int")
    found = keyed.join(F.broadcast(numbers), ["t", "k"]).select(
        "g", "parts", "c0", F.when(F.col("arity") == 2, F.col("c2")).alias("c1")
    )
    for number, group in enumerate(groups):
        if group.predicate == TYPE:
            pairs = triples.where(is_type)
            if not has_type_pairs(arities) and classes:
                named = context.spark.createDataFrame([(key,) for key in classes], "c2 long")
                pairs = pairs.join(F.broadcast(named), "c2", "left_anti")
            parts = F.lit(1 + group.rows // _ROWS_PER_FILE)
            found = found.union(pairs.select(F.lit(number), parts, "c0", "c2"))
    path = context.workspace.place("triples")
    spread = found.repartition(context.partitions, "g", F.pmod(F.xxhash64("c0"), "parts"))
    spread.select("g", "c0", "c1").write.partitionBy("g").parquet(path)
    read = context.spark.read
    stored = read.schema("c0 long, c1 long, g int").parquet(path)
    counts = {row["g"]: row["count"] for row in stored.groupBy("g").count().collect()}
    return {
        group.predicate: Frame(
            read.schema(id_schema(group.arity)).parquet(f"{path}/g={number}"), group.arity, counts[number]
        )
        for number, group in enumerate(groups)
        if number in counts
    }


def _type_id(context: Context) -> int:
    return id_of(Iri(TYPE), context.universe.collisions)


def _groups(
    context: Context, output: Output, triples: DataFrame, arities: Mapping[str, int], source: str
) -> list[_Group]:
    """Return the predicates and classes among the triples, with rough numbers of facts, from one small aggregation."""
    from pyspark.sql import functions as F  # noqa: N812

    if isinstance(output, StoredOutput):  # counts include duplicates, because finding them twice costs more
        triples = output.of_kind(RowKind.FACT, triples.columns)

    is_type = F.col("c1") == _type_id(context)
    key = F.when(is_type, F.col("c2")).otherwise(F.col("c1"))
    counted = triples.groupBy(is_type.alias("t"), key.alias("k")).count()
    rows = counted.limit(MOST_PREDICATES + 1).collect()
    if len(rows) > MOST_PREDICATES:
        message = f"{source} has more than {MOST_PREDICATES:,} predicates and classes"
        hint = 'load it as the triples of one predicate: kb.load("t", …)'
        raise ProgramError([Diagnostic(catalogue.BAD_ROW, message, None, hint)])
    names = _names(context, output, [row["k"] for row in rows])
    groups: list[_Group] = []
    pairs = 0
    for row in rows:
        name = names.get(row["k"])
        is_named = name is not None and not name.startswith("_:")
        if not row["t"] and name is not None:
            groups.append(_Group(name, 2, False, row["k"], row["count"]))
        elif is_named and name is not None:
            groups.append(_Group(name, 1, True, row["k"], row["count"]))
        if row["t"] and (not is_named or has_type_pairs(arities)):
            pairs += row["count"]
    if pairs:
        groups.append(_Group(TYPE, 2, False, _type_id(context), pairs))
    return groups


def _names(context: Context, output: Output, ids: list[int]) -> dict[int, str]:
    """Return the IRIs of ids, from the constants of the load itself; constants that are not IRIs are missing."""
    from pyspark.sql import functions as F  # noqa: N812

    if isinstance(output, LocalOutput):
        wanted = set(ids)
        table = output.terms()
        columns = (table.column(name).to_pylist() for name in ("id", "canonical", "datatype"))
        return {one: text for one, text, kind in zip(*columns, strict=True) if one in wanted and kind == "iri"}
    assert isinstance(output, StoredOutput)
    asked = context.spark.createDataFrame([(one,) for one in ids], "id long")
    terms = output.terms().where("datatype = 'iri'").join(F.broadcast(asked), "id", "left_semi")
    return {row["id"]: row["canonical"] for row in terms.select("id", "canonical").distinct().collect()}


# -- loading -----------------------------------------------------------------------------------------------------------

SMALL_FILE = 8 << 20
"""The driver itself reads files on its machine of up to this many bytes."""
_KEPT_BY_DRIVER = 10_000  # facts; up to so many stay in the plan instead of a table in the workspace


@dataclass(frozen=True)
class LoadReport:
    """How many facts a source had (with duplicates), how many were new, how many rows were rejected, and how long each
    stage took: `ingest` reads, checks and makes ids, `encode` appends to the universe and stores the new facts."""

    source: str
    read: int
    new: dict[str, int]
    rejected: int
    ingest_seconds: float
    encode_seconds: float


@dataclass
class _Load:
    """One source on its way to one predicate, or to the predicates of its triples."""

    predicate: str | None
    source: SparkSource
    output: Output
    seconds: float
    encoding: float = 0.0
    rejects: Rejects | None = None
    table: DataFrame | None = None


class Ingest(FactLoader):
    """Loads explicit facts into `store`. Nothing is stored before everything that a call names was read and found
    correct.

    `reports` describes each load, `rejects` has the rejected rows of files.
    """

    def __init__(
        self,
        context: Context,
        store: FrameStore,
        *,
        base: Path,
        strict: bool,
        mixed: bool = False,
        roots: Sequence[str] = (),
        small_file: int = SMALL_FILE,
    ) -> None:
        super().__init__(base=base, strict=strict, mixed=mixed, roots=roots)
        self._context = context
        self._store = store
        self._small_file = small_file
        self.reports: list[LoadReport] = []
        self.rejects = Rejects()
        self._reject_tables: list[DataFrame] = []

    @property
    def store(self) -> FrameStore:
        """The store that receives the facts."""
        return self._store

    def include(self, other: Ingest) -> None:
        """Remember the predicates, reports and rejected rows that another `Ingest` has loaded."""
        self.arities.update(other.arities)
        self.defined.update(other.defined)
        self.rejects.include(other.rejects)
        self.reports += other.reports
        self._reject_tables += other._reject_tables

    # -- from Python -------------------------------------------------------------------------------------------------

    def insert(self, predicate: str, facts: Any) -> int:
        """Insert rows of Python values, an Arrow table, a pandas frame, or a data frame of Spark."""
        if type(facts).__module__.partition(".")[0] == "pyspark":
            return self.load_table(predicate, facts)
        return self._load([(predicate, python_facts(self._context, predicate, facts, self._width(predicate)))])

    def encoded(self, facts: Sequence[tuple[str, Any]]) -> list[tuple[str, Frame]]:
        """Return facts as `insert` accepts them, by predicate, as frames of ids that are not stored."""
        sources: list[tuple[str | None, SparkSource]] = [
            (name, self._python_source(name, rows)) for name, rows in facts
        ]
        if not sources:
            return []
        loads, widths = settled(lambda: self._read(sources)), dict(self.arities)
        for load in loads:
            self._check_width(load, widths)
        return [(load.predicate or "", load.output.facts()) for load in loads]

    def _python_source(self, predicate: str, facts: Any) -> SparkSource:
        if type(facts).__module__.partition(".")[0] == "pyspark":
            return table_source(self._context, facts, None)
        return python_facts(self._context, predicate, facts, self._width(predicate))

    def insert_written(self, facts: FactBlock) -> int:
        """Insert facts of a program's text."""
        return self.insert_program([facts], [])

    def insert_program(self, facts: Iterable[FactBlock], inputs: Iterable[InputDeclaration]) -> int:
        """Insert the facts of a program and the files that it names, together, which is faster than one by one."""
        written = [(one.predicate, written_facts(self._context, one)) for one in facts]
        return self._load([*written, *map(self._declared, inputs)])

    def load_table(self, predicate: str, table: Any, columns: Sequence[str] | None = None) -> int:
        """Insert the rows of a table that Spark knows by name, or of a data frame; `columns` selects columns."""
        return self._load([(predicate, table_source(self._context, table, columns))])

    # -- from files --------------------------------------------------------------------------------------------------

    def load_file(self, predicate: str, path: str | os.PathLike[str], options: ReadOptions) -> int:
        """Load a file, a directory, a pattern of files, a Delta table, or a database (`jdbc:…`)."""
        return self._load([(predicate, self._source(predicate, path, options))])

    def load_directory(self, directory: Path, full_name: Callable[[str], str], *, header: bool) -> int:
        """Load the facts of all data files of a directory; a file has the name of its predicate."""
        files = self._files_of(directory, full_name, header=header)
        return self._load([(predicate, self._source(predicate, path, options)) for predicate, path, options in files])

    def load_declared(self, declaration: InputDeclaration) -> None:
        """Load the file of an `@input`, relative to the program file that declares it."""
        self._load([self._declared(declaration)])

    def load_triples(self, path: str | os.PathLike[str], options: ReadOptions) -> int:
        """Load the triples of RDF files as facts of their predicates."""
        if str(path).startswith(JDBC) or not input_place(path, options).form.is_rdf:
            raise not_rdf(path)
        return self._load([(None, source_at(self._context, path, options, 3, self._small_file))])

    def reject_table(self) -> DataFrame:
        """Return file, line, reason and text of the rejected rows, up to 10,000 from each part of a file."""
        if not self._reject_tables:
            return self._context.spark.createDataFrame([], SCHEMA)
        return reduce(lambda left, right: left.union(right), self._reject_tables)

    def _declared(self, declaration: InputDeclaration) -> tuple[str, SparkSource]:
        place, options = self._place_of(declaration)
        return declaration.predicate, self._source(declaration.predicate, place, options)

    def _source(self, predicate: str, path: str | os.PathLike[str], options: ReadOptions) -> SparkSource:
        return source_at(self._context, path, options, self._width(predicate), self._small_file)

    # -- stages ------------------------------------------------------------------------------------------------------

    def _load(self, sources: Sequence[tuple[str | None, SparkSource]]) -> int:
        """Read all sources, write their facts, and only then add them to the store; return the number of new ones."""
        if not sources:
            return 0
        loads = settled(lambda: self._read(sources))
        added: list[tuple[str, Frame]] = []
        reports: list[LoadReport] = []
        try:
            widths = dict(self.arities)
            for load in loads:
                self._check_width(load, widths)
            for load in loads:
                reports.append(self._written(load, added))
        except BaseException:
            for load in loads:
                load.output.discard()
            raise
        for predicate, frame in added:
            self.defined.update([predicate] if frame.rows else self._full_names(predicate))
            if frame.rows:
                self.arities.setdefault(predicate, frame.arity)
                self._store.add_explicit(predicate, frame)
        for load, report in zip(loads, reports, strict=True):
            self._finish(load, report)
        return sum(frame.rows or 0 for _, frame in added)

    def _read(self, sources: Sequence[tuple[str | None, SparkSource]]) -> list[_Load]:
        """Run the stage ingest for all sources, and add their constants to the universe; raise `Collisions` to be run again."""
        loads: list[_Load] = []
        encoder = TaskEncoder(RowMaker(0), self._context.universe.collisions)
        try:
            for predicate, source in sources:
                self._context.check()
                started = time.monotonic()
                output = source.run(encoder)
                loads.append(_Load(predicate, source, output, time.monotonic() - started))
                self._check_output(loads[-1])
                if predicate is not None and output.counts[RowKind.FACT]:
                    loads[-1].predicate = self.named(predicate, output.width)
            started = time.monotonic()
            terms = terms_of(self._context, (load.output for load in loads))
            if terms is not None:
                with _named_write_failures("encode", ", ".join(load.source.name for load in loads[:3])):
                    rows = sum(load.output.counts[RowKind.TERM] for load in loads)
                    self._context.universe.append(terms, rows)
            for load in loads:
                load.encoding = (time.monotonic() - started) / len(loads)
        except BaseException:
            for load in loads:
                load.output.discard()
            raise
        return loads

    def _check_output(self, load: _Load) -> None:
        counts = load.output.counts
        if counts[RowKind.ERROR]:
            raise error_of(load.source.errors(load.output), load.source.span)
        if counts[RowKind.REJECT]:
            load.rejects, load.table = load.source.rejects(load.output)
            if self._strict:
                raise load.rejects.as_error()

    def _check_width(self, load: _Load, widths: dict[str, int]) -> None:
        predicate, width = load.predicate, load.output.width
        if predicate is None or not load.output.counts[RowKind.FACT]:
            return
        check_columns_fit(predicate, width, widths.setdefault(predicate, width), load.source.name, load.source.span)

    def _written(self, load: _Load, added: list[tuple[str, Frame]]) -> LoadReport:
        """Write the new facts of a load, and append them to those that are to be `added` with it."""
        started = time.monotonic()
        new: dict[str, int] = {}
        with _named_write_failures("encode", load.source.name):
            for predicate, frame in self._frames(load).items():
                if frame.rows != 0:
                    pending = [other for name, other in added if name == predicate and other.rows]
                    frame = self._new(predicate, frame, pending, is_stored=load.predicate is None)
                    new[predicate] = frame.rows or 0
                added.append((predicate, frame))
        counts = load.output.counts
        seconds = load.encoding + time.monotonic() - started
        return LoadReport(load.source.name, counts[RowKind.FACT], new, counts[RowKind.REJECT], load.seconds, seconds)

    def _finish(self, load: _Load, report: LoadReport) -> None:
        if load.rejects is not None and load.table is not None:
            self.rejects.include(load.rejects)
            self._reject_tables.append(load.table)
        else:
            load.output.discard()
        self.reports.append(report)
        self._context.report(report)

    def _frames(self, load: _Load) -> dict[str, Frame]:
        if load.predicate is not None:
            return {load.predicate: load.output.facts()}

        found = frames_of_triples(self._context, load.output, self.arities, load.source.name)
        frames = {self.named(predicate, frame.arity): frame for predicate, frame in found.items()}
        for predicate, frame in frames.items():
            known = self.arities.get(predicate, frame.arity)
            check_columns_fit(predicate, frame.arity, known, load.source.name, load.source.span)
        return frames

    def _new(self, predicate: str, frame: Frame, pending: list[Frame], *, is_stored: bool) -> Frame:
        """Return the facts that are neither explicit nor pending. `is_stored`: the frame already reads from the workspace."""
        explicit = self._store.explicit.get(predicate)
        known = [*([explicit] if explicit is not None and explicit.rows != 0 else []), *pending]
        if known:
            frame = Frame(frame.df.join(union(known).df, frame.columns, "left_anti"), frame.arity)
        if (is_stored and not known) or (frame.rows is not None and frame.rows <= _KEPT_BY_DRIVER):
            return frame.counted()
        if isinstance(frame, LocalFrame):
            df, path = self._context.workspace.keep(frame.table, predicate)
            frame = Frame(df, frame.arity, frame.rows, lies_in=(path,))
        else:
            frame = self._context.workspace.table(frame.df, predicate, frame.arity)
        return frame.counted()


@contextmanager
def _named_write_failures(stage: str, source: str) -> Iterator[None]:
    """Raise failures to write to the workspace inside the block as errors that name the stage and the source."""
    try:
        yield
    except Exception as error:
        if not (is_of_spark(error) or isinstance(error, OSError)):  # OSError: what the driver writes itself
            raise
        reason = error.strerror or str(error) if isinstance(error, OSError) else explained(error)[1]
        message = f"{stage}: cannot store the facts of {source}: {reason}"
        raise ProgramError([Diagnostic(catalogue.UNUSABLE_WORKSPACE, message)]) from error
