"""Inside the embedded engine: who supports what, and when everything is derived from scratch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from corollary import KnowledgeBase
from corollary.backends.embedded import EmbeddedBackend
from corollary.engines.embedded.engine import EmbeddedEngine
from corollary.program import Constant
from corollary.reasoning.maintain import chooser
from tests.oracle import Fact

Support = dict[tuple[str, str], dict[Fact, int]]


@contextmanager
def deriving_everything(is_wanted: bool) -> Iterator[None]:
    """For this time every change of facts is large enough to derive everything from scratch, or none is."""
    always = {"_LEAST_CHANGE": 0, "_LARGE_SHARE": 0.0, "_CLOSURE_SHARE": 0.0, "_CONCERNED": 0.0, "_MANY_NODES": 0}
    with patch.multiple(chooser, **(always if is_wanted else {"_LEAST_CHANGE": 1 << 40})):
        yield


def engine_of(kb: KnowledgeBase) -> EmbeddedEngine:
    assert isinstance(kb._backend, EmbeddedBackend)
    return kb._backend.engine


def support(kb: KnowledgeBase) -> Support:
    """How often each owner supports each fact, by predicate and owner."""
    kb.materialise()
    engine, found = engine_of(kb), {}
    assert engine._visible is not None
    for predicate in list(engine._visible.relations):
        relation = engine.support(predicate)
        if relation is not None:
            rows = relation.facts.tolist() if relation.arity else [[]] * relation.size
            facts = [tuple(Constant(engine.universe.value(code)) for code in row) for row in rows]
            for owner in relation.owners or ["explicit"]:
                counts = relation.support_of(owner).tolist() if relation.owners else [1] * len(facts)
                known = {fact: count for fact, count in zip(facts, counts, strict=False) if count}
                if known:
                    found[predicate, owner_name(owner)] = known
    return found


def owner_name(owner: object) -> str:
    """The rules of a hyper-node in an order that does not depend on how they came."""
    return "{" + ", ".join(sorted(str(owner).strip("{}").split(", "))) + "}"
