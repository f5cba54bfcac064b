"""The examples of paper 003."""

from collections import Counter

from corollary.analysis import constraint_elements, minimal_elements
from corollary.language import parse_program
from corollary.program.locations import at_address
from tests.engines.embedded.yield_index.facts import IndexedFacts

R2 = 'r2: sonwithparent(Z) :- father(Z, X), mother(Z, Y), sex(Z, "M").'
FATHER = [("Tom", "Jim"), ("Bill", "Tom"), ("Ellen", "Jim"), ("Cobe", "George")]
MOTHER = [("Alice", "Linda"), ("George", "Linda"), ("Bill", "Ellen"), ("Tom", "Alice"), ("Ellen", "Alice")]
SEX = [(name, "F") for name in ("Alice", "Ellen", "Linda", "Mary")]
SEX += [(name, "M") for name in ("George", "Bill", "Tom", "Cobe", "Bob", "Jim")]


def family() -> IndexedFacts:
    return IndexedFacts(R2).load({"father": FATHER, "mother": MOTHER, "sex": SEX})


def test_the_constraint_elements_of_r4() -> None:
    rule = parse_program("h(A, B, C) :- s(3, X, A), t(X, B), w(X, C).").rules[0]
    elements = constraint_elements(rule)
    assert list(map(str, elements)) == [
        *("s.2 = t.1", "s.2 = w.1", "t.1 = w.1", "t.1 = s.2", "w.1 = s.2", "w.1 = t.1", "s.1 = 3"),
    ]
    assert list(map(str, minimal_elements(elements))) == ["s.1 = 3", "t.1 = s.2", "w.1 = s.2"]


def test_r2_on_figure_1_gives_the_sons_with_both_parents() -> None:
    assert family().instances("r2") == Counter([("Tom",), ("Bill",)])


def test_a_mother_waits_until_the_father_arrives() -> None:
    facts = family()
    assert facts.insert("mother", ("Mary", "Jane"))["r2"] == (Counter(), Counter())
    assert facts.insert("father", ("Mary", "George"))["r2"] == (Counter(), Counter()), "she is not a son"
    assert facts.insert("mother", ("Bob", "Jane"))["r2"] == (Counter(), Counter())
    before = facts.index.accesses
    assert facts.insert("father", ("Bob", "Jim"))["r2"] == (Counter([("Bob",)]), Counter())
    assert (facts.index.accesses - before).wasted == 0


def test_r11_on_figure_6() -> None:
    facts = IndexedFacts("r11: q(A, B) :- w(3, X), s(X, A), t(X, B).").load(
        {
            "w": [(6, 7), (2, 1), (3, 2), (3, 3), (3, 12)],
            "t": [(1, 8), (2, 9), (4, 10), (5, 11), (4, 12)],
            "s": [(2, 4), (5, 3), (7, 6)],
        }
    )
    assert [facts.instances("r11", place) for place in range(3)] == [Counter([(4, 9)])] * 3


def test_r12_on_figure_9_with_inequalities() -> None:
    facts = IndexedFacts("r12: q(A, B) :- w(A, X), s(Y, B), A > 3, X > Y.").load(
        {"w": [(6, 7), (2, 1), (3, 2), (3, 3), (3, 12)], "s": [(2, 4), (5, 3), (7, 6)]}
    )
    assert [facts.instances("r12", place) for place in range(2)] == [Counter([(6, 3), (6, 4)])] * 2


def test_r13_on_figure_11_gives_nothing_at_node_1() -> None:
    program = parse_program("r13: p(@X, Y) :- l(X, @A), p(@A, Y), d(X, Z).")
    facts = IndexedFacts(at_address(program, 1)).load(
        {
            "l": [(6, 5), (2, 1), (3, 7), (3, 3), (13, 3)],
            "p": [(2, 3), (1, 1), (5, 6), (7, 2)],
            "d": [(1, 3), (5, 1), (7, 6), (4, 2)],
        }
    )
    assert facts.instances("r13") == Counter()
    assert facts.insert("d", (2, 9))["r13"] == (Counter([(2, 1)]), Counter())
    assert facts.insert("d", (6, 9))["r13"] == (Counter(), Counter()), "(6, 5) is stored at node 5"


def test_a_negated_relation_may_change_later() -> None:
    facts = IndexedFacts("rn: q(X, Y) :- p(X, Y), not s(X, Y).").load({"p": [(1, 2), (1, 3)], "s": [(1, 2)]})
    assert facts.instances("rn") == Counter([(1, 3)])
    assert facts.insert("s", (1, 3))["rn"] == (Counter(), Counter([(1, 3)]))
    assert facts.delete("s", (1, 2))["rn"] == (Counter([(1, 2)]), Counter())
    assert facts.insert("p", (1, 4))["rn"] == (Counter([(1, 4)]), Counter())
    assert facts.delete("p", (1, 2))["rn"] == (Counter(), Counter([(1, 2)]))


def test_intersection_and_union_of_relations() -> None:
    rules = "both: b(X, Y) :- p(X, Y), s(X, Y). left: u(X, Y) :- p(X, Y). right: u(X, Y) :- s(X, Y)."
    facts = IndexedFacts(rules).load({"p": [(1, 2), (1, 3)], "s": [(1, 3), (2, 2)]})
    assert facts.instances("both") == Counter([(1, 3)])
    assert facts.instances("left") + facts.instances("right") == Counter({(1, 2): 1, (1, 3): 2, (2, 2): 1})
    assert facts.insert("s", (1, 2))["both"] == (Counter([(1, 2)]), Counter())


def test_the_reduced_set_has_one_data_index_for_r6_and_two_for_r7() -> None:
    r6 = "r6: q(X, Y) :- p1(X, Z), p2(Y, Z), p3(_W, Z)."
    r7 = "r7: q(X, Y) :- p1(X, Y), p2(X, _Z), p3(Y, _W), p4(Y, _U)."
    assert [len(IndexedFacts(rule).index.plan.indexes) for rule in (r6, r7)] == [1, 2]
    smallest = {"p1": 1, "p2": 3, "p3": 200, "p4": 10}
    assert [len(IndexedFacts(rule, sizes=smallest).index.plan.indexes) for rule in (r6, r7)] == [2, 3]
    each_end = [len(IndexedFacts(rule, reduced=False).index.plan.indexes) for rule in (r6, r7)]
    assert each_end == [2 * 2, 2 * 3], "two for each link"
