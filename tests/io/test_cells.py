"""What a cell of a text file means, and that whole columns are understood like single cells."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.engines.embedded.values.encoder import encode_table
from corollary.engines.embedded.values.universe import Universe
from corollary.io.rdf import ntriples_term
from corollary.language.cells import CELLS, MEANING, TERMS, cell_value, term_value
from corollary.program import Iri, Literal, Structure, Value, canonical, identity
from corollary.program.values import RDF, XSD


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-7", -7),
        ("9223372036854775807", 2**63 - 1),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("1.5", Decimal("1.5")),
        ("1.50", Decimal("1.5")),
        ("2.0", 2),
        ("-0.0", 0),
        ("1e5", 1e5),
        ("1.5E-3", 0.0015),
        ("-INF", float("-inf")),
        ("true", True),
        ("false", False),
    ],
)
def test_numbers_and_booleans_in_their_usual_form_are_that(text: str, value: Value) -> None:
    assert column_of(CELLS, text) == [identity(value)]


@pytest.mark.parametrize(
    "text",
    ["", " ", "abc", "007", "+5", "-0", "1.", ".5", " 5", "5 ", "1_000", "0x1F", "1,5", "TRUE", "inf", "nan", "--1", "٣",
     "1e", "e5", "-", "<http://example.org/a>", '"quoted"'],
)  # fmt: skip
def test_everything_else_is_a_string(text: str) -> None:
    assert column_of(CELLS, text) == [identity(text)]


cells = st.one_of(
    st.text(max_size=8),
    st.integers().map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.floats().map(repr),
    st.from_regex(r"[-+]?[0-9]{0,3}\.?[0-9]{0,3}([eE][-+]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["true", "false", "INF", "-INF", "NaN", "-0", "-0.0", "0.0", "00", "", "9" * 18, "-" + "9" * 19]),
)


@given(st.lists(cells, max_size=20))
def test_a_column_of_cells_is_understood_cell_by_cell(texts: list[str]) -> None:
    texts = [text for text in texts if text.isprintable() or text.isascii()]
    assert column_of(CELLS, *texts) == [identity(canonical(cell_value(text))) for text in texts]


constants = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(max_size=10),
    st.from_regex(r"http://e\.org/[^\x00-\x20<>\"{}|^`\\]{0,8}", fullmatch=True).map(Iri),
    st.builds(
        lambda text, tag: Literal(text, RDF + "langString", tag), st.text(max_size=6), st.sampled_from(["en", "de-at"])
    ),
    st.dates().map(lambda day: Literal(day.isoformat(), XSD + "date")),
    st.text(max_size=6).map(lambda text: Literal(text, "http://e.org/type")),
)


@given(st.lists(constants, max_size=20))
def test_a_column_of_terms_gives_back_the_constants(values: list[Value]) -> None:
    texts = [ntriples_term(value) for value in values]
    assert column_of(TERMS, *texts) == [identity(value) for value in values]
    assert [identity(term_value(text)) for text in texts] == [identity(value) for value in values]


def test_terms_are_also_read_as_programs_write_them() -> None:
    texts = ["abc", "f(1, [a, 2.5])", "_:node", "1e0", "[]", '"caf\\u00E9"', "-3"]
    values = ["abc", Structure("f", (1, ("a", Decimal("2.5")))), Iri("_:node"), 1.0, (), "café", -3]
    assert column_of(TERMS, *texts) == [identity(value) for value in values]


@pytest.mark.parametrize("text", ["X", "p(X)", "1, 2", "", "a b", "?-", '"open'])
def test_what_is_no_constant_is_no_term(text: str) -> None:
    with pytest.raises(ValueError, match="is not a constant"):
        term_value(text)


def column_of(meaning: bytes, *texts: str) -> list[tuple[str, object]]:
    """The constants that a column of these texts is encoded as."""
    field = pa.field("x", pa.string(), metadata={MEANING: meaning})
    table = pa.Table.from_arrays([pa.array(texts, pa.string())], schema=pa.schema([field]))
    universe = Universe()
    return [identity(universe.value(code)) for code in encode_table(universe, table)[:, 0].tolist()]
