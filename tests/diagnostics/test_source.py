"""Places in a text, hints for misspelt names, and the catalogue."""

import re

from hypothesis import given
from hypothesis import strategies as st

from corollary.diagnostics import CATALOGUE, Severity, Source, did_you_mean


def test_lines_and_columns_count_from_one_and_columns_are_characters() -> None:
    source = Source("ä\n日本x\n")
    assert source.position(0) == (1, 1)
    assert source.position(1) == (1, 2)
    assert source.position(4) == (2, 3)
    assert source.position(6) == (3, 1)


@given(st.text(alphabet="ab\n", max_size=40), st.integers(0, 40))
def test_a_position_leads_back_to_its_offset(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    line, column = Source(text).position(offset)
    assert sum(len(before) + 1 for before in text.split("\n")[: line - 1]) + column - 1 == offset


def test_a_span_joins_with_a_later_one() -> None:
    source = Source("p(a, b)", "folder/a.dl")
    joined = source.span(2, 3).to(source.span(5, 6))
    assert joined.text == "a, b"
    assert repr(joined) == "a.dl:1:3"


def test_the_nearest_name_is_suggested_whatever_its_case() -> None:
    assert did_you_mean("egde", ["edge", "node"]) == "did you mean 'edge'?"
    assert did_you_mean("PATH", ["path"]) == "did you mean 'path'?"


def test_nothing_is_suggested_when_nothing_is_near() -> None:
    assert did_you_mean("x", ["edge", "node"]) is None
    assert did_you_mean("edge", ["edge"]) is None


def test_codes_tell_errors_from_warnings() -> None:
    for code, kind in CATALOGUE.items():
        assert re.fullmatch(r"[EW][1-9]\d\d", code)
        assert (kind.severity is Severity.ERROR) == code.startswith("E")
        assert kind.code == code
