"""Regular expressions of XML Schema and XPath: what matches, and what is none."""

from __future__ import annotations

import pytest

from corollary.program import EvaluationError
from corollary.program.builtins.regex import compiled


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"^[\s\S]$", "x \n", ""),
        (r"[\S]", "x\u00a0", " \t\n\r"),
        (r"[^\S]", " \n", "x"),
        (r"[\D]", "x", "1٢"),
        (r"[\d\D]", "x1", ""),
        (r"[\W]", "- .", "xé1"),
        (r"[\i\c]", "x:1-", " ("),
        (r"[\I]", "1- ", "x:_é"),
        (r"[^\I]", "x:_", "1-"),
        (r"[\C]", "( ", "x1-."),
        (r"[\s\w-[x]]", "a1 ", "x-"),
        (r"[\S-[a-c]]", "d-", "abc "),
        (r"[^a-[b]]", "cd", "ab"),
        (r"\p{IsBasicLatin}", "x\x7f", "é"),
        (r"[\p{IsBasicLatin}\p{IsGreek}]", "xα", "é"),
        (r"[^\p{IsBasicLatin}]", "é", "x"),
        (r"\P{IsLatin-1Supplement}", "xĀ", "é"),
        (r"\p{IsLatinExtended-A}", "Ā", "é"),
        (r"[\P{L}]", "1", "x"),
        (r"[a-c\-]", "a-", "d"),
        (r"[-a]", "-a", "b"),
        (r"[a-]", "-a", "b"),
        (r"[+--]", "+,-", "."),
        (r"[\n-\r]", "\n\r", "\t"),
        (r"[&&~|a]", "&~|a", "b"),
        (r"[\^\]\[]", "^][", "a"),
        (r"^(?:a|x)$", "ax", "b"),
        (r"^x{1,}?$", "x", "y"),
    ],
)
def test_what_matches(pattern: str, matching: str, other: str) -> None:
    assert all(compiled(pattern).search(one) for one in matching)
    assert not any(compiled(pattern).search(one) for one in other)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "[]a]",
            "[[a]]",
            "[]",
            "[a[b]]",
            r"[\s-a]",
            r"[a-\d]",
            "[z-a]",
            "[a-c-e]",
            r"[\y]",
            r"[\1]",
            "[a",
            "a]",
            "a}",
        ),
        *(
            "a*+",
            "a++",
            "a{2}{3}",
            "a**",
            "a{2,1}",
            "a{,3}",
            "a{",
            "*a",
            r"\ba",
            r"\Aa",
            "(?i)a",
            "(a",
            r"\p{IsNowhere}",
        ),
        *(r"\p{Xx}", r"\p", "a\\"),
    ],
)
def test_what_is_no_regular_expression(pattern: str) -> None:
    with pytest.raises(EvaluationError):
        compiled(pattern)
