"""Spark as a store sees it: executors write the files, and the driver commits them. Its ids are those of the files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from corollary.analysis import Analysis, RuleGraph
from corollary.engines.base import EXPLICIT
from corollary.engines.spark.relations import COUNT, Frame, column_names, empty_frame
from corollary.engines.spark.terms.ids import CollisionTable
from corollary.engines.spark.terms.task_universe import TERM_FIELDS
from corollary.engines.spark_session.arrow_frames import rows_of_table
from corollary.io.delta import DeltaFile
from corollary.planning.steps import is_auxiliary
from corollary.reasoning.maintain.step_rules import steps_in_order
from corollary.reasoning.run import Run
from corollary.store.exchange import (
    AUXILIARY,
    FORMS,
    OWNERS,
    TransactionChanges,
    described_forms,
    metadata_of,
    owners_digest,
    stored_owner,
)
from corollary.store.files import read_named, sync_folder, write_parquet
from corollary.store.parts import CHANGE, OWNER, PREDICATE, VISIBLE, StoredChange, columns_of, merged
from corollary.store.store import Base, Store
from corollary.store.tables import StoredFacts, Tables, escaped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.backends.spark import SparkBackend
    from corollary.engines.spark.context import Context
    from corollary.engines.spark.maintenance.change_rows import ChangeRows
    from corollary.engines.spark.maintenance.transaction import SparkTransaction

# -- spark files -------------------------------------------------------------------------------------------------------

# Files of a store that executors write: each task brings its rows to the disk itself, and tells the driver the names.

_WRITTEN = pa.schema([("name", pa.string()), ("rows", pa.int64())])
_ROWS_PER_FILE = 1 << 22


def write_frame(df: DataFrame, folder: Path, stem: str) -> list[tuple[str, int]]:
    """The names and numbers of rows of new files in a folder that all machines share; they are on the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    reports = df.mapInArrow(_writer(str(folder), stem), "name string, rows long").collect()
    sync_folder(folder)
    return [(row["name"], row["rows"]) for row in reports]


def _writer(folder: str, stem: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(one.num_rows for one in waiting) >= _ROWS_PER_FILE:
                yield _written(waiting, folder, stem)
                waiting = []
        if sum(one.num_rows for one in waiting):
            yield _written(waiting, folder, stem)

    return write


def _written(batches: list[pa.RecordBatch], folder: str, stem: str) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches)
    file = write_parquet(Path(folder), stem, table)
    return pa.RecordBatch.from_arrays([pa.array([file.name]), pa.array([table.num_rows])], schema=_WRITTEN)


# -- spark exchange ----------------------------------------------------------------------------------------------------

Rows: TypeAlias = "list[tuple[str, ChangeRows]]"
_TERMS_IN_DRIVER = 100_000


class SparkExchange:
    """Where facts have other owners than in the version before, all of them wait in files (`Base`), with the visible ones that
    came and went by it."""

    commits = way_of_changes = None

    def __init__(self, backend: SparkBackend) -> None:
        self._backend = backend
        self._context = backend.context
        self._regroup: Callable[[Run], None] | None = None
        self._flips: Rows = []
        self._base: Base | None = None
        self._is_bound = self._is_exported = False
        self.arities = backend.arities

    @property
    def collisions(self) -> CollisionTable:
        return self._context.universe.collisions

    @property
    def is_regrouped(self) -> bool:
        return self._base is not None

    @property
    def shows_other_facts(self) -> bool:
        return bool(self._flips)

    def settings(self, analysis: Analysis) -> dict[str, Any]:
        graph = analysis.evaluated
        return {
            **self._backend.settings.stored(),
            OWNERS: owners_digest(graph, steps_in_order(graph), counts_recursion=False),
            AUXILIARY: "none",
            FORMS: described_forms(analysis),
        }

    def carry_out(self, work: Callable[[], None], run: Run) -> None:
        self._backend.watched(work, run)

    # -- out -----------------------------------------------------------------------------------------------------------

    def keep_journal(self) -> None:
        self._is_bound = True
        if self._is_exported:
            self._context.universe.unstored.clear()

    @property
    def is_ready(self) -> bool:
        return self._regroup is None

    def prepare(self, run: Run) -> None:
        regroup = self._regroup
        if regroup is not None:
            self._backend.watched(lambda: regroup(run), run)
            self._regroup = None

    def export(self, analysis: Analysis, run: Run, *, is_first: bool) -> SparkExport:
        universe = self._context.universe
        terms = universe.everything() if is_first else universe.unstored
        self._is_exported = True
        return SparkExport(self._backend, analysis.evaluated, terms)

    def changes(self, store: Store, made: SparkTransaction, *, is_silent: bool) -> TransactionChanges | None:
        support = list(made.support_changes())
        if is_silent and not any(change.rows for _, _, change in support):
            return None
        stem = f"changes-{store.version + 1:010}"
        flips = _together([*made.visible_changes(), *self._flips])
        parts, files, rows = parts_of_transaction(support, flips, store.versions.folder, stem)
        terms, more = self._new_terms(store)
        arities = {name: arity for name, arity in made.arities() if not is_auxiliary(name)}
        return TransactionChanges(parts, terms, arities, [*files, *more], rows, self._base)

    def _new_terms(self, store: Store) -> tuple[pa.Table, list[str]]:
        tables, files = [TERM_FIELDS.empty_table()], list[str]()
        for df in self._context.universe.unstored:
            found = df.limit(_TERMS_IN_DRIVER + 1).toArrow()
            if found.num_rows <= _TERMS_IN_DRIVER:
                tables.append(found.cast(TERM_FIELDS))
            else:
                stem = f"terms-{store.version + 1:010}"
                files += [name for name, _ in write_frame(df, store.versions.folder, stem)]
        return pa.concat_tables(tables), files

    def note_stored(self) -> None:
        if self._is_bound:  # others may need the constants that are in no store of theirs
            self._context.universe.unstored.clear()
        self.forget_regrouping()

    def forget_regrouping(self) -> None:
        self._flips, self._base = [], None

    # -- in ------------------------------------------------------------------------------------------------------------

    def restore(self, store: Store, analysis: Analysis, run: Run, unchanged: Collection[str]) -> None:
        backend, context = self._backend, self._context
        context.universe.restore(list(term_frames(context, store)), store.meaning.collisions)
        restore_facts(backend, analysis.evaluated, store)
        backend.defined.update(name for name in backend.store.arities if not is_auxiliary(name))
        if OWNERS in unchanged:
            backend.engine.know_restored()
            return
        # The rules are followed in another way now: only explicit facts count.
        before = {name: backend.store.visible(name) for name in backend.defined}
        backend.engine.forget()
        backend.engine.materialise(run)
        self._regroup = lambda run: self._take_over(store, analysis, before, run)

    def _take_over(self, store: Store, opened: Analysis, before: Mapping[str, Frame], run: Run) -> None:
        """Make what was derived with owners of its own a part of the next version; `before` was visible so far."""
        store.check_newest()
        self._flips = list(_flips(self._backend, before))
        run.check()
        folder = store.new_folder()
        export = SparkExport(self._backend, opened.evaluated, [])
        facts = export.write_all_facts(store.tables, folder)
        run.check()
        self._base = Base(folder, facts, metadata_of(self, opened, store.meaning))


def derived_by_rules(graph: RuleGraph) -> dict[str, int]:
    """Return the predicates that rules have facts for, also those that no program can name, and their numbers of arguments."""
    return {rule.head.predicate: rule.head.arity for rule in graph.rules.values()}


# -- out ---------------------------------------------------------------------------------------------------------------


class SparkExport:
    """Everything that a backend has; facts that steps make for themselves are left out: they are derived from the others."""

    def __init__(self, backend: SparkBackend, graph: RuleGraph, terms: Sequence[DataFrame]) -> None:
        self._backend = backend
        self._derived = derived_by_rules(graph)
        self._terms = terms
        self.explicit = 0

    @property
    def visible(self) -> int:
        return self._backend.engine.store.facts

    def write_all_facts(self, tables: Tables, folder: str) -> list[DeltaFile]:
        found = []
        store = self._backend.store
        for predicate in sorted(name for name in store.arities if not is_auxiliary(name) or name in self._derived):
            for owner, frame in store.owners(predicate).items():
                values = {PREDICATE: escaped(predicate), OWNER: escaped(stored_owner(owner))}
                rows = _with_change(frame)
                if frame.arity:
                    rows = rows.sortWithinPartitions(*columns_of(frame.arity))
                for name, count in write_frame(rows, tables.facts.path / folder, "facts"):
                    found.append(DeltaFile(f"{folder}/{name}", values, count))
                    self.explicit += count if owner == EXPLICIT else 0
        return found

    def write_terms(self, tables: Tables, folder: str) -> list[DeltaFile]:
        path = tables.terms.path / folder
        return [
            DeltaFile(f"{folder}/{name}", {}, count)
            for df in self._terms
            for name, count in write_frame(df, path, "terms")
        ]


def _with_change(frame: Frame) -> DataFrame:
    """Return rows as files of facts have them."""
    names = zip(frame.columns, columns_of(frame.arity), strict=False)
    return frame.df.selectExpr(f"CAST({COUNT} AS INT) AS {CHANGE}", *(f"{ours} AS {theirs}" for ours, theirs in names))


def parts_of_transaction(
    changes: Iterable[tuple[str, str, ChangeRows]], flips: Iterable[tuple[str, ChangeRows]], folder: Path, stem: str
) -> tuple[list[StoredChange], list[str], int]:
    """Return the changes of a transaction: those that the driver has, and files with the others and how many these are."""
    parts: list[StoredChange] = []
    files: list[str] = []
    rows = 0
    written = [(predicate, stored_owner(owner), change, False) for predicate, owner, change in changes]
    written += [(predicate, EXPLICIT, change, True) for predicate, change in flips]
    for predicate, owner, change, is_visible in written:
        if not change.rows:
            continue
        if change.ids is not None:
            parts.append(_part(predicate, owner, change.arity, change.ids, is_visible))
            continue
        df = change.df.selectExpr(
            f"{_text(predicate)} AS {PREDICATE}",
            f"{_text(owner)} AS {OWNER}",
            f"CAST({0 if is_visible else COUNT} AS INT) AS {CHANGE}",
            f"CAST({COUNT if is_visible else 0} AS TINYINT) AS {VISIBLE}",
            *(f"{ours} AS {theirs}" for ours, theirs in zip(change.columns, columns_of(change.arity), strict=False)),
        )
        for name, count in write_frame(df, folder, stem):
            files.append(name)
            rows += count
    return merged(parts), files, rows


def _part(predicate: str, owner: str, arity: int, ids: Any, is_visible: bool) -> StoredChange:
    numbers = ids[:, -1]
    nothing = np.zeros(len(ids), np.int64)
    change, visible = (nothing, numbers) if is_visible else (numbers, nothing)
    return StoredChange(predicate, owner, np.ascontiguousarray(ids[:, :arity]), change, visible.astype(np.int8))


def _text(value: str) -> str:
    """Return a text in SQL, whatever is in it."""
    return f"decode(unhex('{value.encode().hex()}'), 'UTF-8')"


def _together(changes: Rows) -> Rows:
    """Return changes by predicate, each once."""
    from corollary.engines.spark.maintenance.change_rows import summed

    found: dict[str, list[ChangeRows]] = {}
    for name, change in changes:
        found.setdefault(name, []).append(change)
    return [(name, summed(several)) for name, several in found.items()]


def _flips(backend: SparkBackend, before: Mapping[str, Frame]) -> Iterator[tuple[str, ChangeRows]]:
    """Return the changes of visible facts: those that can be seen now and could not be seen before, and the other way round."""
    from corollary.engines.spark.maintenance.change_rows import ChangeRows, settle

    context, arities = backend.context, backend.store.arities
    for name in sorted(name for name in arities if not is_auxiliary(name)):
        now = backend.store.visible(name)
        known = before.get(name) or empty_frame(context.spark, now.arity)
        came = now.df.join(known.df, now.columns, "left_anti").selectExpr("*", f"1L AS {COUNT}")
        gone = known.df.join(now.df, now.columns, "left_anti").selectExpr("*", f"-1L AS {COUNT}")
        ids, stored, rows = settle(context, came.union(gone), "flips")
        if rows:
            yield name, ChangeRows(context, now.arity, rows, ids, stored)


# -- in ----------------------------------------------------------------------------------------------------------------


def restore_facts(backend: SparkBackend, graph: RuleGraph, store: Store) -> None:
    """Fill the store of a backend whose rules are those of the graph."""
    names = {stored_owner(str(node)): str(node) for node in graph.hyper_nodes}
    arities = {**derived_by_rules(graph), **store.meaning.predicates}
    counted = {str(node) for node in graph.hyper_nodes if not graph.is_recursive(node)}
    changes: dict[tuple[str, str], StoredChange] = {
        part.key: part
        for part in merged([*store.tables.stored_changes(store.head.tables), *store.recent_parts()])
        if part.predicate in arities and part.change.any()
    }
    stored = {
        (one.predicate, one.owner): one
        for one in store.tables.stored_facts(store.head.tables)
        if one.predicate in arities
    }
    frames: dict[str, dict[str, Frame]] = {}
    for key in sorted({*stored, *changes}):
        predicate, owner = key[0], names.get(key[1], key[1])
        arity = arities[predicate]
        frame = _frame(backend.context, arity, stored.get(key), changes.get(key))
        if frame.rows != 0:
            frames.setdefault(predicate, {})[owner] = frame
    for predicate, owners in frames.items():
        _keep(backend, predicate, owners, counted)


def _frame(context: Context, arity: int, stored: StoredFacts | None, change: StoredChange | None) -> Frame:
    """Return all that an owner supports, with the column `n`."""
    parts = []
    if stored is not None:
        for file in stored.files:
            read_named(file)  # a flipped byte must not become a fact
        parts.append(_read(context, arity, stored.files))
    if change is not None:
        kept = change.change != 0
        columns = [pa.array(change.ids[kept, place]) for place in range(arity)] or [
            pa.array(np.zeros(kept.sum(), np.int64))
        ]
        table = pa.table([*columns, pa.array(change.change[kept])], names=[*column_names(arity), COUNT])
        parts.append(rows_of_table(context.spark, table))
    if change is None:
        return Frame(parts[0], arity, stored.rows if stored else 0)
    together = reduce(lambda left, right: left.union(right), parts)
    sums = together.groupBy(*column_names(arity)).agg({COUNT: "sum"}).withColumnRenamed(f"sum({COUNT})", COUNT)
    return context.workspace.table(sums.where(f"{COUNT} > 0"), "restored", arity)


def _read(context: Context, arity: int, files: Sequence[Path]) -> DataFrame:
    schema = ", ".join([f"{CHANGE} int", *(f"{name} long" for name in columns_of(arity))])
    paths = [file.absolute().as_uri() for file in files]
    names = [f"{theirs} AS {ours}" for ours, theirs in zip(column_names(arity), columns_of(arity), strict=False)]
    return (
        context.spark.read.schema(schema)
        .parquet(*paths)
        .selectExpr(*(names or ["0L AS c0"]), f"CAST({CHANGE} AS LONG) AS {COUNT}")
    )


def _keep(backend: SparkBackend, predicate: str, owners: Mapping[str, Frame], counted: set[str]) -> None:
    """Keep a predicate as if it had been derived here: explicit facts, what each owner derives, and what is visible beside."""
    store = backend.store
    plain = {owner: Frame(frame.df.select(*frame.columns), frame.arity, frame.rows) for owner, frame in owners.items()}
    for owner, frame in owners.items():
        if owner == EXPLICIT:
            store.add_explicit(predicate, plain[owner])
        else:
            store.add_owned(predicate, owner, frame if owner in counted else plain[owner])
    derived = [frame for owner, frame in plain.items() if owner != EXPLICIT]
    if not derived:
        return
    if len(owners) == 1:
        store.add_derived(predicate, derived[0])
        return
    rest = reduce(lambda left, right: left.union(right), (frame.df for frame in derived))
    rest = rest.distinct() if len(derived) > 1 else rest
    if EXPLICIT in plain:
        rest = rest.join(plain[EXPLICIT].df, derived[0].columns, "left_anti")
    store.add_derived(predicate, backend.context.workspace.table(rest, predicate, derived[0].arity))


def term_frames(context: Context, store: Store) -> Iterator[DataFrame]:
    """Return the universe of a store."""
    files = [store.tables.terms.path / file.name for file in store.tables.terms.files(store.head.tables["terms"])]
    for file in files:
        read_named(file)
    if files:
        paths = [file.absolute().as_uri() for file in files]
        schema = "id long, common string, canonical string, datatype string"
        yield context.spark.read.schema(schema).parquet(*paths)
    recent = store.recent_terms().combine_chunks()  # Spark loses rows after an empty chunk
    if recent.num_rows:
        yield rows_of_table(context.spark, recent)
