"""With `mixed_arities`, one name with several numbers of arguments is several predicates, as IRIS has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corollary import Change, KnowledgeBase
from corollary.diagnostics import ProgramError
from corollary.io.formats import CSV, file_name
from corollary.language import print_program
from tests.services.spark_session import shared_session

TEXT = "p(1). p(1, 2). q(X) :- p(X), p(X, _). r(X, Y) :- p(X, Y), not p(Y). ?- p(X)."


def test_one_name_with_two_numbers_of_arguments_is_an_error() -> None:
    with pytest.raises(ProgramError, match="E201"):
        KnowledgeBase(TEXT)


def test_they_are_two_predicates_where_the_setting_says_so() -> None:
    kb = KnowledgeBase(TEXT, mixed_arities=True)
    assert kb.predicates() == ["p/1", "p/2", "q/1", "r/2"]
    assert set(kb.query("p(X)")) == set(kb.query(kb.queries[0])) == set(kb.facts("p/1")) == {(1,)}
    assert set(kb.query("p(X, Y)")) == {(1, 2)}
    assert set(kb.facts("q")) == {(1,)}
    assert set(kb.facts("r")) == {(1, 2)}


def test_facts_and_rules_of_either_may_come_and_go() -> None:
    kb = KnowledgeBase(TEXT, mixed_arities=True)
    kb.add_rules("p(X, X, X) :- p(X).")
    assert set(kb.query("p(X, Y, Z)")) == {(1, 1, 1)}
    kb.insert("p/1", [(2,)])
    assert set(kb.facts("r")) == set()
    assert len(kb.query("p(X, Y, Z)")) == 2
    kb.remove_rules("p(X, X, X) :- p(X).")
    assert "p/3" not in kb.predicates()


def test_equal_constants_stand_for_each_other_in_all_of_them() -> None:
    kb = KnowledgeBase("a = b. p(a). p(a, 1). X = Y :- alias(X, Y).", mixed_arities=True)
    assert kb.predicates() == ["=", "alias/2", "p/1", "p/2"]
    assert set(kb.facts("p/1")) == {("a",), ("b",)}
    assert set(kb.facts("p/2")) == {("a", 1), ("b", 1)}
    kb.apply(Change(insert={"=": [("b", "c")]}, delete={"=": [("a", "b")]}))
    assert set(kb.facts("p/1")) == {("a",)}
    kb.insert("=", [("c", "a")])
    kb.insert("alias", [("c", "d")])
    assert set(kb.facts("p/1")) == {("a",), ("b",), ("c",), ("d",)}
    assert ("b", "c") in set(kb.facts("="))


def test_a_stored_knowledge_base_stays_as_it_was_made(tmp_path: Path) -> None:
    KnowledgeBase(TEXT, mixed_arities=True).save(tmp_path / "kb")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert set(kb.query("p(X, Y)")) == {(1, 2)}
        assert set(kb.facts("q")) == {(1,)}


# -- data ------------------------------------------------------------------------------------------------------------


def mixed(text: str = "p(1). p(1, 2). r(X) :- p(_, X).", **options: Any) -> KnowledgeBase:
    return KnowledgeBase(text, mixed_arities=True, **options)


def test_the_width_of_rows_and_tables_chooses_the_predicate() -> None:
    kb = mixed()
    assert kb.insert("p", [(5, 6)]) == 1
    assert kb.insert("p", pa.table({"a": [7]})) == 1
    assert (set(kb.facts("p/2")), set(kb.facts("p/1")), set(kb.facts("r"))) == (
        {(1, 2), (5, 6)}, {(1,), (7,)}, {(2,), (6,)},
    )  # fmt: skip
    assert kb.delete("p", [(1, 2)]) == 1
    result = kb.apply(Change(insert={"p": [(8, 9)]}, delete={"p": [(7,)]}))
    assert (set(result.inserted["p/2"]), set(result.deleted["p/1"])) == ({(8, 9)}, {(7,)})
    assert set(kb.query("r(X)")) == {(6,), (9,)}
    assert kb.predicates() == ["p/1", "p/2", "r/1"]


def test_a_name_that_says_a_number_takes_no_other_rows() -> None:
    kb = mixed()
    for name in ("p/2", "new/2"):
        with pytest.raises(ProgramError, match="expected 2"):
            kb.insert(name, [(1, 2, 3)])


def test_files_and_updates_of_streams_do_the_same(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("3,4\n")
    (tmp_path / "r_1.csv").write_text("30\n")
    kb = mixed()
    kb.load("p", tmp_path / "p.csv")
    assert set(kb.facts("r")) == {(2,), (4,)}
    assert kb.load_facts(tmp_path) == 1  # r_1.csv is r/1
    assert set(kb.facts("r")) == {(2,), (4,), (30,)}
    assert [set(result.inserted["r"]) for result in kb.stream([{"insert": {"p": [[7, 8]]}}])] == [{(8,)}]
    declared = mixed('@input p("p.csv") . p(1). p(1, 2). r(X) :- p(_, X).', base=tmp_path)
    assert set(declared.facts("r")) == {(2,), (4,)}
    assert declared.predicates() == ["p/1", "p/2", "r/1"]


@pytest.mark.parametrize("ask", ["count", "facts", "undefined", "owners"])
def test_a_name_of_several_predicates_has_to_say_which(ask: str) -> None:
    kb = mixed()
    with pytest.raises(ProgramError, match="several numbers of arguments: p/1, p/2"):
        getattr(kb, ask)("p")
    getattr(kb, ask)("r")


def test_who_subscribes_to_a_name_hears_of_its_only_predicate() -> None:
    kb = mixed("r(X) :- p(_, X).")
    heard: list[Any] = []
    for name in ("r", "late"):
        kb.subscribe(name, lambda inserted, deleted: heard.extend(inserted))
    kb.materialise()
    kb.insert("p", [(1, 2)])
    kb.insert("late", [(3, 4)])
    assert heard == [(2,), (3, 4)]


def test_rules_are_printed_as_they_were_written() -> None:
    kb = mixed()
    assert [rule.text for rule in kb.rules()] == ["r(X) :- p(_, X)."]
    assert print_program(kb.program).startswith("p(1).\np(1, 2).\n")
    assert file_name(kb.predicates()[1], CSV) == "p_2.csv"


@pytest.mark.spark
def test_data_on_spark(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("3,4\n")
    with mixed('@input p("p.csv") . p(1). p(1, 2). r(X) :- p(_, X).', base=tmp_path, engine=shared_session()) as kb:
        kb.insert("p", [(5, 6)])
        assert set(kb.facts("r")) == {(2,), (4,), (6,)}
        kb.delete("p", [(1, 2)])
        assert (set(kb.facts("r")), kb.predicates()) == ({(4,), (6,)}, ["p/1", "p/2", "r/1"])


def test_a_name_with_its_number_is_one_name_however_it_came(tmp_path: Path) -> None:
    """Files, subscribers and what is known do not depend on who named a predicate first, nor on opening it again."""
    files = ["p_1.delta", "p_2.delta"]
    for number, names in enumerate((("p", "p"), ("p/1", "p/2"))):
        place = tmp_path / f"kb{number}"
        kb = KnowledgeBase.create(place, mixed_arities=True)
        heard: list[object] = []
        kb.subscribe("p", lambda inserted, deleted, heard=heard: heard.extend(inserted))
        kb.insert(names[0], [(1,)])
        kb.insert(names[1], [(1, 2)])
        assert heard == [(1,), (1, 2)]
        for one in (kb, KnowledgeBase.open(place)):
            assert one.predicates() == ["p/1", "p/2"]
            for told in (["p/1", "p/2"], one.predicates()):
                target = tmp_path / f"published{number}-{one is kb}-{told is not None}"
                one.publish(target, told)
                assert sorted(path.name for path in target.glob("*.delta")) == files
        heard.clear()
        one.subscribe("p/1", lambda inserted, deleted, heard=heard: heard.extend(inserted))
        one.insert("p", [(2,)])
        assert heard == [(2,)]
