"""Checks a store: whether its facts follow from the explicit ones, and whether its files are what was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corollary.analysis import Analysis
from corollary.backends.embedded import EmbeddedBackend
from corollary.diagnostics import Diagnostic, ProgramError
from corollary.engines.base import EXPLICIT
from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.engines.embedded.evaluation import RelationStore as Relations
from corollary.engines.embedded.relations.relation import Codes, Relation, facts_of
from corollary.language import Printer
from corollary.planning.steps import is_auxiliary
from corollary.reasoning.run import Run
from corollary.store.embedded_exchange import owners_of, settings_of
from corollary.store.exchange import AUXILIARY, OWNERS, stored_owner
from corollary.store.files import read_named
from corollary.store.manifest import Manifest, VersionFiles
from corollary.store.problems import damaged
from corollary.store.relations import load_relations, places_of
from corollary.store.store import Store
from corollary.store.tables import Tables
from corollary.store.terms import StoredTerms


@dataclass(frozen=True)
class Deviation:
    """An error in the stored facts of a predicate, with an example: facts that are stored but do not follow, that follow and are
    not stored, or that are counted wrongly."""

    predicate: str
    what: str
    count: int
    example: str

    def __str__(self) -> str:
        return f"{self.predicate}: {self.count:,} facts {self.what}, as {self.example}"


def verify(backend: EmbeddedBackend, analysis: Analysis, store: Store, run: Run) -> list[Deviation]:
    """Return how the stored facts of a version differ from those that follow from its explicit facts; the backend must be
    empty."""
    engine = backend.engine
    terms = StoredTerms(engine.universe, store.meaning.collisions)
    for name, relation in load_relations(store, terms, {EXPLICIT: EXPLICIT}).relations.items():
        engine.insert(name, facts_of(relation), run)
    engine.materialise(run)
    wanted, known = settings_of(backend, analysis), store.meaning.settings
    owners = owners_of(engine, analysis)
    is_same = known.get(OWNERS) == wanted[OWNERS]  # not where a stream has left it, for example
    if known.get(AUXILIARY) != wanted[AUXILIARY] or not is_same:
        owners = {name: owner for name, owner in owners.items() if not is_auxiliary(name)}
    stored = load_relations(store, terms, owners if is_same else None)
    if not is_same:
        stored.relations = {name: one for name, one in stored.relations.items() if not is_auxiliary(name)}
    names = [name for name in engine.predicates if not is_auxiliary(name) or name in owners]
    deviations = _visible(engine, stored, names)
    return deviations if deviations or not is_same else _counters(engine, owners, stored)


def _visible(engine: EmbeddedEngine, stored: Relations, names: list[str]) -> list[Deviation]:
    found = []
    for name in sorted({*names, *stored.relations}):
        relation, right = stored.relations.get(name), engine.facts(name)
        have = facts_of(relation) if relation is not None else np.empty((0, 0), np.uint32)
        want = right if right is not None else np.empty((0, 0), np.uint32)
        for what, some in (("are stored but do not follow", _minus(have, want)), ("are missing", _minus(want, have))):
            if len(some):
                found.append(_deviation(engine, name, what, some))
    return found


def _minus(left: Codes, right: Codes) -> Codes:
    if not len(left) or not len(right):
        return left
    if not left.shape[1]:
        return left[:0]
    known = Relation(right.shape[1])
    known.append_distinct(right)
    rest: Codes = left[~known.contains(left)]
    return rest


def _counters(engine: EmbeddedEngine, owners: dict[str, str], stored: Relations) -> list[Deviation]:
    """Owners that count have the same counters; which recursive owner has a fact depends on the order in which it came."""
    found = []
    for name, owner, facts, counts in engine.supports():
        if stored_owner(owner) in owners and engine.counts(owner) and facts.shape[1]:
            relation = stored.relations[name]
            numbers = places_of(np.ascontiguousarray(facts), relation)
            has = relation.support_of(owner)[numbers] if relation.owners else np.ones(len(numbers), np.uint32)
            wrong = has != counts
            if wrong.any():
                found.append(_deviation(engine, name, f"are counted wrongly for {owner}", facts[wrong]))
    return found


def _deviation(engine: EmbeddedEngine, name: str, what: str, facts: Codes) -> Deviation:
    values = engine.universe.values(facts[0].tolist())
    shown = name.strip("\0").partition("\0")[0] if is_auxiliary(name) else name
    return Deviation(shown, what, len(facts), f"{shown}({', '.join(map(Printer().value, values))})")


# -- files -------------------------------------------------------------------------------------------------------------


def damage_of(path: Path) -> list[Diagnostic]:
    """Return what is wrong with the files of a store, for all of its versions; each file is read once."""
    versions, tables = VersionFiles(path / "versions"), Tables(path)
    found: list[Diagnostic] = []
    files: set[Path] = set()
    listed: set[object] = set()
    for number, manifest in _manifests(versions, found):
        files |= {versions.folder / name for name in manifest.files}
        for name, version in manifest.tables.items():
            if (name, version) in listed:
                continue
            listed.add((name, version))
            folder = tables.by_name[name]
            try:
                files |= {folder.path / file.name for file in folder.files(version)}
            except ProgramError as error:
                found += _in_version(number, error)
    for file in sorted(files):
        try:
            read_named(file)
        except ProgramError as error:
            found += error.diagnostics
    return list(dict.fromkeys(found))


def _manifests(versions: VersionFiles, found: list[Diagnostic]) -> Iterator[tuple[int, Manifest]]:
    """Return the manifests that can be read; versions are numbered without gaps, so one that is missing was lost."""
    numbers = versions.numbers()
    for number in range(numbers[0], numbers[-1] + 1):
        if number not in numbers:
            found += damaged(versions.path(number), "is missing").diagnostics
            continue
        try:
            (manifest,) = versions.read([number])
        except ProgramError as error:
            found += error.diagnostics
        else:
            yield number, manifest


def _in_version(number: int, error: ProgramError) -> list[Diagnostic]:
    hint = f"version {number} of the knowledge base needs it"
    return [Diagnostic(one.kind, one.message, one.span, one.hint or hint) for one in error.diagnostics]
