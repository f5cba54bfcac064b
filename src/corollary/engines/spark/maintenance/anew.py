"""Changes where nobody expected any: explicit facts change, everything is derived anew, and the two are compared."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from corollary.analysis import RuleGraph
from corollary.engines.spark.maintenance.change_rows import ChangeRows, settle
from corollary.engines.spark.maintenance.explicit_changes import Stated, change_explicit
from corollary.engines.spark.maintenance.maintained_store import MaintainedStore
from corollary.engines.spark.maintenance.outcome import Outcome
from corollary.engines.spark.maintenance.transaction import Transaction
from corollary.engines.spark.relations import COUNT, Frame, union
from corollary.planning.steps import is_auxiliary

if TYPE_CHECKING:
    from corollary.engines.spark.context import Context
    from corollary.engines.spark.engine import SparkEngine


def change_anew(
    engine: SparkEngine,
    store: MaintainedStore,
    stated: tuple[Stated, Stated],
    graphs: tuple[RuleGraph, RuleGraph],
    check: Callable[[int], None],
) -> Outcome:
    """Deletes and inserts explicit facts; `graphs` are the rules before and after. What fails changes nothing."""
    started = time.perf_counter()
    context, outcome = store.context, Outcome()
    before = {name: store.frames(name) for name in store.arities}
    kept = dict(store.explicit), dict(store.derived)
    old, new = graphs
    try:
        explicit = Transaction(context, store)
        outcome.explicit_deleted, outcome.explicit_inserted = change_explicit(*stated, explicit)
        explicit.settle()
        explicit.commit()
        engine.replace_rules(new)
        engine.materialise(check=check)
    except BaseException:
        engine.replace_rules(old)
        store.explicit, store.derived = kept
        engine.is_materialised = True
        raise
    after = {name: store.frames(name) for name in store.arities}
    for name in (name for name in {**before, **after} if not is_auxiliary(name)):
        _compare(context, name, before.get(name, []), after.get(name, []), outcome)
    outcome.seconds = time.perf_counter() - started
    return outcome


def _compare(context: Context, name: str, before: list[Frame], after: list[Frame], outcome: Outcome) -> None:
    for one, other, found in ((before, after, outcome.deleted), (after, before, outcome.inserted)):
        if one:
            frame = union(one)
            df = frame.df.join(union(other).df, frame.columns, "left_anti") if other else frame.df
            ids, stored, rows = settle(context, df.selectExpr(*frame.columns, f"1L AS {COUNT}"), name)
            if rows:
                found[name] = ChangeRows(context, frame.arity, rows, ids, stored)
