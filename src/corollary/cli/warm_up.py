"""`python -m corollary.cli.warm_up` compiles the kernels for maintenance; numba caches them for later processes.

It runs each kind of closure, each strategy for recursive rules, counting, aggregates and the Yield index. Small data are enough,
because kernels are compiled for the types of their arguments.
"""

from __future__ import annotations

from corollary.knowledge_base import KnowledgeBase
from corollary.settings import STRATEGIES
from corollary.transactions import Change

_CLOSURES = """\
path(X, Z) :- path(X, Y), path(Y, Z).
from_left(X, Y) :- edge(X, Y).
from_left(X, Z) :- from_left(X, Y), edge(Y, Z).
from_right(X, Y) :- edge(X, Y).
from_right(X, Z) :- edge(X, Y), from_right(Y, Z).
guarded(X, Y) :- edge(X, Y).
guarded(X, Z) :- guarded(X, Y), guarded(Y, Z), X != Y.
near(X, Y) :- edge(X, Y).
near(Y, X) :- near(X, Y).
near(X, Z) :- near(X, Y), near(Y, Z).
"""
_RULES = """\
same(X, Y) :- edge(P, X), edge(P, Y), X != Y.
same(X, Y) :- edge(A, X), same(A, B), edge(B, Y).
degree(X, N) :- AGGREGATE(edge(X, Y)) ON X WITH COUNT(Y) AS N.
alone(X) :- named(X, _), not same(X, _).
"""
_EDGES = 300


def warm_up() -> None:
    for strategy in STRATEGIES:
        _change(KnowledgeBase(_RULES, strategy=strategy))
    _change(KnowledgeBase(_CLOSURES + _RULES))
    _change(KnowledgeBase(_RULES, index="yield"))


def _change(kb: KnowledgeBase) -> None:
    edges = [(number // 2, number) for number in range(1, _EDGES)]
    kb.insert("edge", edges)
    kb.insert("path", edges)
    kb.insert("named", [(number, f"n{number}") for number in range(9)])
    kb.materialise()
    cycle = [(9, 2), (4, 1), (7, 2 * _EDGES)]
    for rows in (edges[3:5], edges[5:_EDGES]):
        change = Change(insert={"edge": cycle, "path": cycle}, delete={"edge": rows, "path": rows})
        result = kb.apply(change)
        for facts in (result.inserted, result.deleted):
            for predicate in facts:
                facts[predicate].to_arrow()
        kb.apply(Change(insert=change.delete, delete=change.insert))
    kb.apply(Change(add_rules=("more: same(X, Y) :- same(Y, X).",)))
    kb.apply(Change(remove_rules=("more",)))
    list(kb.query("same(1, X), edge(X, Y)"))
    for predicate in kb.predicates():
        kb.facts(predicate).to_arrow()


if __name__ == "__main__":
    warm_up()
