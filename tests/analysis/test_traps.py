"""Rules that can never do what they seem to say are told so, and right ones are left alone."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from corollary import Change, KnowledgeBase, ProgramError, ProgramWarning
from corollary.analysis import analyse_texts
from corollary.diagnostics import MOST_SHOWN, Source
from corollary.program import Structure

TRAPS = {"W207", "W208", "W209", "W210", "E209"}
ROOT = Path(__file__).parent.parent.parent
ON_PURPOSE = {"W209": ["functions_of_strings", "E303_expression_without_a_value"]}


def found(text: str) -> list[str]:
    return [one.code for one in analyse_texts(Source(text)).diagnostics if one.code in TRAPS]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("path(x, y) :- edge(x, y).", ["W207"]),
        ("path(x, z) :- path(x, y), edge(y, z).", ["W207"]),
        ("p(f(x)) :- e([x]).", ["W207"]),
        ("on(lamp) :- e(X, lamp), X > 1.", []),
        ("p(a) :- q(a). q(a).", []),
        ('p("x") :- q("x").', []),
        ("p :- q(x).", []),
        ("p :- e(x, y), e(y, z).", ["W207"]),
        ("p :- on(lamp), broken(lamp).", []),
        ("p(X, y) :- e(X, y).", ["W208"]),
        ("p(X) :- e(X, x).", ["W208"]),
        ("p(X, red) :- e(X, red).", []),
        ("p(X, a) :- e(X, a).", []),
        ("p(D, count(who)) :- e(who, D).", ["W208"]),
        ("p(D, sum(s)) :- e(W, D, s), W > 1.", ["W208"]),
        ("p(D, N) :- AGGREGATE(e(W, D)) ON D WITH COUNT(who) AS N.", ["W208"]),
        ("p(D, sum(1)) :- e(D, W), W > 1.", []),
    ],
)
def test_constants_where_variables_are_meant(text: str, codes: list[str]) -> None:
    assert found(text) == codes


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("p(X) :- w(S), X = strlen(S).", ["E209"]),
        ("p(X) :- w(S), strlen(S) = X.", ["E209"]),
        ("p(S) :- w(S), strlen(S) = 3.", ["E209"]),
        ("p(S) :- w(S), not strlen(S) = 3.", ["E209"]),
        ("p(S) :- w(S), n(N), N = strlen(S). n(1).", ["E209"]),
        ("p(N) :- w(S), BIND(strlen(S) AS N).", ["E209"]),
        ("p(N) :- w(S), N = strlen(S) + 1.", ["E209"]),
        ("p(N) :- w(S), N = -strlen(S).", ["E209"]),
        ("p(f(S)) :- w(S), f(S) < 3.", ["E209"]),
        ("p(N) :- AGGREGATE(w(S), strlen(S) > 2) WITH COUNT(S) AS N.", ["E209"]),
        ("?- w(S), X = strlen(S).", ["E209"]),
        ("p(M) :- n(N), M = max(N, 5).", ["E209"]),
        ("p(A) :- w(A, B), levenshtein(A, B) < 3.", ["E209"]),
        ("p(f(X)) :- n(X). q(Z) :- n(X), Z = f(X).", []),
        ("q(Z) :- n(X), Z = f(X). n(f(1)).", []),
        ("q(Z) :- n(X), Z = f(X). r(Y) :- q(Z), Z = f(Y).", []),
        ("q(X) :- n(X), l(L), L = f(X).", []),
        ("q(X) :- n(X), f(X) = g(X).", []),
        ("q(Y) :- n(X), X = f(Y).", []),
        ("@function strlen/1 . p(X) :- w(S), X = strlen(S).", []),
        ("p(g(S)) :- w(S).", []),
        ("p(strlen(S) + 1) :- w(S).", ["E209"]),
        ("p(N) :- w(S), N = abs(strlen(S)).", ["E209"]),
        ('p(S) :- w(S), pred:matches(lower_case_of(S), "a").', ["E209"]),
        ("p(sum(strlen(S))) :- w(S).", ["E209"]),
        ("p(count(f(S))) :- w(S).", []),
        ("p(N) :- AGGREGATE(w(S)) WITH SUM(strlen(S)) AS N.", ["E209"]),
        ("p(S) :- w(S), w(T), strlen(S) = strlen(T).", ["E209", "E209"]),
        ("p(f(S)) :- w(S), w(T), f(S) = f(T).", []),
    ],
)
def test_functions_that_nobody_defines(text: str, codes: list[str]) -> None:
    assert found(text) == codes


@pytest.mark.parametrize(
    ("name", "hint"),
    [("strlen", "did you mean 'length'?"), ("max", "did you mean 'MAX'?"), ("lenght", "did you mean 'length'?")],
)
def test_a_function_that_is_not_there_has_a_hint(name: str, hint: str) -> None:
    (error,) = analyse_texts(Source(f"w(a). p(X) :- w(S), X = {name}(S, 1) + 1.")).errors
    assert (error.code, error.hint) == ("E209", hint)


def test_rules_and_queries_that_come_later_are_looked_at_too() -> None:
    kb = KnowledgeBase("w(a). t(f(1)).")
    with pytest.raises(ProgramError, match="E209"):
        kb.add_rules("p(X) :- w(S), X = strlen(S).")
    for query in ("w(S), strlen(S) > 3", "w(S), X = strlen(S)", "w(S), BIND(strlen(S) AS X)"):
        with pytest.raises(ProgramError, match="E209"):
            kb.query(query)
    assert list(kb.query("w(S), X = f(S)")) == [("a", Structure("f", ("a",)))]
    for query, code in (
        ('w(S), pred:matches(S, "(")', "W209"),
        ("w(S), S < 5", "W210"),
        ("w(S), length(5) = S", "W209"),
    ):
        with pytest.warns(ProgramWarning, match=code):
            assert not list(kb.query(query))
    kb.add_rules("p(X) :- w(S), X = f(S).")
    assert kb.count("p") == 1
    with pytest.warns(ProgramWarning, match="W210"):
        kb.add_rules("q(S) :- w(S), S < 5.")


def test_facts_that_come_later_may_hold_anything() -> None:
    kb = KnowledgeBase("t(1). n(1). d(X) :- n(Y), X = Y + 1.")
    with pytest.raises(ProgramError, match="E209"):
        kb.query("n(S), t(X), X = f(S)")
    with kb.transaction() as change:
        change.insert("t", [("a",), (Structure("f", (1,)),)])
        change.insert("d", [("b",)])
        change.add_rules("p(X) :- t(X), n(S), X = f(S).")
    assert list(kb.facts("p")) == [(Structure("f", (1,)),)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kb.add_rules('q(X) :- t(X), X < "b". q(X) :- d(X), X < "c".')
        assert set(kb.query('t(X), X < "b"')) == {("a",)}
    assert set(kb.facts("q")) == {("a",), ("b",)}
    assert set(kb.query("n(S), X = f(S)")) == {(1, Structure("f", (1,)))}


def test_heads_are_looked_at_as_bodies_are() -> None:
    assert found("p(length(5)) :- w(S), q(S).") == ["W209"]
    assert found("p(X + true) :- w(X).") == ["W209"]


def test_hints_for_many_functions_that_are_not_there_are_those_that_are_shown() -> None:
    text = "".join(f"p(X) :- w(Y), X = f{number}(Y).\n" for number in range(1000))
    errors = analyse_texts(Source(text)).errors
    assert len(errors) == 1000
    assert all(error.hint for error in errors[:MOST_SHOWN])
    assert not any(error.hint for error in errors[MOST_SHOWN:])


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ('pred:matches(X, "(a")', ["W209"]),
        ('pred:matches(X, "a", "?")', ["W209"]),
        ('Y = func:replace(X, "[", "b"), q(Y)', ["W209"]),
        ('pred:matches(X, "a+")', []),
        ("length(5) > 3", ["W209"]),
        ('X + "a" > 3', ["W209"]),
        ("X / 0 > 3", []),
        ("1 / 0 > X", ["W209"]),
        ("X < [1]", ["W209"]),
        ('X < "a"@de', ["W209"]),
        ("abs(true) = X", ["W209"]),
        ("not length(5) = 3", ["W209"]),
        ('not X = func:replace(X, "(", X)', ["W209"]),
        ("AGGREGATE(w(Z), Z + true > 1) WITH COUNT(Z) AS N, N > 0", ["W209"]),
    ],
)
def test_expressions_that_never_have_a_value(body: str, codes: list[str]) -> None:
    assert found(f"p(X) :- w(X), {body}.") == codes


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('n(1). n(2.5). p(X) :- n(X), X < "a".', ["W210"]),
        ('n(1). p(X) :- n(X), "a" >= X.', ["W210"]),
        ('n(1). p(X) :- n(X), not X < "a".', ["W210"]),
        ("n(a). p(X) :- n(X), X < 5.", ["W210"]),
        ('n(1). m(X + 1) :- n(X). p(X) :- m(X), X > "a".', ["W210"]),
        ('n(1). c(count(X)) :- n(X). p(X) :- c(X), X > "a".', ["W210"]),
        ('n(1). p(X) :- n(X). p(Y) :- p(X), Y = X * 2. q(X) :- p(X), X < "a".', ["W210"]),
        ("n(1). t(a). p(X) :- n(X), t(Y), X < Y.", ["W210"]),
        ('n(1). p(X) :- n(X), X + 1 < "a".', ["W210"]),
        ("n(1). t(a). p(X) :- n(X), t(Y), X * 2 < Y.", ["W210"]),
        ('p(X) :- n(X), "a" < 5.', ["W210"]),
        ("n(1). t(a). t(2). p(X) :- n(X), t(Y), X < Y.", []),
        ("n(1). p(X) :- n(X), t(Y), X < Y.", []),
        ('n(1). n(b). p(X) :- n(X), X < "a".', []),
        ('p(X) :- n(X), X < "a".', []),
        ('@input n("n.csv") . n(1). p(X) :- n(X), X < "a".', []),
        ('n(1). m(X) :- n(X). m(X) :- other(X). p(X) :- m(X), X < "a".', []),
        ("n(1). p(X) :- n(X), X < 2.5e0.", []),
        ('n("2026-01-01"^^xsd:date). p(X) :- n(X), X < "2026-06-01"^^xsd:date.', []),
        ('n("2026-01-01"^^xsd:date). p(X) :- n(X), X < "2026-06-01".', ["W210"]),
    ],
)
def test_comparisons_of_values_without_a_common_order(text: str, codes: list[str]) -> None:
    assert found(text) == codes


def programs() -> list[tuple[str, str]]:
    """Every program of the examples, the golden tests, the benchmarks and the pages."""
    files = [path for folder in ("examples", "tests/golden", "benchmarks") for path in (ROOT / folder).rglob("*.dl")]
    texts = [(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8", errors="replace")) for path in files]
    for page in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]:
        blocks = re.findall(r"```datalog\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        texts += [(f"{page.name} {number}", block) for number, block in enumerate(blocks)]
    return texts


def test_right_programs_get_none_of_these_warnings() -> None:
    told = [(name, code) for name, text in programs() for code in found(text)]
    wrong = [
        (name, code)
        for name, code in told
        if Path(name).parent.name[:4] != code and not any(one in name for one in ON_PURPOSE.get(code, ()))
    ]
    assert not wrong


def test_a_query_of_a_predicate_that_nothing_mentions_warns() -> None:
    kb = KnowledgeBase("path(X, Y) :- edge(X, Y).")
    with pytest.warns(ProgramWarning, match=r"nothing mentions 'pth'[\s\S]*did you mean 'path'"):
        assert not list(kb.query("pth(1, X)"))
    kb.insert("other", [(1,)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kb.query("path(1, X), not other(X)")
        kb.query("edge(X, Y)")


def test_python_is_warned_of_traps_in_texts_and_at_its_own_line() -> None:
    with pytest.warns(ProgramWarning, match=r"W207[\s\S]*x and y are constants") as told:
        kb = KnowledgeBase("path(x, y) :- edge(x, y).")
    assert told[0].filename == __file__
    with pytest.warns(ProgramWarning, match=r"W208") as told:
        kb.add_rules("near(X, y) :- edge(X, y).")
    assert told[0].filename == __file__
    with pytest.warns(ProgramWarning, match=r"W209"):
        kb.apply(Change(add_rules=("odd(X) :- edge(X, _), X > 1 / 0.",)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kb.add_rules("far(X, Z) :- edge(X, Y), edge(Y, Z).")
        KnowledgeBase("p(X) :- q(X, Y).")


def test_warnings_come_and_go_with_their_rules() -> None:
    kb = KnowledgeBase("edge(1, 2). p(X) :- edge(X, Y).")
    assert [one.code for one in kb.warnings] == ["W201"]
    with pytest.warns(ProgramWarning):
        kb.add_rules("odd: path(x, y) :- edge(x, y). q(X) :- edge(X, Y).")
    assert [one.code for one in kb.warnings] == ["W201", "W201", "W207"]
    kb.remove_rules("odd", "p(X) :- edge(X, Z).")
    assert [one.code for one in kb.warnings] == ["W201"]
