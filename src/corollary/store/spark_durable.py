"""A knowledge base on Spark that lives in a store: executors write the files, and the driver commits them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import Analysis, RuleGraph
from corollary.engines.embedded.maintenance.rule_changes import steps_in_order
from corollary.engines.spark.terms.task_universe import TERM_FIELDS
from corollary.planning.steps import is_auxiliary
from corollary.store.durable import AUXILIARY, FORMS, OWNERS, counts_of, owners_digest, told_cause, told_forms
from corollary.store.manifest import Counts
from corollary.store.meaning import Meaning
from corollary.store.program_rows import rows_of, rule_changes
from corollary.store.spark_facts import SparkExport, parts_of_transaction, restore_facts, term_frames
from corollary.store.spark_files import write_frame
from corollary.store.store import Commit, Store

if TYPE_CHECKING:
    import pyarrow as pa

    from corollary.backends.spark import SparkBackend
    from corollary.engines.spark.maintenance.transaction import Transaction

_TERMS_IN_DRIVER = 100_000


class SparkDurable:
    """The same as `Durable`, for a backend on Spark."""

    def __init__(self, backend: SparkBackend, analysis: Callable[[], Analysis], store: Store) -> None:
        self.backend = backend
        self.store = store
        self.cause = ""
        self.marks: dict[str, Any] = {}
        self._analysis = analysis
        backend.committing = self._commit

    def _commit(self, transaction: Transaction) -> None:
        """Called when a transaction is computed; what is raised here takes the transaction back."""
        store, before = self.store, self.store.meaning
        stem = f"changes-{store.version + 1:010}"
        parts, files, rows = parts_of_transaction(
            transaction.support_changes(), transaction.visible_changes(), store.versions.folder, stem
        )
        found = {name: arity for name, arity in transaction.arities() if not is_auxiliary(name)}
        meaning = meaning_of(
            self.backend, self._analysis(), {**before.predicates, **found}, {**before.marks, **self.marks}
        )
        if not parts and not files and (meaning.program, meaning.marks) == (before.program, before.marks):
            return
        terms, more = self._new_terms()
        gone, come = rule_changes(before.program, meaning.program)
        counts = counts_of(parts, len(come), len(gone))
        cause = self.cause or told_cause(counts)
        store.commit(Commit(cause, parts, terms, counts, meaning, [*files, *more], rows))
        self.backend.context.universe.untold.clear()

    def _new_terms(self) -> tuple[pa.Table, list[str]]:
        import pyarrow as pa

        tables, files = [TERM_FIELDS.empty_table()], []
        for df in self.backend.context.universe.untold:
            found = df.limit(_TERMS_IN_DRIVER + 1).toArrow()
            if found.num_rows <= _TERMS_IN_DRIVER:
                tables.append(found.cast(TERM_FIELDS))
            else:
                stem = f"terms-{self.store.version + 1:010}"
                files += [name for name, _ in write_frame(df, self.store.versions.folder, stem)]
        return pa.concat_tables(tables), files

    def compact(self) -> None:
        self.backend.prepare()
        write_anew(self.backend, self._analysis(), self.store, "compacted", is_anew=False)


def meaning_of(backend: SparkBackend, analysis: Analysis, predicates: dict[str, int], marks: dict[str, Any]) -> Meaning:
    written = {name: info.arity for name, info in analysis.predicates.items() if info.arity is not None}
    known = {**written, **backend.arities, **predicates}
    known = {name: arity for name, arity in known.items() if not is_auxiliary(name)}
    settings = {**settings_of(backend, analysis.evaluated), FORMS: told_forms(analysis)}
    return Meaning(rows_of(analysis), settings, known, backend.context.universe.collisions, marks)


def settings_of(backend: SparkBackend, graph: RuleGraph) -> dict[str, Any]:
    return {
        **backend.settings.stored(),
        OWNERS: owners_digest(graph, steps_in_order(graph), counts_recursion=False),
        AUXILIARY: "none",
    }


def write_anew(backend: SparkBackend, analysis: Analysis, store: Store, cause: str, *, is_anew: bool = True) -> None:
    """A version of a store with everything that a backend has."""
    export = SparkExport(backend, analysis.evaluated)

    def counts() -> Counts:
        if store.version:  # all of this was there before
            return Counts()
        return Counts(export.explicit, 0, backend.engine.store.facts, 0, len(analysis.graph.rules), 0)

    store.write_anew(
        cause,
        lambda folder: export.write_facts(store.tables, folder),
        lambda folder: export.write_terms(store.tables, folder),
        lambda: meaning_of(backend, analysis, store.meaning.predicates, store.meaning.marks),
        counts,
        is_anew=is_anew,
    )
    backend.context.universe.untold.clear()


def save(backend: SparkBackend, analysis: Analysis, path: Path, cause: str) -> Store:
    """A new store with all that a backend has; where that fails, nothing is left of it."""
    existed = path.exists()
    store = Store.create(path)
    universe = backend.context.universe
    untold, universe.untold = universe.untold, universe.everything()
    try:
        write_anew(backend, analysis, store, cause)
    except BaseException:
        universe.untold = untold
        shutil.rmtree(path, ignore_errors=True)
        if existed:
            path.mkdir()
        raise
    return store


def restore(backend: SparkBackend, analysis: Callable[[], Analysis], store: Store) -> SparkDurable:
    """Fills a backend that has the rules of a store with the facts of it."""
    context, graph = backend.context, analysis().evaluated
    backend.arities.update(store.meaning.predicates)
    context.universe.restore(list(term_frames(context, store)), store.meaning.collisions)
    is_same = store.meaning.settings.get(OWNERS) == settings_of(backend, graph)[OWNERS]
    restore_facts(backend, graph, store)
    backend.defined.update(name for name in backend.store.arities if not is_auxiliary(name))
    engine = backend.engine
    if is_same:
        engine.know_restored()
    else:  # the rules are followed in another way now: only explicit facts count
        engine.forget()
        engine.materialise(check=backend.new_check())
        opened = analysis()  # within a transaction `analysis` tells of the program after it
        backend.preparing = lambda: write_anew(backend, opened, store, "derived anew")
    return SparkDurable(backend, analysis, store)
