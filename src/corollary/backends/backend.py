"""The interface of all backends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from corollary.analysis import HyperNode, RuleGraph
from corollary.io.options import ReadOptions
from corollary.io.rejects import Rejects
from corollary.program import FactBlock, InputDeclaration, Query
from corollary.program.patterns import Form
from corollary.settings import Limits, Settings

if TYPE_CHECKING:
    from corollary.engines.base import ChangeJournal
    from corollary.engines.embedded.report import RunReport
    from corollary.reasoning.maintain.chooser import Strategy
    from corollary.reasoning.run import Run
    from corollary.results import Result
    from corollary.transactions import MaintenanceReport


@dataclass(frozen=True)
class Difference:
    """The visible facts that a change brought and took, by predicate, in a form of which `result` makes one that users know."""

    inserted: Mapping[str, Any]
    deleted: Mapping[str, Any]
    report: MaintenanceReport
    result: Callable[[str, Any], Result]


def only_explicit(inserted: int) -> Difference:
    """Return the difference that a change reports where nothing has been derived yet."""
    from corollary.transactions import MaintenanceReport

    def result(name: str, facts: Any) -> Result:
        raise KeyError(name)

    return Difference({}, {}, MaintenanceReport((), 0.0, inserted, 0), result)


class Batch(Protocol):
    """The facts of one change, from whatever place: read and encoded, and not inserted yet.

    `arities` are the numbers of arguments known so far, these facts included.
    """

    @property
    def arities(self) -> dict[str, int]: ...

    @property
    def is_empty(self) -> bool: ...

    def insert(self, predicate: str, facts: Any) -> None: ...

    def change(self, inserts: Sequence[tuple[str, Any]], deletes: Sequence[tuple[str, Any]]) -> None:
        """Facts that come and facts that go; facts go only after everything was derived."""
        ...

    def insert_program(self, facts: Iterable[FactBlock], inputs: Iterable[InputDeclaration]) -> None:
        """The facts that a program states and the files that it names, which are looked up beside the file that says so."""
        ...

    def load_file(self, predicate: str, path: str | PathLike[str], options: ReadOptions) -> None: ...

    def load_directory(self, directory: Path, full_name: Callable[[str], str], *, header: bool) -> None: ...

    def load_triples(self, path: Path, options: ReadOptions) -> None: ...

    def load_table(self, predicate: str, table: Any, columns: Sequence[str] | None) -> None:
        """The rows of a Spark data frame, or of a table that Spark knows by name."""
        ...


class Backend(Protocol):
    """Holds the facts of a knowledge base. Its rules are given to it; names of predicates are full names here."""

    arities: dict[str, int]
    """The numbers of arguments known so far."""
    defined: set[str]
    """The predicates that got facts or a file, even an empty one."""
    rejects: Rejects
    settings: Settings

    @property
    def stages(self) -> dict[str, float]:
        """Seconds by stage of loading."""
        ...

    def forms(self) -> Set[Form]:
        """The forms of all function terms and lists that facts have, or once had."""
        ...

    def obey(self, limits: Limits) -> None:
        """From now on rules make terms that are nested as deep as these limits allow; all others a run itself looks after."""
        ...

    def batch(self, run: Run) -> Batch:
        """Takes the facts of one change in."""
        ...

    # -- deriving ----------------------------------------------------------------------------------------------------

    @property
    def is_started(self) -> bool:
        """Whether there is an engine already; an empty program never needs one."""
        ...

    @property
    def is_materialised(self) -> bool: ...

    @property
    def report(self) -> RunReport: ...

    def materialise(self, run: Run, given: Batch) -> None:
        """Derives everything, with explicit facts that are given; where that fails, nothing has changed."""
        ...

    # -- changes -----------------------------------------------------------------------------------------------------

    def apply(
        self,
        batch: Batch,
        graph: RuleGraph | None,
        run: Run,
        journal: ChangeJournal | None = None,
        stream: Strategy | None = None,
    ) -> Difference:
        """Changes explicit facts and rules together, or raises and changes nothing.

        Before anything was derived, nothing is derived now, and only the numbers of the report tell of the change. A journal
        keeps the change before it happens; that of a stream is followed by its strategy, where the engine is embedded.
        """
        ...

    def include(self, batch: Batch) -> None:
        """Remember what a batch without facts declares: predicates that might have had some."""
        ...

    def strategy(self, node: HyperNode) -> str:
        """How a hyper-node follows changes."""
        ...

    def no_facts(self, predicate: str, prefixes: Mapping[str, str]) -> Result: ...

    # -- facts out ---------------------------------------------------------------------------------------------------

    def count(self, predicate: str) -> int: ...

    def facts(self, predicate: str, prefixes: Mapping[str, str]) -> Result: ...

    def answers(self, query: Query, prefixes: Mapping[str, str], run: Run) -> Result: ...

    @property
    def explicit_predicates(self) -> set[str]:
        """The predicates that have explicit facts, as long as nothing was derived."""
        ...

    def derived_by(
        self,
        graph: RuleGraph,
        wanted: Mapping[str, Sequence[str]],
        given: Mapping[str, Any],
        prefixes: Mapping[str, str],
        run: Run,
    ) -> dict[str, Result]:
        """The facts of predicates, with names for their columns, that these rules derive from explicit facts and those given.

        Nothing else is derived, and nothing is kept.
        """
        ...

    def owners(self, predicates: Collection[str], run: Run) -> dict[str, dict[str, int]]: ...

    def view(self, predicate: str, prefixes: Mapping[str, str], name: str | None = None) -> str:
        """Return the name of a temporary view of Spark SQL with the facts of a predicate; it goes at `close`."""
        ...

    def write(self, result: Result, path: str, options: Mapping[str, Any]) -> None: ...

    def close(self) -> None:
        """Gives back what the backend holds outside of this process."""
        ...
