"""Paper 000, ZodiacEdge: its rule sets, their hyper-nodes, what rule changes do to them, and how many facts follow."""

import pytest

from corollary.analysis import RuleGraph, analyse, analyse_texts, delete_rules, insert_rules, module_name
from corollary.diagnostics import Source
from corollary.language import parse, parse_program
from corollary.program import Assignment, Comparison
from tests.oracle import evaluate
from tests.papers.texts import FIGURE_1, RULE_8, RULE_SET_1, RULE_SET_2, RULE_SET_3

RULE_SETS = {"1": RULE_SET_1, "2": RULE_SET_2, "3": RULE_SET_3}


def graph_of(text: str) -> RuleGraph:
    """The graph of the rules, whether they are safe or not."""
    return RuleGraph.of(parse_program(text).rules)


def nodes(graph: RuleGraph) -> list[tuple[str, ...]]:
    return [node.rules for node in graph.hyper_nodes]


def edges(graph: RuleGraph, *, strict: bool) -> set[tuple[str, str]]:
    """Edges between hyper-nodes, each named by its first rule."""
    return {(nodes(graph)[source][0], nodes(graph)[target][0]) for source, target in graph.edges(strict=strict)}


# -- Figures 1 to 3 --------------------------------------------------------------------------------------------------


def test_the_running_example_has_the_hyper_nodes_and_edges_of_figure_3a() -> None:
    graph = graph_of(FIGURE_1)
    assert nodes(graph) == [("r1",), ("r2", "r3", "r4"), ("r5", "r6"), ("r7",)]
    assert graph.edges(strict=False) == [(0, 1), (1, 3), (2, 3)]
    assert graph.edges(strict=True) == [(1, 2)]


def test_the_rule_dependency_graph_is_that_of_figure_2() -> None:
    edges = graph_of(FIGURE_1).rule_edges.edges()
    by_kind = {(source, target, kind.value) for source, target, kinds in edges for kind in kinds}
    positive = {
        ("r1", "r2"),
        ("r3", "r2"),
        ("r4", "r3"),
        ("r2", "r4"),
        ("r6", "r5"),
        ("r5", "r6"),
        ("r3", "r7"),
        ("r5", "r7"),
    }
    assert by_kind == {(*edge, "positive") for edge in positive} | {("r2", "r5", "negative")}


def test_rule_5_of_the_running_example_is_unsafe_as_printed() -> None:
    errors = analyse_texts(Source(FIGURE_1.strip(), "figure1.dl")).errors
    assert [error.code for error in errors] == ["E202"]
    assert errors[0].message == "variable X of the head is not bound in the body"
    assert errors[0].span is not None
    assert errors[0].span.position == (5, 8)
    assert errors[0].notes == ("in rule r5: p5(X, Y) :- p6(Y, Z), not p2(X, Z).",)


def test_adding_rule_8_impacts_the_node_that_it_joins() -> None:
    before = graph_of(FIGURE_1)
    change = insert_rules(before, parse_program(RULE_8).rules)
    assert nodes(change.graph) == [("r1",), ("r2", "r3", "r4", "r8"), ("r5", "r6"), ("r7",)]
    assert [node.rules for node in change.impacted] == [("r2", "r3", "r4", "r8")]
    assert [(new.rules, [old.rules for old in olds]) for new, olds in change.merged.items()] == [
        (("r2", "r3", "r4", "r8"), [("r2", "r3", "r4")])
    ]
    assert (change.created, change.split, change.dropped) == ((), {}, ())
    assert [node.rules for node in change.plan] == [("r2", "r3", "r4", "r8"), ("r5", "r6"), ("r7",)]
    assert change.graph.edges(strict=False) == [(0, 1), (1, 3), (2, 3)]
    assert change.graph.edges(strict=True) == [(1, 2)]


def test_deleting_rules_5_6_7_drops_two_nodes_without_reasoning() -> None:
    change = delete_rules(graph_of(FIGURE_1), ["r5", "r6", "r7"])
    assert [node.rules for node in change.dropped] == [("r5", "r6"), ("r7",)]
    assert nodes(change.graph) == [("r1",), ("r2", "r3", "r4")]
    assert (change.impacted, change.plan, change.split) == ((), (), {})


def test_deleting_rule_4_splits_its_node_into_two() -> None:
    change = delete_rules(graph_of(FIGURE_1), ["r4"])
    assert nodes(change.graph) == [("r1",), ("r3",), ("r2",), ("r5", "r6"), ("r7",)]
    assert {old.rules: [piece.rules for piece in pieces] for old, pieces in change.split.items()} == {
        ("r2", "r3", "r4"): [("r3",), ("r2",)]
    }
    assert [node.rules for node in change.impacted] == [("r3",), ("r2",)]
    assert [node.rules for node in change.plan] == [("r3",), ("r2",), ("r5", "r6"), ("r7",)]
    assert change.graph.edges(strict=False) == [(0, 2), (1, 2), (1, 4), (3, 4)]
    assert change.graph.edges(strict=True) == [(2, 3)]
    assert change.dropped == ()


def test_deleting_rule_7_impacts_nothing() -> None:
    change = delete_rules(graph_of(FIGURE_1), ["r7"])
    assert [node.rules for node in change.dropped] == [("r7",)]
    assert (change.impacted, change.plan) == ((), ())


def test_adding_rule_8_and_deleting_it_again_changes_nothing() -> None:
    before = graph_of(FIGURE_1)
    after = delete_rules(insert_rules(before, parse_program(RULE_8).rules).graph, ["r8"]).graph
    assert nodes(after) == nodes(before)
    assert [after.edges(strict=strict) for strict in (True, False)] == [
        before.edges(strict=strict) for strict in (True, False)
    ]


# -- the rule sets of the appendices ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", RULE_SETS)
@pytest.mark.parametrize("conjunction", ["∧", "and", "AND", ",", "&"])
@pytest.mark.parametrize("arrow", [":-", ":=", "<-"])
def test_the_rule_sets_read_the_same_with_every_conjunction_and_arrow(
    number: str, conjunction: str, arrow: str
) -> None:
    printed = RULE_SETS[number]
    varied = printed.replace(":=", ":-").replace(":-", arrow).replace("∧", conjunction)
    assert parse_program(varied) == parse_program(printed)


@pytest.mark.parametrize("number", RULE_SETS)
def test_the_rule_sets_are_right_as_printed(number: str) -> None:
    analysis = analyse(parse_program(RULE_SETS[number]))
    assert not analysis.errors
    assert {warning.code for warning in analysis.warnings} <= {"W201", "W202"}


def test_the_arrow_of_the_appendices_is_doubted() -> None:
    assert [diagnostic.code for diagnostic in parse(RULE_SET_2).diagnostics] == ["W102"] * RULE_SET_2.count(":=")


def test_rule_set_1_has_five_hyper_nodes() -> None:
    graph = graph_of(RULE_SET_1)
    assert nodes(graph) == [("r1", "r2"), ("r3",), ("r4",), ("r5",), ("r6",)]
    assert graph.edges(strict=True) == [(0, 1), (0, 2)]
    assert graph.edges(strict=False) == [(1, 3), (2, 4), (3, 4)]
    assert [graph.strata[node] for node in graph.hyper_nodes] == [0, 1, 1, 1, 1]
    assert [module_name(graph, node) for node in graph.hyper_nodes] == [
        "symmetric-transitive-guarded",
        "aggregate",
        "aggregate",
        "nonrecursive",
        "nonrecursive",
    ]


HYPER_NODES = [
    ("r1",),
    ("r2", "r3"),
    ("r4",),
    ("r5",),
    ("r6",),
    ("r7", "r8"),
    ("r9",),
    ("r10",),
    ("r11",),
    ("r12", "r13", "r14"),
    ("r15",),
    ("r16",),
    ("r17",),
    ("r18",),
]
# What each hyper-node (by its first rule) feeds, read off the rules: p11 comes from r1, r2, r3 and goes to r2, r3, r9, r15 …
FEEDS = {
    "r1": ["r2", "r9", "r15"],
    "r2": ["r9", "r15"],
    "r4": ["r5", "r10", "r15", "r16"],
    "r5": ["r10", "r15", "r16"],
    "r6": ["r7", "r11", "r16"],
    "r7": ["r11", "r16"],
    "r9": ["r12"],
    "r10": ["r12"],
    "r11": ["r12"],
    "r12": ["r17"],
    "r15": ["r18"],
    "r16": ["r18"],
}
POSITIVE = {(source, target) for source, targets in FEEDS.items() for target in targets}


def test_rule_set_2_has_the_hyper_nodes_of_figure_11() -> None:
    graph = graph_of(RULE_SET_2)
    assert nodes(graph) == HYPER_NODES
    assert edges(graph, strict=False) == POSITIVE
    assert edges(graph, strict=True) == set()
    assert set(graph.strata.values()) == {0}


def test_rule_set_3_has_the_hyper_nodes_of_figure_12() -> None:
    graph = graph_of(RULE_SET_3.replace("r10_new", "r10"))
    assert nodes(graph) == HYPER_NODES
    assert edges(graph, strict=False) == POSITIVE
    assert edges(graph, strict=True) == {("r6", "r10"), ("r7", "r10")}
    later = {node.rules[0] for node, stratum in graph.strata.items() if stratum == 1}
    assert later == {"r10", "r12", "r17"}


def test_the_modules_of_rule_sets_2_and_3_follow_from_their_shapes() -> None:
    for text in (RULE_SET_2, RULE_SET_3):
        graph = graph_of(text)
        found = {node.rules[0]: module_name(graph, node) for node in graph.hyper_nodes}
        special = {
            "r2": "symmetric-transitive-guarded",
            "r5": "transitive-guarded",
            "r7": "recursive",
            "r12": "recursive",
        }
        assert found == {name: special.get(name, "nonrecursive") for name in found}


@pytest.mark.parametrize("number", RULE_SETS)
def test_rule_sets_grow_rule_by_rule_to_the_same_graph(number: str) -> None:
    rules = parse_program(RULE_SETS[number]).rules
    graph = RuleGraph.of([])
    for rule in rules:
        graph = insert_rules(graph, [rule]).graph
    whole = RuleGraph.of(rules)
    assert nodes(graph) == nodes(whole)
    assert [edges(graph, strict=strict) for strict in (True, False)] == [
        edges(whole, strict=strict) for strict in (True, False)
    ]


# -- what follows ----------------------------------------------------------------------------------------------------


def wind_farm(turbines: int, hot: int = 50) -> str:
    """A chain of turbines; the temperature is 25, and 40 at every `hot`th."""
    chain = [f"hasNeighbour({i}, {i + 1})." for i in range(1, turbines)]
    return "\n".join(
        chain + [f"hasAirTemperatureMesurement({i}, {40 if i % hot == 0 else 25})." for i in range(1, turbines + 1)]
    )


def counts(text: str) -> dict[str, int]:
    return {name: len(facts) for name, facts in evaluate(parse_program(text)).items()}


def test_rule_set_1_finds_the_anomalies_of_a_chain_of_turbines() -> None:
    n = 25
    facts = evaluate(parse_program(RULE_SET_1 + wind_farm(n, hot=n)))
    found = {name: len(rows) for name, rows in facts.items()}
    assert found["hasNeighbour"] == n * (n - 1)
    assert found["hasNeighbourAirTemperatureMeasurementNumber"] == n
    assert found["hasMedianAirTemperatureMeasurementNearby"] == n
    assert found["MoreThan3Neighbours"] == n
    assert [turbine.value for (turbine,) in facts["SensorAnomalyWindTurbine"]] == [n]


@pytest.mark.parametrize(("missing", "pairs"), [("r1", lambda n: n * (n - 1) // 2), ("r2", lambda n: 2 * (n - 1))])
def test_rule_set_1_without_one_of_its_closure_rules(missing: str, pairs) -> None:
    n = 20
    text = "\n".join(line for line in RULE_SET_1.split("\n") if not line.startswith(f"{missing}:"))
    assert counts(text + wind_farm(n))["hasNeighbour"] == pairs(n)


def four_chains(n: int) -> str:
    """Data set 2: p1 to p4 are chains laid end to end, p5 is empty."""
    return "\n".join(f"p{k + 1}({i + k * n}, {i + k * n + 1})." for k in range(4) for i in range(n))


def closed_forms(n: int) -> dict[str, int]:
    collected = 3 * n * (n + 1) // 2 + 2 * n
    return {
        "p11": n * (n + 1),
        "p12": n * (n + 1) // 2,
        "p13": 2 * n,
        "p14": 2 * n,
        "p20": collected,
        "p21": collected,
        "p22": collected,
        "p25": n * n,
        "p26": n,
        "p30": (n + 1) ** 2 + n * n + n * (n + 1) // 2 + 3 * n - 1,
        "p31": n * (n - 1),
    }


@pytest.mark.parametrize("n", [2, 6])
def test_rule_set_2_derives_as_many_facts_as_the_closed_forms_say(n: int) -> None:
    found = counts(RULE_SET_2 + four_chains(n))
    assert {name: found[name] for name in closed_forms(n)} == closed_forms(n)


@pytest.mark.parametrize("n", [2, 6])
def test_rule_set_3_derives_as_many_facts_as_the_closed_forms_say(n: int) -> None:
    """r10_new: Z occurs under the negation only, so a pair (X, Y) passes where no p13(Y, Z) exists for any Z."""
    expected = closed_forms(n)
    for name in ("p20", "p21", "p22"):
        expected[name] -= n
    expected["p30"] -= 3 * n - 1
    found = counts(RULE_SET_3 + four_chains(n))
    assert {name: found[name] for name in expected} == expected


def test_the_closed_forms_give_the_published_number_of_derived_facts() -> None:
    n = 200
    assert sum(closed_forms(n).values()) == 424_300
    assert sum(closed_forms(n).values()) - 3 * n - (3 * n - 1) == 423_101


def test_r10_new_needs_no_value_for_its_existential_variable() -> None:
    text = "p12(1, 2). p12(3, 4). p13(2, 9). r10_new: p20(X, Y) :- p12(X, Y) ∧ not p13(Y, Z)."
    assert {tuple(value.value for value in row) for row in evaluate(parse_program(text))["p20"]} == {(3, 4)}


# -- section 4.5 -----------------------------------------------------------------------------------------------------


def test_the_forms_of_section_4_5_are_read() -> None:
    (rule,) = parse_program("h(?v) :- t(?t1, ?t2), BIND(?t1 * 2 - ?t2 AS ?v), COMP(?t1, >, ?t2).").rules
    assert [type(element) for element in rule.body[1:]] == [Assignment, Comparison]
    for operation in ("MAX", "MIN", "AVG", "COUNT", "SUM", "MED"):
        text = f"h(?v1, ?v3) :- AGGREGATE(b(?v1, ?v2)) ON ?v1 WITH {operation}(?v2) AS ?v3 ."
        assert not analyse(parse_program(text)).errors


def test_two_aggregation_rules_for_one_predicate_are_allowed_with_a_warning() -> None:
    text = """
    b(a, 1). b(a, 2).
    h(X, N) :- AGGREGATE(b(X, Y)) ON X WITH COUNT(Y) AS N.
    h(X, N) :- AGGREGATE(b(X, Y)) ON X WITH SUM(Y) AS N.
    """
    analysis = analyse_texts(Source(text))
    assert [diagnostic.code for diagnostic in analysis.diagnostics] == ["W203"]
    assert counts(text)["h"] == 2
