"""Programs of many rules, and long rules: reading, analysing, deriving and changing them takes twice as much for twice as
many rules or atoms, and no more.

Calls of functions are counted, not seconds: the count is the same on a busy machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from corollary import KnowledgeBase

SHAPES: dict[str, Callable[[int], str]] = {
    "a chain": lambda n: f"p{n + 1}(X) :- p{n}(X).",
    "many users of one predicate": lambda n: f"r{n}(X) :- p0(X), X > {n}, not s(X, {n}).",
    "one predicate by constants": lambda n: f"p(X, {n}) :- p0(X). t{n}(X) :- p(X, {n}).",
    "constants in every rule": lambda n: f"c(name{n}, X) :- v1(name{n}, X).",
    "told apart by values": lambda n: f"h(X, {n}) :- h(X, Y), Y = {n + 1000}. h(X, {n + 1000}) :- p0(X).",
    "different heads of one shape": lambda n: f"u{n}(X, Y) :- v{n}(X, Z), w(Z, Y), Y != X.",
}
FEW, MANY = 100, 200
MOST = 2.6  # what does not grow makes this less than two, and sorting a little more


def calls(action: Callable[[], object]) -> int:
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def program(shape: str, size: int) -> str:
    return "\n".join(["p0(1). v1(1, 2). w(2, 3).", *map(SHAPES[shape], range(size))])


def steps(shape: str, size: int) -> dict[str, int]:
    """How many calls it takes to read, to derive, to insert a fact, to add a rule and to remove it."""
    text = program(shape, size)
    found = {"read": calls(lambda: KnowledgeBase(text))}
    kb = KnowledgeBase(text)
    found["derive"] = calls(kb.materialise)
    kb.insert("p0", [(2,)])
    found["insert"] = calls(lambda: kb.insert("p0", [(3,)]))
    kb.add_rules("first(X) :- p0(X).")
    found["add"] = calls(lambda: kb.add_rules("added(X) :- p0(X)."))
    found["remove"] = calls(lambda: kb.remove_rules("added(X) :- p0(X)."))
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_as_many_rules_take_twice_as_much(shape: str) -> None:
    steps(shape, 10)  # what is made once, on first use
    few, many = steps(shape, FEW), steps(shape, MANY)
    assert {name: many[name] / few[name] for name in few if many[name] > MOST * few[name]} == {}


CYCLES: dict[str, Callable[[int, int], str]] = {
    "with the order of the rules": lambda n, size: f"p{(n + 1) % size}(X) :- p{n}(X).",
    "against the order of the rules": lambda n, size: f"p{n}(X) :- p{(n + 1) % size}(X).",
}


@pytest.mark.parametrize("cycle", CYCLES)
@pytest.mark.parametrize("strategy", ["dred", "backward-forward", "dred-counting"])
def test_a_round_of_a_large_hyper_node_costs_what_changes_in_it(cycle: str, strategy: str) -> None:
    def changes(size: int) -> dict[str, int]:
        text = "\n".join(["p0(1).", *(CYCLES[cycle](number, size) for number in range(size))])
        kb = KnowledgeBase(text, strategy=strategy)
        found = {"derive": calls(kb.materialise)}
        kb.insert("p0", [(2,)])
        found["insert"] = calls(lambda: kb.insert("p0", [(3,)]))
        found["delete"] = calls(lambda: kb.delete("p0", [(3,)]))
        assert kb.count(f"p{size - 1}") == 2
        return found

    kb = KnowledgeBase(
        "p0(1). p1(X) :- p0(X). p0(X) :- p1(X).", strategy=strategy
    )  # counting while kernels compile takes long
    kb.materialise()
    kb.insert("p0", [(2,)])
    kb.delete("p0", [(2,)])
    changes(10)
    few, many = changes(FEW), changes(MANY)
    assert {name: many[name] / few[name] for name in few if many[name] > MOST * few[name]} == {}


BODIES: dict[str, Callable[[int], str]] = {
    "atoms": lambda n: f"e(X{n}, X{n + 1})",
    "atoms and comparisons": lambda n: f"e(X{n}, X{n + 1}), X{n} != {n + 10}",
    "atoms and negations": lambda n: f"e(X{n}, X{n + 1}), not f(X{n}, X{n + 1})",
}


@pytest.mark.parametrize("body", BODIES)
def test_a_body_of_twice_as_many_atoms_takes_twice_as_much(body: str) -> None:
    def steps(size: int) -> dict[str, int]:
        rule = f"p(X0, X{size}) :- {', '.join(map(BODIES[body], range(size)))}."
        text = f"{rule} f(0, 0). e(1, 2). e(2, 1)."
        found = {"read": calls(lambda: KnowledgeBase(text))}
        kb = KnowledgeBase(text, updates=False)
        found["derive"] = calls(kb.materialise)
        assert kb.count("p") == 2
        return found

    steps(10)
    few, many = steps(FEW), steps(MANY)
    assert {name: many[name] / few[name] for name in few if many[name] > MOST * few[name]} == {}
