"""Where comments begin, and where the same signs mean something else."""

import pytest

from corollary.language import parse
from corollary.program import Arithmetic
from tests.language.helpers import codes, same, term, value


@pytest.mark.parametrize(
    "text",
    [
        "// to the end of the line\np(a).",
        "p(a). // behind a clause",
        "p(a).//directly behind it",
        "p(a // inside a clause\n).",
        "/* a block */ p(a).",
        "/* over\n several\n lines */ p(a).",
        "p(/* inside */a).",
        "p(a/**/).",
        "p(a). /* // not nested */",
        "# at the start\np(a).",
        "   # after white space\np(a).",
        "p(a). # behind a clause",
        "p(a # inside a clause\n).",
        "% at the start of a line\np(a).",
        "   % white space before it\np(a).",
        "\t%%% more of them\np(a).",
        "p(\n% inside a clause\na).",
        "p(a). // no line end behind it",
        "p(a). # no line end behind it",
    ],
)
def test_a_comment_does_not_change_the_program(text: str) -> None:
    assert same(text, "p(a).")


def test_a_percent_sign_elsewhere_is_modulus_as_in_iris() -> None:
    assert isinstance(term("X % 2"), Arithmetic)
    assert same("r(X) :- p(X), X % 2 = 1.", "r(X) :- p(X), X mod 2 = 1.")


@pytest.mark.parametrize("text", ["p(a). % what?", "p(X) :- q(X), % and\n r(X).", "p(X) :- q(X) % from\n."])
def test_a_percent_comment_behind_something_is_one_error_with_the_remedy(text: str) -> None:
    (found,) = parse(text).diagnostics
    assert found.is_error
    assert found.hint is not None
    assert found.hint.endswith("write // here")


@pytest.mark.parametrize("sign", ["//", "/*", "#", "%"])
def test_the_signs_of_comments_mean_nothing_inside_strings_and_iris(sign: str) -> None:
    assert value(f'"a {sign} b"') == f"a {sign} b"
    assert value(f"'{sign}'") == sign
    assert same(f"p(<http://a{sign}b>).", f"p(<http://a{sign}b>). // comment")


def test_a_hash_directly_behind_something_starts_no_comment() -> None:
    assert value("<http://example.org/#part>").value == "http://example.org/#part"  # type: ignore[union-attr]
    assert codes("p(a)#b") != []


def test_a_slash_alone_divides() -> None:
    assert isinstance(term("X / 2"), Arithmetic)
    assert isinstance(term("X/2"), Arithmetic)


def test_comments_are_kept_for_the_formatter_in_their_order() -> None:
    parsed = parse("// one\np(a). # two\n/* three */ q(b). % q\n% four\n".replace(" % q", ""))
    assert [comment.text for comment in parsed.comments] == ["// one", "# two", "/* three */", "% four"]


def test_an_unclosed_block_comment_is_reported_where_it_opens() -> None:
    (found,) = parse("p(a).\n/* open\nq(b).").diagnostics
    assert (found.code, found.span.position) == ("E103", (2, 1))
