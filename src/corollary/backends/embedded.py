"""The embedded engine behind a knowledge base."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corollary.analysis import HyperNode, RuleGraph
from corollary.backends.backend import Batch, Difference, no_yield_index, only_explicit
from corollary.io.databases import JDBC, POSTGRES
from corollary.io.loading import Encoded, Loader
from corollary.io.options import DATABASE, option_error
from corollary.io.rejects import Rejects
from corollary.program import Query, Rule, Value
from corollary.program.locations import rule_at_address
from corollary.program.patterns import Form
from corollary.reasoning.run import Run, memory_as_a_limit
from corollary.settings import Limits, Settings

if TYPE_CHECKING:
    from corollary.analysis.yield_entries import YieldEntries
    from corollary.engines.base import ChangeJournal
    from corollary.engines.embedded.engine import EmbeddedEngine
    from corollary.engines.embedded.relations.relation import Codes
    from corollary.engines.embedded.report import RunReport
    from corollary.engines.spark.publish.views import SparkViews
    from corollary.reasoning.maintain.chooser import Strategy
    from corollary.reasoning.maintain.report import Outcome
    from corollary.results import CountedRows, Result

# The engine, Arrow and the readers of files are imported on first use, so that an empty program starts without them.


class EmbeddedBackend:
    """Holds the facts of a knowledge base in an embedded engine, which is started with the first fact or rule."""

    def __init__(self, graph: RuleGraph, settings: Settings, base: Path) -> None:
        self._graph = graph
        self._base = base
        self.settings = settings
        self._depth = settings.limits.depth
        self.arities: dict[str, int] = {}
        self.defined: set[str] = set()
        self.rejects = Rejects()

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
            without=settings.left_out,
            discards_errors=settings.discards_errors,
            updates=settings.updates,
            strategy=settings.strategy,
            index=settings.index,
        )
        engine.universe.deepest = self._depth
        return engine

    def obey(self, limits: Limits) -> None:
        self._depth = limits.depth
        if self.is_started:
            self.engine.universe.deepest = limits.depth

    def batch(self, run: Run) -> Loader:
        settings = self.settings
        return Loader(
            lambda: self.engine, run,
            base=self._base, strict=settings.strict, mixed=settings.mixed_arities, arities=self.arities,
            roots=settings.inputs_root,
        )  # fmt: skip

    @property
    def is_started(self) -> bool:
        return "engine" in self.__dict__

    @property
    def is_materialised(self) -> bool:
        return self.engine.is_materialised

    @property
    def report(self) -> RunReport:
        return self.engine.report

    def materialise(self, run: Run, given: Batch) -> None:
        from corollary.engines.embedded.maintenance.changing_facts import FactChange

        assert isinstance(given, Loader)
        change = FactChange(insert=given.take()) if not given.is_empty else None
        with memory_as_a_limit():
            self.engine.materialise(run, change)
        self.include(given)

    def apply(
        self,
        batch: Batch,
        graph: RuleGraph | None,
        run: Run,
        journal: ChangeJournal | None = None,
        stream: Strategy | None = None,
    ) -> Difference:
        assert isinstance(batch, Loader)
        if not self.is_started or not self.is_materialised:
            return self._waiting(batch, graph, run)
        from corollary.engines.embedded.maintenance.changing_facts import FactChange

        with memory_as_a_limit():
            outcome = self.engine.apply(FactChange(batch.deleted, batch.take()), graph, run, journal, stream)
        self._graph = graph or self._graph
        self.include(batch)
        return self._difference(outcome)

    def _waiting(self, batch: Loader, graph: RuleGraph | None, run: Run) -> Difference:
        """Change facts and rules from which nothing has been derived yet."""
        inserted = deleted = 0
        with memory_as_a_limit():
            if batch.deleted:
                deleted = self.engine.delete_explicit(batch.deleted, run)
            if not batch.is_empty:
                inserted = self.engine.add_explicit(batch.take(), run)
        if graph is not None:
            self._graph = graph
            if self.is_started:
                self.engine.replace_rules(graph)
        self.include(batch)
        return only_explicit(inserted, deleted)

    def can_delete_first(self, batch: Batch) -> bool:
        assert isinstance(batch, Loader)
        return self.engine.can_delete_explicit(batch.deleted)

    def include(self, batch: Batch) -> None:
        """Remember the predicates and rejected rows of a batch."""
        assert isinstance(batch, Loader)
        self.arities.update(batch.arities)
        self.defined.update(batch.defined)
        if batch.rejects is not None:
            self.rejects.include(batch.rejects)

    def _encoded(self, facts: Sequence[tuple[str, Any]], run: Run) -> dict[str, Codes]:
        """Return rows of codes by predicate."""
        batch = self.batch(run)
        for predicate, rows in facts:
            batch.insert(predicate, rows)
        return batch.take()

    def codes_of(self, facts: Sequence[tuple[str, Any]]) -> dict[str, Encoded]:
        """Return facts by predicate, encoded before the change that they belong to."""
        return {predicate: Encoded(codes) for predicate, codes in self._encoded(facts, Run()).items()}

    def first_missing(self, predicate: str, facts: Encoded) -> tuple[Any, ...] | None:
        """Return the first of the facts that is not explicit; None if all are."""
        self.batch(Run()).check_width(predicate, facts.codes.shape[1])
        row = self.engine.first_missing(predicate, facts.codes)
        if row is None:
            return None
        return next(iter(self._result(facts.codes[row : row + 1], None, facts.codes.shape[1])))

    def _difference(self, outcome: Outcome) -> Difference:
        from corollary.transactions import MaintenanceReport

        report = MaintenanceReport(
            tuple(outcome.steps), outcome.seconds, outcome.explicit_inserted, outcome.explicit_deleted
        )
        arities = {name: self._arity(name) for name in (*outcome.inserted, *outcome.deleted)}
        return Difference(
            outcome.inserted, outcome.deleted, report, lambda name, facts: self._result(facts, None, arities[name])
        )

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

    def answers(self, query: Query, prefixes: Mapping[str, str], run: Run) -> Result:
        from corollary.results import Result

        names = [variable.name for variable in query.variables]
        with memory_as_a_limit():
            found = self.engine.answers(query, run)
        return Result(self.engine.universe, found, names, prefixes)

    @property
    def explicit_predicates(self) -> set[str]:
        return self.engine.explicit_predicates

    def derived_by(
        self,
        graph: RuleGraph,
        wanted: Mapping[str, Sequence[str]],
        given: Mapping[str, Any],
        prefixes: Mapping[str, str],
        run: Run,
    ) -> dict[str, Result]:
        from corollary.results import Result

        with memory_as_a_limit():
            found = self.engine.derived_by(graph, wanted, self._encoded(list(given.items()), run), run)
        return {
            predicate: Result(self.engine.universe, rows, wanted[predicate], prefixes)
            for predicate, rows in found.items()
        }

    def owners(self, predicates: Collection[str], run: Run) -> dict[str, dict[str, int]]:
        with memory_as_a_limit():
            return self.engine.owners(predicates, run)

    def yield_entries(self, rule: Rule, prefixes: Mapping[str, str], address: Value | None, run: Run) -> YieldEntries:
        from corollary.engines.embedded.kernels.runner import Work
        from corollary.engines.embedded.yield_index.index import TooManyInstances
        from corollary.engines.embedded.yield_index.looking import entries_to_look_at
        from corollary.engines.embedded.yield_index.shape import misfit
        from corollary.planning import normalise

        normal = normalise(rule if address is None else rule_at_address(rule, address))
        if reason := misfit(normal):
            raise no_yield_index(rule, reason, "changes of this rule are followed without it")
        engine = self.engine
        is_used = engine.uses_yield_index(rule.name)
        try:
            with memory_as_a_limit():
                return entries_to_look_at(
                    rule, normal, engine.universe, engine.facts, prefixes, is_used=is_used, work=Work(run=run)
                )
        except TooManyInstances:
            raise no_yield_index(rule, "one of its facts has too many instances", "look at fewer facts") from None

    @cached_property
    def _views(self) -> SparkViews:
        from corollary.engines.spark.publish.views import SparkViews

        return SparkViews()

    def view(self, predicate: str, prefixes: Mapping[str, str], name: str | None = None) -> str:
        return self._views.create(self.facts(predicate, prefixes).to_spark(), predicate, name)

    def write(self, result: Result, path: str, options: Mapping[str, Any]) -> None:
        from corollary.io.write import write_result

        if path.startswith((JDBC, *POSTGRES)):
            hint = 'KnowledgeBase(…, engine="spark"); KnowledgeBase.publish keeps tables of PostgreSQL in line with the facts'
            raise option_error("tables of databases are written by the Spark engine", None, hint)
        for name in DATABASE:
            if options.get(name) is not None:
                raise option_error(f"'{name}' says nothing about a file", None)
        write_result(result, path, **{name: value for name, value in options.items() if name not in DATABASE})

    def close(self) -> None:
        """Drop the views of Spark SQL; nothing else is held outside of this process."""
        if "_views" in self.__dict__:
            self._views.close()
