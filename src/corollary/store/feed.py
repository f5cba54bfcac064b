"""Change feeds: an append-only Delta table with a row for each inserted or deleted visible fact, and its version.

Each version is one commit of the table, which says the version as well (a transaction identifier of Delta). So a version is in
the feed once and as a whole, and after a crash the feed gets what is missing from the history of the knowledge base.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corollary.diagnostics import catalogue
from corollary.engines.embedded.relations.relation import Codes
from corollary.engines.embedded.values.universe import Universe
from corollary.engines.spark.streaming.feed_rows import SCHEMA, FeedRows
from corollary.io.delta import commit, existing_table, new_folder
from corollary.results import Result
from corollary.store.files import write_parquet
from corollary.store.history import difference, terms_of_parts
from corollary.store.manifest import Manifest
from corollary.store.problems import problem
from corollary.store.store import Store

if TYPE_CHECKING:
    from deltalake import DeltaTable

INSERT, DELETE = "insert", "delete"
_IN_DRIVER = 50_000  # rows of a result on Spark that the driver turns into text
_MEMORY = "corollary"  # what identifies a knowledge base that is in no directory
_PREDICATES = "predicates"


class ChangeFeed:
    """Follows a knowledge base; without a store its transactions have no versions, and are numbered.

    A feed says itself which predicates it has. `predicates` are those that the caller wants, `usual` those of a new feed where
    the caller wants none in particular.
    """

    def __init__(
        self, path: Path, predicates: Sequence[str] | None, usual: Callable[[], Sequence[str]], store: Store | None
    ) -> None:
        self._path = path
        self._asked = frozenset(predicates) if predicates is not None else None
        self._usual = usual
        self._predicates: frozenset[str] = frozenset()
        self._store = store
        self._last = 0
        self._is_behind = False  # somebody could not write what a version had

    # -- beginnings --------------------------------------------------------------------------------------------------

    def start(self, facts: Callable[[str], Result] | None) -> None:
        """Begin a feed, with all `facts` where they are wanted; or bring one that is there to where the store is."""
        table = existing_table(self._path)
        if table is None:
            self._predicates = self._chosen(None)
            self._last = self._store.version if self._store is not None else 0
            everything = {name: facts(name) for name in sorted(self._predicates)} if facts is not None else {}
            self._write(self._last, [(INSERT, everything)], is_new=True)
            return
        last = table.transaction_version(self._identity)
        if last is None:
            message = f"the feed {self._path} belongs to another knowledge base"
            raise problem(catalogue.OTHER_FEED, message, "choose another directory for it")
        self._predicates = self._chosen(_described_predicates(table))
        self._last = last
        if self._store is not None:
            self._catch_up(self._store)

    def _chosen(self, described: frozenset[str] | None) -> frozenset[str]:
        """The predicates of a feed that says which it has, or has not begun; other ones would leave a gap in it."""
        if described is None:
            return self._asked if self._asked is not None else frozenset(self._usual())
        if self._asked not in (None, described):
            message = f"the feed {self._path} has {_listed(described)}, not {_listed(self._asked or ())}"
            hint = "without predicates it continues with its own; other predicates need another directory"
            raise problem(catalogue.OTHER_FEED, message, hint)
        return described

    @property
    def _identity(self) -> str:
        return self._store.identity if self._store is not None else _MEMORY

    def _catch_up(self, store: Store) -> None:
        if self._last > store.version:
            message = (
                f"the feed {self._path} is at version {self._last}, but {store.path} is at version {store.version}"
            )
            raise problem(catalogue.OTHER_FEED, message, "choose another directory for it")
        numbers = set(store.versions.numbers())
        for number in range(self._last + 1, store.version + 1):
            (manifest,) = store.versions.read({number} & numbers) or (None,)
            if manifest is None or (manifest.is_anew and number - 1 not in numbers):
                message = (
                    f"the feed {self._path} ends with version {self._last}, and versions after it have been dropped"
                )
                raise problem(catalogue.OTHER_FEED, message, "start a new feed, or keep more versions")
            if manifest.is_anew:
                self._write(number, _compared(store, number, self._predicates))
            elif manifest.changes or manifest.files:
                self._write(number, _changes_of(store, manifest, self._predicates))
        self._is_behind = False

    # -- transactions ------------------------------------------------------------------------------------------------

    def follow(self, inserted: Mapping[str, Result], deleted: Mapping[str, Result]) -> None:
        """Append the visible facts that a transaction inserted and deleted."""
        version = self._store.version if self._store is not None else self._last + 1
        if self._is_behind and self._store is not None:
            self._catch_up(self._store)
        elif version > self._last:
            self._is_behind = True
            sides = (
                (op, {name: side[name] for name in side if name in self._predicates})
                for op, side in ((DELETE, deleted), (INSERT, inserted))
            )
            self._write(version, [(op, side) for op, side in sides if side])
            self._is_behind = False

    def _write(self, version: int, sides: Sequence[tuple[str, Mapping[str, Result]]], *, is_new: bool = False) -> None:
        if not sides and not is_new:
            return
        with new_folder(self._path, SCHEMA, "append") as folder:
            files: list[Path] = []
            for op, facts in sides:
                for name, result in facts.items():
                    files += _written(folder, version, name, op, result)
            if files or is_new:
                described = json.dumps({_PREDICATES: sorted(self._predicates)}, ensure_ascii=False)
                commit(
                    self._path, SCHEMA, files, "append",
                    transactions={self._identity: version}, description=described,
                )  # fmt: skip
        self._last = version


def _described_predicates(table: DeltaTable) -> frozenset[str] | None:
    """Return the predicates that the description of a feed names; None for feeds that were begun before they had one."""
    try:
        return frozenset(json.loads(table.metadata().description or "")[_PREDICATES])
    except (ValueError, KeyError, TypeError):
        return None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "no predicate"


def _changes_of(store: Store, manifest: Manifest, predicates: frozenset[str]) -> list[tuple[str, dict[str, Result]]]:
    """Return the visible facts that a version deleted and inserted, in this order, with the name of each operation."""
    parts = [part for part in store.parts_of(manifest) if part.predicate in predicates and part.visible.any()]
    terms = terms_of_parts(parts, store)
    sides: list[tuple[str, dict[str, Result]]] = []
    for op, sign in ((DELETE, -1), (INSERT, 1)):
        rows: dict[str, list[Codes]] = {}
        for part in parts:
            ids = part.ids[part.visible == sign]
            if len(ids):
                rows.setdefault(part.predicate, []).append(terms.codes(ids.ravel()).reshape(ids.shape))
        found = {name: _result(terms.universe, np.concatenate(some)) for name, some in rows.items()}
        if found:
            sides.append((op, found))
    return sides


def _compared(store: Store, number: int, predicates: frozenset[str]) -> list[tuple[str, dict[str, Result]]]:
    """Return the same for a version that does not say what it changed: the one before is compared with it."""
    found = difference(store, number - 1, number, lambda name: name)
    sides = ((DELETE, found.deleted), (INSERT, found.inserted))
    chosen = ((op, {name: side[name] for name in side if name in predicates}) for op, side in sides)
    return [(op, side) for op, side in chosen if side]


def _result(universe: Universe, codes: Codes) -> Result:
    return Result(universe, codes, [f"a{place}" for place in range(1, codes.shape[1] + 1)])


def _written(folder: Path, version: int, predicate: str, op: str, result: Result) -> Iterator[Path]:
    """Files with the rows of a result; those of many rows on Spark are written by tasks."""
    if not len(result):
        return
    rows = FeedRows(version, predicate, op)
    if type(result).__name__ == "SparkResult" and result.variables and len(result) > _IN_DRIVER:
        from corollary.store.spark_exchange import write_frame

        for name, _ in write_frame(rows.on_spark(result), folder, op):  # type: ignore[arg-type]
            yield folder / name
        return
    universe, codes = result.codes
    batch = rows.of(universe, [codes[:, place] for place in range(codes.shape[1])], len(codes))
    yield write_parquet(folder, op, pa.Table.from_batches([batch]))
