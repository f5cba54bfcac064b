"""Facts of a knowledge base on Spark to a store and back. Its ids are those of the files: nothing is translated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from corollary.analysis import RuleGraph
from corollary.engines.embedded.maintenance.transaction import EXPLICIT
from corollary.engines.spark.arrow_frames import rows_of_table
from corollary.engines.spark.relations import COUNT, Frame, column_names
from corollary.planning.steps import is_auxiliary
from corollary.store.delta_folder import DataFile
from corollary.store.embedded_facts import stored_owner
from corollary.store.files import read_named
from corollary.store.parts import CHANGE, OWNER, PREDICATE, VISIBLE, Part, columns_of, merged
from corollary.store.spark_files import write_frame
from corollary.store.store import Store
from corollary.store.tables import StoredFacts, Tables, escaped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from corollary.backends.spark import SparkBackend
    from corollary.engines.spark.context import Context
    from corollary.engines.spark.maintenance.change_rows import ChangeRows


def derived_by_rules(graph: RuleGraph) -> dict[str, int]:
    """The predicates that rules have facts for, those among them that no program can name, and their numbers of arguments."""
    return {rule.head.predicate: rule.head.arity for rule in graph.rules.values()}


# -- to a store --------------------------------------------------------------------------------------------------------


class SparkExport:
    """Everything that a backend has; facts that steps make for themselves are left out: they are derived from the others."""

    def __init__(self, backend: SparkBackend, graph: RuleGraph) -> None:
        self._backend = backend
        self._derived = derived_by_rules(graph)
        self.explicit = 0

    def write_facts(self, tables: Tables, folder: str) -> list[DataFile]:
        found = []
        store = self._backend.store
        for predicate in sorted(name for name in store.arities if not is_auxiliary(name) or name in self._derived):
            for owner, frame in store.owners(predicate).items():
                values = {PREDICATE: escaped(predicate), OWNER: escaped(stored_owner(owner))}
                rows = _with_change(frame)
                if frame.arity:
                    rows = rows.sortWithinPartitions(*columns_of(frame.arity))
                for name, count in write_frame(rows, tables.facts.path / folder, "facts"):
                    found.append(DataFile(f"{folder}/{name}", values, count))
                    self.explicit += count if owner == EXPLICIT else 0
        return found

    def write_terms(self, tables: Tables, folder: str) -> list[DataFile]:
        """The constants that are not stored yet."""
        path = tables.terms.path / folder
        return [
            DataFile(f"{folder}/{name}", {}, count)
            for df in self._backend.context.universe.untold
            for name, count in write_frame(df, path, "terms")
        ]


def _with_change(frame: Frame) -> DataFrame:
    """Rows as files of facts have them."""
    names = zip(frame.columns, columns_of(frame.arity), strict=False)
    return frame.df.selectExpr(f"CAST({COUNT} AS INT) AS {CHANGE}", *(f"{ours} AS {theirs}" for ours, theirs in names))


def parts_of_transaction(
    changes: Iterable[tuple[str, str, ChangeRows]], flips: Iterable[tuple[str, ChangeRows]], folder: Path, stem: str
) -> tuple[list[Part], list[str], int]:
    """The changes of a transaction: those that the driver has, and files with the others and how many these are."""
    parts: list[Part] = []
    files: list[str] = []
    rows = 0
    told = [(predicate, stored_owner(owner), change, False) for predicate, owner, change in changes]
    told += [(predicate, EXPLICIT, change, True) for predicate, change in flips]
    for predicate, owner, change, is_visible in told:
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


def _part(predicate: str, owner: str, arity: int, ids: Any, is_visible: bool) -> Part:
    numbers = ids[:, -1]
    nothing = np.zeros(len(ids), np.int64)
    change, visible = (nothing, numbers) if is_visible else (numbers, nothing)
    return Part(predicate, owner, np.ascontiguousarray(ids[:, :arity]), change, visible.astype(np.int8))


def _text(value: str) -> str:
    """A text in SQL, whatever is in it."""
    return f"decode(unhex('{value.encode().hex()}'), 'UTF-8')"


# -- and back ----------------------------------------------------------------------------------------------------------


def restore_facts(backend: SparkBackend, graph: RuleGraph, store: Store) -> None:
    """Fills the store of a backend whose rules are those of the graph."""
    names = {stored_owner(str(node)): str(node) for node in graph.hyper_nodes}
    arities = {**derived_by_rules(graph), **store.meaning.predicates}
    counted = {str(node) for node in graph.hyper_nodes if not graph.is_recursive(node)}
    changes: dict[tuple[str, str], Part] = {
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


def _frame(context: Context, arity: int, stored: StoredFacts | None, change: Part | None) -> Frame:
    """All that an owner supports, with the column `n`."""
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
    """A predicate as if it had been derived here: explicit facts, what each owner derives, and what is visible beside."""
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
    """The universe of a store."""
    files = [store.tables.terms.path / file.name for file in store.tables.terms.files(store.head.tables["terms"])]
    for file in files:
        read_named(file)
    if files:
        paths = [file.absolute().as_uri() for file in files]
        schema = "id long, common string, canonical string, datatype string"
        yield context.spark.read.schema(schema).parquet(*paths)
    recent = store.recent_terms().combine_chunks()  # Spark loses rows behind an empty chunk
    if recent.num_rows:
        yield rows_of_table(context.spark, recent)
