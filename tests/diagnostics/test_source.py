"""Places in a text, hints for misspelt names, and the catalogue."""

import re
from difflib import get_close_matches

from hypothesis import given
from hypothesis import strategies as st

from corollary.diagnostics import CATALOGUE, KnownNames, Severity, Source, did_you_mean, suggest


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


@given(st.text("abAB01ß", max_size=7), st.lists(st.text("abAB01ß", max_size=7), max_size=12), st.booleans())
def test_the_nearest_of_many_names_is_the_nearest_of_all(name: str, names: list[str], many: bool) -> None:
    """Names that share too few letters are left out before they are compared: that changes no hint."""
    shortest, longest = len(name) * 0.7 / 1.3, len(name) * 1.3 / 0.7
    possible = [other for other in names if shortest <= len(other) <= longest and other != name]
    by_folded = {other.casefold(): other for other in sorted(possible, reverse=True)}
    nearest = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.7)
    expected = f"did you mean '{by_folded[nearest[0]]}'?" if nearest else None
    before, suggest._MANY = suggest._MANY, 0 if many else 500
    try:
        assert KnownNames(names).hint(name) == expected
        assert KnownNames(names[1:]).hint(name, names[:1]) == expected
    finally:
        suggest._MANY = before
