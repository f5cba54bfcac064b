"""Whatever the text is: a clear diagnostic within seconds, never a traceback."""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.analysis import analyse_texts
from corollary.diagnostics import ProgramError, Source, render_all
from corollary.language import decode_source, format_source, parse, parse_program, print_program, read_source
from tests.oracle import evaluate

MANY = 10_000
LARGE = 10_000_000
SECONDS = 30  # of the processor: what takes quadratic time takes hours


def codes(text: str) -> list[str]:
    """The codes of everything that a check finds, which must be showable and quick."""
    start = time.process_time()
    found = analyse_texts(Source(text, "a.dl")).diagnostics
    assert len(render_all(found)) < 100_000
    assert time.process_time() - start < SECONDS
    return [diagnostic.code for diagnostic in found]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("@unknown directive .", "E109"),
        ('p("never closed).', "E102"),
        ("p(1). p(1, 2).", "E201"),
        ("q(1). p(X, Y) :- q(X).", "E202"),
        ("q(1). p(X) :- q(X), not p(X).", "E203"),
        ("p(a\0b).", "E114"),
        ("\0", "E114"),
        ('p("a\0b").', "E114"),
        ("// a\0b\np(a).", "E114"),
        ("", "W101"),
    ],
)
def test_each_mistake_has_its_code(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_bytes_that_are_not_utf8_are_shown_at_their_place() -> None:
    with pytest.raises(ProgramError) as caught:
        decode_source(b'p(a).\nname("M\xfcller").\n', "a.dl")
    (found,) = caught.value.diagnostics
    assert found.code == "E113"
    assert found.span is not None
    assert found.span.position == (2, 8)
    assert "0xFC" in found.message


@pytest.mark.parametrize("data", [b"\xff\xfep\0(\0", b"\x80", b"p(a). \xc3", b"\xed\xa0\x80"])
def test_any_bytes_give_a_text_or_a_diagnostic(data: bytes) -> None:
    with pytest.raises(ProgramError, match="E113"):
        decode_source(data, "a.dl")


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert decode_source(b"\xef\xbb\xbfp(a).", "a.dl").text == "p(a)."


def test_a_file_that_cannot_be_read_is_a_diagnostic(tmp_path) -> None:
    for path in (tmp_path / "missing.dl", tmp_path):
        with pytest.raises(ProgramError, match="E100"):
            read_source(path)


GIANTS: dict[str, tuple[Callable[[], str], list[str]]] = {
    "word": (lambda: "p(" + "a" * LARGE + ").", ["W103", "E108"]),
    "string": (lambda: 'p("' + "a" * LARGE + '").', ["W103", "E108"]),
    "string without end": (lambda: 'p("' + "a" * LARGE, ["W103", "E102"]),
    "number": (lambda: "p(" + "1" * LARGE + ").", ["W103", "E108"]),
    "predicate": (lambda: "p" * LARGE + "(1).", ["E108"]),
    "line of facts": (lambda: "edge(1, 2). " * (LARGE // 12), ["W103"]),
    "line of a fact": (lambda: "p(" + "1, " * (LARGE // 3) + "1).", ["E108"]),
    "line of a rule": (lambda: "p(X) :- " + "q(X), " * (LARGE // 6) + "q(X).", ["E108"]),
    "line of one operator": (lambda: "p(X) :- X = " + "a-" * (LARGE // 2) + "a.", ["W103", "E107"]),
    "line of white space": (lambda: " " * LARGE + "p(a).", ["W103"]),
    "comment": (lambda: "/*" + "a" * LARGE, ["E103"]),
    "run of control characters": (lambda: "\0" * 1_000_001, ["E114"]),
}


@pytest.mark.parametrize("name", GIANTS)
def test_ten_megabytes_on_one_line_take_seconds(name: str) -> None:
    make, expected = GIANTS[name]
    assert codes(make()) == expected


@pytest.mark.parametrize(
    "text", ["$ ", "? ", "a: ", "p(1 2). ", ". ", '"a\n', "\0 ", "@ . ", "'", "<a b> ", "p. % x\n", "\\ "]
)
def test_the_same_mistake_without_end_is_told_fifty_times_at_most(text: str) -> None:
    assert 1 <= len([code for code in codes(text * 100_000) if code.startswith("E")]) <= 50


NESTED = {
    "lists": ("[" * MANY, "]" * MANY),
    "parentheses": ("(" * MANY, ")" * MANY),
    "function terms": ("f(" * MANY, ")" * MANY),
    "lists in function terms": ("f([" * MANY, "])" * MANY),
    "minus signs": ("-" * MANY, ""),
    "sums": ("1 + " * MANY, ""),
    "products": ("2 * " * MANY, ""),
    "parenthesised sums": ("(1 + " * MANY, ")" * MANY),
    "list tails": ("[a | " * MANY, "]" * MANY),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize(
    "around", ["p({}).", "p(X) :- q(X), r({}).", "p(X) :- q(X), X = {}.", "p({}) :- q(X).", "?- p({})."]
)
def test_ten_thousand_levels_are_one_error(name: str, around: str) -> None:
    before, after = NESTED[name]
    assert "E107" in codes("q(1). " + around.format(f"{before}1{after}"))
    with pytest.raises(ProgramError, match="E107"):
        format_source(Source(around.format(f"{before}1{after}")))


@pytest.mark.parametrize("name", NESTED)
def test_ten_thousand_levels_that_are_never_closed_are_one_error(name: str) -> None:
    assert "E107" in codes(f"p({NESTED[name][0]}")


@pytest.mark.parametrize("word", ["not ", "! ", "¬", "not(", "NOT NAF "])
def test_ten_thousand_negations_are_one_error(word: str) -> None:
    assert "E107" in codes("q(1). p(X) :- q(X), " + word * MANY + "q(X).")


def test_reading_goes_on_behind_what_was_nested_too_deeply() -> None:
    parsed = parse("p(" + "[" * MANY + "]" * MANY + ").\nq(1).\nr(1 2).")
    assert [diagnostic.code for diagnostic in parsed.diagnostics] == ["E107", "E104"]
    assert [facts.predicate for facts in parsed.program.facts] == ["q"]


@pytest.mark.parametrize("nested", ["[" * 190 + "1" + "]" * 190, "f(" * 190 + "1" + ")" * 190, "1 + " * 190 + "1"])
def test_what_is_allowed_can_be_checked_printed_formatted_and_evaluated(nested: str) -> None:
    text = f"q({nested}).\np(X) :- q(X).\n"
    program = parse_program(text)
    assert not analyse_texts(Source(text)).diagnostics
    assert parse_program(print_program(program)) == program
    assert parse_program(format_source(Source(text))) == program
    assert len(evaluate(program)["p"]) == 1


def test_a_conjunction_of_ten_thousand_atoms_is_no_nesting() -> None:
    text = "q(1). p(X) :- " + ", ".join(["q(X)"] * MANY) + "."
    assert codes(text) == []


def test_a_chain_of_two_thousand_rules_is_checked_in_seconds() -> None:
    assert codes("q0(1). " + " ".join(f"q{i + 1}(X) :- q{i}(X)." for i in range(2000))) == []


def test_two_thousand_warnings_do_not_stop_reading() -> None:
    found = analyse_texts(Source("q(1, 2). " + "".join(f"p{i}(X) :- q(X, Y). " for i in range(2000))))
    assert len(found.warnings) == 2000
    assert not found.errors


SNIPPETS = st.sampled_from(
    [
        *(
            "p",
            "q(",
            "(",
            ")",
            "[",
            "]",
            "|",
            ",",
            ".",
            ":-",
            "<-",
            ":=",
            "?-",
            "@prefix",
            "@input",
            "ex:",
            ":",
            "r1:",
            "<http://e/>",
        ),
        *(
            "X",
            "?x",
            "_",
            "_x",
            "_date(",
            "1",
            "1.5",
            "1e5",
            '"a"',
            "'",
            '"',
            "@en",
            "^^",
            "xsd:date",
            "not",
            "and",
            "div",
            "%",
            "#",
            "//",
        ),
        *(
            "/*",
            "*/",
            "+",
            "-",
            "*",
            "/",
            "<",
            "<=",
            ">",
            "=",
            "!=",
            "!",
            "¬",
            "∧",
            "&",
            "AGGREGATE(",
            "ON",
            "WITH",
            "AS",
            "count(",
            "BIND(",
        ),
        *("COMP(", "distinct", "\n", " ", "\t", "\0", "\\", "$", "é", "日", "{", "}", ";", "true"),
    ]
)


@given(st.lists(SNIPPETS, max_size=25).map("".join))
def test_no_text_of_pieces_of_the_language_raises_anything_but_a_program_error(text: str) -> None:
    found = analyse_texts(Source(text, "a.dl"))
    render_all(found.diagnostics)
    with suppress(ProgramError):
        format_source(Source(text, "a.dl"))


@given(st.text(max_size=60))
def test_no_text_at_all_raises_anything_but_a_program_error(text: str) -> None:
    render_all(analyse_texts(Source(text, "a.dl")).diagnostics)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_a_program_error(data: bytes) -> None:
    with suppress(ProgramError):
        render_all(analyse_texts(decode_source(data, "a.dl")).diagnostics)
