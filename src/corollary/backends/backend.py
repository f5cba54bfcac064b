"""The interface of all backends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from corollary.analysis import HyperNode, RuleGraph
from corollary.program import Facts, InputDeclaration, Query
from corollary.program.forms import Form
from corollary.sources.options import ReadOptions
from corollary.sources.rejects import Rejects

if TYPE_CHECKING:
    from corollary.engines.embedded.report import NodeReport, RunReport
    from corollary.results import Result
    from corollary.transactions import MaintenanceReport


@dataclass(frozen=True)
class Difference:
    """The visible facts that a change brought and took, by predicate."""

    inserted: Mapping[str, Result]
    deleted: Mapping[str, Result]
    report: MaintenanceReport


class Backend(Protocol):
    """Holds the facts of a knowledge base. Its rules are given to it; names of predicates are full names here."""

    arities: dict[str, int]
    """The numbers of arguments known so far."""
    defined: set[str]
    """The predicates that got facts or a file, even an empty one."""
    rejects: Rejects

    @property
    def stages(self) -> dict[str, float]:
        """Seconds by stage of loading."""
        ...

    def forms(self) -> Set[Form]:
        """The forms of all function terms and lists that facts have, or once had."""
        ...

    # -- facts in ----------------------------------------------------------------------------------------------------

    def insert(self, predicate: str, facts: Any) -> int: ...

    def insert_program(self, facts: Iterable[Facts], inputs: Iterable[InputDeclaration]) -> None:
        """The facts that a program states and the files that it names, which are looked up beside the file that says so."""
        ...

    def load_file(self, predicate: str, path: str | PathLike[str], options: ReadOptions) -> int: ...

    def load_directory(self, directory: Path, full_name: Callable[[str], str], *, header: bool) -> int: ...

    def load_triples(self, path: Path) -> int: ...

    def load_table(self, predicate: str, table: Any, columns: Sequence[str] | None) -> int:
        """The rows of a Spark data frame, or of a table that Spark knows by name."""
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

    def materialise(
        self, check: Callable[[int], None], finished: Callable[[NodeReport], None], at_round: Callable[[int], None]
    ) -> None: ...

    def replace_rules(self, graph: RuleGraph) -> None:
        """Other rules, before anything was derived."""
        ...

    # -- changes -----------------------------------------------------------------------------------------------------

    listener: Callable[[Difference], object]
    """Is told of changes that `insert` and the loading of files make after everything was derived."""
    new_check: Callable[[], Callable[[int], None]]
    """Makes what stops a change at its limits; it is called with the number of facts now and then."""

    def apply(
        self,
        deletes: Sequence[tuple[str, Any]],
        inserts: Sequence[tuple[str, Any]],
        graph: RuleGraph | None,
    ) -> Difference:
        """Changes explicit facts and rules together, or raises and changes nothing."""
        ...

    def strategy(self, node: HyperNode) -> str:
        """How a hyper-node follows changes."""
        ...

    def no_facts(self, predicate: str, prefixes: Mapping[str, str]) -> Result: ...

    # -- facts out ---------------------------------------------------------------------------------------------------

    def count(self, predicate: str) -> int: ...

    def facts(self, predicate: str, prefixes: Mapping[str, str]) -> Result: ...

    def answers(self, query: Query, prefixes: Mapping[str, str]) -> Result: ...

    @property
    def stated(self) -> set[str]:
        """The predicates that have explicit facts, as long as nothing was derived."""
        ...

    def derived_by(
        self,
        graph: RuleGraph,
        wanted: Mapping[str, Sequence[str]],
        given: Mapping[str, Any],
        prefixes: Mapping[str, str],
    ) -> dict[str, Result]:
        """The facts of predicates, with names for their columns, that these rules derive from explicit facts and those given.

        Nothing else is derived, and nothing is kept.
        """
        ...

    def owners(self, predicate: str) -> dict[str, int]: ...

    def view(self, predicate: str, prefixes: Mapping[str, str]) -> str:
        """A temporary view of Spark SQL with the facts of a predicate; gives its name."""
        ...

    def write(self, result: Result, path: str, options: Mapping[str, Any]) -> None: ...

    def close(self) -> None:
        """Gives back what the backend holds outside of this process."""
        ...
