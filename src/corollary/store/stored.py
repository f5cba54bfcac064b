"""The methods of `KnowledgeBase` for knowledge bases in a directory.

Heavy imports are inside the methods, because most knowledge bases are only in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import Analysis
from corollary.backends import Backend
from corollary.backends.embedded import EmbeddedBackend
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.language import Permissions
from corollary.settings import SETTINGS
from corollary.transactions import Change

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Self

    from corollary.reasoning.run import Run
    from corollary.results import Result
    from corollary.store.durable import Durable
    from corollary.store.exchange import Exchange
    from corollary.store.feed import ChangeFeed
    from corollary.store.history import VersionDifference, VersionInfo
    from corollary.store.publishing import Publisher
    from corollary.store.store import Store
    from corollary.store.verify import Deviation


class Stored:
    """The methods of a knowledge base for storage in a directory. See docs/storage.md."""

    analysis: Analysis
    _backend: Backend
    _lock: threading.RLock
    _durable: Durable | None = None
    _publishers: list[Publisher | ChangeFeed] = []  # noqa: RUF012  (replaced, never changed)

    # -- beginnings --------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write a copy into a new directory, including derived facts, so that `open` need not derive them again.

        This knowledge base itself stays where it is: its later changes do not go to the new directory.
        """
        from corollary.store.durable import save

        with self._operation() as run:
            self._materialise(run)
            save(self._exchange(), self.analysis, Path(path), "saved", run)

    @classmethod
    def create(cls, path: str | PathLike[str], program: Any = "", **options: Any) -> Self:
        """Create a knowledge base in a directory: each of its transactions is on disk when it returns.

        >>> import tempfile
        >>> from corollary import KnowledgeBase
        >>> place = tempfile.mkdtemp()
        >>> kb = KnowledgeBase.create(place, "edge(1, 2). path(X, Y) :- edge(X, Y).")
        >>> kb.insert("edge", [(2, 3)]), kb.version
        (1, 2)
        >>> KnowledgeBase.open(place).count("path"), KnowledgeBase.open(place, version=1).count("path")
        (2, 1)
        """
        from corollary.store.durable import Durable, save

        kb = cls(program, **options)  # type: ignore[call-arg]
        kb._check_follows_changes()
        with kb._operation() as run:
            kb._materialise(run)
            exchange = kb._exchange()
            store = save(exchange, kb.analysis, Path(path), "created", run)
            kb._durable = Durable(exchange, kb.analysis, store)
        return kb

    @classmethod
    def open(
        cls, path: str | PathLike[str], *, engine: Any = "embedded", version: int | None = None, **options: Any
    ) -> Self:
        """Open the knowledge base in a directory, in its latest or an earlier version.

        Nothing is derived again. Transactions are stored in the directory; an earlier version cannot be changed.
        """
        from corollary.store.durable import restore

        store, kb = cls._with_rules(path, engine, version, options)
        kb._check_follows_changes()
        with kb._operation() as run:
            kb._durable = restore(kb._exchange(), kb.analysis, store, run)
        return kb

    @classmethod
    def _with_rules(
        cls, path: str | PathLike[str], engine: Any, version: int | None, options: dict[str, Any]
    ) -> tuple[Store, Self]:
        """Return a version of a store, and a knowledge base with its rules and settings but no facts yet."""
        from corollary.store.exchange import FORMS
        from corollary.store.manifest import analysis_of
        from corollary.store.store import Store

        store = Store.open(Path(path), version)
        known = {name: value for name, value in store.meaning.settings.items() if name in SETTINGS}
        forms = frozenset((name, count) for name, count in store.meaning.settings.get(FORMS, ()))
        analysis = replace(analysis_of(store.meaning.program), known=dict(store.meaning.predicates), known_forms=forms)
        return store, cls(analysis, engine=engine, **{**known, **options})  # type: ignore[call-arg]

    def arity(self, predicate: str) -> int | None:
        """Return the number of arguments of a predicate, if it is known."""
        return self._backend.arities.get(self.full_name(predicate))

    # -- versions ----------------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path | None:
        """The directory of this knowledge base; None if it is only in memory."""
        return self._durable.store.path if self._durable is not None else None

    @property
    def version(self) -> int | None:
        """The number of the current version; None if this knowledge base is only in memory."""
        return self._durable.store.version if self._durable is not None else None

    @property
    def cause(self) -> str:
        """The cause that the history records for the next versions; empty to derive it from the changes."""
        return self._durable.cause if self._durable is not None else ""

    @cause.setter
    def cause(self, cause: str) -> None:
        self._stored("cause").cause = cause

    @property
    def marks(self) -> dict[str, Any]:
        """The values that `mark` stored with this version, such as how far a stream has been read."""
        return dict(self._stored("marks").store.meaning.marks)

    def mark(self, **marks: Any) -> None:
        """Store values with the next version, atomically with its changes; they must be JSON values.

        >>> import tempfile
        >>> from corollary import KnowledgeBase
        >>> kb = KnowledgeBase.create(tempfile.mkdtemp(), "seen(X) :- reading(X).")
        >>> kb.mark(offset=17)
        >>> kb.insert("reading", [(1,)]), kb.marks
        (1, {'offset': 17})
        """
        durable = self._stored("mark")
        durable.marks = {**durable.marks, **marks}

    @contextmanager
    def marking(self, **marks: Any) -> Iterator[None]:
        """Set marks with the transaction inside the block; if the block raises an exception, none are set."""
        with self._lock:
            durable = self._stored("marking")
            before = durable.marks
            durable.marks = {**before, **marks}
            try:
                yield
            except BaseException:
                durable.marks = before
                raise

    def history(self) -> list[VersionInfo]:
        """Return all versions in the directory, the newest last: when and why each was made, and what it changed."""
        from corollary.store.history import history

        return history(self._stored("history").store)

    def diff(self, first: int, second: int) -> VersionDifference:
        """Return the visible facts and the rules that were inserted and deleted from one version to another.

        >>> import tempfile
        >>> from corollary import KnowledgeBase
        >>> kb = KnowledgeBase.create(tempfile.mkdtemp(), "edge(1, 2). path(X, Y) :- edge(X, Y).")
        >>> result = kb.insert("edge", [(2, 3)])
        >>> list(kb.diff(1, 2).inserted["path"]), list(kb.diff(2, 1).deleted["path"])
        ([(2, 3)], [(2, 3)])
        """
        from corollary.store.history import difference

        return difference(self._stored("diff").store, first, second, self.full_name)

    def changes(self, path: str | PathLike[str] | None = None, *, since: int) -> Path:
        """Write a change file for `apply` elsewhere: the explicit facts and the rules inserted and deleted since a version.

        Return the path of the file; the default is `changes-SINCE-VERSION` in the current directory.
        """
        from corollary.store.change_file import write_changes

        with self._operation():
            store = self._stored("changes").store
            target = Path(path) if path is not None else Path(f"changes-{since}-{store.version}")
            write_changes(store, since, target)
        return target

    @classmethod
    def verify(
        cls, path: str | PathLike[str], *, version: int | None = None, all_files: bool = False, **options: Any
    ) -> list[Deviation]:
        """Derive everything in a directory from its explicit facts, and return the differences from the stored facts.

        With `all_files`, the files that only other versions need are checked first; `ProgramError` lists all damaged and
        missing files.
        """
        from corollary.store.verify import damage_of, verify

        if all_files:
            from corollary.store.store import Store

            if damage := damage_of(Store.checked_place(Path(path))):
                raise ProgramError(damage)
        store, kb = cls._with_rules(path, "embedded", version, options)
        with kb._operation() as run:
            return verify(kb._embedded("verify"), kb.analysis, store, run)

    def publish(self, target: str | PathLike[str], predicates: Iterable[str] | None = None, **options: Any) -> None:
        """Write the facts of the output predicates to tables, and update the tables with every later transaction.

        The target is a directory, which gets a Delta table for each predicate, or a database such as
        `postgresql://host/database`, where each transaction is one transaction of the database. Publishing again to the same
        target writes only what has changed since. Without `predicates`, those of `@output` are published, or all derived
        ones.
        """
        from corollary.io.publication import publication_at
        from corollary.store.publishing import Publisher, published_predicates

        with self._operation() as run:
            self._materialise(run)
            names = published_predicates(self.analysis.program, predicates)
            store = self._durable.store if self._durable is not None else None
            place = publication_at(str(target), options)
            publisher = Publisher(place, [self.full_name(name) for name in names], self.facts, store)
            with run.interruptible():  # nothing here changes, and the target is others'
                publisher.start()
            self._publishers = [*self._publishers, publisher]

    def feed(
        self, path: str | PathLike[str], predicates: Iterable[str] | None = None, *, snapshot: bool = False
    ) -> None:
        """Append the visible facts that later versions insert and delete to a Delta table, each version exactly once.

        Its columns are `version`, `predicate`, `op` (insert, delete) and `values`, an array of JSON. With `snapshot`, a new
        feed begins with all facts. An existing feed of the same directory is continued, with its own predicates; a new one
        has the predicates that `publish` would take.
        """
        from corollary.store.feed import ChangeFeed
        from corollary.store.publishing import published_predicates

        with self._operation() as run:
            self._materialise(run)

            def full_names(asked: Iterable[str] | None = None) -> list[str]:
                return [self.full_name(name) for name in published_predicates(self.analysis.program, asked)]

            asked = full_names(predicates) if predicates is not None else None
            feed = ChangeFeed(Path(path), asked, full_names, self._durable.store if self._durable is not None else None)
            with run.interruptible():
                feed.start(self.facts if snapshot else None)
            self._publishers = [*self._publishers, feed]

    # -- care --------------------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Rewrite all facts into few files, as a new version with the same contents. Small files are merged from time to time
        anyway."""
        with self._operation() as run:
            self._stored("compact").compact(self.analysis, run)

    def vacuum(self, keep: int = 1) -> int:
        """Drop all versions but the last ones, and return the number of bytes freed."""
        with self._operation():
            return self._stored("vacuum").store.vacuum(keep)

    # -- for transactions --------------------------------------------------------------------------------------------

    def _read_changes(self, path: str | PathLike[str], permissions: Permissions) -> Change:
        from corollary.store.change_file import read_changes

        mixed = self.analysis.meaning.mixed_arities
        change = read_changes(Path(path), self.analysis.program, permissions, mixed_arities=mixed)
        return change if isinstance(self._backend, EmbeddedBackend) else change.with_values()

    # -- for both engines --------------------------------------------------------------------------------------------

    def _exchange(self) -> Exchange:
        """Return the interface between the engine and a store."""
        if isinstance(self._backend, EmbeddedBackend):
            from corollary.store.embedded_exchange import EmbeddedExchange

            return EmbeddedExchange(self._backend)
        from corollary.backends.spark import SparkBackend
        from corollary.store.spark_exchange import SparkExchange

        assert isinstance(self._backend, SparkBackend)
        self._check_follows_changes("a store on Spark")
        return SparkExchange(self._backend)

    def _check_follows_changes(self, what: str = "a knowledge base in a directory") -> None:
        """Raise `ProgramError` if updates are off, because each version stores the support of facts."""
        if not self._backend.settings.updates:
            message, hint = f"{what} stores the support of each fact", "leave out updates=False"
            raise ProgramError([Diagnostic(catalogue.NOT_STORED, message, None, hint)])

    # -- for the methods above ---------------------------------------------------------------------------------------

    def _stored(self, what: str) -> Durable:
        if self._durable is None:
            message = f"'{what}' needs a knowledge base in a directory"
            hint = "KnowledgeBase.create(path, program) creates one, KnowledgeBase.open(path) opens one"
            raise ProgramError([Diagnostic(catalogue.NOT_STORED, message, None, hint)])
        return self._durable

    def _embedded(self, what: str) -> EmbeddedBackend:
        if not isinstance(self._backend, EmbeddedBackend):
            raise ProgramError([Diagnostic(catalogue.NOT_STORED, f"'{what}' needs the embedded engine")])
        return self._backend

    if TYPE_CHECKING:

        def _materialise(self, run: Run) -> None: ...

        def _operation(self) -> AbstractContextManager[Run]: ...

        def full_name(self, predicate: str) -> str: ...

        def facts(self, predicate: str) -> Result: ...
