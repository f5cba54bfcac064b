"""Queries, results, warnings, limits: the reading half of the API."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from corollary import Iri, KnowledgeBase, Limits, ProgramError, Result

PATHS = "path(X, Y) :- edge(X, Y). path(X, Z) :- edge(X, Y), path(Y, Z). edge(1, 2). edge(2, 3)."
ENDLESS = "n(0). n(X + 1) :- n(X)."


def test_the_answers_bind_the_variables_in_order_of_appearance() -> None:
    result = KnowledgeBase(PATHS).query("path(X, Y), edge(Z, Y), X < Z")
    assert result.variables == ("X", "Y", "Z")
    assert list(result) == [(1, 3, 2)]


def test_a_ground_query_has_one_empty_answer_or_none() -> None:
    kb = KnowledgeBase(PATHS)
    yes, no = kb.query("path(1, 3)"), kb.query("path(3, 1)")
    assert (list(yes), list(no), str(yes), str(no)) == ([()], [], "yes", "no")
    assert (bool(yes), bool(no)) == (True, False)


def test_the_queries_of_the_program_can_be_asked() -> None:
    kb = KnowledgeBase(PATHS + " ?- path(1, X). ?- edge(X, 3).")
    assert [sorted(kb.query(query)) for query in kb.queries] == [[(2,), (3,)], [(2,)]]


def test_query_texts_know_the_prefixes_of_the_program() -> None:
    kb = KnowledgeBase("@prefix ex: <http://example.org/> . ex:p(ex:a, 1).")
    assert list(kb.query("ex:p(X, _)")) == [(Iri("http://example.org/a"),)]
    assert list(kb.query("?- ex:p(ex:a, N).")) == [(1,)]
    assert list(kb.query("<http://example.org/p>(X, _)")) == list(kb.query("ex:p(X, _)"))
    assert (kb.count("ex:p"), len(kb.facts("http://example.org/p"))) == (1, 1)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("path(X)", "E201"),
        ("path(X, Y), X < Z", "E202"),
        ("path(X, Y), not path(f(X, _), Y)", "E301"),
        ("path(X, Y), not path([X | Z], Y)", "E301"),
        ("path(X", "E104"),
        ("nope:p(X)", "E111"),
        ("path(1, X). edge(1, X)", "E104"),
    ],
)
def test_a_query_that_cannot_be_asked_is_an_error(query: str, code: str) -> None:
    with pytest.raises(ProgramError) as error:
        KnowledgeBase(PATHS).query(query)
    assert next(diagnostic.code for diagnostic in error.value.diagnostics if diagnostic.is_error) == code


def test_the_arity_of_inserted_facts_is_known_to_queries() -> None:
    kb = KnowledgeBase()
    kb.insert("p", [(1, 2)])
    with pytest.raises(ProgramError, match="'p' has 1 argument here, but 2 arguments elsewhere"):
        kb.query("p(X)")


def test_a_query_about_nothing_has_no_answers_and_a_warning() -> None:
    kb = KnowledgeBase(PATHS)
    query = kb.parse_query("pth(X, Y)")
    assert list(kb.query(query)) == []
    (warning,) = kb.query_warnings(query)
    assert (warning.code, warning.hint) == ("W205", "did you mean 'path'?")
    assert kb.query_warnings(kb.parse_query("path(X, Y)")) == []


def test_a_query_that_no_engine_evaluates_is_an_error_at_once() -> None:
    with pytest.raises(ProgramError, match="E301"):
        KnowledgeBase("q(1). ?- q(X), not q(f(_)).")


def test_function_terms_in_facts_are_constants() -> None:
    kb = KnowledgeBase("p(f(1)). p([1, 2]). q(X) :- p(X).")
    assert kb.count("q") == 2


def test_mistakes_of_text_and_meaning_come_together() -> None:
    with pytest.raises(ProgramError) as error:
        KnowledgeBase("p(X) :- q(Y). r(1")
    assert {diagnostic.code for diagnostic in error.value.diagnostics} == {"E105", "E202"}


def test_predicates_that_got_facts_are_not_doubtful_any_more(tmp_path: Path) -> None:
    kb = KnowledgeBase("p(X) :- edge(X, _), node(X).")
    assert [warning.code for warning in kb.warnings] == ["W202", "W202"]
    kb.insert("edge", [(1, 2)])
    (tmp_path / "nodes.csv").write_text("1\n")
    kb.load("nodes", tmp_path / "nodes.csv")
    (warning,) = kb.warnings
    assert "'node' is used but never defined" in warning.message
    assert warning.hint == "did you mean 'nodes'?"


def test_an_empty_file_defines_its_predicate(tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("")
    kb = KnowledgeBase("p(X) :- edge(X, _).")
    kb.load_facts(tmp_path)
    assert (kb.warnings, kb.count("p")) == ([], 0)


# -- results -----------------------------------------------------------------------------------------------------------


def test_results_become_arrow_tables_of_fitting_types() -> None:
    kb = KnowledgeBase(
        'p(1, a, 1.5, 1e0, true, <urn:a>, "2026-01-31"^^xsd:date). p(2, b, 2, 2e0, false, <urn:b>, "2026-02-01"^^xsd:date).'
    )
    table = kb.facts("p").to_arrow()
    assert table.schema.types == [
        pa.int64(), pa.string(), pa.decimal128(38, 1), pa.float64(), pa.bool_(), pa.string(), pa.date32(),
    ]  # fmt: skip
    assert table.to_pylist()[0] == {
        "a1": 1, "a2": "a", "a3": Decimal("1.5"), "a4": 1.0, "a5": True, "a6": "urn:a", "a7": dt.date(2026, 1, 31),
    }  # fmt: skip


def test_an_arrow_table_of_mixed_constants_goes_back_in_without_loss() -> None:
    kb = KnowledgeBase('p(1). p(a). p(1e0). p(<urn:a>). p("chat"@fr). p(f(2)). p([]).')
    table = kb.facts("p").to_arrow()
    again = KnowledgeBase()
    again.insert("p", table)
    assert again.facts("p").sorted() == kb.facts("p").sorted()


def test_results_become_frames_of_python_values() -> None:
    kb = KnowledgeBase("p(1, a, 1). p(2, b, x).")
    frame = kb.facts("p").to_pandas()
    pd.testing.assert_frame_equal(
        frame.sort_values("a1").reset_index(drop=True),
        pd.DataFrame({"a1": [1, 2], "a2": ["a", "b"], "a3": pd.Series([1, "x"], dtype=object)}),
    )


def test_results_without_rows_or_columns_convert_too() -> None:
    kb = KnowledgeBase(PATHS)
    assert kb.query("path(9, X)").to_arrow().to_pydict() == {"X": []}
    assert kb.query("path(1, 2)").to_arrow().num_rows == 1
    assert kb.query("path(9, X)").to_pandas().empty


def test_a_result_shows_a_table_with_prefixes_in_terminals_and_notebooks() -> None:
    kb = KnowledgeBase('@prefix ex: <http://example.org/> . p(ex:a, "<b>"). p(ex:c, "x y").')
    result = kb.query("p(Who, What)")
    assert isinstance(result, Result)
    assert str(result) == 'Who   What\n----  -----\nex:a  "<b>"\nex:c  "x y"'
    html = result._repr_html_()
    assert "<th>Who</th><th>What</th>" in html
    assert "<td>ex:a</td><td>&quot;&lt;b&gt;&quot;</td>" in html
    assert repr(result) == "<Result: 2 rows of (Who, What)>"


def test_a_long_result_shows_its_beginning() -> None:
    kb = KnowledgeBase()
    kb.insert("n", [(number,) for number in range(1000)])
    assert str(kb.facts("n")).split("\n")[-1] == "… and 980 more"


def test_sorting_puts_numbers_by_value_before_words() -> None:
    kb = KnowledgeBase("p(b). p(10). p(2). p(1.5). p(a). p(true).")
    assert [row[0] for row in kb.facts("p").sorted()] == [Decimal("1.5"), 2, 10, True, "a", "b"]


# -- limits, errors, rules ---------------------------------------------------------------------------------------------


def test_a_limit_on_facts_stops_deriving() -> None:
    kb = KnowledgeBase(ENDLESS, limits=Limits(facts=5000))
    with pytest.raises(ProgramError, match=r"error\[E302\]: there are more than 5,000 facts"):
        kb.materialise()


def test_a_limit_on_time_stops_deriving() -> None:
    kb = KnowledgeBase(ENDLESS, limits=Limits(seconds=0.2))
    started = time.monotonic()
    with pytest.raises(ProgramError, match=r"error\[E302\]: deriving took longer than 0.2 s"):
        kb.materialise()
    assert time.monotonic() - started < 60  # it ended; compiling may be part of it


def test_reaching_a_limit_changes_nothing() -> None:
    kb = KnowledgeBase("n(X + 1) :- n(X), X < 100_0.".replace("_", ""), limits=Limits(facts=50))
    kb.insert("n", [(990,)])
    assert kb.count("n") == 11
    with pytest.raises(ProgramError, match="E302"):
        kb.insert("n", [(1,)])
    kb = KnowledgeBase("n(X + 1) :- n(X), X < 1000.", limits=Limits(facts=50), updates=False)
    kb.insert("n", [(990,)])
    assert kb.count("n") == 11
    with pytest.raises(ProgramError, match="E302"):
        kb.insert("n", [(1,)])
    assert kb.count("n") == 11
    kb.limits = Limits()
    kb.insert("n", [(1,)])
    assert kb.count("n") == 1000


def test_arithmetic_without_a_value_discards_the_instance_or_stops() -> None:
    program = "p(0). p(2). q(10 / X) :- p(X)."
    assert list(KnowledgeBase(program).facts("q")) == [(5,)]
    with pytest.raises(ProgramError, match="E303"):
        KnowledgeBase(program, on_error="stop").materialise()


def test_progress_is_told_of_each_hyper_node() -> None:
    seen = []
    report = KnowledgeBase(PATHS).materialise(finished=lambda node: seen.append(str(node.node)))
    assert seen == ["{r1}", "{r2}"] == [str(node.node) for node in report.nodes]


def test_rules_can_be_added() -> None:
    kb = KnowledgeBase("edge(1, 2). edge(2, 3).")
    assert kb.count("path") == 0
    kb.add_rules("path(X, Y) :- edge(X, Y).")
    assert kb.count("path") == 2
    kb.add_rules(KnowledgeBase("path(X, Z) :- edge(X, Y), path(Y, Z). edge(3, 4).").program)
    assert kb.count("path") == 6


def test_a_bad_rule_leaves_the_rules_as_they_were() -> None:
    kb = KnowledgeBase(PATHS)
    for wrong, code in (("path(X) :- node(X).", "E201"), ("p(X) :- not p(X), edge(X, _).", "E203"), ("p(", "E105")):
        with pytest.raises(ProgramError, match=code):
            kb.add_rules(wrong)
    assert (kb.count("path"), len(kb.program.rules)) == (3, 2)


def test_an_unknown_engine_or_rule_for_errors_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="there is no engine 'quantum'"):
        KnowledgeBase(engine="quantum")
    with pytest.raises(ValueError, match="there is no on_error 'explode'"):
        KnowledgeBase(on_error="explode")


def test_an_empty_knowledge_base_answers_without_starting_an_engine() -> None:
    kb = KnowledgeBase()
    assert (kb.is_empty, kb.count("p"), kb.predicates(), repr(kb)) == (
        True,
        0,
        [],
        "<KnowledgeBase: 0 rules, 0 predicates>",
    )
    assert kb.is_empty
    assert list(kb.query("p(X)")) == []


def test_a_view_is_one_of_a_predicate_that_there_is() -> None:
    """Without a session: the mistake is found before one starts."""
    kb = KnowledgeBase("path(X, Y) :- edge(X, Y). edge(1, 2).")
    with pytest.raises(ValueError, match="nothing mentions the predicate 'pth': did you mean 'path'"):
        kb.view("pth")
