"""Built-ins and functions of the host program on Spark: what the oracle says, before and after a change."""

from __future__ import annotations

import numpy as np
import pytest

from corollary import KnowledgeBase, function
from corollary.language import parse_program
from corollary.program import Constant
from corollary.program.host_functions import unregister
from tests.oracle import evaluate
from tests.services.spark_session import shared_session

pytestmark = pytest.mark.spark

RULES = """
    risky(X, R) :- reading(X, T), R = risk(T), R > 0.5e0, not pred:starts-with(X, "a").
    spread_of(X, spread(T)) :- reading(X, T).
    spent(G, sum(V), avg(V), median(V)) :- cost(G, V).
    together(X, Y) :- seen(X, S), seen(Y, T), S = T, X != Y, S < "2026-01-02T00:00:00Z"^^xsd:dateTime.
"""
FACTS = """
    reading("a1", 10). reading("b1", 90). reading("b1", 40.5). reading("c1", x).
    seen("a1", "2026-01-01T12:00:00+01:00"^^xsd:dateTime). seen("b1", "2026-01-01T11:00:00Z"^^xsd:dateTime).
    cost(a, "1.5"^^xsd:float). cost(a, "2.5"^^xsd:float). cost(b, 1). cost(b, "0.25"^^xsd:float).
    seen("c1", "2026-01-03T00:00:00"^^xsd:dateTime).
"""


def test_rules_with_built_ins_and_host_functions_give_what_the_oracle_gives() -> None:
    @function(vectorised="numpy", replace=True)
    def risk(temperatures: np.ndarray) -> np.ndarray:
        return temperatures / 100.0

    @function(aggregate=True, replace=True)
    def spread(values: list[float]) -> float:
        return max(values) - min(values)

    try:
        kb = KnowledgeBase(RULES + FACTS, engine=shared_session())
        same_as_the_oracle(kb, RULES + FACTS)
        with kb.transaction() as change:
            change.insert("reading", [("a1", 60), ("b2", 70)])
            change.delete("reading", [("b1", 90)])
        same_as_the_oracle(kb, RULES + FACTS.replace('reading("b1", 90).', 'reading("a1", 60). reading("b2", 70).'))
    finally:
        unregister("risk")
        unregister("spread")


def same_as_the_oracle(kb: KnowledgeBase, text: str) -> None:
    expected = evaluate(parse_program(text))
    for name in ("risky", "spread_of", "together"):
        assert {tuple(map(Constant, row)) for row in kb.facts(name).constants()} == expected[name], name
