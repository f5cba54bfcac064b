"""A diagnostic as text: where the caret stands and what is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary import KnowledgeBase
from corollary.diagnostics import Diagnostic, ProgramError, Source, catalogue, render, render_all

KIND = catalogue.UNEXPECTED_TOKEN


def rendered(text: str, start: int, end: int, **more: object) -> list[str]:
    return render(Diagnostic(KIND, "wrong", Source(text, "a.dl").span(start, end), **more)).split("\n")


def test_header_place_line_caret_notes_and_hint_follow_each_other() -> None:
    assert rendered("p(a).\nq(b).", 8, 9, hint="do this", notes=("one", "two")) == [
        "error[E104]: wrong",
        " --> a.dl:2:3",
        "  |",
        "2 | q(b).",
        "  |   ^",
        "  = note: one",
        "  = note: two",
        "  = hint: do this",
    ]


def test_a_warning_says_that_it_is_one() -> None:
    assert render(Diagnostic(catalogue.EMPTY_PROGRAM, "nothing")) == "warning[W101]: nothing"


def test_a_diagnostic_without_a_place_has_its_hint_below_the_message() -> None:
    text = render(Diagnostic(catalogue.UNKNOWN_RULE, "there is no rule 'a'", hint="did you mean 'b'?"))
    assert text == "error[E206]: there is no rule 'a'\n  = hint: did you mean 'b'?"


def test_the_gutter_is_as_wide_as_the_line_number() -> None:
    assert rendered("\n" * 99 + "p(a).", 99, 100)[1:] == [
        "   --> a.dl:100:1",
        "    |",
        "100 | p(a).",
        "    | ^",
    ]


def test_an_empty_span_gets_a_caret_of_one() -> None:
    assert rendered("p(a", 3, 3)[-2:] == ["1 | p(a", "  |    ^"]


def test_a_span_over_several_lines_is_marked_to_the_end_of_its_first_line() -> None:
    assert rendered("p(a,\n  b).", 0, 9)[-2:] == ["1 | p(a,", "  | ^^^^"]


def test_a_tab_takes_one_column_in_the_shown_line() -> None:
    assert rendered("\tp(\ta).", 4, 5)[-2:] == ["1 |  p( a).", "  |     ^"]


def test_wide_characters_take_two_columns_and_combining_marks_none() -> None:
    assert rendered('"日本" x', 5, 6)[-2:] == ['1 | "日本" x', "  |        ^"]
    assert rendered('"e\u0301" x', 5, 6)[-2:] == ['1 | "e\u0301" x', "  |     ^"]
    assert rendered("日本", 0, 2)[-1] == "  | ^^^^"


def test_control_characters_are_shown_as_replacement_characters() -> None:
    assert rendered("p(\x1b[31m).", 2, 3)[-2:] == ["1 | p(\ufffd[31m).", "  |   ^"]


def test_a_long_line_is_cut_around_the_caret() -> None:
    line, caret = rendered("a" * 500 + "X" + "b" * 500, 500, 501)[-2:]
    shown = line.removeprefix("1 | ")
    assert (shown[:2], shown[-2:], len(shown)) == ("…a", "b…", 112)
    assert shown[len(caret.removeprefix("  | ")) - 1] == "X"


def test_a_caret_never_leaves_the_shown_part() -> None:
    line, caret = rendered("a" * 1000, 10, 900)[-2:]
    assert len(caret) <= len(line)


def test_a_long_note_is_cut() -> None:
    note = rendered("p", 0, 1, notes=("x" * 1000,))[-1]
    assert note == "  = note: " + "x" * 400 + "…"


def test_a_long_name_makes_no_long_message() -> None:
    with pytest.raises(ProgramError) as raised:
        KnowledgeBase(f"e(1). q(X) :- e(X), {'f' * 100_000}(X) > 3.")
    assert len(str(raised.value)) < 5_000


def test_several_diagnostics_are_separated_by_an_empty_line() -> None:
    one = Diagnostic(KIND, "a")
    assert render_all([one, one]) == "error[E104]: a\n\nerror[E104]: a"


def test_a_program_error_reads_like_its_diagnostics() -> None:
    assert str(ProgramError([Diagnostic(KIND, "a"), Diagnostic(KIND, "b")])) == "error[E104]: a\n\nerror[E104]: b"


def test_as_dict_has_code_message_and_place_from_one() -> None:
    found = Diagnostic(KIND, "wrong", Source("p\nq", "a.dl").span(2, 3), "h", ("n",)).as_dict()
    assert found == {
        "code": "E104",
        "message": "wrong",
        "line": 2,
        "column": 1,
        "file": "a.dl",
        "hint": "h",
        "notes": ["n"],
    }
    assert Diagnostic(KIND, "wrong").as_dict()["line"] is None


@given(st.text(max_size=300), st.integers(0, 300), st.integers(0, 300))
def test_any_place_of_any_text_can_be_shown(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    lines = rendered(text, start, min(start + length, len(text)))
    assert len(lines) == 5
    assert set(lines[-1].removeprefix(lines[2])) <= {" ", "^"}


@pytest.mark.parametrize("text", ["p(a).\r\nq(b).", "p(a).\nq(b)."])
def test_windows_line_ends_are_not_shown(text: str) -> None:
    assert rendered(text, 0, 1)[3] == "1 | p(a)."
