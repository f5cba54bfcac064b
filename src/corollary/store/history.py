"""The history of a store: its versions, and the differences between two of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corollary.engines.embedded.maintenance.from_scratch import compare
from corollary.engines.embedded.values.universe import Universe
from corollary.planning.steps import is_auxiliary
from corollary.reasoning.maintain.report import Outcome
from corollary.results import Result
from corollary.store.manifest import Manifest, rule_changes
from corollary.store.parts import StoredChange, merged
from corollary.store.relations import load_relations
from corollary.store.store import Store
from corollary.store.terms import StoredTerms
from corollary.transactions import Facts


@dataclass(frozen=True)
class VersionInfo:
    """One version: when and why it was made, and how many facts and rules it changed.

    `explicit_inserted` and `explicit_deleted` count explicit facts, `inserted` and `deleted` visible ones.
    """

    version: int
    time: dt.datetime
    cause: str
    explicit_inserted: int
    explicit_deleted: int
    inserted: int
    deleted: int
    rules_added: int
    rules_removed: int


@dataclass(frozen=True)
class VersionDifference:
    """The visible facts, by predicate, and the rules, by name, that were inserted and deleted between two versions."""

    inserted: Facts
    deleted: Facts
    rules_added: Mapping[str, str]
    rules_removed: Mapping[str, str]

    def __repr__(self) -> str:
        rules = f"{len(self.rules_added)} rules added, {len(self.rules_removed)} removed"
        return f"<VersionDifference: inserted {self.inserted!r}, deleted {self.deleted!r}, {rules}>"


def history(store: Store) -> list[VersionInfo]:
    numbers = [number for number in store.versions.numbers() if number <= store.version]
    return [_info(manifest) for manifest in store.versions.read(numbers)]


def _info(manifest: Manifest) -> VersionInfo:
    counts = manifest.counts
    return VersionInfo(
        manifest.version,
        dt.datetime.fromtimestamp(manifest.time, dt.UTC),
        manifest.cause,
        counts.explicit_inserted,
        counts.explicit_deleted,
        counts.inserted,
        counts.deleted,
        counts.rules_added,
        counts.rules_removed,
    )


def difference(store: Store, first: int, second: int, full_name: Callable[[str], str]) -> VersionDifference:
    """Return the facts and rules that differ between the first version and the second, which may be the earlier one."""
    old, new = (Store.open(store.path, number) for number in (first, second))
    parts = parts_between(old, new)
    if parts is None:
        universe, inserted, deleted = _compared(old, new)
    else:
        universe, inserted, deleted = _summed(parts, old if old.version > new.version else new)

    def result(name: str, rows: Any) -> Result:
        return Result(universe, rows, [f"a{place}" for place in range(1, rows.shape[1] + 1)])

    def empty(name: str) -> Result:
        return result(name, np.empty((0, new.meaning.predicates.get(name, 0)), np.uint32))

    gone, come = rule_changes(old.meaning.program, new.meaning.program)
    came, went = (Facts(found, result, full_name, empty) for found in (inserted, deleted))
    return VersionDifference(came, went, {row[1]: row[2] for row in come}, {row[1]: row[2] for row in gone})


def parts_between(old: Store, new: Store) -> list[StoredChange] | None:
    """The changes that lead from one version to another; None where they do not, or are forgotten."""
    sign = 1 if old.version <= new.version else -1
    low, high = sorted((old.version, new.version))
    wanted = range(low + 1, high + 1)
    if not set(wanted) <= set(old.versions.numbers()):
        return None
    manifests = old.versions.read(wanted)
    if any(manifest.is_anew for manifest in manifests):
        return None
    parts = [part for manifest in manifests for part in old.parts_of(manifest)]
    if sign > 0:
        return parts
    return [StoredChange(part.predicate, part.owner, part.ids, -part.change, -part.visible) for part in parts]


def terms_of_parts(parts: list[StoredChange], store: Store) -> StoredTerms:
    """Return the terms of the ids in these changes; only the constants that occur in them are learnt."""
    terms = StoredTerms(Universe(), store.meaning.collisions)
    used = np.unique(np.concatenate([np.empty(0, np.int64), *(part.ids.ravel() for part in parts)]))
    stored = store.all_terms()
    terms.learn(stored.filter(pa.array(np.isin(stored.column("id").to_numpy(), used))))
    return terms


def _summed(parts: list[StoredChange], store: Store) -> tuple[Universe, dict[str, Any], dict[str, Any]]:
    facts = [
        StoredChange(part.predicate, "", part.ids, part.visible.astype(np.int64), part.visible)
        for part in parts
        if not is_auxiliary(part.predicate)
    ]
    found = merged(facts)
    terms = terms_of_parts(found, store)
    inserted: dict[str, Any] = {}
    deleted: dict[str, Any] = {}
    for part in found:
        codes = terms.codes(part.ids.ravel()).reshape(part.ids.shape)
        for side, wanted in ((inserted, part.change > 0), (deleted, part.change < 0)):
            if wanted.any():
                side[part.predicate] = codes[wanted]
    return terms.universe, inserted, deleted


def _compared(old: Store, new: Store) -> tuple[Universe, dict[str, Any], dict[str, Any]]:
    terms = StoredTerms(Universe(), new.meaning.collisions)
    before, after = load_relations(old, terms), load_relations(new, terms)
    outcome = Outcome()
    compare(before, after, outcome)
    inserted, deleted = (
        {name: facts.rows() for name, facts in side.items() if not is_auxiliary(name)}
        for side in (outcome.inserted, outcome.deleted)
    )
    return terms.universe, inserted, deleted
