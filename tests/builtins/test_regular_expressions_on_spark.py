"""Regular expressions on Spark: what the embedded engine says, and never without an end."""

from __future__ import annotations

import time

import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.engines.spark.algebra.column_functions import _is_linear_in_java
from tests.services.spark_session import shared_session

TEXTS = ["a" * 2000 + "!", "abc", "c-00d", "a" * 30, "xyx", "ABC", ""]
PATTERNS = [
    "^(a+)+$",
    "a*a*a*a*a*a*a*a*a*c",
    "a?" * 30 + "a" * 30,
    ".*.*.*=.*",
    "(x+x+)+y",
    "^a.*c$",
    "c-0*d",
    "[^a-y]",
    "a.*c",
    r"^(.).\\1$",
]


@pytest.mark.parametrize(
    ("pattern", "is_linear"),
    [
        ("abc", True),
        ("^a.*c$", True),
        ("a.*c", False),
        ("c-0*d", True),
        ("abc.*", True),
        ("[a-z]+", True),
        ("[a-z]+1", False),
        ("a+b*", False),
        ("a?b?c?", True),
        ("a?b?c?d?", False),
        ("^a*a*$", False),
    ],
)
def test_java_gets_patterns_that_take_linear_time_there(pattern: str, is_linear: bool) -> None:
    assert _is_linear_in_java(pattern, whole=False) is is_linear


@pytest.mark.spark
def test_patterns_end_and_mean_the_same() -> None:
    rules = " ".join(
        f'm{number}(X) :- t(X), pred:matches(X, "{pattern}"). r{number}(X) :- t(X), REGEX(X, "{pattern}").'
        for number, pattern in enumerate(PATTERNS)
    )
    embedded = KnowledgeBase(rules)
    embedded.insert("t", TEXTS)
    started = time.monotonic()
    with KnowledgeBase(rules, engine=shared_session()) as kb:
        kb.insert("t", TEXTS)
        for number in range(len(PATTERNS)):
            for name in (f"m{number}", f"r{number}"):
                assert set(kb.facts(name)) == set(embedded.facts(name)), PATTERNS[number]
    assert time.monotonic() - started < 300


@pytest.mark.spark
def test_a_match_that_takes_too_long_is_a_limit_there_too() -> None:
    with KnowledgeBase(r'm(X) :- t(X), pred:matches(X, "^(a|a)*\\1c$").', engine=shared_session()) as kb:
        kb.insert("t", ["a" * 80 + "c!"])
        with pytest.raises(ProgramError, match=r"E302.*takes too long"):
            kb.count("m")
