"""What inserted and deleted rules do to the hyper-nodes; incremental and from scratch must agree."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.analysis import RuleGraph, delete_rules, insert_rules
from corollary.diagnostics import ProgramError
from corollary.program import Rule
from tests.analysis.helpers import graph_of, nodes, rules_of, shape, told

CHAIN = "a: p(X) :- e(X). b: q(X) :- p(X). c: r(X) :- q(X). d: s(X) :- r(X)."


# -- insertion ---------------------------------------------------------------------------------------------------------


def test_a_new_rule_that_nothing_uses_is_created() -> None:
    change = insert_rules(graph_of(CHAIN), rules_of("n: t(X) :- q(X)."))
    assert told(change) == {"created": ["n"], "impacted": ["n"], "plan": ["n"]}


def test_what_a_new_rule_feeds_is_planned_but_not_impacted() -> None:
    change = insert_rules(graph_of(CHAIN), rules_of("n: q(X) :- f(X)."))
    assert told(change) == {"created": ["n"], "impacted": ["n"], "plan": ["n", "c", "d"]}


def test_a_new_rule_that_closes_a_cycle_merges_what_lies_on_it() -> None:
    change = insert_rules(graph_of(CHAIN), rules_of("n: p(X) :- r(X)."))
    assert told(change) == {"merged": {"b c n": ["b", "c"]}, "impacted": ["b c n"], "plan": ["b c n", "d"]}
    assert nodes(change.graph) == ["a", "b c n", "d"]


def test_a_new_rule_that_joins_a_hyper_node_says_which_one() -> None:
    graph = graph_of("a: p(X) :- q(X). b: q(X) :- p(X).")
    change = insert_rules(graph, rules_of("n: p(X) :- q(X), e(X)."))
    assert told(change) == {"merged": {"a b n": ["a b"]}, "impacted": ["a b n"], "plan": ["a b n"]}


def test_new_rules_may_close_a_cycle_only_together() -> None:
    change = insert_rules(graph_of(CHAIN), rules_of("n: t(X) :- r(X). m: p(X) :- t(X)."))
    assert told(change) == {"merged": {"b c n m": ["b", "c"]}, "impacted": ["b c n m"], "plan": ["b c n m", "d"]}


def test_new_rules_that_depend_on_each_other_are_created_as_one() -> None:
    change = insert_rules(graph_of(CHAIN), rules_of("n: t(X) :- u(X). m: u(X) :- t(X). o: v(X) :- u(X)."))
    assert told(change) == {"created": ["n m", "o"], "impacted": ["n m", "o"], "plan": ["n m", "o"]}


def test_a_rule_that_depends_on_itself_is_created_recursive() -> None:
    change = insert_rules(graph_of(""), rules_of("n: p(X, Z) :- p(X, Y), p(Y, Z)."))
    assert told(change)["created"] == ["n"]
    assert change.graph.is_recursive(change.graph.hyper_nodes[0])


def test_the_edge_from_an_old_rule_to_a_new_one_counts() -> None:
    change = insert_rules(graph_of("a: p(X) :- e(X)."), rules_of("n: q(X) :- e(X), not p(X)."))
    assert change.graph.edges(strict=True) == [(0, 1)]
    assert [change.graph.strata[node] for node in change.graph.hyper_nodes] == [0, 1]


def test_a_merge_of_two_cycles_keeps_the_edges_of_both() -> None:
    graph = graph_of(
        "a: p(X) :- q(X). b: q(X) :- p(X). c: r(X) :- s(X), p(X). d: s(X) :- r(X). x: p(X) :- e(X). y: z(X) :- s(X)."
    )
    assert nodes(graph) == ["x", "a b", "c d", "y"]
    change = insert_rules(graph, rules_of("n: q(X) :- s(X)."))
    assert told(change)["merged"] == {"a b c d n": ["a b", "c d"]}
    assert nodes(change.graph) == ["x", "a b c d n", "y"]
    assert change.graph.edges(strict=False) == [(0, 1), (1, 2)]


def test_nothing_inserted_changes_nothing() -> None:
    assert told(insert_rules(graph_of(CHAIN), [])) == {}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("n: t(X, Y) :- q(X).", "E202"),
        ("n: p(X) :- e(X), not s(X).", "E203"),
        ("n: p(X) :- t(X). m: t(X) :- e(X), not s(X).", "E203"),
        ("n: e(count(X)) :- s(X).", "E203"),
        ("a: t(X) :- q(X).", "E204"),
        ("n: t(X) :- q(X). n: u(X) :- q(X).", "E204"),
    ],
)
def test_an_insertion_that_breaks_the_program_is_rejected_and_changes_nothing(text: str, code: str) -> None:
    graph = graph_of(CHAIN)
    before = shape(graph)
    with pytest.raises(ProgramError) as caught:
        insert_rules(graph, rules_of(text))
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]
    assert shape(graph) == before
    assert list(graph.rules) == ["a", "b", "c", "d"]


def test_every_mistake_of_an_insertion_is_told() -> None:
    with pytest.raises(ProgramError) as caught:
        insert_rules(graph_of(CHAIN), rules_of("n: t(X) :- f(Y). m: u(X) :- f(Y). o: v(X) :- f(X)."))
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E202", "E202"]


def test_the_graph_before_an_insertion_stays_as_it_was() -> None:
    graph = graph_of(CHAIN)
    before = shape(graph)
    insert_rules(graph, rules_of("n: p(X) :- r(X)."))
    assert shape(graph) == before


# -- deletion ----------------------------------------------------------------------------------------------------------


def test_a_deleted_hyper_node_is_dropped_and_what_it_fed_is_planned() -> None:
    change = delete_rules(graph_of(CHAIN), ["b"])
    assert told(change) == {"dropped": ["b"], "plan": ["c", "d"]}
    assert nodes(change.graph) == ["a", "c", "d"]


def test_a_deleted_leaf_needs_no_reasoning() -> None:
    assert told(delete_rules(graph_of(CHAIN), ["d"])) == {"dropped": ["d"]}
    assert told(delete_rules(graph_of(CHAIN), ["b", "c", "d"])) == {"dropped": ["b", "c", "d"]}


def test_a_hyper_node_may_shrink() -> None:
    graph = graph_of("a: p(X) :- q(X). b: q(X) :- p(X). c: p(X) :- q(X), e(X). d: r(X) :- p(X).")
    change = delete_rules(graph, ["c"])
    assert told(change) == {"split": {"a b c": ["a b"]}, "impacted": ["a b"], "plan": ["a b", "d"]}


def test_a_hyper_node_may_split_into_pieces_that_feed_each_other() -> None:
    graph = graph_of("a: p(X) :- r(X). b: q(X) :- p(X). c: r(X) :- q(X). d: s(X) :- r(X).")
    change = delete_rules(graph, ["a"])
    assert told(change) == {"split": {"a b c": ["b", "c"]}, "impacted": ["b", "c"], "plan": ["b", "c", "d"]}
    assert change.graph.edges(strict=False) == [(0, 1), (1, 2)]


def test_a_rule_that_loses_its_recursion_stays_as_a_nonrecursive_node() -> None:
    graph = graph_of("a: p(X) :- e(X). b: p(X) :- q(X). c: q(X) :- p(X).")
    change = delete_rules(graph, ["c"])
    assert told(change) == {"split": {"b c": ["b"]}, "impacted": ["b"], "plan": ["b"]}
    assert not change.graph.is_recursive(change.graph.node_of["b"])


def test_consumers_are_planned_in_their_new_hyper_nodes() -> None:
    graph = graph_of("a: p(X) :- e(X). b: q(X) :- p(X). c: r(X) :- q(X), s(X). d: s(X) :- r(X). f: q(X) :- f(X).")
    change = delete_rules(graph, ["b"])
    assert told(change) == {"dropped": ["b"], "plan": ["c d"]}


def test_deleting_everything_leaves_nothing() -> None:
    change = delete_rules(graph_of(CHAIN), "abcd")
    assert told(change) == {"dropped": ["a", "b", "c", "d"]}
    assert nodes(change.graph) == []


def test_an_unknown_name_is_an_error_with_a_suggestion_and_changes_nothing() -> None:
    graph = graph_of("start: p(X) :- e(X).")
    with pytest.raises(ProgramError) as caught:
        delete_rules(graph, ["start", "strat", "zzz"])
    assert [(found.message, found.hint) for found in caught.value.diagnostics] == [
        ("there is no rule 'strat'", "did you mean 'start'?"),
        ("there is no rule 'zzz'", None),
    ]
    assert nodes(graph) == ["start"]


# -- laws --------------------------------------------------------------------------------------------------------------

# Safe rules over few predicates: most are plain, some have constants that keep atoms apart, a negation or an aggregate.
MORE = ["", *(f", {predicate}(X, Y)" for predicate in "pqrs"), ", p(1, Y)", ", q(2, Y)"]
HEADS = [*(f"{predicate}(X, Y)" for predicate in "pqrs"), "p(1, Y)", "q(2, Y)", "r(X, sum(Y))"]
BODIES = [
    f"{predicate}({first}, Y){more}" for predicate in "pqrs" for first in "XX1" for more in [*MORE, ", not s(1, Y)"]
]
TEXTS = [f"{head} :- e(X, Y), {body}." for head in HEADS for body in BODIES]


@cache
def parsed(text: str) -> Rule:
    (rule,) = rules_of(text)
    return rule


def rule_sets() -> st.SearchStrategy[list[Rule]]:
    texts = st.lists(st.sampled_from(TEXTS), max_size=9)
    return texts.map(lambda found: [replace(parsed(text), name=f"n{k}") for k, text in enumerate(found)])


@given(rule_sets(), st.data())
def test_inserting_gives_the_graph_from_scratch(rules: list[Rule], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rules)))
    change = insert_rules(RuleGraph.of(rules[:cut]), rules[cut:], check=False)
    assert shape(change.graph) == shape(RuleGraph.of(rules))


@given(rule_sets(), st.data())
def test_deleting_gives_the_graph_from_scratch(rules: list[Rule], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from([rule.name for rule in rules]))) if rules else set()
    change = delete_rules(RuleGraph.of(rules), gone)
    assert shape(change.graph) == shape(RuleGraph.of([rule for rule in rules if rule.name not in gone]))


@given(rule_sets())
def test_inserting_one_by_one_is_inserting_all(rules: list[Rule]) -> None:
    graph = RuleGraph.of([])
    for rule in rules:
        graph = insert_rules(graph, [rule], check=False).graph
    assert shape(graph) == shape(RuleGraph.of(rules))


@given(rule_sets(), st.data())
def test_deleting_what_was_inserted_is_the_identity(rules: list[Rule], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rules)))
    before = RuleGraph.of(rules[:cut])
    after = delete_rules(
        insert_rules(before, rules[cut:], check=False).graph, [rule.name for rule in rules[cut:]]
    ).graph
    assert shape(after) == shape(before)


@given(rule_sets(), st.data())
def test_an_insertion_accounts_for_every_hyper_node(rules: list[Rule], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rules)))
    before = RuleGraph.of(rules[:cut])
    change = insert_rules(before, rules[cut:], check=False)
    old, new = set(before.hyper_nodes), set(change.graph.hyper_nodes)
    gone = {part for parts in change.merged.values() for part in parts}
    assert old - new <= gone
    assert set(change.created) | set(change.merged) == set(change.impacted)
    assert new == (old - gone) | set(change.impacted)
    assert set(change.impacted) <= set(change.plan) <= new
    added = {rule.name for rule in rules[cut:]}
    assert {name for node in change.impacted for name in node.rules} >= added


@given(rule_sets(), st.data())
def test_a_deletion_accounts_for_every_hyper_node(rules: list[Rule], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from([rule.name for rule in rules]))) if rules else set()
    before = RuleGraph.of(rules)
    change = delete_rules(before, gone)
    old, new = set(before.hyper_nodes), set(change.graph.hyper_nodes)
    touched = {node for node in old if set(node.rules) & gone}
    pieces = {piece for parts in change.split.values() for piece in parts}
    assert set(change.dropped) | set(change.split) == touched
    assert new == (old - touched) | pieces
    assert set(change.impacted) == pieces
    assert pieces <= set(change.plan) <= new


@given(rule_sets(), st.data())
def test_a_plan_reaches_everything_behind_the_impacted(rules: list[Rule], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rules)))
    change = insert_rules(RuleGraph.of(rules[:cut]), rules[cut:], check=False)
    graph, planned = change.graph, set(change.plan)
    for node in planned:
        for name in node.rules:
            for consumer in graph.rule_edges.successors(name):
                assert graph.node_of[consumer] in planned
    assert list(change.plan) == [node for node in graph.hyper_nodes if node in planned]


@given(rule_sets())
def test_a_rejected_insertion_is_one_that_cannot_be_stratified(rules: list[Rule]) -> None:
    graph = RuleGraph.of(rules)
    inside = [
        (source, target)
        for source, target, kinds in graph.rule_edges.edges()
        if graph.node_of[source] == graph.node_of[target] and any(kind.is_strict for kind in kinds)
    ]
    if inside:
        with pytest.raises(ProgramError, match="E203"):
            insert_rules(RuleGraph.of([]), rules)
    else:
        assert shape(insert_rules(RuleGraph.of([]), rules).graph) == shape(graph)


@given(rule_sets(), st.data())
def test_the_order_after_a_change_is_that_of_the_program_from_scratch(rules: list[Rule], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rules)))
    grown = insert_rules(RuleGraph.of(rules[:cut]), rules[cut:], check=False).graph
    assert grown.hyper_nodes == RuleGraph.of(rules).hyper_nodes
    gone = data.draw(st.sets(st.sampled_from([rule.name for rule in rules]))) if rules else set()
    left = [rule for rule in rules if rule.name not in gone]
    assert delete_rules(grown, gone).graph.hyper_nodes == RuleGraph.of(left).hyper_nodes
