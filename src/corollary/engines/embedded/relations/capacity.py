"""How much the numbers of the embedded engine can number. Whatever comes near a bound is an error that says so.

Everything else that kernels hold (levels, registers, columns, stacks, buffers) has no bound: it is as long as a rule needs it.
"""

from __future__ import annotations

from corollary.diagnostics import Diagnostic, ProgramError, catalogue

MOST_ROWS = (1 << 32) - 1
"""Rows of one relation: their numbers have 32 bits, of which all ones mean that there is no row."""
MOST_CODES = (1 << 33) // 3
"""Constants: codes have 32 bits, and the table that finds them is at most two thirds full and has 32-bit slots."""
MOST_COUNTED = (1 << 32) - 1
"""How often one owner may derive one fact."""
MOST_TEXT = (1 << 32) - 1
"""Bytes of one text."""
MOST_NUMBERED_FACTS = (1 << 31) - 1
"""Facts that a stream's marking keeps: their numbers have 32 bits with a sign."""


def too_large(message: str) -> ProgramError:
    """The error about something that has outgrown the numbers of this engine."""
    return ProgramError([Diagnostic(catalogue.TOO_LARGE, message)])


def check_rows(wanted: int) -> None:
    """Raise if a relation would have more rows than there are numbers for."""
    if wanted > MOST_ROWS:
        raise too_large(f"a relation would have {wanted:,} facts, and the embedded engine holds {MOST_ROWS:,}")


def check_codes(wanted: int) -> None:
    """Raise if there would be more constants than there are codes."""
    if wanted > MOST_CODES:
        raise too_large(f"there would be {wanted:,} constants, and the embedded engine holds {MOST_CODES:,}")


def check_text(length: int) -> None:
    """Raise if a text is longer than its length can say."""
    if length > MOST_TEXT:
        raise too_large(f"a text has {length:,} bytes, and the embedded engine holds {MOST_TEXT:,}")


def check_counts(highest: int) -> None:
    """Raise if a fact would be derived more often than can be counted."""
    if highest > MOST_COUNTED:
        raise too_large(f"one fact is derived {highest:,} times by one rule, and {MOST_COUNTED:,} can be counted")


def check_numbered(wanted: int) -> None:
    """Raise if a stream would keep more facts than its marking has numbers for."""
    if wanted > MOST_NUMBERED_FACTS:
        raise too_large(
            f"a stream would keep {wanted:,} facts, and the embedded engine numbers {MOST_NUMBERED_FACTS:,}"
        )
