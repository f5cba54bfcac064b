"""Program text: lexer, grammar, parser, printer, formatter."""

from corollary.language.formatter import format_source
from corollary.language.parser import (
    Parsed,
    decode_source,
    goes_on,
    parse,
    parse_program,
    parse_query,
    read_source,
    without_garbage_collection,
)
from corollary.language.permissions import NOTHING, TRUSTED, Permissions
from corollary.language.printer import Printer, print_element, print_program, print_rule, print_term, print_value

__all__ = [
    "NOTHING",
    "TRUSTED",
    "Parsed",
    "Permissions",
    "Printer",
    "decode_source",
    "format_source",
    "goes_on",
    "parse",
    "parse_program",
    "parse_query",
    "print_element",
    "print_program",
    "print_rule",
    "print_term",
    "print_value",
    "read_source",
    "without_garbage_collection",
]
