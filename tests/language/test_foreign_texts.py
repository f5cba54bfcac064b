"""Texts from elsewhere: comments of other languages, byte-order marks, halves of characters, and very many mistakes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from corollary import Change, Iri, KnowledgeBase, ProgramError, ProgramWarning
from corollary.analysis import analyse_texts
from corollary.diagnostics import Diagnostic, Source, catalogue, render_all
from corollary.diagnostics.diagnostic import MOST_SHOWN
from corollary.language import parse


def mistakes(text: str) -> list[tuple[str, int, int]]:
    return [(one.code, *one.span.position) for one in parse(text).diagnostics if one.span is not None]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("-- a comment\np(1).", (1, 1)),
        ("p(1). -- a comment\nq(2).", (1, 7)),
        ("p(1).\n  --a comment\nq(2).", (2, 3)),
        ("p(1).\n---------\nq(2).", (2, 1)),
        ("p(X) :- q(X), -- a comment\n r(X).", (1, 15)),
        ("p(X) :- -- a comment\n r(X).", (1, 9)),
        ("p(X) :- q(X) -- a comment\n, r(X).", (1, 14)),
    ],
)
def test_two_dashes_are_told_where_they_stand(text: str, place: tuple[int, int]) -> None:
    (found,) = parse(text).diagnostics
    assert found.message == "'--' does not start a comment"
    assert found.hint == "write // here"
    assert found.span is not None
    assert found.span.position == place


@pytest.mark.parametrize("expression", ["--5", "X --5", "X - -5", "-(-5)", "- -5"])
def test_two_minus_signs_are_two_minus_signs(expression: str) -> None:
    assert not parse(f"p(Y) :- q(X), Y = {expression}.").diagnostics


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffp(1). q(X) :- p(X).",
        "\ufeff// a comment\np(1). q(X) :- p(X).",
        "\ufeff% a comment\np(1). q(X) :- p(X).",
        "\ufeff# a comment\np(1). q(X) :- p(X).",
        "p(1).\n\ufeffq(X) :- p(X).",
        "\ufeff@prefix a: <http://a/> .\np(1). q(X) :- p(X).",
    ],
)
def test_a_byte_order_mark_says_nothing(text: str) -> None:
    kb = KnowledgeBase(text)
    assert list(kb.facts("q")) == [(1,)]
    assert list(kb.query("\ufeff?- q(X).")) == [(1,)]


@pytest.mark.parametrize(
    "text",
    ['p("\ud800").', "p('a\udfff') :- q.", "p(1). // \ud800", "<a\ud800>(1).", 'p("a"^^<\udc00>).', "?- p(_'\ud800')."],
)
def test_half_a_character_is_a_mistake_of_the_text(text: str) -> None:
    found = [one for one in analyse_texts(Source(text)).errors if one.kind is catalogue.INVALID_UTF8]
    assert len(found) == 1
    assert "surrogates" in str(ProgramError(found))
    with pytest.raises(ProgramError):
        KnowledgeBase(text)


@pytest.mark.parametrize("value", ["\ud800", Iri("a\ud800"), ("a", "\ud800")])
def test_half_a_character_is_no_constant_of_a_fact_either(value: object) -> None:
    with pytest.raises(ProgramError, match="E401"):
        KnowledgeBase().insert("p", [(value,)])
    with pytest.raises(ProgramError, match="E113"):
        KnowledgeBase("p(1).").query('p("\ud800")')


def test_of_very_many_mistakes_the_first_are_shown_and_the_others_counted() -> None:
    text = "\n".join(f"p{number}(X{number}) :- q." for number in range(10_000))
    with pytest.raises(ProgramError) as caught:
        KnowledgeBase(text)
    assert len(caught.value.diagnostics) == 10_001
    shown = str(caught.value)
    assert shown.count("error[E202]") == MOST_SHOWN
    assert shown.endswith("… and 9,950 more errors and 1 more warning")
    assert len(shown) < 20_000


def test_errors_are_shown_before_warnings() -> None:
    warnings = [Diagnostic(catalogue.SINGLE_OCCURRENCE, f"warning {number}") for number in range(60)]
    errors = [Diagnostic(catalogue.UNSAFE_VARIABLE, f"error {number}") for number in range(3)]
    shown = render_all([*warnings, *errors])
    assert all(f"error {number}" in shown for number in range(3))
    assert shown.endswith("… and 13 more warnings")
    assert "more" not in render_all(warnings[:MOST_SHOWN])


def test_of_very_many_warnings_the_first_are_given_and_the_others_counted() -> None:
    text = "".join(f"p{number}(x) :- q{number}(x).\n" for number in range(1000))
    with pytest.warns(ProgramWarning) as given:
        KnowledgeBase(text)
    assert len(given) == MOST_SHOWN + 1
    assert str(given[-1].message) == f"… and {1000 - MOST_SHOWN} more warnings"


@pytest.mark.parametrize(
    "use",
    [
        lambda kb: kb.insert("\ud800", [(1,)]),
        lambda kb: kb.delete("a\udfff", [(1,)]),
        lambda kb: kb.apply(Change(insert={"\ud800": [(1,)]})),
        lambda kb: kb.facts("\ud800"),
    ],
)
def test_half_a_character_is_no_name_of_a_predicate(use: Callable[[KnowledgeBase], object]) -> None:
    with pytest.raises(ProgramError, match="E113"):
        use(KnowledgeBase("p(1)."))


def test_every_message_can_be_printed() -> None:
    with pytest.raises(ProgramError) as raised:
        KnowledgeBase("p(1).").remove_rules("\ud800")
    assert str(raised.value).encode() == b"error[E206]: there is no rule '\\ud800'"
