"""Changes without maintenance (`updates=False`): everything is derived again, and compared with the facts before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from corollary.analysis import RuleGraph
from corollary.engines.spark.maintenance.change_rows import ChangeRows, settle
from corollary.engines.spark.maintenance.explicit_changes import ExplicitFacts, change_explicit
from corollary.engines.spark.maintenance.maintained_store import MaintainedStore
from corollary.engines.spark.maintenance.transaction import SparkTransaction
from corollary.engines.spark.relations import COUNT, Frame, union
from corollary.planning.steps import is_auxiliary
from corollary.reasoning.maintain.report import Outcome
from corollary.reasoning.run import Run

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context
    from corollary.engines.spark.engine import SparkEngine


@dataclass(frozen=True)
class SparkDerivedFacts:
    """Implements `engines.base.DerivedFacts`; `graph` has the rules so far."""

    engine: SparkEngine
    store: MaintainedStore
    graph: RuleGraph

    def derived(self) -> _StoreBefore:
        store = self.store
        visible = {name: store.frames(name) for name in store.arities}
        return _StoreBefore(visible, dict(store.explicit), dict(store.derived))

    def derive_after(
        self, change: tuple[ExplicitFacts, ExplicitFacts], graph: RuleGraph, run: Run, outcome: Outcome
    ) -> None:
        transaction = SparkTransaction(self.store.context, self.store)
        outcome.explicit_deleted, outcome.explicit_inserted = change_explicit(*change, transaction)
        transaction.settle()
        transaction.commit()
        self.engine.replace_rules(graph)
        self.engine.materialise(run)

    def compare(self, before: _StoreBefore, change: object, outcome: Outcome) -> None:
        after = {name: self.store.frames(name) for name in self.store.arities}
        for name in (name for name in {**before.visible, **after} if not is_auxiliary(name)):
            _compare(self.store.context, name, before.visible.get(name, []), after.get(name, []), outcome)

    def put_back(self, before: _StoreBefore) -> None:
        self.engine.replace_rules(self.graph)
        self.store.explicit, self.store.derived = before.explicit, before.derived
        self.engine.is_materialised = True


@dataclass(frozen=True)
class _StoreBefore:
    visible: dict[str, list[Frame]]
    explicit: dict[str, Frame]
    derived: dict[str, list[Frame]]


def _compare(context: Context, name: str, before: list[Frame], after: list[Frame], outcome: Outcome) -> None:
    for one, other, found in ((before, after, outcome.deleted), (after, before, outcome.inserted)):
        if one:
            frame = union(one)
            df = frame.df.join(union(other).df, frame.columns, "left_anti") if other else frame.df
            ids, stored, rows = settle(context, df.selectExpr(*frame.columns, f"1L AS {COUNT}"), name)
            if rows:
                found[name] = ChangeRows(context, frame.arity, rows, ids, stored)
