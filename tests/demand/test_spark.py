"""Queries on demand by the Spark engine have the answers of the oracle."""

from __future__ import annotations

import pytest

from corollary import KnowledgeBase
from corollary.language import parse_program, parse_query
from corollary.program import Constant
from tests.oracle import answer, evaluate
from tests.services.spark_session import shared_session

pytestmark = pytest.mark.spark

PROGRAM = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- edge(X, Y), path(Y, Z).
path(5, 1).
reaches(X, count(Y)) :- path(X, Y).
dead_end(X) :- node(X), not path(X, _).
farthest(X, M) :- node(X), AGGREGATE(path(X, Y) and height(Y, H)) ON X WITH MAX(H) AS M.
edge(1, 2). edge(2, 3). edge(3, 1). edge(3, 4). edge(7, 5).
node(1). node(4). node(9). height(2, 10). height(4, 30.5).
"""
QUERIES = ("path(X, 4), not dead_end(X)", "path(7, X), reaches(X, N), farthest(1, M)", "path(X, Y)")


def test_queries_have_the_answers_of_the_oracle_and_nothing_is_kept() -> None:
    kb = KnowledgeBase(PROGRAM, engine=shared_session())
    facts = evaluate(parse_program(PROGRAM))
    for text in QUERIES:
        found = {tuple(map(Constant, row)) for row in kb.query(text, mode="demand").constants()}
        assert found == answer(parse_query(text), facts), text
    assert not kb._backend.is_materialised
    kb.close()
