"""What is handed to other engines; none of them is started here."""

from __future__ import annotations

import pytest

from benchmarks import rules
from benchmarks.ontology import program
from benchmarks.peers.duckdb_sql import STATEMENTS
from benchmarks.peers.environment import PEERS
from benchmarks.peers.simple_rules import Atom, SimpleRule, simple_rules
from benchmarks.workloads import WORKLOADS


def test_simple_rules_are_read() -> None:
    first, _ = simple_rules(rules.SAME_GENERATION)
    atoms = (Atom("par", ("P", "X")), Atom("par", ("P", "Y")))
    assert first == SimpleRule(Atom("sg", ("X", "Y")), atoms, (("X", "Y"),))
    assert len(simple_rules(program())) == 128


def test_rules_with_negation_are_not_simple() -> None:
    with pytest.raises(ValueError, match="not a simple atom: not p5"):
        simple_rules(rules.RULE_SET_2)


def test_every_workload_that_duckdb_tries_has_sql_or_simple_rules() -> None:
    (duckdb,) = [peer for peer in PEERS if peer.name == "DuckDB"]
    for workload in WORKLOADS:
        if duckdb.tries(workload.name) and workload.name not in STATEMENTS:
            assert simple_rules(workload.program)


def test_the_counts_that_duckdb_asks_for_are_the_expected_ones() -> None:
    for workload in WORKLOADS:
        if workload.name in STATEMENTS:
            expected = {**workload.counts, **workload.queries}
            assert set(STATEMENTS[workload.name][1]) == set(expected), workload.name
