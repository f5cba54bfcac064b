"""Whether a store is right: everything is derived anew from its explicit facts, and compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.analysis import Analysis
from corollary.backends.embedded import EmbeddedBackend
from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.engines.embedded.evaluation import Store as Relations
from corollary.engines.embedded.maintenance.transaction import EXPLICIT, facts_of
from corollary.engines.embedded.relation import Codes, Relation
from corollary.language import Printer
from corollary.planning.steps import is_auxiliary
from corollary.store.durable import AUXILIARY, OWNERS, owners_of, settings_of
from corollary.store.embedded_facts import load_relations, stored_owner
from corollary.store.relations import places_of
from corollary.store.store import Store
from corollary.store.terms import StoredTerms


@dataclass(frozen=True)
class Deviation:
    """What is wrong with a predicate: facts that are stored and do not follow, or follow and are not stored, or are counted
    wrongly; with an example."""

    predicate: str
    what: str
    count: int
    example: str

    def __str__(self) -> str:
        return f"{self.predicate}: {self.count:,} facts {self.what}, as {self.example}"


def verify(backend: EmbeddedBackend, analysis: Analysis, store: Store) -> list[Deviation]:
    """What differs between a version of a store and what follows from its explicit facts; the backend is empty so far."""
    engine = backend.engine
    terms = StoredTerms(engine.universe, store.meaning.collisions)
    for name, relation in load_relations(store, terms, {EXPLICIT: EXPLICIT}).relations.items():
        engine.insert(name, facts_of(relation))
    engine.materialise(check=backend.new_check())
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
        for what, some in (("are stored and do not follow", _minus(have, want)), ("are missing", _minus(want, have))):
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
