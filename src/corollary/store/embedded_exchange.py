"""The embedded engine as a store sees it: codes of its universe become the ids of the files, and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from corollary.analysis import Analysis
from corollary.analysis.lowering import stated_predicates
from corollary.backends.embedded import EmbeddedBackend
from corollary.engines.base import EXPLICIT
from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.engines.embedded.maintenance.journal import ChangedSupport, SupportChange, SupportOfOwner
from corollary.engines.embedded.relations.relation import Codes, facts_of
from corollary.engines.spark.terms.ids import CollisionTable
from corollary.engines.spark.terms.task_universe import TERM_FIELDS
from corollary.io.delta import DeltaFile
from corollary.planning.steps import is_auxiliary
from corollary.reasoning.run import Run
from corollary.store.exchange import (
    AUXILIARY,
    FORMS,
    OWNERS,
    TransactionChanges,
    described_forms,
    digest_of_description,
    owners_digest,
    stored_owner,
)
from corollary.store.manifest import Counts
from corollary.store.parts import StoredChange, merged
from corollary.store.relations import load_relations
from corollary.store.store import Store, Whole
from corollary.store.tables import ROWS_PER_FILE, Tables
from corollary.store.terms import StoredTerms

_SORTED_FROM = 1_000  # rows; fewer are small in any order
_NO_CODES: Codes = np.empty(0, np.uint32)


class EmbeddedExchange:
    """The embedded engine. It carries changes of owners that say nothing to anybody, and have to be part of the next version."""

    def __init__(self, backend: EmbeddedBackend) -> None:
        self._backend = backend
        self._engine = backend.engine
        self._terms = StoredTerms(backend.engine.universe)
        self._new_terms: Callable[[], Codes] = lambda: _NO_CODES
        self._carried: list[StoredChange] = []
        self._regroup: Callable[[Run], list[StoredChange]] | None = None
        self.arities = backend.arities

    @property
    def collisions(self) -> CollisionTable:
        return self._terms.collisions

    @property
    def commits(self) -> int:
        return self._engine.commits

    @property
    def way_of_changes(self) -> object:
        return self._engine.following

    @property
    def is_regrouped(self) -> bool:
        return bool(self._carried)

    @property
    def shows_other_facts(self) -> bool:
        return any(part.visible.any() for part in self._carried)

    def settings(self, analysis: Analysis) -> dict[str, Any]:
        return settings_of(self._backend, analysis)

    def carry_out(self, work: Callable[[], None], run: Run) -> None:
        work()

    # -- out -----------------------------------------------------------------------------------------------------------

    def keep_journal(self) -> None:
        self._engine.keep_journal()

    @property
    def is_ready(self) -> bool:
        return self._regroup is None

    def prepare(self, run: Run) -> None:
        if self._regroup is not None:
            self._carried, self._regroup = self._regroup(run), None

    def export(self, analysis: Analysis, run: Run, *, is_first: bool) -> EmbeddedExport:
        export = EmbeddedExport(self._engine.counting(run), self._terms, run.check)
        self._new_terms = lambda: export.new_terms
        return export

    def changes(self, store: Store, made: ChangedSupport, *, is_silent: bool) -> TransactionChanges | None:
        if made.is_large:
            return self._everything_after(store, made)
        parts, codes, terms = parts_of_changes(made.changes(), self._terms)
        is_only_regrouped = is_silent and not any(part.owner == EXPLICIT for part in parts)
        if self._carried:
            parts = merged([*self._carried, *parts])
            codes, terms = self._terms.new_terms([self._terms.codes(part.ids.ravel()) for part in parts])
        if is_only_regrouped:
            self._carried = parts
            return None
        self._new_terms = lambda: codes
        arities = {part.predicate: part.arity for part in parts if not is_auxiliary(part.predicate)}
        return TransactionChanges(parts, terms, arities)

    def _everything_after(self, store: Store, made: ChangedSupport) -> TransactionChanges:
        """Return all facts that are there after a transaction, instead of what has changed."""
        written, outcome = WrittenSupport(self._terms), made.outcome
        self._new_terms = lambda: written.new_terms
        inserted, deleted = (
            sum(facts.count for name, facts in side.items() if not is_auxiliary(name))
            for side in (outcome.inserted, outcome.deleted)
        )
        whole = Whole(
            lambda folder: written.write_facts(made.after(), store.tables, folder),
            lambda folder: written.write_terms(store.tables, folder),
            Counts(outcome.explicit_inserted, outcome.explicit_deleted, inserted, deleted),
            lambda: self.collisions,
        )
        arities = {name: arity for name, arity in self._engine.arities.items() if not is_auxiliary(name)}
        return TransactionChanges([], TERM_FIELDS.empty_table(), arities, whole=whole)

    def note_stored(self) -> None:
        self._terms.note_stored(self._new_terms())
        self._carried = []

    def forget_regrouping(self) -> None:
        self._engine.forget_carried()

    # -- in ------------------------------------------------------------------------------------------------------------

    def restore(self, store: Store, analysis: Analysis, run: Run, unchanged: Collection[str]) -> None:
        self._terms = StoredTerms(self._engine.universe, store.meaning.collisions)
        if OWNERS in unchanged:
            self._take_in(store, analysis, run, AUXILIARY in unchanged)
        else:
            self._derive(store, run)

    def _take_in(self, store: Store, analysis: Analysis, run: Run, has_same_auxiliary: bool) -> None:
        engine = self._engine
        owners = owners_of(engine, analysis)
        if not has_same_auxiliary:  # another engine keeps other auxiliary facts
            owners = {stored: owner for stored, owner in owners.items() if not is_auxiliary(stored)}
        relations = load_relations(store, self._terms, owners)
        run.check(relations.facts)
        self._backend.defined.update(name for name in relations.relations if not is_auxiliary(name))
        if not has_same_auxiliary:
            engine.derive_auxiliary(relations, run)
        engine.restore(relations)
        if not has_same_auxiliary:
            self._carried = _other_auxiliary(store, engine, self._terms)

    def _derive(self, store: Store, run: Run) -> None:
        """Take in the explicit facts and derive the rest, which the rules derive in another way than before.

        Reading alone writes nothing: others may be writing. What was derived becomes part of the version of the first change.
        """
        engine = self._engine
        for name, relation in load_relations(store, self._terms, {EXPLICIT: EXPLICIT}).relations.items():
            self._backend.defined.add(name)
            engine.insert(name, facts_of(relation), run)
        engine.materialise(run)
        self._regroup = partial(_regrouping, store, engine, self._terms)


def settings_of(backend: EmbeddedBackend, analysis: Analysis) -> dict[str, Any]:
    """Return how facts are derived, and digests of who owns them: facts that others derived are of no use."""
    steps, following = backend.engine.steps(analysis.evaluated), backend.engine.following
    counts, _ = backend.engine.form_of_support
    uncounted = {step.owner for step in steps if following.modules_of(step)} if counts else ()
    return {
        **backend.settings.stored(),
        OWNERS: owners_digest(analysis.evaluated, steps, counts_recursion=counts, uncounted=uncounted),
        AUXILIARY: digest_of_description(sorted(repr(step) for step in steps if is_auxiliary(step.owner))),
        FORMS: described_forms(analysis),
    }


def owners_of(engine: EmbeddedEngine, analysis: Analysis) -> dict[str, str]:
    """Return the owners of facts, by their names on disk."""
    graph = analysis.evaluated
    owners = [EXPLICIT, *stated_predicates(graph), *(step.owner for step in engine.steps(graph))]
    return {stored_owner(owner): owner for owner in owners}


# -- out ---------------------------------------------------------------------------------------------------------------


class WrittenSupport:
    """Writes the support of facts, as an engine has it, into files of a store."""

    def __init__(self, terms: StoredTerms, check: Callable[[], None] = lambda: None) -> None:
        self._terms = terms
        self._check = check
        self._used: list[Codes] = []
        self.explicit = 0
        self.new_terms: Codes = _NO_CODES
        """The constants that `write_terms` has written."""

    def write_facts(self, supports: Iterable[SupportOfOwner], tables: Tables, folder: str) -> list[DeltaFile]:
        return [file for part in self._parts(supports) for file in tables.write_facts(folder, part)]

    def _parts(self, supports: Iterable[SupportOfOwner]) -> Iterator[StoredChange]:
        for predicate, owner, facts, counts in supports:
            self.explicit += len(facts) if owner == EXPLICIT else 0
            self._used.append(_distinct(facts, self._terms.universe.size))
            facts, counts = _in_order(facts, counts)
            for start in range(0, len(counts), ROWS_PER_FILE):
                self._check()
                rows = slice(start, start + ROWS_PER_FILE)
                yield part_of(predicate, owner, facts[rows], counts[rows].astype(np.int64), None, self._terms)

    def write_terms(self, tables: Tables, folder: str) -> list[DeltaFile]:
        """Write the constants of the facts that were written, as far as they are not stored."""
        self.new_terms, rows = self._terms.new_terms(self._used)
        return tables.write_rows(tables.terms, folder, rows)


class EmbeddedExport(WrittenSupport):
    """Everything that an engine has, and the constants of it."""

    def __init__(self, engine: EmbeddedEngine, terms: StoredTerms, check: Callable[[], None]) -> None:
        super().__init__(terms, check)
        self._engine = engine

    @property
    def visible(self) -> int:
        return sum(self._engine.count(name) for name in self._engine.predicates if not is_auxiliary(name))

    def write_all_facts(self, tables: Tables, folder: str) -> list[DeltaFile]:
        return self.write_facts(self._engine.supports(), tables, folder)


def part_of(
    predicate: str, owner: str, facts: Codes, change: Any, visible: Any | None, terms: StoredTerms
) -> StoredChange:
    seen = np.zeros(len(change), np.int8) if visible is None else visible.astype(np.int8)
    return StoredChange(predicate, stored_owner(owner), terms.ids(facts).reshape(facts.shape), change, seen)


def parts_of_changes(
    changes: Sequence[SupportChange], terms: StoredTerms
) -> tuple[list[StoredChange], Codes, pa.Table]:
    """Return the changes of a transaction with ids, and the constants that are new in them: their codes and their rows."""
    parts = [
        part_of(change.predicate, change.owner, change.facts, change.change, change.visible, terms)
        for change in changes
    ]
    # Each has a fact once: sorting them is only of use where two are about the same facts.
    parts = (
        merged(parts) if len({part.key for part in parts}) < len(parts) else sorted(parts, key=lambda part: part.key)
    )
    return parts, *terms.new_terms([change.facts for change in changes])


def _distinct(facts: Codes, size: int) -> Codes:
    seen = np.zeros(size, np.bool_)
    seen[facts.reshape(-1)] = True
    return np.flatnonzero(seen).astype(np.uint32)


def _in_order(facts: Codes, counts: Any) -> tuple[Codes, Any]:
    """Return facts in an order in which those that share their first arguments stand together, which makes files small."""
    if facts.shape[1] < 2 or len(facts) < _SORTED_FROM or _stand_together(facts):
        return facts, counts
    if facts.shape[1] == 2 and (counts == counts[0]).all():
        keys = facts[:, 0].astype(np.uint64) << np.uint64(32) | facts[:, 1]
        keys.sort()
        ordered = np.empty(facts.shape, np.uint32)
        ordered[:, 0], ordered[:, 1] = keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)
        return ordered, counts
    order = np.lexsort(tuple(facts[:, place] for place in reversed(range(facts.shape[1]))))
    return facts[order], counts[order]


def _stand_together(facts: Codes) -> bool:
    first = facts[:100_000, 0]
    return int((first[1:] != first[:-1]).sum()) * 8 < len(first)


# -- other owners ------------------------------------------------------------------------------------------------------


def _other_auxiliary(store: Store, engine: EmbeddedEngine, terms: StoredTerms) -> list[StoredChange]:
    """Return the changes by which the stored auxiliary facts go, and those that were made come."""
    gone = [_taken_back(part) for part in store.all_parts(is_auxiliary)]
    made = [
        part_of(predicate, owner, facts, counts.astype(np.int64), None, terms)
        for predicate, owner, facts, counts in engine.supports()
        if is_auxiliary(predicate)
    ]
    return [*gone, *made]


def _regrouping(store: Store, engine: EmbeddedEngine, terms: StoredTerms, run: Run) -> list[StoredChange]:
    """Return what leads from the support in a store to that of an engine, which has derived the facts in a way of its own."""
    store.check_newest()  # files of a version that others have replaced may be gone
    stored = store.all_parts(lambda predicate: True)
    run.check()
    made = []
    for predicate, owner, facts, counts in engine.supports():
        made.append(part_of(predicate, owner, facts, counts.astype(np.int64), None, terms))
        run.check()
    changes = merged([*map(_taken_back, stored), *made])
    run.check()
    changed = {part.predicate for part in changes if not is_auxiliary(part.predicate)}
    before, after = ([part for part in parts if part.predicate in changed] for parts in (stored, made))
    seen = merged([*map(_taken_back, _each_once(before)), *_each_once(after)])
    flips = [
        replace(part, owner=EXPLICIT, change=0 * part.change, visible=part.change.astype(np.int8)) for part in seen
    ]
    return merged([*changes, *flips])


def _taken_back(part: StoredChange) -> StoredChange:
    return replace(part, change=-part.change, visible=np.zeros(part.rows, np.int8))


def _each_once(parts: list[StoredChange]) -> list[StoredChange]:
    """Return the facts of all owners together, each with the number one."""
    found = merged(replace(part, owner="") for part in parts)
    return [replace(part, change=np.ones(part.rows, np.int64)) for part in found]
