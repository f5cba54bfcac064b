"""`corollary fmt`: canonical text that keeps comments and paragraphs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.diagnostics import ProgramError, Source
from corollary.language import format_source, parse, parse_program

CLAUSES = [
    *(
        "p(a).",
        "p( 1,2 ).",
        "edge(1, 2).  edge(3,4).",
        "p(a) :- .",
        "p(1), q(2).",
        "p(2*3).",
        'p("a # b", "// c", "% d").',
    ),
    *(
        "p(X):-q(X),not r(X).",
        "p(X) :-\n    q(X),\n    r(X).",
        "r1: p(X) <- q(X) ∧ X != 1.",
        "a(X), b(X) :- c(X).",
        "p :- q.",
    ),
    *(
        "p(X, count(Y)) :- q(X, Y).",
        "p(X,N) :- AGGREGATE(q(X,Y)) on X with med(Y) as N.",
        "?- p(X),X<3.",
        "?- <http://e/p>(X).",
    ),
    *(
        "@prefix ex: <http://e/> .",
        "@output p .",
        '@input q("q.csv", header=true) .',
        "@function f/2 .",
        "p(X) :- X = 5.",
    ),
    "long(X) :- " + ", ".join(f"a_rather_long_predicate_name_{i}(X)" for i in range(6)) + ".",
    "p(/* inside */ X) :- // and here\n    q(X). // behind it",
    "p(X) :- q(X), # one\n % two\n r(X). /* three */ s(1).",
]
COMMENTS = [
    "// a comment",
    "//",
    "# hash",
    "% percent",
    "/* block */",
    "/* several\n   lines */",
    "/** doc\n *  more\n */",
    "//// many",
]


def formatted(text: str) -> str:
    return format_source(Source(text))


def comments(text: str) -> list[str]:
    return sorted(comment.text for comment in parse(text, join_facts=False).comments)


def test_a_clause_gets_its_canonical_form() -> None:
    assert formatted("p( X )<-q(X)and not(r(X)),X<>1 .") == "p(X) :- q(X), not r(X), X != 1.\n"
    assert formatted("p('a', \"b c\",1.50).") == 'p(a, "b c", 1.5).\n'
    assert formatted("r1 :p(?X):-q(?X).") == "r1: p(X) :- q(X).\n"
    assert formatted("@prefix ex:<http://e/>.p(ex:a).") == "@prefix ex: <http://e/> .\np(ex:a).\n"


def test_every_clause_gets_a_line_of_its_own() -> None:
    assert formatted("p(1). p(2).   q(3).") == "p(1).\np(2).\nq(3).\n"


def test_a_long_rule_gets_a_line_for_each_part_of_its_body() -> None:
    names = [f"a_rather_long_predicate_name_{i}(X)" for i in range(5)]
    assert formatted(f"p(X) :- {', '.join(names)}.") == "p(X) :-\n    " + ",\n    ".join(names) + ".\n"


def test_paragraphs_stay_apart_by_one_empty_line() -> None:
    assert formatted("p(1).\n\n\n\nq(2).\nr(3).\n\ns(4).\n\n\n") == "p(1).\n\nq(2).\nr(3).\n\ns(4).\n"


def test_comments_stay_before_and_behind_their_clauses() -> None:
    text = "// title\n\n# before p\np(1).  // behind p\n% before q\nq(2).\n/* end */\n"
    assert formatted(text) == text


def test_a_comment_behind_the_first_of_two_clauses_stays_there() -> None:
    assert formatted("p(1). /* one */ q(2). // two") == "p(1).  /* one */\nq(2).  // two\n"


def test_a_comment_inside_a_clause_moves_above_it() -> None:
    assert formatted("p(X) :- // why\n  q(X).\n") == "// why\np(X) :- q(X).\n"


def test_a_block_comment_keeps_its_lines() -> None:
    text = "/* one\n     two\n three */\np(1).\n"
    assert formatted(text) == text


def test_a_text_of_comments_only_keeps_them() -> None:
    assert formatted("// one\n\n\n/* two */\n") == "// one\n\n/* two */\n"


def test_an_empty_text_stays_empty() -> None:
    assert formatted("") == ""
    assert formatted("\n\n  \n") == ""


def test_windows_line_ends_become_plain_ones() -> None:
    text = "// a\r\np(1).\r\n\r\nq(2).  // b\r\n/* c\r\n d */\r\n"
    assert formatted(text) == text.replace("\r", "")


def test_the_order_of_facts_is_kept() -> None:
    assert formatted("p(2). q(1). p(1).") == "p(2).\nq(1).\np(1).\n"


def test_a_text_with_mistakes_is_refused() -> None:
    with pytest.raises(ProgramError) as caught:
        formatted("p(1 2).\nq('a).")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E104", "E102"]


def test_warnings_do_not_stop_it() -> None:
    assert formatted("p(X) := q(X).") == "p(X) :- q(X).\n"


@st.composite
def texts(draw: st.DrawFn) -> str:
    pieces = st.one_of(st.sampled_from(CLAUSES), st.sampled_from(COMMENTS))
    text = ""
    for piece in draw(st.lists(pieces, max_size=8)):
        starts_line = (
            piece.startswith(("%", "#")) or "//" in text.rsplit("\n", 1)[-1] or "#" in text.rsplit("\n", 1)[-1]
        )
        separators = (
            ["\n", "\n\n", "\n\n\n", "\n  "] if starts_line or "%" in text.rsplit("\n", 1)[-1] else [" ", "\n", "\n\n"]
        )
        text += draw(st.sampled_from(separators)) + piece
    return text + draw(st.sampled_from(["", "\n", "\n\n"]))


@given(texts())
def test_formatting_changes_neither_the_program_nor_the_comments(text: str) -> None:
    result = formatted(text)
    assert parse_program(result) == parse_program(text)
    assert comments(result) == comments(text)


@given(texts())
def test_formatting_twice_is_formatting_once(text: str) -> None:
    once = formatted(text)
    assert formatted(once) == once


@given(texts())
def test_a_formatted_text_has_no_trailing_spaces_and_no_two_empty_lines(text: str) -> None:
    result = formatted(text)
    assert "\n\n\n" not in result
    assert not result.startswith("\n")
    assert all(line == line.rstrip() for line in result.split("\n"))
    assert result == "" or (result.endswith("\n") and not result.endswith("\n\n"))
