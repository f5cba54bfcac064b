"""A knowledge base in a store: each transaction is written as a version before it takes effect."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from corollary.analysis import Analysis
from corollary.diagnostics import catalogue
from corollary.engines.base import EXPLICIT
from corollary.planning.steps import is_auxiliary
from corollary.reasoning.run import Run
from corollary.store.exchange import AUXILIARY, OWNERS, Exchange, known_arities, metadata_of
from corollary.store.manifest import Counts, Rows, VersionMetadata, rows_of, rule_changes
from corollary.store.parts import StoredChange
from corollary.store.problems import problem
from corollary.store.store import Commit, Store


class Durable:
    """Binds an engine with a program to a store.

    `is_current`: the settings of the store hold until the program or the way of changes is another one.
    """

    def __init__(self, engine: Exchange, analysis: Analysis, store: Store, *, is_current: bool = True) -> None:
        self.store = store
        self.cause = ""
        """Why the next version comes, for the history; empty where what it changes says enough."""
        self.marks: dict[str, Any] = {}
        """What the next version and those after it say beside their facts."""
        self._engine = engine
        self._written_at: int | None = None  # how many transactions had happened when the last version was written
        self._known = self._described(analysis) if is_current else (None, None)
        engine.keep_journal()

    def next_version(self, analysis: Analysis) -> NextVersion:
        """Return the journal of a change after which the program is this one."""
        return NextVersion(self, self._engine, analysis)

    def commit(self, analysis: Analysis, changes: Any) -> None:
        """Write the version of a transaction that is computed."""
        version, commits = self.store.version, self._engine.commits
        if commits is not None and self._written_at == commits:
            message = f"a change of {self.store.path} was interrupted when version {version} was being written"
            raise problem(catalogue.STORE_CONFLICT, message, "open it again: it has the change")
        try:
            self._write(analysis, changes)
        finally:
            if self.store.version != version:
                self._written_at = commits

    def _write(self, analysis: Analysis, made: Any) -> None:
        """Write the next version, if anything has changed."""
        before, marks = self.store.meaning, {**self.store.meaning.marks, **self.marks}
        program, settings, arities = self._program(analysis)
        is_silent = (program, marks) == (before.program, before.marks)
        changes = self._engine.changes(self.store, made, is_silent=is_silent)
        if changes is None:
            return
        predicates = {**arities, **before.predicates, **changes.arities}
        meaning = VersionMetadata(program, settings, predicates, self._engine.collisions, marks)
        gone, come = rule_changes(before.program, program)
        counts = changes.whole.counts if changes.whole is not None else counts_of(changes.parts)
        counts = replace(counts, rules_added=len(come), rules_removed=len(gone))
        self.store.commit(
            Commit(
                self.cause or default_cause(counts), changes.parts, changes.terms, counts, meaning,
                changes.files, changes.rows_in_files, changes.base, changes.whole,
            )
        )  # fmt: skip
        self._engine.note_stored()
        self._known = self._described(analysis)

    def _program(self, analysis: Analysis) -> tuple[Rows, dict[str, Any], dict[str, int]]:
        """Return the program and the settings of the next version, and the predicates that came with these."""
        way = self._engine.way_of_changes
        if analysis is self._known[0] and way is self._known[1] and not self._engine.is_regrouped:
            return self.store.meaning.program, self.store.meaning.settings, {}
        return rows_of(analysis), self._engine.settings(analysis), known_arities(self._engine, analysis)

    def _described(self, analysis: Analysis) -> tuple[Analysis | None, object]:
        """Return what program and settings depend on; while both are the same objects, so are these."""
        return analysis, self._engine.way_of_changes

    def compact(self, analysis: Analysis, run: Run) -> None:
        """Write all facts into the tables, without changes beside them, as the next version, which means the same."""

        def work() -> None:
            self._engine.prepare(run)
            is_anew = self._engine.shows_other_facts
            write_everything(self._engine, analysis, self.store, "compacted", run, is_anew=is_anew)

        self._engine.carry_out(work, run)
        self._engine.forget_regrouping()
        self._known = self._described(analysis)


class NextVersion:
    """The journal of one change, which becomes a version of a store (`engines.base.ChangeJournal`)."""

    def __init__(self, durable: Durable, engine: Exchange, analysis: Analysis) -> None:
        self._durable, self._engine, self._analysis = durable, engine, analysis

    @property
    def is_ready(self) -> bool:
        return self._engine.is_ready

    def prepare(self, run: Run) -> None:
        self._engine.prepare(run)

    def commit(self, changes: Any) -> None:
        self._durable.commit(self._analysis, changes)


def counts_of(parts: list[StoredChange]) -> Counts:
    explicit = [part.change for part in parts if part.owner == EXPLICIT]
    seen = [part.visible for part in parts if not is_auxiliary(part.predicate)]
    return Counts(
        explicit_inserted=sum(int((change > 0).sum()) for change in explicit),
        explicit_deleted=sum(int((change < 0).sum()) for change in explicit),
        inserted=sum(int((one > 0).sum()) for one in seen),
        deleted=sum(int((one < 0).sum()) for one in seen),
    )


def default_cause(counts: Counts) -> str:
    """Return the cause that the history shows where the user gave none."""
    rules = counts.rules_added + counts.rules_removed
    facts = counts.explicit_inserted + counts.explicit_deleted
    return "rules and facts" if rules and facts else "rules" if rules else "facts"


# -- beginnings --------------------------------------------------------------------------------------------------------


def write_everything(
    engine: Exchange, analysis: Analysis, store: Store, cause: str, run: Run, *, is_anew: bool = True
) -> None:
    """Write a version of a store with everything that an engine has."""
    is_first = not store.version
    export = engine.export(analysis, run, is_first=is_first)

    def counts() -> Counts:
        if not is_first:  # all of this was there before
            return Counts()
        return Counts(export.explicit, 0, export.visible, 0, len(analysis.graph.rules), 0)

    store.write_anew(
        cause,
        lambda folder: export.write_all_facts(store.tables, folder),
        lambda folder: export.write_terms(store.tables, folder),
        lambda: metadata_of(engine, analysis, store.meaning),
        counts,
        run,
        is_anew=is_anew,
    )
    engine.note_stored()


def save(engine: Exchange, analysis: Analysis, path: Path, cause: str, run: Run) -> Store:
    """Return a new store with all that an engine has; where that fails, nothing is left of it."""
    existed = path.exists()
    store = Store.create(path)
    try:
        engine.carry_out(lambda: write_everything(engine, analysis, store, cause, run), run)
    except BaseException:
        for entry in path.iterdir():
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)
        if not existed:
            path.rmdir()
        raise
    return store


def restore(engine: Exchange, analysis: Analysis, store: Store, run: Run) -> Durable:
    """Fill an engine that has the rules of a store with the facts of it."""

    engine.arities.update(store.meaning.predicates)
    known, wanted = store.meaning.settings, engine.settings(analysis)
    unchanged = {name for name in (OWNERS, AUXILIARY) if known.get(name) == wanted[name]}
    engine.carry_out(lambda: engine.restore(store, analysis, run, unchanged), run)
    # Where owners have changed, those of the store hold until the first change, which brings the others.
    return Durable(engine, analysis, store, is_current=OWNERS not in unchanged or AUXILIARY in unchanged)
