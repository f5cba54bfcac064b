"""Paper 001, IRIS-RDB: its listings, safety, local stratification, and the inputs of its rule optimisers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.analysis import analyse, check_rule_safety, limited_variables
from corollary.language import parse_program
from corollary.program import Constant, Variable
from tests.budgets import examples
from tests.engine_suite.scripts import apply, expected, visible
from tests.generator import EVERYTHING, Scenario, scenarios
from tests.oracle import answer, evaluate
from tests.papers.texts import LISTING_2, LISTING_4, LISTING_5, LISTING_6


def values(text: str, predicate: str) -> set[tuple[object, ...]]:
    return {tuple(constant.value for constant in row) for row in evaluate(parse_program(text))[predicate]}


@pytest.mark.parametrize(
    ("text", "rules", "queries"),
    [(LISTING_2, 3, 1), (LISTING_4, 4, 0), (LISTING_5, 0, 9), (LISTING_6, 8, 0)],
    ids=["listing 2", "listing 4", "listing 5", "listing 6"],
)
def test_the_listings_are_read_as_printed(text: str, rules: int, queries: int) -> None:
    program = parse_program(text)
    assert (len(program.rules), len(program.queries)) == (rules, queries)
    assert not analyse(program).errors


def test_listing_2_finds_all_paths() -> None:
    n = 20
    program = parse_program(LISTING_2.replace("200", str(n)))
    facts = evaluate(program)
    assert len(facts["p"]) == n + 1
    assert len(facts["path"]) == (n + 1) * (n + 2) // 2
    assert answer(program.queries[0], facts) == facts["path"]


def test_join1_in_small() -> None:
    facts = "d1(1, 2). d2(2, 3). c2(3, 4). c3(4, 5). c4(5, 6). c3(4, 7). c4(7, 1)."
    program = parse_program(LISTING_4 + LISTING_5 + facts)
    derived = evaluate(program)
    assert values(LISTING_4 + facts, "a") == {(1, 6), (1, 1)}
    answers = [
        {tuple(constant.value for constant in row) for row in answer(query, derived)} for query in program.queries
    ]
    assert answers == [
        {(1, 6), (1, 1)},
        {(1, 4)},
        {(4, 6), (4, 1)},
        {(6,), (1,)},
        {(4,)},
        {(4,)},
        {(1,)},
        set(),
        {(4,)},
    ]


def test_join2_in_small() -> None:
    size = 3
    facts = evaluate(parse_program(LISTING_6 + " ".join(f"p(abcd{i})." for i in range(size))))
    assert {name: len(facts[name]) for name in ("ra", "rb", "r")} == dict.fromkeys(("ra", "rb", "r"), size**5)
    assert facts["q"] == facts["p"]


# -- 2.3.2 rule safety -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "limited"),
    [
        ("q(?X)", {"X"}),
        ("?X = a", {"X"}),
        ("a = ?X", {"X"}),
        ("q(?Y), ?X = ?Y", {"X", "Y"}),
        ("q(?Y), ?Y = ?X", {"X", "Y"}),
        ("?X = ?Y, ?Y = ?Z, ?Z = 1", {"X", "Y", "Z"}),
        ("?X = ?Y", set()),
        ("not p(?X)", set()),
        ("?X < 5", set()),
        ("q(?Y), ?X + 1 = ?Y", {"X", "Y"}),  # arithmetic solves for one missing argument, as ADD does
        ("q(?Y), ?X % 2 = ?Y", {"Y"}),
    ],
)
def test_variables_are_limited_by_atoms_and_equalities(body: str, limited: set[str]) -> None:
    (rule,) = parse_program(f"h :- {body}.").rules
    assert limited_variables(rule.body) == limited


def test_a_variable_under_negation_only_makes_its_rule_unsafe() -> None:
    (rule,) = parse_program("q(?X) :- not p(?X) .").rules
    (error,) = check_rule_safety(rule)
    assert (error.code, error.message) == ("E202", "variable X of the head is not bound in the body")


def test_a_universe_makes_the_same_rule_safe() -> None:
    (rule,) = parse_program("q(?X) :- universe(?X), not p(?X) .").rules
    assert check_rule_safety(rule) == []
    assert values("universe(1). universe(2). p(1). q(?X) :- universe(?X), not p(?X) .", "q") == {(2,)}


# -- 2.3.3 local stratification --------------------------------------------------------------------------------------


def test_constants_that_separate_the_atoms_are_accepted() -> None:
    text = "p(2, ?X) :- q(?X), not p(3, ?X)."
    assert not analyse(parse_program(text)).errors
    assert values(text + " q(1). q(5). p(3, 5).", "p") == {(2, 1), (3, 5)}


def test_atoms_that_unify_are_rejected_with_the_cycle() -> None:
    (error,) = analyse(parse_program("p(?Y, ?X) :- q(?X), r(?Y), not p(3, ?X).")).errors
    assert error.code == "E203"
    assert error.notes == (
        "r1: p(Y, X) :- q(X), r(Y), not p(3, X).",
        "    negates p(3, X), which r1 derives",
    )


def test_a_longer_cycle_is_told_rule_by_rule() -> None:
    text = "p(2, ?X) :- q(?X), not p(3, ?X). p(3, ?X) :- s(?X). s(?X) :- p(2, ?X)."
    (error,) = analyse(parse_program(text)).errors
    assert error.notes == (
        "r1: p(2, X) :- q(X), not p(3, X).",
        "    negates p(3, X), which r2 derives",
        "r2: p(3, X) :- s(X).",
        "    uses s(X), which r3 derives",
        "r3: s(X) :- p(2, X).",
        "    uses p(2, X), which r1 derives",
    )


def test_a_repeated_variable_separates_atoms_too() -> None:
    assert not analyse(parse_program("p(1, 2, ?X) :- q(?X), not p(?Y, ?Y, ?X).")).errors


# -- 2.3.4 and 2.3.5 rule order and rule optimisers ------------------------------------------------------------------


def test_the_rule_that_feeds_another_comes_first_whatever_the_order_of_the_text() -> None:
    text = "q(?X, ?Y) :- p(?X, ?Y), t(?X). p(?X, ?Z) :- r(?X, ?Y), s(?Y, ?Z)."
    graph = analyse(parse_program(text)).graph
    assert [node.rules for node in graph.hyper_nodes] == [("r2",), ("r1",)]


@pytest.mark.parametrize(
    ("before", "after", "facts"),
    [
        ("p(?X) :- q(?X), r(?Y), ?X = ?Y.", "p(?X) :- q(?X), r(?X).", "q(1). q(2). r(2). r(3)."),
        ("p(?X) :- q(?X, ?Y), ?Y = 2.", "p(?X) :- q(?X, 2).", "q(1, 2). q(2, 3)."),
        (
            "p(?X) :- not s(?X), ?X < 3, q(?X), r(1).",
            "p(?X) :- r(1), q(?X), ?X < 3, not s(?X).",
            "q(1). q(2). r(1). s(2).",
        ),
        ("p(?X) :- q(?X), r(?X), q(?X).", "p(?X) :- q(?X), r(?X).", "q(1). q(2). r(2)."),
    ],
    ids=["join condition", "replace variables", "re-order literals", "remove duplicates"],
)
def test_the_input_and_the_output_of_each_optimiser_mean_the_same(before: str, after: str, facts: str) -> None:
    assert values(before + facts, "p") == values(after + facts, "p") != set()


def test_the_rule_of_section_2_4_3_selects_and_joins() -> None:
    (rule,) = parse_program("p(?X, ?Y) :- q(?X, ?X), r(?X, 'a', ?Y).").rules
    assert rule.body[1].arguments == (Variable("X"), Constant("a"), Variable("Y"))  # type: ignore[union-attr]
    facts = "q(1, 1). q(1, 2). q(3, 3). r(1, a, x). r(1, b, y). r(3, 'a', z). r(2, a, w)."
    assert values(f"p(?X, ?Y) :- q(?X, ?X), r(?X, 'a', ?Y). {facts}", "p") == {(1, "x"), (3, "z")}


def test_built_ins_are_written_infix_or_as_prefixed_names() -> None:
    text = "@prefix rif-pred: <http://www.w3.org/2007/rif-builtin-predicate#> .\n"
    text += "h(?X) :- p(?X, ?Y), ?X<?Y, rif-pred:is-literal(?X)."
    (rule,) = parse_program(text).rules
    assert rule.body[2].predicate.endswith("#is-literal")  # type: ignore[union-attr]


def test_naive_evaluation_runs_each_round_over_all_facts() -> None:
    """Section 2.3.7: on a chain, round k prolongs all paths of fewer than k edges, and not only the longest."""
    text = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z)."
    edges = [(n, n + 1) for n in range(20)]
    found = {}
    for evaluation in ("naive", "semi-naive"):
        kb = KnowledgeBase(text, evaluation=evaluation, without=["closures"], updates=False)
        kb.insert("edge", edges)
        node = kb.materialise().nodes[-1]
        found[evaluation] = (kb.facts("path").sorted(), node.instances)
    assert found["naive"][0] == found["semi-naive"][0]
    assert len(found["naive"][0]) == 210
    assert found["semi-naive"][1] == 190  # each longer path once
    assert found["naive"][1] == sum(sum(20 - length for length in range(1, k)) for k in range(2, 22))


@settings(max_examples=examples(60))
@given(scenarios(EVERYTHING.but(max_changes=2)), st.booleans())
def test_naive_evaluation_gives_the_same_facts(scenario: Scenario, updates: bool) -> None:
    kb = KnowledgeBase(scenario.program, evaluation="naive", updates=updates)
    for change, program in zip((None, *scenario.changes), scenario.programs(), strict=True):
        if change is not None:
            apply(kb, change)
        assert visible(kb) == expected(program)
