"""Arities, definitions, doubts, and the object that `corollary check --json` prints."""

import pytest

from corollary.analysis import analyse, analyse_texts, checked, predicates_of
from corollary.diagnostics import ProgramError, Source
from corollary.language import parse, parse_program


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in analyse(parse_program(text)).diagnostics]


def test_predicates_know_what_defines_them() -> None:
    text = '@input i("i.csv") . @output o . f(1). b(1). b(X) :- f(X). r(X) :- b(X), i(X), u(X, 1). ?- z.'
    found = {name: (info.arity, info.defined_by) for name, info in predicates_of(parse_program(text)).items()}
    assert found == {
        "f": (1, "facts"),
        "b": (1, "both"),
        "r": (1, "rules"),
        "i": (1, "facts"),
        "u": (2, "nothing"),
        "z": (0, "nothing"),
        "o": (None, "nothing"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "p(1). p(1, 2).",
        "p(1). q(X) :- p(X, 1).",
        "p(1). q(1) :- not p(1, 2).",
        "p(1). q(N) :- AGGREGATE(p(X, Y)) WITH COUNT(X) AS N.",
        "p(1). ?- p(1, 2).",
        "p :- q(1). q(1). r(1) :- p(1).",
        "p(X) :- q(X). p(X, X) :- q(X). q(1).",
    ],
)
def test_a_predicate_has_one_number_of_arguments(text: str) -> None:
    assert codes(text)[0] == "E201"


def test_each_wrong_number_of_arguments_is_told_once() -> None:
    assert codes("p(1). q(1). a(X) :- q(X), p(X, 1). b(X) :- q(X), p(X, 2). c(X) :- q(X), p(X, 3, 4).") == [
        "E201",
        "E201",
    ]


def test_a_predicate_that_nothing_defines_is_doubted_at_its_first_use() -> None:
    (found,) = analyse(parse_program("p(X) :- q(X).\nr(X) :- q(X).")).warnings
    assert (found.code, found.span and found.span.position) == ("W202", (1, 9))


def test_an_input_defines_its_predicate() -> None:
    assert codes('@input q("q.csv") . p(X) :- q(X).') == []


def test_a_query_about_a_predicate_that_only_rules_use_is_not_doubted_twice() -> None:
    assert codes("p(X) :- q(X). ?- q(X).") == ["W202"]
    assert codes("p(1). ?- q(X).") == ["W205"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q(1, 2). p(X) :- q(X, Y).", ["W201"]),
        ("q(1, 2). p(X) :- q(X, _).", []),
        ("q(1, 2). p(X) :- q(X, _y).", []),
        ("q(1, 2). p(X) :- q(X, X).", []),
        ("q(1, 2). p(1) :- not q(X, 1).", ["W201"]),
        ("q(1, 2). p(N) :- AGGREGATE(q(X, Y)) WITH COUNT(X) AS N.", ["W201"]),
        ("q(1, 2). p(X, count(Y)) :- q(X, Y).", []),
        ("q(1, 2). ?- q(X, Y).", []),
        ("q(1). p(X) :- q(X). p(Y) :- q(Y).", ["W206"]),
        ("q(1). p(X) :- q(X). p(X) :- q(X), X > 0.", []),
        ("q(1, 2). p(X) :- q(X, Y), Y > 0. p(A) :- q(A, B), B > 0.", ["W206"]),
        ("q(1). p(X) :- q(X). r(X) :- q(X).", []),
        ("q(1). p(count(X)) :- q(X). p(sum(X)) :- q(X).", ["W203"]),
        ("q(1). p(count(X)) :- q(X). p(X) :- q(X).", []),
        ("q(1). p(roundd(X)) :- q(X).", ["W204"]),
        ("@function roundd/1 . q(1). p(roundd(X)) :- q(X).", []),
        ("q(1). p(f(X)) :- q(X).", []),
        ("q(1). p(func:substrng(X, 1)) :- q(X).", ["W204"]),
        ("q(1). p(pred:nothing-like-it(X)) :- q(X).", ["W204"]),
        ("q(1). p(<http://e.org/f>(X)) :- q(X).", []),
    ],
)
def test_these_doubts_are_told(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


@pytest.mark.parametrize(
    ("literal", "message", "hint"),
    [
        ("Y = func:substrng(X, 1)", "there is no function 'func:substrng'", "did you mean 'func:substring'?"),
        ('pred:containz(X, "a"), Y = X', "'pred:containz' is used but never defined", "did you mean 'pred:contains'?"),
        ("STRING_LENGHT(X, Y)", "'STRING_LENGHT' is used but never defined", "did you mean 'STRING_LENGTH'?"),
        ("e:nome(X, Y)", "'e:nome' is used but never defined", "did you mean 'e:name'?"),
    ],
)
def test_a_misspelt_name_is_told_as_it_is_written(literal: str, message: str, hint: str) -> None:
    text = f"@prefix e: <http://e.org/> . v(a). e:name(a, b). p(Y) :- v(X), {literal}."
    (found,) = analyse(parse_program(text)).diagnostics
    assert (found.message.startswith(message), found.hint) == (True, hint)


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("Y = func:append()", "'func:append' takes at least 2 arguments, not 0"),
        ("pred:contains(X), Y = X", "'pred:contains' takes 2 arguments, not 1"),
        ("xs:integer(X), Y = X", "'xsd:integer' takes 1 argument and its result, not 1"),
    ],
)
def test_a_built_in_with_a_wrong_number_of_arguments_is_told_by_its_short_name(literal: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse_program(f"p(Y) :- v(X), {literal}.")
    assert caught.value.diagnostics[0].message == message


def test_two_rules_of_one_name_are_an_error_told_once_per_clause() -> None:
    assert codes("q(1). n: a(X) :- q(X). n: b(X) :- q(X).") == ["E204"]
    assert codes("q(1). n: a(X), b(X) :- q(X). n: c(X), d(X) :- q(X).") == ["E204"]
    assert codes("q(1). n: a(X), b(X) :- q(X). n.2: c(X) :- q(X).") == ["E204"]


def test_an_error_silences_the_doubts_at_its_own_place() -> None:
    assert codes("q(1). p(X, Y) :- q(X).") == ["E202"]


def test_diagnostics_come_in_the_order_of_the_texts_and_of_their_lines() -> None:
    first = Source("p(X, Y) :- q(X, X).", "z.dl")
    second = Source("q(1, 2).\nr(X) :- q(Z, Z).\ns(1 2).\nt(X) :- q(Z, Z).", "a.dl")
    found = [
        (d.code, d.span and (d.span.source.name, d.span.position.line))
        for d in analyse_texts(first, second).diagnostics
    ]
    assert found == [("E202", ("z.dl", 1)), ("E202", ("a.dl", 2)), ("E104", ("a.dl", 3)), ("E202", ("a.dl", 4))]


def test_texts_are_one_program() -> None:
    analysis = analyse_texts(Source("p(X) :- q(X).", "one.dl"), Source("q(1). r(X) :- p(X).", "two.dl"))
    assert not analysis.diagnostics
    assert [rule.name for rule in analysis.program.rules] == ["r1", "r2"]


def test_a_mistake_of_the_text_silences_what_it_may_have_caused() -> None:
    found = analyse_texts(Source("edge(1 2). path(X, Y) :- edge(X, Y)."))
    assert [diagnostic.code for diagnostic in found.diagnostics] == ["E104"]


def test_checked_raises_with_all_diagnostics() -> None:
    with pytest.raises(ProgramError) as caught:
        checked(parse("p(X, Y) :- q(X). r(X) := q(X)."))
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"E202", "W102", "W202"}


def test_checked_keeps_the_warnings() -> None:
    assert [warning.code for warning in checked(parse("q(1). p(X) := q(X).")).warnings] == ["W102"]


def test_as_dict_has_everything_that_check_prints_as_json() -> None:
    text = """\
    e(1).
    a(X) :- e(X).
    step: b(X) :- e(X), not a(X).
    c(X), d(X) :- b(X).
    total(count(X)) :- c(X).
    b(X) :- d(X).
    """
    found = analyse_texts(Source(text, "a.dl")).as_dict()
    assert found == {
        "errors": [],
        "warnings": [],
        "predicates": [
            {"name": "e", "arity": 1, "defined_by": "facts"},
            {"name": "a", "arity": 1, "defined_by": "rules"},
            {"name": "b", "arity": 1, "defined_by": "rules"},
            {"name": "c", "arity": 1, "defined_by": "rules"},
            {"name": "d", "arity": 1, "defined_by": "rules"},
            {"name": "total", "arity": 1, "defined_by": "rules"},
        ],
        "rules": [
            {"name": "r1", "text": "a(X) :- e(X).", "hyper_node": 0},
            {"name": "step", "text": "b(X) :- e(X), not a(X).", "hyper_node": 1},
            {"name": "r3.1", "text": "c(X) :- b(X).", "hyper_node": 3},
            {"name": "r3.2", "text": "d(X) :- b(X).", "hyper_node": 2},
            {"name": "r4", "text": "total(count(X)) :- c(X).", "hyper_node": 4},
            {"name": "r5", "text": "b(X) :- d(X).", "hyper_node": 2},
        ],
        "hyper_nodes": [["r1"], ["step"], ["r3.2", "r5"], ["r3.1"], ["r4"]],
        "positive_edges": [[1, 2], [1, 3], [2, 3]],
        "negative_edges": [[0, 1], [3, 4]],
        "strata": [0, 1, 1, 1, 2],
        "modules": ["nonrecursive", "nonrecursive", "recursive", "nonrecursive", "aggregate"],
    }


def test_as_dict_prints_rules_with_the_prefixes_of_the_program() -> None:
    found = analyse_texts(Source("@prefix ex: <http://e/> . ex:q(1). ex:p(X) :- ex:q(X).")).as_dict()
    assert found["rules"] == [{"name": "r1", "text": "ex:p(X) :- ex:q(X).", "hyper_node": 0}]
