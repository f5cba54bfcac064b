"""The embedded engine behind a knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import HyperNode, RuleGraph
from corollary.backends.backend import Difference
from corollary.backends.memory import memory_as_a_limit
from corollary.program import Facts, InputDeclaration, Query
from corollary.program.forms import Form
from corollary.settings import Settings
from corollary.sources.loading import Loader
from corollary.sources.options import option_error

if TYPE_CHECKING:
    from corollary.engines.embedded.engine import EmbeddedEngine
    from corollary.engines.embedded.maintenance.outcome import Outcome
    from corollary.engines.embedded.relation import Codes
    from corollary.engines.embedded.report import NodeReport, RunReport
    from corollary.results import CountedRows, Result

# The engine, Arrow and the readers of files are imported where they are needed: an empty program starts without them.


@dataclass(frozen=True)
class Encoded:
    """Facts that were encoded before: rows of codes of this backend's universe."""

    codes: Codes


class EmbeddedBackend(Loader):
    """Loads like any loader, into an engine of its own."""

    def __init__(self, graph: RuleGraph, settings: Settings, base: Path) -> None:
        super().__init__(lambda: self.engine, base=base, strict=settings.strict, mixed=settings.mixed_arities)
        self._graph = graph
        self.settings = settings
        self.listener: Callable[[Difference], object] = lambda difference: None
        self.new_check: Callable[[], Callable[[int], None]] = lambda: lambda facts: None

    @property
    def stages(self) -> dict[str, float]:
        return {}

    def forms(self) -> Set[Form]:
        known = self.engine.universe.structures if self.is_started else None
        return known.forms if known is not None else frozenset()

    @cached_property
    def engine(self) -> EmbeddedEngine:
        from corollary.engines.embedded.engine import EmbeddedEngine

        settings = self.settings
        engine = EmbeddedEngine(
            self._graph,
            without=settings.without,
            discards_errors=settings.discards_errors,
            updates=settings.updates,
            strategy=settings.strategy,
            index=settings.index,
        )
        engine.universe.deepest = settings.limits.depth
        engine.listener = lambda outcome: self.listener(self._difference(outcome))
        engine.new_check = lambda: self.new_check()
        return engine

    def load_table(self, predicate: str, table: Any, columns: Sequence[str] | None) -> int:
        if isinstance(table, str):
            from corollary.engines.spark.session import start_session

            table = start_session().table(table)
        return self.insert(predicate, (table.select(*columns) if columns else table).toArrow())

    def insert_program(self, facts: Iterable[Facts], inputs: Iterable[InputDeclaration]) -> None:
        for stated in facts:
            self.insert_written(stated)
        for declaration in inputs:
            self.load_declared(declaration)

    @property
    def is_started(self) -> bool:
        return "engine" in self.__dict__

    @property
    def is_materialised(self) -> bool:
        return self.engine.is_materialised

    @property
    def report(self) -> RunReport:
        return self.engine.report

    def materialise(
        self, check: Callable[[int], None], finished: Callable[[NodeReport], None], at_round: Callable[[int], None]
    ) -> None:
        with memory_as_a_limit():
            self.engine.materialise(check=check, finished=finished, at_round=at_round)

    def replace_rules(self, graph: RuleGraph) -> None:
        self._graph = graph
        if self.is_started:
            self.engine.replace_rules(graph)

    def apply(
        self,
        deletes: Sequence[tuple[str, Any]],
        inserts: Sequence[tuple[str, Any]],
        graph: RuleGraph | None,
    ) -> Difference:
        from corollary.engines.embedded.maintenance.outcome import FactChange

        change = FactChange(self._encoded(deletes), self._encoded(inserts))
        with memory_as_a_limit():
            outcome = self.engine.apply(change, graph, self.new_check())
        for predicate, rows in change.insert.items():
            self.defined.add(predicate)
            self.arities.setdefault(predicate, rows.shape[1])
        self._graph = graph or self._graph
        return self._difference(outcome)

    def _insert(self, predicate: str, codes: Codes) -> int:
        with memory_as_a_limit():
            return super()._insert(predicate, codes)

    def _encoded(self, facts: Sequence[tuple[str, Any]]) -> dict[str, Codes]:
        """Distinct rows by predicate."""
        import numpy as np

        found: dict[str, list[Codes]] = {}
        for predicate, rows in facts:
            codes = rows.codes if isinstance(rows, Encoded) else self.encoded(predicate, rows)
            if len(codes):
                predicate = self.named(predicate, codes.shape[1])
                self.check_width(predicate, codes.shape[1])
            found.setdefault(predicate, []).append(codes)
        return {predicate: np.concatenate(parts) for predicate, parts in found.items() if sum(map(len, parts))}

    def codes_of(self, facts: Sequence[tuple[str, Any]]) -> dict[str, Encoded]:
        """Facts by predicate, encoded ahead of the change that they are part of."""
        return {predicate: Encoded(codes) for predicate, codes in self._encoded(facts).items()}

    def first_missing(self, predicate: str, facts: Encoded) -> tuple[Any, ...] | None:
        """The first of the facts that is not explicit; None where all are."""
        self.check_width(predicate, facts.codes.shape[1])
        row = self.engine.first_missing(predicate, facts.codes)
        if row is None:
            return None
        return next(iter(self._result(facts.codes[row : row + 1], None, facts.codes.shape[1])))

    def _difference(self, outcome: Outcome) -> Difference:
        from corollary.transactions import MaintenanceReport

        report = MaintenanceReport(
            tuple(outcome.steps), outcome.seconds, outcome.explicit_inserted, outcome.explicit_deleted
        )
        inserted, deleted = (
            {name: self._result(facts, None, self._arity(name)) for name, facts in found.items()}
            for found in (outcome.inserted, outcome.deleted)
        )
        return Difference(inserted, deleted, report)

    def _arity(self, predicate: str) -> int:
        relation = self.engine.visible(predicate)
        return relation.arity if relation is not None else self.arities.get(predicate, 0)

    def strategy(self, node: HyperNode) -> str:
        return self.engine.strategy(node)

    def count(self, predicate: str) -> int:
        return self.engine.count(predicate)

    def facts(self, predicate: str, prefixes: Mapping[str, str]) -> Result:
        rows = self.engine.facts(predicate)
        return self._result(rows, prefixes, rows.shape[1]) if rows is not None else self.no_facts(predicate, prefixes)

    def no_facts(self, predicate: str, prefixes: Mapping[str, str]) -> Result:
        import numpy as np

        arity = self._arity(predicate)
        return self._result(np.empty((0, arity), np.uint32), prefixes, arity)

    def _result(self, rows: Codes | CountedRows, prefixes: Mapping[str, str] | None = None, arity: int = 0) -> Result:
        from corollary.results import Result

        names = [f"a{position}" for position in range(1, arity + 1)]
        return Result(self.engine.universe, rows, names, prefixes)

    def answers(self, query: Query, prefixes: Mapping[str, str]) -> Result:
        from corollary.results import Result

        names = [variable.name for variable in query.variables]
        return Result(self.engine.universe, self.engine.answers(query), names, prefixes)

    @property
    def stated(self) -> set[str]:
        return self.engine.stated

    def derived_by(
        self,
        graph: RuleGraph,
        wanted: Mapping[str, Sequence[str]],
        given: Mapping[str, Any],
        prefixes: Mapping[str, str],
    ) -> dict[str, Result]:
        from corollary.results import Result

        with memory_as_a_limit():
            found = self.engine.derived_by(graph, wanted, self._encoded(list(given.items())), self.new_check())
        return {
            predicate: Result(self.engine.universe, rows, wanted[predicate], prefixes)
            for predicate, rows in found.items()
        }

    def owners(self, predicate: str) -> dict[str, int]:
        return self.engine.owners(predicate)

    def view(self, predicate: str, prefixes: Mapping[str, str]) -> str:
        from corollary.engines.spark.session import start_session

        start_session()
        frame = self.facts(predicate, prefixes).to_spark()
        frame.createOrReplaceTempView(predicate)
        return predicate

    def write(self, result: Result, path: str, options: Mapping[str, Any]) -> None:
        from corollary.sources.write import write_result

        if path.startswith("jdbc:"):
            raise option_error("databases are written by the Spark engine", None, 'KnowledgeBase(…, engine="spark")')
        write_result(result, path, **options)

    def close(self) -> None:
        """Nothing is held outside of this process."""
