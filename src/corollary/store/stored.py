"""What knowledge bases can do that live in a directory; `KnowledgeBase` has these methods.

Everything heavy is imported where it is needed: most knowledge bases never see a directory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import Analysis
from corollary.backends import Backend
from corollary.backends.embedded import EmbeddedBackend
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.settings import SETTINGS
from corollary.transactions import Change

if TYPE_CHECKING:
    from typing import Self

    from corollary.backends.spark import SparkBackend
    from corollary.results import Result
    from corollary.store.durable import Durable
    from corollary.store.feed import ChangeFeed
    from corollary.store.history import VersionDifference, VersionInfo
    from corollary.store.publishing import Publisher
    from corollary.store.spark_durable import SparkDurable
    from corollary.store.store import Store
    from corollary.store.verify import Deviation

    AnyDurable = Durable | SparkDurable


class Stored:
    """The part of a knowledge base that has to do with directories. See docs/storage.md."""

    analysis: Analysis
    _backend: Backend
    _lock: threading.RLock
    _editing: Analysis | None = None
    _durable: AnyDurable | None = None
    _publishers: list[Publisher | ChangeFeed] = []  # noqa: RUF012  (replaced, never changed)

    # -- beginnings --------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Writes everything into a new directory, derived facts too: `open` goes on from there without deriving.

        This knowledge base itself stays where it is: only one that was opened or created there writes its changes there.
        """
        with self._lock:
            self.materialise()
            self._save(Path(path), "saved")

    @classmethod
    def create(cls, path: str | PathLike[str], program: Any = "", **options: Any) -> Self:
        """A new knowledge base in a directory: each of its transactions is on the disk when it returns.

        >>> import tempfile
        >>> from corollary import KnowledgeBase
        >>> place = tempfile.mkdtemp()
        >>> kb = KnowledgeBase.create(place, "edge(1, 2). path(X, Y) :- edge(X, Y).")
        >>> kb.insert("edge", [(2, 3)]), kb.version
        (1, 2)
        >>> KnowledgeBase.open(place).count("path"), KnowledgeBase.open(place, version=1).count("path")
        (2, 1)
        """
        kb = cls(program, **options)  # type: ignore[call-arg]
        kb.materialise()
        kb._durable = kb._save(Path(path), "created")()
        return kb

    @classmethod
    def open(
        cls, path: str | PathLike[str], *, engine: Any = "embedded", version: int | None = None, **options: Any
    ) -> Self:
        """The knowledge base in a directory, as it is or as it was in an earlier version.

        Nothing is derived again. Its transactions go to the directory; those of an earlier version are refused.
        """
        store, kb = cls._with_rules(path, engine, version, options)
        kb._durable = kb._restored(store)
        return kb

    @classmethod
    def _with_rules(
        cls, path: str | PathLike[str], engine: Any, version: int | None, options: dict[str, Any]
    ) -> tuple[Store, Self]:
        """A version of a store, and a knowledge base that has its rules and settings so far."""
        from corollary.store.durable import FORMS
        from corollary.store.program_rows import analysis_of
        from corollary.store.store import Store

        store = Store.open(Path(path), version)
        known = {name: value for name, value in store.meaning.settings.items() if name in SETTINGS}
        forms = frozenset((name, count) for name, count in store.meaning.settings.get(FORMS, ()))
        analysis = replace(analysis_of(store.meaning.program), known=dict(store.meaning.predicates), known_forms=forms)
        return store, cls(analysis, engine=engine, **{**known, **options})  # type: ignore[call-arg]

    def arity(self, predicate: str) -> int | None:
        """The number of arguments of a predicate, where it is known."""
        return self._backend.arities.get(self.full_name(predicate))

    # -- versions ----------------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path | None:
        """The directory that this knowledge base lives in."""
        return self._durable.store.path if self._durable is not None else None

    @property
    def version(self) -> int | None:
        """The number of the version in the directory; None where there is none."""
        return self._durable.store.version if self._durable is not None else None

    @property
    def cause(self) -> str:
        """What the history says of the next versions; empty where what they change says enough."""
        return self._durable.cause if self._durable is not None else ""

    @cause.setter
    def cause(self, cause: str) -> None:
        self._stored("cause").cause = cause

    @property
    def marks(self) -> dict[str, Any]:
        """What the version says beside its facts: whatever `mark` was told, as how far a stream was read."""
        return dict(self._stored("marks").store.meaning.marks)

    def mark(self, **marks: Any) -> None:
        """Lets the next version say something, in one with what it changes; the values must be fit for JSON.

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
        """The same for the transaction inside the block; where the block raises, nothing will be said."""
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
        """All versions of the directory, the newest last: when, why, and what they changed."""
        from corollary.store.history import history

        return history(self._stored("history").store)

    def diff(self, first: int, second: int) -> VersionDifference:
        """The visible facts and the rules that came and went from one version to another.

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
        """Writes the explicit facts and the rules that came and went since a version to a file, for `apply` elsewhere.

        Gives the path of the file; without one it is `changes-SINCE-VERSION` in the current directory.
        """
        from corollary.store.change_file import write_changes

        with self._lock:
            store = self._stored("changes").store
            target = Path(path) if path is not None else Path(f"changes-{since}-{store.version}")
            write_changes(store, since, target)
        return target

    @classmethod
    def verify(cls, path: str | PathLike[str], *, version: int | None = None, **options: Any) -> list[Deviation]:
        """Derives everything in a directory anew from its explicit facts, and tells what is stored otherwise; mostly nothing."""
        from corollary.store.verify import verify

        store, kb = cls._with_rules(path, "embedded", version, options)
        return verify(kb._embedded("verify"), kb.analysis, store)

    def publish(self, target: str | PathLike[str], predicates: Iterable[str] | None = None, **options: Any) -> None:
        """Writes the facts of the output predicates for others, and keeps them in line with every transaction from now on.

        The target is a directory, which gets a Delta table for each predicate, or a database such as
        `postgresql://host/database`, where all changes of a transaction are one transaction too. A target that was published
        before from the same directory gets only what changed since. Without `predicates`, those of `@output` are published,
        or all that rules derive.
        """
        from corollary.store.publishing import Publisher, place_of, published_predicates

        with self._lock:
            self.materialise()
            names = published_predicates(self.analysis.program, predicates)
            store = self._durable.store if self._durable is not None else None
            place = place_of(str(target), options)
            publisher = Publisher(place, [self.full_name(name) for name in names], self.facts, store)
            publisher.start()
            self._publishers = [*self._publishers, publisher]

    def feed(
        self, path: str | PathLike[str], predicates: Iterable[str] | None = None, *, snapshot: bool = False
    ) -> None:
        """Writes the visible facts that come and go from now on to a Delta table that only grows, each version once.

        Its columns are `version`, `predicate`, `op` (insert, delete) and `values`, an array of JSON. With `snapshot`, a new
        feed begins with all facts. One that was begun before from the same directory gets what came since, of the predicates
        that it has; those of a new one are those that `publish` takes.
        """
        from corollary.store.feed import ChangeFeed
        from corollary.store.publishing import published_predicates

        with self._lock:
            self.materialise()

            def full_names(asked: Iterable[str] | None = None) -> list[str]:
                return [self.full_name(name) for name in published_predicates(self.analysis.program, asked)]

            asked = full_names(predicates) if predicates is not None else None
            feed = ChangeFeed(Path(path), asked, full_names, self._durable.store if self._durable is not None else None)
            feed.start(self.facts if snapshot else None)
            self._publishers = [*self._publishers, feed]

    # -- care --------------------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Writes all facts anew as a new version that says the same; otherwise small files are merged now and then."""
        with self._lock:
            self._stored("compact").compact()

    def vacuum(self, keep: int = 1) -> int:
        """Forgets all versions but the last ones, and gives the bytes that were freed."""
        with self._lock:
            return self._stored("vacuum").store.vacuum(keep)

    # -- for transactions --------------------------------------------------------------------------------------------

    @contextmanager
    def _becoming(self, analysis: Analysis | None) -> Iterator[None]:
        """A transaction runs after which the program is another one."""
        self._editing = analysis
        try:
            yield
        finally:
            self._editing = None

    def _read_changes(self, path: str | PathLike[str]) -> Change:
        from corollary.store.change_file import read_changes

        change = read_changes(Path(path), self.analysis.program)
        return change if isinstance(self._backend, EmbeddedBackend) else change.with_values()

    # -- for both engines --------------------------------------------------------------------------------------------

    def _save(self, path: Path, cause: str) -> Callable[[], AnyDurable]:
        """Writes a new store; what is given binds this knowledge base to it."""
        backend = self._backend
        if isinstance(backend, EmbeddedBackend):
            from corollary.store.durable import Durable, save

            store, terms = save(backend, self.analysis, path, cause)
            return lambda: Durable(backend, self._analysis_to_be, store, terms)
        from corollary.store import spark_durable

        spark = self._on_spark()
        saved = spark_durable.save(spark, self.analysis, path, cause)
        return lambda: spark_durable.SparkDurable(spark, self._analysis_to_be, saved)

    def _restored(self, store: Store) -> AnyDurable:
        if isinstance(self._backend, EmbeddedBackend):
            from corollary.store.durable import restore

            return restore(self._backend, self._analysis_to_be, store)
        from corollary.store import spark_durable

        return spark_durable.restore(self._on_spark(), self._analysis_to_be, store)

    def _on_spark(self) -> SparkBackend:
        from corollary.backends.spark import SparkBackend

        assert isinstance(self._backend, SparkBackend)
        if not self._backend.settings.updates:
            message, hint = "a store on Spark keeps who supports each fact", "leave out updates=False"
            raise ProgramError([Diagnostic(catalogue.NOT_STORED, message, None, hint)])
        return self._backend

    # -- for the methods above ---------------------------------------------------------------------------------------

    def _analysis_to_be(self) -> Analysis:
        """The program as it will be after the transaction that runs."""
        return self._editing or self.analysis

    def _stored(self, what: str) -> AnyDurable:
        if self._durable is None:
            message = f"'{what}' needs a knowledge base in a directory"
            hint = "KnowledgeBase.create(path, program) and KnowledgeBase.open(path) give one"
            raise ProgramError([Diagnostic(catalogue.NOT_STORED, message, None, hint)])
        return self._durable

    def _embedded(self, what: str) -> EmbeddedBackend:
        if not isinstance(self._backend, EmbeddedBackend):
            raise ProgramError([Diagnostic(catalogue.NOT_STORED, f"'{what}' needs the embedded engine")])
        return self._backend

    if TYPE_CHECKING:

        def materialise(self) -> Any: ...

        def full_name(self, predicate: str) -> str: ...

        def facts(self, predicate: str) -> Result: ...
