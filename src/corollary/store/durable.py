"""A knowledge base of the embedded engine that lives in a store: every transaction is a version before it happens."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from hashlib import blake2s
from pathlib import Path
from typing import Any

import numpy as np

from corollary.analysis import Analysis, RuleGraph
from corollary.analysis.lowering import stated_predicates
from corollary.backends.embedded import EmbeddedBackend
from corollary.diagnostics import catalogue
from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.engines.embedded.maintenance.transaction import EXPLICIT, facts_of
from corollary.planning import normalise
from corollary.planning.steps import RuleStep, Step, is_auxiliary
from corollary.store.embedded_facts import Export, load_relations, part_of, parts_of_changes, stored_owner
from corollary.store.manifest import Counts
from corollary.store.meaning import Meaning
from corollary.store.parts import Part, merged
from corollary.store.problems import problem
from corollary.store.program_rows import rows_of, rule_changes
from corollary.store.store import Commit, Store
from corollary.store.terms import StoredTerms

OWNERS, AUXILIARY, FORMS = "owners", "auxiliary", "forms"
"""Settings that say by which rules facts were derived, which auxiliary facts are kept beside them, and which forms terms had."""


class Durable:
    """Binds a backend to a store. `analysis` gives the program as it will be after the transaction that runs."""

    def __init__(
        self, backend: EmbeddedBackend, analysis: Callable[[], Analysis], store: Store, terms: StoredTerms
    ) -> None:
        self.store = store
        self.terms = terms
        self.backend = backend
        self.cause = ""
        """Why the next version comes, for the history; empty where what it changes says enough."""
        self.marks: dict[str, Any] = {}
        """What the next version and those after it say beside their facts."""
        self._analysis = analysis
        self._carried: list[Part] = []
        self._written_at = -1  # how many transactions had happened when the last version was written
        self._known = analysis(), backend.engine.following
        backend.engine.set_committing(self._commit)

    def _commit(self) -> None:
        """Called by the engine when a transaction is computed; what is raised here takes the transaction back."""
        version, commits = self.store.version, self.backend.engine.commits
        if self._written_at == commits:
            message = f"a change of {self.store.path} was interrupted when version {version} had just been written"
            raise problem(catalogue.STORE_CONFLICT, message, "open it again: the change is there")
        try:
            self._write()
        finally:
            if self.store.version != version:
                self._written_at = commits

    def _write(self) -> None:
        """Writes the next version, if anything has changed."""
        parts, codes, terms = parts_of_changes(self.backend.engine.support_changes(), self.terms)
        meaning = self._meaning(parts)
        if self._carried:
            parts = merged([*self._carried, *parts])
            codes, terms = self.terms.new_terms([self.terms.codes(part.ids.ravel()) for part in parts])
        before = self.store.meaning
        if not parts and (meaning.program, meaning.marks) == (before.program, before.marks):
            return
        gone, come = rule_changes(before.program, meaning.program)
        counts = counts_of(parts, len(come), len(gone))
        self.store.commit(Commit(self.cause or told_cause(counts), parts, terms, counts, meaning))
        self.terms.note_stored(codes)
        self._carried = []
        self._known = self._analysis(), self.backend.engine.following

    def carry(self, parts: list[Part]) -> None:
        """Changes that say nothing to anybody and have to be part of the next version."""
        self._carried = parts

    def _meaning(self, parts: list[Part]) -> Meaning:
        before, analysis = self.store.meaning, self._analysis()
        found = {part.predicate: part.arity for part in parts if not is_auxiliary(part.predicate)}
        predicates = {**before.predicates, **found}
        # Marks are about the changes that come with them, and wait where none do.
        marks = {**before.marks, **({} if self.backend.engine.is_regrouping else self.marks)}
        is_known = analysis is self._known[0] and self.backend.engine.following is self._known[1]
        if is_known and not self._carried:
            return Meaning(before.program, before.settings, predicates, self.terms.collisions, marks)
        return meaning_of_backend(self.backend, analysis, self.terms, predicates, marks)

    def compact(self) -> None:
        """All facts anew, without changes beside them: the next version, which says the same."""
        self.backend.engine.prepare()
        write_anew(self.backend, self._analysis(), self.store, self.terms, "compacted", is_anew=False)
        self.backend.engine.forget_carried()
        self._carried = []


def counts_of(parts: list[Part], rules_added: int = 0, rules_removed: int = 0) -> Counts:
    explicit = [part.change for part in parts if part.owner == EXPLICIT]
    seen = [part.visible for part in parts if not is_auxiliary(part.predicate)]
    return Counts(
        explicit_inserted=sum(int((change > 0).sum()) for change in explicit),
        explicit_deleted=sum(int((change < 0).sum()) for change in explicit),
        inserted=sum(int((one > 0).sum()) for one in seen),
        deleted=sum(int((one < 0).sum()) for one in seen),
        rules_added=rules_added,
        rules_removed=rules_removed,
    )


def told_cause(counts: Counts) -> str:
    """What the history says where nobody gave a reason."""
    rules = counts.rules_added + counts.rules_removed
    facts = counts.explicit_inserted + counts.explicit_deleted
    return "rules and facts" if rules and facts else "rules" if rules else "facts"


def meaning_of_backend(
    backend: EmbeddedBackend,
    analysis: Analysis,
    terms: StoredTerms,
    predicates: dict[str, int],
    marks: dict[str, Any],
) -> Meaning:
    written = {name: info.arity for name, info in analysis.predicates.items() if info.arity is not None}
    known = {**written, **backend.arities, **predicates}
    return Meaning(rows_of(analysis), settings_of(backend, analysis), known, terms.collisions, marks)


def settings_of(backend: EmbeddedBackend, analysis: Analysis) -> dict[str, Any]:
    """How facts are derived, and digests of who owns them: facts that others derived are of no use."""
    steps = backend.engine.steps(analysis.evaluated)
    return {
        **backend.settings.stored(),
        OWNERS: owners_digest(analysis.evaluated, steps, counts_recursion=backend.engine.form_of_support[0]),
        AUXILIARY: _digest(sorted(repr(step) for step in steps if is_auxiliary(step.owner))),
        FORMS: told_forms(analysis),
    }


def told_forms(analysis: Analysis) -> list[list[Any]]:
    """The forms of terms that the rules of a program depend on; most programs have none."""
    return sorted(([name, count] for name, count in analysis.forms), key=str)


def owners_digest(graph: RuleGraph, steps: Iterable[Step], *, counts_recursion: bool) -> str:
    """Of all that decides what owners of visible facts derive, and how they count; the order of rules does not."""
    told = [
        (
            stored_owner(step.owner),
            sorted(repr(normalise(graph.rules[rule.name])) for rule in step.rules),
            step.recursive,
        )
        for step in steps
        if isinstance(step, RuleStep) and not is_auxiliary(step.owner)
    ]
    return _digest((counts_recursion, sorted(told)))


def _digest(told: object) -> str:
    return blake2s(repr(told).encode(), digest_size=16).hexdigest()


def owners_of(engine: EmbeddedEngine, analysis: Analysis) -> dict[str, str]:
    """The owners of facts, by their names on disk."""
    graph = analysis.evaluated
    owners = [EXPLICIT, *stated_predicates(graph), *(step.owner for step in engine.steps(graph))]
    return {stored_owner(owner): owner for owner in owners}


# -- beginnings --------------------------------------------------------------------------------------------------------


def write_anew(
    backend: EmbeddedBackend,
    analysis: Analysis,
    store: Store,
    terms: StoredTerms,
    cause: str,
    *,
    is_anew: bool = True,
) -> None:
    """A version of a store with everything that a backend has."""
    export = Export(backend.engine.counting(), terms)

    def meaning() -> Meaning:
        return meaning_of_backend(backend, analysis, terms, store.meaning.predicates, store.meaning.marks)

    def counts() -> Counts:
        if store.version:  # all of this was there before
            return Counts()
        return Counts(export.explicit, 0, export.visible, 0, len(analysis.graph.rules), 0)

    store.write_anew(
        cause,
        lambda folder: export.write_facts(store.tables, folder),
        lambda folder: export.write_terms(store.tables, folder),
        meaning,
        counts,
        is_anew=is_anew,
    )


def save(backend: EmbeddedBackend, analysis: Analysis, path: Path, cause: str) -> tuple[Store, StoredTerms]:
    """A new store with all that a backend has; where that fails, nothing is left of it."""
    existed = path.exists()
    store = Store.create(path)
    terms = StoredTerms(backend.engine.universe)
    try:
        write_anew(backend, analysis, store, terms, cause)
    except BaseException:
        for entry in path.iterdir():
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)
        if not existed:
            path.rmdir()
        raise
    return store, terms


def restore(backend: EmbeddedBackend, analysis: Callable[[], Analysis], store: Store) -> Durable:
    """Fills a backend that has the rules of a store with the facts of it."""
    engine = backend.engine
    terms = StoredTerms(engine.universe, store.meaning.collisions)
    backend.arities.update(store.meaning.predicates)
    wanted, stored = settings_of(backend, analysis()), store.meaning.settings
    if stored.get(OWNERS) != wanted[OWNERS]:
        return _derived_anew(backend, analysis, store, terms)
    owners, is_same = owners_of(engine, analysis()), stored.get(AUXILIARY) == wanted[AUXILIARY]
    if not is_same:  # another engine keeps other auxiliary facts
        owners = {stored: owner for stored, owner in owners.items() if not is_auxiliary(stored)}
    relations = load_relations(store, terms, owners)
    backend.defined.update(name for name in relations.relations if not is_auxiliary(name))
    if not is_same:
        engine.derive_auxiliary(relations)
    engine.restore(relations)
    durable = Durable(backend, analysis, store, terms)
    if not is_same:
        durable.carry(_other_auxiliary(store, engine, terms))
    return durable


def _other_auxiliary(store: Store, engine: EmbeddedEngine, terms: StoredTerms) -> list[Part]:
    """The auxiliary facts that are stored go, and those that were made come."""
    gone = [
        Part(part.predicate, part.owner, part.ids, -part.change, np.zeros(part.rows, np.int8))
        for part in store.all_parts(is_auxiliary)
    ]
    made = [
        part_of(predicate, owner, facts, counts.astype(np.int64), None, terms)
        for predicate, owner, facts, counts in engine.supports()
        if is_auxiliary(predicate)
    ]
    return [*gone, *made]


def _derived_anew(
    backend: EmbeddedBackend, analysis: Callable[[], Analysis], store: Store, terms: StoredTerms
) -> Durable:
    """The rules are followed in another way now, so what was derived has other owners: only explicit facts count.

    Whoever only reads writes nothing: others may be writing. What was derived becomes a version with the first change.
    """
    engine = backend.engine
    for name, relation in load_relations(store, terms, {EXPLICIT: EXPLICIT}).relations.items():
        backend.defined.add(name)
        engine.insert(name, facts_of(relation))
    engine.materialise(check=backend.new_check())
    opened = analysis()  # within a transaction `analysis` tells of the program after it
    engine.preparing = lambda: write_anew(backend, opened, store, terms, "derived anew")
    return Durable(backend, analysis, store, terms)
