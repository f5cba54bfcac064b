"""The Yield index as a user sees it: the figures of paper 003, and the entries against trying every combination."""

import json
from itertools import product
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary import KnowledgeBase, ProgramError
from corollary.analysis.yield_entries import YieldEntries, YieldEntry
from corollary.pictures import draw_yield_index
from tests.budgets import examples
from tests.papers.test_yield_index import FATHER, MOTHER, R2, SEX

FIGURE_9 = {"w": [(6, 7), (2, 1), (3, 2), (3, 3), (3, 12)], "s": [(2, 4), (5, 3), (7, 6)]}
FIGURE_11 = {
    "l": [(6, 5), (2, 1), (3, 7), (3, 3), (13, 3)],
    "p": [(2, 3), (1, 1), (5, 6), (7, 2)],
    "d": [(1, 3), (5, 1), (7, 6), (4, 2)],
}


def known(text: str, facts: dict[str, list[tuple[object, ...]]], **options: object) -> KnowledgeBase:
    kb = KnowledgeBase(text, **options)
    for predicate, rows in facts.items():
        kb.insert(predicate, rows)
    return kb


def family() -> KnowledgeBase:
    return known(R2, {"father": FATHER, "mother": MOTHER, "sex": SEX})


def entry(index: YieldEntries, root: str, pointer: str, *key: str) -> YieldEntry:
    (found,) = (one for one in index.entries if (one.root, one.pointer, one.key) == (root, pointer, key))
    return found


# -- figures -----------------------------------------------------------------------------------------------------------


def test_figure_2_the_mother_of_mary_is_a_dummy_and_that_of_bill_matches() -> None:
    kb = family()
    kb.insert("mother", [("Mary", "Jane")])
    index = kb.yield_entries("r2")
    bill = entry(index, "father", "mother", '"Bill"')
    assert (bill.fire, bill.type, bill.facts) == (True, "IS", ('father("Bill", "Tom")',))
    assert bill.matches == ('mother("Bill", "Ellen")',)
    mary = entry(index, "mother", "father", '"Mary"')
    assert (mary.fire, mary.type, mary.facts, mary.matches) == (False, "IS", ('mother("Mary", "Jane")',), ())


def test_figure_3_the_mother_of_mary_matches_as_soon_as_the_father_is_there() -> None:
    kb = family()
    kb.insert("mother", [("Mary", "Jane")])
    kb.insert("father", [("Mary", "George")])
    index = kb.yield_entries("r2")
    assert entry(index, "father", "mother", '"Mary"').matches == ('mother("Mary", "Jane")',)
    back = entry(index, "mother", "father", '"Mary"')
    assert (back.fire, back.dummies) == (False, ('father("Mary", "George")',)), "the father waits: Mary is no son"


def test_r2_on_figure_1_has_these_matches_dummies_and_constraint_elements() -> None:
    index = family().yield_entries("r2")
    assert [(one.name, len(one.matches), len(one.dummies), len(one.filtered)) for one in index.atoms] == [
        ("father", 2, 2, 0),
        ("mother", 2, 3, 0),
        ("sex", 2, 4, 4),
    ]
    assert [f"{one} {one.type}" for one in index.mce] == [
        'sex.2 = "M" CS',
        "mother.1 = father.1 IS",
        "sex.1 = father.1 IS",
    ]
    assert index.instances == ('sonwithparent("Bill")', 'sonwithparent("Tom")')


def test_r12_on_figure_9_points_to_a_range_of_keys() -> None:
    index = known("r12: q(A, B) :- w(A, X), s(Y, B), A > 3, X > Y.", FIGURE_9).yield_entries("r12")
    assert [(one.root, one.key, one.fire, set(one.matches)) for one in index.entries] == [
        ("w", ("7",), True, {"s(2, 4)", "s(5, 3)"}),
        ("s", ("2",), True, {"w(6, 7)"}),
        ("s", ("5",), True, {"w(6, 7)"}),
        ("s", ("7",), False, set()),
    ]
    assert index.atoms[0].filtered == ("w(2, 1)", "w(3, 2)", "w(3, 3)", "w(3, 12)")
    assert index.links[0].condition == "w.2 > s.1"


def test_r13_on_figure_11_at_node_1() -> None:
    kb = known("r13: q(@X, Y) :- l(X, @A), p(@A, Y), d(X, _).", FIGURE_11)
    index = kb.yield_entries("r13", address=1)
    assert [str(one) for one in index.mce if one.type == "AddressS"] == ["l.2 = local address", "p.1 = local address"]
    assert [one.dummies for one in index.atoms[:2]] == [("l(2, 1)",), ("p(1, 1)",)]
    assert index.instances == ()
    kb.insert("d", [(2, 9), (6, 9)])
    assert kb.yield_entries("r13", address=1).instances == ("q(2, 1)",)
    assert kb.yield_entries("r13").instances == ("q(2, 1)", "q(6, 6)"), "without an address, all nodes together"


def test_a_negated_fact_forbids_a_match() -> None:
    kb = known("rn: q(X, Y) :- p(X, Y), not s(X, Y).", {"p": [(1, 2), (1, 3)], "s": [(1, 2), (4, 4)]})
    index = kb.yield_entries("rn")
    assert entry(index, "p", "not s", "1", "2").dummies == ("s(1, 2)",)
    assert [entry(index, "p", "not s", "1", key).fire for key in "23"] == [False, True]
    assert index.atoms[1].matches == ("s(1, 2)",)
    assert "forbidden by s(1, 2)" in str(index)


# -- everything --------------------------------------------------------------------------------------------------------

_ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6, unique=True)


@settings(max_examples=examples(60), deadline=None)
@given(_ROWS, _ROWS, _ROWS)
def test_entries_say_what_trying_every_combination_says(
    a: list[tuple[int, int]], b: list[tuple[int, int]], c: list[tuple[int, int]]
) -> None:
    index = known("r1: h(X, W) :- a(X, Y), b(Y, Z), c(W, V), Z < W.", {"a": a, "b": b, "c": c}).yield_entries("r1")
    found = [(x, y, z) for x, y, z in product(a, b, c) if x[1] == y[0] and y[1] < z[0]]
    for place, name in enumerate("abc"):
        expected = {f"{name}{rows[place]}" for rows in found}
        assert set(index.atoms[place].matches) == expected
    assert {f"h({x[0]}, {z[0]})" for x, _, z in found} == set(index.instances)
    for one in index.entries:
        assert one.fire == bool(one.matches)
        assert one.facts
    ordered = {one.key: {*one.matches, *one.dummies} for one in index.entries if (one.root, one.pointer) == ("b", "c")}
    assert ordered == {(str(z),): {f"c{row}" for row in c if z < row[0]} for _, z in b}


def test_looking_changes_nothing() -> None:
    kb = known(R2, {"father": FATHER, "mother": MOTHER, "sex": SEX}, index="yield")
    before = sorted(kb.facts("sonwithparent")), kb.owners("sonwithparent")
    index = kb.yield_entries("r2")
    assert index.is_used
    assert index == kb.yield_entries('sonwithparent(A) :- father(A, B), mother(A, C), sex(A, "M").')
    assert (sorted(kb.facts("sonwithparent")), kb.owners("sonwithparent")) == before
    kb.insert("mother", [("Cobe", "Ann")])
    assert kb.yield_entries("r2").instances[1:2] == ('sonwithparent("Cobe")',)


def test_the_text_names_the_accesses_and_is_limited() -> None:
    index = known("r1: h(X, Z) :- a(X, Y), b(Y, Z).", {"a": [(n, n) for n in range(9)], "b": [(1, 1)]}).yield_entries(
        "r1"
    )
    assert not index.is_used
    assert "  … and 7 more entries" in index.shown(3).splitlines()
    assert "more entries" not in index.shown(None)
    assert (index.activation.index, index.activation.tuples, index.activation.wasted) == (1, 2, 0)
    assert repr(index) == "<YieldEntries of r1: 2 of 10 semantic entries fire, 1 instance>"
    assert json.loads(index.to_json())["accesses"]["activation"] == {"index": 1, "tuples": 2, "wasted": 0}


def test_two_atoms_of_one_predicate_have_numbers() -> None:
    index = known("r1: h(X, Z) :- e(X, Y), e(Y, Z).", {"e": [(1, 2), (2, 3)]}).yield_entries("r1")
    assert [link.condition for link in index.links] == ["e[1].2 = e[2].1"]
    assert "  T     2    e[1]: e(1, 2)  e[2]: e(2, 3)" in str(index).splitlines()


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("r1: h(X, N) :- a(X, Y), N = Y + 1.", "it computes values"),
        ("r1: h(X, count(Y)) :- a(X, Y).", "it has an aggregate"),
        ("r1: h(X) :- a(X, Y), on().", "it has an atom without arguments"),
        ("r1: h(X) :- a(X, Y), b(Z, Z), not c(Y, Z).", "no single atom has all variables of a negated one"),
    ],
)
def test_a_rule_without_an_index_says_why(rule: str, reason: str) -> None:
    with pytest.raises(ProgramError) as caught:
        KnowledgeBase(rule).yield_entries("r1")
    (mistake,) = caught.value.diagnostics
    assert (mistake.code, mistake.message) == ("E210", f"rule 'r1' has no Yield index to look at: {reason}")


def test_wrong_names_and_addresses_have_hints() -> None:
    kb = KnowledgeBase("rr: h(X), g(X) :- a(X, Y).")
    for name, address, hint in (("rq", None, None), ("rr", None, "choose one: rr.1, rr.2"), ("rr.1", 1, "link(@X, Y)")):
        with pytest.raises(ProgramError) as caught:
            kb.yield_entries(name, address=address)
        (mistake,) = caught.value.diagnostics
        assert mistake.code == ("E206" if hint is None else "E210")
        assert hint is None or hint in (mistake.hint or "")


# -- picture -----------------------------------------------------------------------------------------------------------


def test_the_picture_has_matches_dummies_and_keys() -> None:
    index = family().yield_entries("r2")
    root = ElementTree.fromstring(draw_yield_index(index).encode())
    by_class: dict[str, list[str]] = {}
    for one in root.iter():
        if kind := one.get("class"):
            by_class.setdefault(kind, []).append(one.get("data-fact") or one.get("data-key") or "")
    assert len(by_class["link"]) == 2
    assert by_class["match"].count('father("Bill", "Tom")') == 2
    assert by_class["dummy"].count('mother("Alice", "Linda")') == 1
    assert by_class["dummy"].count('father("Ellen", "Jim")') == 2
    assert sorted(by_class["key"])[:2] == ['"Alice"', '"Bill"']
    assert draw_yield_index(index, limit=2).count('class="key"') == 4
