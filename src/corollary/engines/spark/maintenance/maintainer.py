"""What keeps the relations of a knowledge base on Spark exact, from one transaction to the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from corollary.analysis import HyperNode, RuleGraph
from corollary.engines.spark.maintenance.explicit_changes import Stated
from corollary.engines.spark.maintenance.maintained_store import MaintainedStore
from corollary.engines.spark.maintenance.outcome import Outcome
from corollary.engines.spark.maintenance.recompute import RunJobs
from corollary.engines.spark.maintenance.steps import SparkStep, steps_of_node
from corollary.engines.spark.maintenance.transaction_run import COUNTING, Engine, TransactionRun
from corollary.engines.spark.strategies.jobs import NodeJob

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context
    from corollary.engines.spark.maintenance.transaction import Transaction


class SparkMaintainer:
    """Keeps the relations of a store exact. The store was materialised by the same steps, with counts."""

    def __init__(
        self,
        context: Context,
        store: MaintainedStore,
        graph: RuleGraph,
        run: RunJobs,
        know_constants: Callable[[Sequence[NodeJob]], None],
        *,
        strategy: str = "auto",
        discards_errors: bool = True,
    ) -> None:
        self._engine = Engine(context, store, run, know_constants, strategy, discards_errors)
        self._steps = self._steps_of(graph, ())
        self.committing: Callable[[Transaction], None] | None = None
        """Called when a transaction is computed; when it raises, the transaction never was."""

    def _steps_of(self, graph: RuleGraph, known: Sequence[SparkStep]) -> list[SparkStep]:
        """The steps of all hyper-nodes in order; those that are known already stay the same."""
        kept = {step.identity: step for step in known}
        steps = [
            step
            for node in graph.hyper_nodes
            for step in steps_of_node(graph, node, discards_errors=self._engine.discards_errors)
        ]
        return [kept.get(step.identity, step) for step in steps]

    def strategy(self, node: HyperNode) -> str:
        """How the rules of a hyper-node follow changes as a rule."""
        step = next(step for step in self._steps if step.node == node and step.source is None)
        if self._engine.strategy == "recompute":
            return "recompute"
        if not step.recursive:
            return "counting"
        return self._engine.strategy if self._engine.strategy in ("auto", COUNTING) else "dred"

    # -- transactions ------------------------------------------------------------------------------------------------

    def apply(
        self,
        deletes: Stated,
        inserts: Stated,
        graph: RuleGraph | None = None,
        check: Callable[[int], None] = lambda facts: None,
    ) -> Outcome:
        """Changes facts and rules together, or raises and leaves everything as it was.

        `check` is told the number of facts after each wave and may give up by raising.
        """
        started = time.perf_counter()
        steps = self._steps_of(graph, self._steps) if graph is not None else self._steps
        run = TransactionRun(self._engine, self._steps, steps, check)
        outcome = run.run(deletes, inserts)
        if self.committing is not None:
            self.committing(run.transaction)
        run.transaction.commit()
        self._steps = steps
        outcome.seconds = time.perf_counter() - started
        return outcome
