"""Results for everybody: decoded tables, one for each output predicate, that follow the knowledge base.

Where they stand is told by a mark beside them: of which store they are, and of which version. A publication that is behind gets
what differs; one whose mark says nothing useful is written anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from corollary.program import Program
from corollary.results import Result
from corollary.store.history import difference
from corollary.store.store import Store


@dataclass(frozen=True)
class Mark:
    """What a publication says of itself; `version` is None for a knowledge base that is in no directory."""

    store: str
    version: int | None
    predicates: tuple[str, ...]


class Publication(Protocol):
    """A place with a table for each predicate."""

    def changing(self) -> AbstractContextManager[None]:
        """What is written inside is seen together, as far as the place can do that."""
        ...

    def mark(self) -> Mark | None: ...

    def set_mark(self, mark: Mark) -> None: ...

    def replace(self, predicate: str, table: pa.Table) -> None: ...

    def change(self, predicate: str, gone: pa.Table, new: pa.Table, *, again: bool = False) -> bool:
        """Changes a table; False where the columns do not fit, and then nothing was done.

        `again`: somebody may have done some of it, and died before the mark was set.
        """
        ...


class Publisher:
    """Keeps a publication in line with a knowledge base, whose facts `facts` gives."""

    def __init__(
        self, place: Publication, predicates: Sequence[str], facts: Callable[[str], Result], store: Store | None
    ) -> None:
        self._place = place
        self._predicates = tuple(predicates)
        self._facts = facts
        self._store = store
        self._is_behind = False  # somebody could not write what a transaction had

    def start(self) -> None:
        """Brings the publication to where the knowledge base is."""
        mark = self._place.mark()
        with self._place.changing():
            changes = self._changes_since(mark)
            if changes is None:
                for predicate in self._predicates:
                    self._place.replace(predicate, table_of(self._facts(predicate)))
            else:
                self._change(*changes, again=True)
            self._place.set_mark(self._mark())
        self._is_behind = False

    def follow(self, inserted: Mapping[str, Result], deleted: Mapping[str, Result]) -> None:
        """What a transaction brought and took."""
        if self._is_behind:
            self.start()
            return
        self._is_behind = True
        with self._place.changing():
            self._change(inserted, deleted)
            self._place.set_mark(self._mark())
        self._is_behind = False

    def _change(self, inserted: Mapping[str, Result], deleted: Mapping[str, Result], *, again: bool = False) -> None:
        changed = {*inserted, *deleted}
        for predicate in self._predicates:
            if predicate in changed:
                gone, new = table_of(deleted[predicate]), table_of(inserted[predicate])
                if not self._place.change(predicate, gone, new, again=again):
                    self._place.replace(predicate, table_of(self._facts(predicate)))

    def _changes_since(self, mark: Mark | None) -> tuple[Mapping[str, Result], Mapping[str, Result]] | None:
        """What came and went since the publication was made; None where nobody knows."""
        store = self._store
        if mark is None or store is None or mark.version is None or mark.store != store.identity:
            return None
        if mark.predicates != self._predicates or mark.version not in store.versions.numbers():
            return None
        found = difference(store, mark.version, store.version, lambda name: name)
        return found.inserted, found.deleted

    def _mark(self) -> Mark:
        store = self._store
        return Mark(store.identity if store else "", store.version if store else None, self._predicates)


def published_predicates(program: Program, wanted: Iterable[str] | None) -> list[str]:
    """The predicates that are named, or those of `@output`, or all that rules derive."""
    if wanted is not None:
        return list(wanted)
    declared = dict.fromkeys(output.predicate for output in program.outputs)
    return list(declared or dict.fromkeys(rule.head.predicate for rule in program.rules))


def table_of(result: Result) -> pa.Table:
    """The rows of a result in columns that every store has; a predicate without arguments has one column all the same."""
    from corollary.engines.embedded.narrow_tables import narrowed
    from corollary.sources.delta import unit_table

    return narrowed(result.to_arrow()) if result.variables else unit_table(len(result))


def place_of(target: str, options: Mapping[str, Any]) -> Publication:
    """Where a target leads: to a database, or to a directory."""
    if target.startswith(("postgresql://", "postgres://")):
        from corollary.store.postgres import PostgresTables

        return PostgresTables(target, **options)
    from corollary.store.delta_tables import DeltaTables

    return DeltaTables(Path(target), **options)
