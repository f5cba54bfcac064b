"""Following a change by deriving everything again: for settings without maintenance, or if that is cheapest."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from corollary.analysis import RuleGraph
from corollary.engines.base import DerivedFacts
from corollary.reasoning.maintain.report import Outcome
from corollary.reasoning.run import Run


def change_from_scratch(
    facts: DerivedFacts, change: Any, graph: RuleGraph, run: Run, commit: Callable[[Outcome], None]
) -> Outcome:
    """Change explicit facts and rules, and derive everything again; any error, also in `commit`, leaves everything
    unchanged."""
    started, outcome = time.perf_counter(), Outcome()
    before = facts.derived()
    try:
        facts.derive_after(change, graph, run, outcome)
        facts.compare(before, change, outcome)
        commit(outcome)
    except BaseException:
        facts.put_back(before)
        raise
    outcome.seconds = time.perf_counter() - started
    return outcome
