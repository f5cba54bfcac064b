"""The datatypes of XML Schema 1.1, RDF and RIF: their lexical forms, the meaning of these, and comparison of values."""

from corollary.program.datatypes.typed import (
    DATATYPES,
    RIF,
    LiteralError,
    canonical_literal,
    checked_iri,
    duration_of,
    is_value_of,
    moment_of,
    of_duration,
    of_moment,
    place_of,
    plain_literal,
    single,
    single_of,
    typed_value,
)

__all__ = [
    "DATATYPES",
    "RIF",
    "LiteralError",
    "canonical_literal",
    "checked_iri",
    "duration_of",
    "is_value_of",
    "moment_of",
    "of_duration",
    "of_moment",
    "place_of",
    "plain_literal",
    "single",
    "single_of",
    "typed_value",
]
