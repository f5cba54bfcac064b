"""The contract between a store and an engine: export all facts, export the changes of a transaction, and restore a
version."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable
from dataclasses import dataclass, field
from hashlib import blake2s
from typing import TYPE_CHECKING, Any, Protocol

from corollary.analysis import Analysis, RuleGraph
from corollary.engines.spark.terms.ids import CollisionTable
from corollary.io.delta import DeltaFile
from corollary.planning import normalise
from corollary.planning.steps import RuleStep, Step, is_auxiliary
from corollary.reasoning.run import Run
from corollary.store.manifest import VersionMetadata, rows_of
from corollary.store.parts import StoredChange
from corollary.store.store import Base, Store, Whole
from corollary.store.tables import Tables

if TYPE_CHECKING:
    import pyarrow as pa

OWNERS, AUXILIARY, FORMS = "owners", "auxiliary", "forms"
"""Settings that say by which rules facts were derived, which auxiliary facts are kept beside them, and which forms terms had."""


@dataclass
class TransactionChanges:
    """The changes of a transaction as a store keeps them: changes of support, and new constants.

    Many of them are in files of the folder of versions already. `base` is what the changes start from, where that is not how the
    version before has its facts.
    """

    parts: list[StoredChange]
    terms: pa.Table
    arities: dict[str, int]
    files: list[str] = field(default_factory=list)
    rows_in_files: int = 0
    base: Base | None = None
    whole: Whole | None = None
    """All facts afterwards, in place of changes."""


class Export(Protocol):
    """All facts and constants of an engine. The numbers of facts are known when these are written."""

    explicit: int

    @property
    def visible(self) -> int: ...

    def write_all_facts(self, tables: Tables, folder: str) -> list[DeltaFile]: ...

    def write_terms(self, tables: Tables, folder: str) -> list[DeltaFile]:
        """Write the constants of these facts that are not stored."""
        ...


class Exchange(Protocol):
    """An engine as a store sees it. It remembers which constants are stored, and what the next version has to say besides the
    changes of its transaction."""

    arities: dict[str, int]
    """The numbers of arguments of the predicates that the engine knows."""

    @property
    def collisions(self) -> CollisionTable:
        """The constants that have another id than their hash."""
        ...

    @property
    def commits(self) -> int | None:
        """How many transactions have happened; None where the engine does not count them."""
        ...

    @property
    def way_of_changes(self) -> object:
        """How changes are followed: while it is the same object, `settings` depends on the program only."""
        ...

    @property
    def is_regrouped(self) -> bool:
        """Whether facts have other owners than in the version before: then the next one has more to say than its transaction."""
        ...

    @property
    def shows_other_facts(self) -> bool:
        """Whether other facts are visible than in the version before, which no transaction has changed."""
        ...

    def settings(self, analysis: Analysis) -> dict[str, Any]:
        """Return how facts are derived, with digests of who owns them: facts that others derived are of no use."""
        ...

    def carry_out(self, work: Callable[[], None], run: Run) -> None:
        """Do work of many jobs, which the run may stop."""
        ...

    # -- out -----------------------------------------------------------------------------------------------------------

    def keep_journal(self) -> None:
        """From now on every change goes into the store."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether there is nothing to prepare."""
        ...

    def prepare(self, run: Run) -> None:
        """Do what has to be done before the next version."""
        ...

    def export(self, analysis: Analysis, run: Run, *, is_first: bool) -> Export:
        """Return everything; the first version of a store has all constants."""
        ...

    def changes(self, store: Store, made: Any, *, is_silent: bool) -> TransactionChanges | None:
        """Return the changes of the transaction that is computed; the engine gives those that it has `made` of support.

        None where nothing has changed and the version would say nothing else either (`is_silent`).
        """
        ...

    def note_stored(self) -> None:
        """Everything that `export` or `changes` gave is on the disk."""
        ...

    def forget_regrouping(self) -> None:
        """All facts are on the disk with the owners that they have now."""
        ...

    # -- in ------------------------------------------------------------------------------------------------------------

    def restore(self, store: Store, analysis: Analysis, run: Run, unchanged: Collection[str]) -> None:
        """Take in the facts of a store, or where others own them now, the explicit ones, and derive the rest.

        `unchanged` are those of the settings `OWNERS` and `AUXILIARY` that are as the store has them.
        """
        ...


def stored_owner(owner: str) -> str:
    """Return the name of an owner on disk: the rules of a hyper-node in an order that does not depend on how they came."""
    if not owner.startswith("{"):
        return owner
    return "{" + ", ".join(sorted(owner.strip("{}").split(", "))) + "}"


def owners_digest(
    graph: RuleGraph, steps: Iterable[Step], *, counts_recursion: bool, uncounted: Container[str] = ()
) -> str:
    """Return a digest of all that decides what owners of visible facts derive, and how they count, in any order of rules.

    `uncounted` are recursive ones that do not count where others do.
    """
    described = [
        (
            stored_owner(step.owner),
            sorted(repr(normalise(graph.rules[rule.name])) for rule in step.rules),
            "uncounted" if step.owner in uncounted else step.recursive,
        )
        for step in steps
        if isinstance(step, RuleStep) and not is_auxiliary(step.owner)
    ]
    return digest_of_description((counts_recursion, sorted(described)))


def described_forms(analysis: Analysis) -> list[list[Any]]:
    """Return the forms of terms that the rules of a program depend on; most programs have none."""
    return sorted(([name, count] for name, count in analysis.forms), key=str)


def digest_of_description(described: object) -> str:
    return blake2s(repr(described).encode(), digest_size=16).hexdigest()


def known_arities(engine: Exchange, analysis: Analysis) -> dict[str, int]:
    """Return the numbers of arguments of the predicates that a program or its facts have."""
    written = {name: info.arity for name, info in analysis.predicates.items() if info.arity is not None}
    return {name: arity for name, arity in {**written, **engine.arities}.items() if not is_auxiliary(name)}


def metadata_of(engine: Exchange, analysis: Analysis, before: VersionMetadata) -> VersionMetadata:
    """Return the metadata of a version with this program; the predicates and marks of the version before stay."""
    predicates = {**known_arities(engine, analysis), **before.predicates}
    settings = engine.settings(analysis)
    return VersionMetadata(rows_of(analysis), settings, predicates, engine.collisions, before.marks)
