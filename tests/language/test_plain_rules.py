"""Plain rules are read without the parser, and mean what it would have read: the same statements at the same places."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.diagnostics import Source, Span
from corollary.language import parse
from corollary.language.lexer import MAX_CLAUSE_TOKENS
from corollary.language.parser import Parsed
from corollary.language.plain_rules import RuleReader
from tests.budgets import examples


def shown(part: object) -> object:
    """A statement with the place of everything in it."""
    if isinstance(part, Span):
        return part.start, part.end
    if is_dataclass(part):
        return type(part).__name__, *(shown(getattr(part, field.name)) for field in fields(part))
    return [shown(one) for one in part] if isinstance(part, (tuple, list)) else (type(part).__name__, part)


def read_both_ways(text: str) -> tuple[Parsed, Parsed]:
    source = Source(text)
    quick = parse(source)
    with patch.object(RuleReader, "read", lambda *_: None):
        return quick, parse(source)


def assert_same(text: str) -> None:
    quick, slow = read_both_ways(text)
    assert shown(quick.program.statements) == shown(slow.program.statements)
    assert [(one.code, one.message, shown(one.span)) for one in quick.diagnostics] == [
        (one.code, one.message, shown(one.span)) for one in slow.diagnostics
    ]


PIECES = st.sampled_from(
    [
        *(
            "p(X, Y)",
            "q(X)",
            "Foo(X)",
            "p( X ,\n Y )",
            'p("a, b", X)',
            "p(-5, _)",
            "p(abc, 007)",
            "p()",
            "p",
            "length(X)",
            "p (X)",
        ),
        *(
            "not p(X)",
            "not  q(_)",
            "NOT p(X)",
            "not(p)",
            "! p(X)",
            "LESS(X, 3)",
            "TRUE",
            "comp(X, Y)",
            "distinct(X)",
            "p(not)",
        ),
        *(
            "X < 3",
            "X <3",
            "X<-5",
            "X = abc",
            "X = true",
            "X = 5.5",
            "X = 5e3",
            "X != Y",
            "X >= -7",
            "X =< 3",
            "X = f(Y)",
            'X = "a"',
        ),
        *(
            "X = <a>",
            "X < Y",
            "X = _",
            "X = ex:a",
            'X = "a"@en',
            "p(X + 1)",
            "p(f(X))",
            "p([X])",
            'p("a"@en, X)',
            "p('a')",
            "3 < X",
        ),
        *(
            "ex:p(X)",
            "<a>(X)",
            "?x",
            "p(?x)",
            "p(_x)",
            "p(X, )",
            "p(,)",
            "p(X Y)",
            'p("a\\n")',
            "p(é)",
            "é(X)",
            "p(X, /* c */ Y)",
        ),
        *(
            "BIND(X AS Y)",
            "AGGREGATE(p(X)) WITH COUNT(X) AS N",
            "X is 3",
            "p(true)",
            "p(with)",
            "p(X, true)",
            "q(@X)",
            "p(1.5)",
        ),
    ]
)
LABELS = st.sampled_from(["", "", "", "r1: ", "r1:", "xsd:", "not: ", "r-1: ", "a b: "])
ARROWS = st.sampled_from([" :- ", ":-", " <- ", " :- // why\n ", "\n:-\n"])
COMMAS = st.sampled_from([", ", ",", " , ", ",\n  ", " and ", ", // c\n", " & "])
STOPS = st.sampled_from([".\n", ".", " .\n", ". // c\n", "\n", ".5\n", ".q(1).\n"])
CLAUSES = st.builds(
    lambda label, head, arrow, body, comma, stop: f"{label}{head}{arrow}{comma.join(body)}{stop}",
    *(LABELS, PIECES, ARROWS, st.lists(PIECES, min_size=1, max_size=4), COMMAS, STOPS),
)


@settings(max_examples=examples(600))
@given(st.lists(CLAUSES, min_size=1, max_size=3).map("".join))
def test_rules_are_read_as_the_parser_reads_them(text: str) -> None:
    assert_same(text)


@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- q(X).",
        "r1: p(X, abc, 5, \"a b\", _) :- q(X), not r(X, -3), X != 5, Y = X, X >= abc.",
        "@prefix ex: <http://e/> . ex:p(X) :- q(X). p(X) :- ex:q(X). r:s(X) :- q(X).",
        "p(X) :- q(X). // c\n% c\nq(1). p(X) :- r(X).\n",
        "p(X):-q(X).",
        "\ufeffp(X) :- q(X).",
        "p(X) :- " + ", ".join(f"q{n}(X)" for n in range(1_200)) + ".",
        "p(X) :- " + ", ".join("q(X, Y)" for _ in range(MAX_CLAUSE_TOKENS // 5)) + ".",
    ],
)  # fmt: skip
def test_these_rules_are_read_as_the_parser_reads_them(text: str) -> None:
    assert_same(text)
