"""The interface of all backends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from corollary.analysis import HyperNode, RuleGraph
from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.io.options import ReadOptions
from corollary.io.rejects import Rejects
from corollary.program import FactBlock, InputDeclaration, Query, Rule, Value
from corollary.program.patterns import Form
from corollary.settings import Limits, Settings

if TYPE_CHECKING:
    from corollary.analysis.yield_entries import YieldEntries
    from corollary.engines.base import ChangeJournal
    from corollary.engines.embedded.report import RunReport
    from corollary.reasoning.maintain.chooser import Strategy
    from corollary.reasoning.run import Run
    from corollary.results import Result
    from corollary.transactions import MaintenanceReport


@dataclass(frozen=True)
class Difference:
    """The visible facts that a change inserted and deleted, by predicate, in a form that `result` makes readable."""

    inserted: Mapping[str, Any]
    deleted: Mapping[str, Any]
    report: MaintenanceReport
    result: Callable[[str, Any], Result]


def no_yield_index(rule: Rule, reason: str, hint: str) -> ProgramError:
    """Return the error for a rule whose Yield index cannot be looked at."""
    message = f"rule '{rule.name}' has no Yield index to look at: {reason}"
    return ProgramError([Diagnostic(catalogue.NO_YIELD_INDEX, message, rule.span, hint)])


def only_explicit(inserted: int, deleted: int = 0) -> Difference:
    """Return the difference of a change before anything has been derived."""
    from corollary.transactions import MaintenanceReport

    def result(name: str, facts: Any) -> Result:
        raise KeyError(name)

    return Difference({}, {}, MaintenanceReport((), 0.0, inserted, deleted), result)


class Batch(Protocol):
    """The facts of one change, from any source: read and encoded, and not inserted yet.

    `arities` are the known arities, including those of these facts.
    """

    @property
    def arities(self) -> dict[str, int]: ...

    @property
    def is_empty(self) -> bool: ...

    def insert(self, predicate: str, facts: Any) -> None: ...

    def change(self, inserts: Sequence[tuple[str, Any]], deletes: Sequence[tuple[str, Any]]) -> None:
        """Add facts to insert and facts to delete."""
        ...

    def insert_program(self, facts: Iterable[FactBlock], inputs: Iterable[InputDeclaration]) -> None:
        """Add the facts of a program and the files that it names, relative to the program file."""
        ...

    def load_file(self, predicate: str, path: str | PathLike[str], options: ReadOptions) -> None: ...

    def load_directory(self, directory: Path, full_name: Callable[[str], str], *, header: bool) -> None: ...

    def load_triples(self, path: Path, options: ReadOptions) -> None: ...

    def load_table(self, predicate: str, table: Any, columns: Sequence[str] | None) -> None:
        """Add the rows of a Spark data frame, or of a table that Spark knows by name."""
        ...


class Backend(Protocol):
    """Holds the facts of a knowledge base; rules are passed to it. Names of predicates are full names here."""

    arities: dict[str, int]
    """The arities known so far."""
    defined: set[str]
    """The predicates that got facts or a file, even an empty one."""
    rejects: Rejects
    settings: Settings

    @property
    def stages(self) -> dict[str, float]:
        """The seconds of each stage of loading."""
        ...

    def forms(self) -> Set[Form]:
        """Return the forms of all function terms and lists that facts have or once had."""
        ...

    def obey(self, limits: Limits) -> None:
        """Let rules make terms of the depth that these limits allow; a run checks all other limits itself."""
        ...

    def batch(self, run: Run) -> Batch:
        """Return a batch for the facts of one change."""
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
        """Derive everything, from the given explicit facts as well; if that fails, nothing has changed."""
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
        """Change explicit facts and rules together, or raise and change nothing.

        If nothing has been derived yet, nothing is derived now, and only the numbers of the report describe the change.
        A journal records the change before it takes effect; on the embedded engine, a change of a stream is followed by
        the stream's strategy.
        """
        ...

    def can_delete_first(self, batch: Batch) -> bool:
        """Return whether a batch is best deleted before anything has been derived: that takes time in proportion to all
        facts of its predicates, and following a deletion later in proportion to the deletion."""
        ...

    def include(self, batch: Batch) -> None:
        """Remember what a batch without facts declares: predicates that might have had some."""
        ...

    def strategy(self, node: HyperNode) -> str:
        """Return how a hyper-node follows changes."""
        ...

    def no_facts(self, predicate: str, prefixes: Mapping[str, str]) -> Result: ...

    # -- facts out ---------------------------------------------------------------------------------------------------

    def count(self, predicate: str) -> int: ...

    def facts(self, predicate: str, prefixes: Mapping[str, str]) -> Result: ...

    def answers(self, query: Query, prefixes: Mapping[str, str], run: Run) -> Result: ...

    @property
    def explicit_predicates(self) -> set[str]:
        """The predicates with explicit facts, while nothing has been derived."""
        ...

    def derived_by(
        self,
        graph: RuleGraph,
        wanted: Mapping[str, Sequence[str]],
        given: Mapping[str, Any],
        prefixes: Mapping[str, str],
        run: Run,
    ) -> dict[str, Result]:
        """Return the facts of predicates, with column names, that these rules derive from the explicit facts and the
        given ones.

        Nothing else is derived, and nothing is stored.
        """
        ...

    def owners(self, predicates: Collection[str], run: Run) -> dict[str, dict[str, int]]: ...

    def yield_entries(self, rule: Rule, prefixes: Mapping[str, str], address: Value | None, run: Run) -> YieldEntries:
        """Return the Yield index of a rule over the visible facts, at an address if it is not None."""
        ...

    def view(self, predicate: str, prefixes: Mapping[str, str], name: str | None = None) -> str:
        """Return the name of a temporary Spark SQL view with the facts of a predicate; it is dropped at `close`."""
        ...

    def write(self, result: Result, path: str, options: Mapping[str, Any]) -> None: ...

    def close(self) -> None:
        """Release what the backend holds outside of this process."""
        ...
