"""Rules that the driver joins: the heads are those of all instances, with repetitions."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.engines.spark.context import SparkSettings
from corollary.engines.spark.held_relations import HeldRelations
from corollary.engines.spark.maintenance.change_rows import ChangeRows
from corollary.engines.spark.maintenance.joined_rules import JoinedRule, only_joins, runs_in_driver
from corollary.engines.spark.maintenance.signed_relation import SignedRelation
from corollary.engines.spark.relations import Frame, LocalFrame
from corollary.language import parse_program
from corollary.planning import NormalRule, normalise
from corollary.program import Atom

CONTEXT: Any = SimpleNamespace(settings=SparkSettings())
PAIRS = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)


def rule_of(text: str) -> NormalRule:
    (rule,) = parse_program(text).rules
    return normalise(rule)


def frame_of(rows: list[tuple[int, int]]) -> Frame:
    columns = [pa.array([row[place] for row in rows], pa.int64()) for place in (0, 1)]
    spark: Any = None
    return LocalFrame(spark, pa.table(columns, names=["c0", "c1"]), 2)


def relation_of(rows: frozenset[tuple[int, int]], base: frozenset[tuple[int, int]]) -> SignedRelation:
    """The rows as a base that had others, and what came and went since then."""
    signed = [(*row, 1) for row in sorted(rows - base)] + [(*row, -1) for row in sorted(base - rows)]
    change = ChangeRows.of_ids(CONTEXT, 2, np.array(signed, np.int64).reshape(-1, 3))
    return SignedRelation(CONTEXT, 2, (frame_of(sorted(base)),), segments=(change,) if signed else ())


@given(PAIRS, PAIRS, PAIRS, PAIRS, PAIRS)
@pytest.mark.parametrize(
    ("text", "instances"),
    [
        ("h(X, Z) :- p(X, Y), q(Y, Z).", lambda p, q, r: [(x, z) for x, y in p for v, z in q if v == y]),
        ("h(Z, 2) :- p(X, Y), q(Y, Z), r(Z, Z).",
         lambda p, q, r: [(z, 2) for x, y in p for v, z in q if v == y and (z, z) in r]),
        ("h(X, X) :- p(X, 1), q(1, X), r(Y, X).",
         lambda p, q, r: [(x, x) for x, y in p if y == 1 and (1, x) in q for _, z in r if z == x]),
    ],
)  # fmt: skip
def test_heads_are_those_of_all_instances(
    text: str, instances: Any, p: Any, q: Any, r: Any, old_q: Any, old_r: Any
) -> None:
    relations = {"q": relation_of(q, old_q), "r": relation_of(r, old_r)}

    def relation(atom: Atom) -> SignedRelation:
        return relations[atom.predicate]

    rule = rule_of(text)
    assert only_joins(rule)
    changed = np.array([(*row, 1) for row in sorted(p)], np.int64).reshape(-1, 3)
    heads = JoinedRule(rule, lambda constant: int(constant.value), HeldRelations(CONTEXT)).heads(changed, relation)
    assert heads is not None
    assert Counter(map(tuple, heads.tolist())) == Counter(instances(p, q, r))


@pytest.mark.parametrize(
    ("text", "joins", "runs"),
    [
        ("h(X) :- p(X, Y), q(Y, X).", True, True),
        ("h(X) :- p(X, 1).", False, True),
        ("h(X) :- p(X, Y), not q(Y, X).", False, False),
        ("h(X) :- p(X, Y), q(Y, Z), Z < X.", False, False),
        ("h(Z) :- p(X, Y), q(Y, X), Z = X + Y.", False, False),
    ],
)
def test_only_plain_joins_run_in_the_driver(text: str, joins: bool, runs: bool) -> None:
    rule = rule_of(text)
    assert (only_joins(rule), runs_in_driver(rule)) == (joins, runs)


def test_what_the_driver_does_not_keep_is_left_to_jobs() -> None:
    elsewhere = SignedRelation(CONTEXT, 2, (Frame(None, 2, 10),))  # type: ignore[arg-type] # Spark is not asked
    rule = JoinedRule(rule_of("h(X, Z) :- p(X, Y), q(Y, Z)."), lambda constant: 0, HeldRelations(CONTEXT))
    assert rule.heads(np.array([[1, 2, 1]]), lambda atom: elsewhere) is None
