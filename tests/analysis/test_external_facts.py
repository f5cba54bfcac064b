"""Which closures run over external facts, and by which rules."""

from __future__ import annotations

import pytest

from corollary.analysis.lowering import with_external_facts
from corollary.language import print_rule
from tests.analysis.helpers import graph_of

STEP = "r(X, Z) :- r(X, Y), r(Y, Z)"
SYMMETRIC = "r(Y, X) :- r(X, Y)."


def evaluated(text: str) -> list[str]:
    """The rules that run, with `external_r` for the external facts of r."""
    rules = with_external_facts(graph_of(text)).rules.values()
    names = {"<\\u0000external\\u0000": "external_", "<\\u0000twins\\u0000": "twins_"}
    found = []
    for rule in rules:
        printed = print_rule(rule).replace(">(", "(")
        for hidden, shown in names.items():
            printed = printed.replace(hidden, shown)
        found.append(printed)
    return found


def is_module(text: str) -> bool:
    graph = graph_of(text)
    return with_external_facts(graph) is not graph


@pytest.mark.parametrize(
    ("conditions", "step"),
    [
        ("ok(Y)", "r(X, Z) :- external_r(X, Y), r(Y, Z), ok(Y)."),
        ("ok(Y, W), W > 3", "r(X, Z) :- external_r(X, Y), r(Y, Z), ok(Y, W), W > 3."),
        ("not ok(Y, _)", "r(X, Z) :- external_r(X, Y), r(Y, Z), not ok(Y, _)."),
        ("ok(Z)", "r(X, Z) :- external_r(X, Y), r(Y, Z), ok(Z)."),
        ("Y != 1, ok(Z)", "r(X, Z) :- external_r(X, Y), r(Y, Z), Y != 1, ok(Z)."),
        ("ok(X)", "r(X, Z) :- r(X, Y), external_r(Y, Z), ok(X)."),
        ("ok(X), no(Y)", "r(X, Z) :- r(X, Y), external_r(Y, Z), ok(X), no(Y)."),
        ("ok(W)", "r(X, Z) :- external_r(X, Y), r(Y, Z), ok(W)."),
    ],
)
def test_conditions_say_at_which_end_a_chain_grows(conditions: str, step: str) -> None:
    assert evaluated(f"{STEP}, {conditions}.") == [step, "r(X, Y) :- external_r(X, Y)."]


@pytest.mark.parametrize(
    "conditions",
    ["ok(X), ok(Z)", "ok(X, Y)", "ok(X, Z)", "X < Z", "Y != Z", "p(X, W), q(W, Z)", "W = X + 1, ok(W)", "r(Y, Y)"],
)
def test_conditions_on_two_nodes_or_computed_ones_leave_the_rule_as_it_is(conditions: str) -> None:
    assert not is_module(f"{STEP}, {conditions}.")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{STEP}, ok(Y). {STEP}, no(Y).", True),
        (f"{STEP}, ok(X). {STEP}, no(X).", True),
        (f"{STEP}, ok(X). {STEP}, no(Y).", False),
        (f"{STEP}, ok(Y), X != Z. {STEP}, no(Y).", False),
        (f"{STEP}, ok(Y). {SYMMETRIC}", True),
        (f"{STEP}, ok(X). {SYMMETRIC}", False),
    ],
)
def test_several_rules_must_ask_about_the_same_node(text: str, found: bool) -> None:
    assert is_module(text) is found


def test_a_rule_without_conditions_derives_what_those_with_some_do() -> None:
    assert evaluated(f"{STEP}, ok(Y). {STEP}. e(X, X) :- r(X, _). r(X, Y) :- e(X, Y).") == [
        "r(X, Z) :- external_r(X, Y), r(Y, Z).",
        "r(X, Y) :- external_r(X, Y).",
        "e(X, X) :- r(X, _).",
        "external_r(X, Y) :- e(X, Y).",
    ]


def test_a_guard_has_the_rule_as_it_is_for_two_constants_of_one_value() -> None:
    assert evaluated(f"{STEP}, X != Z. r(Y, X) :- r(X, Y), ok(Y).") == [
        "r(X, Z) :- external_r(X, Y), r(Y, Z), X != Z.",
        "twins_r() :- external_r(X, Y), r(Y, Z), X = Z, NOT_EXACT_EQUAL(X, Z).",
        "r(X, Z) :- twins_r(), r(X, Y), r(Y, Z), X != Z.",
        "r(X, Y) :- external_r(X, Y).",
        "external_r(Y, X) :- r(X, Y), ok(Y).",
    ]


@pytest.mark.parametrize(
    "text", [f"{STEP}.", f"{STEP}, X != Z.", f"{STEP}. {SYMMETRIC}", f"{STEP}. r(X, Y) :- e(X, Y)."]
)
def test_a_closure_with_a_hyper_node_for_itself_is_left_to_the_engine(text: str) -> None:
    assert not is_module(text)


def test_inverse_closures_tell_each_other_their_external_facts_only() -> None:
    text = f"{STEP}. s(X, Z) :- s(X, Y), s(Y, Z). r(X, Y) :- s(Y, X). s(X, Y) :- r(Y, X)."
    graph = with_external_facts(graph_of(text))
    assert "external_r(X, Y) :- external_s(Y, X)." in evaluated(text)
    assert "external_s(X, Y) :- external_r(Y, X)." in evaluated(text)
    assert [node.rules for node in graph.hyper_nodes if len(node.rules) > 1] == [("r3", "r4")]
