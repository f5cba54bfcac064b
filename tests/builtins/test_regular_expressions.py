"""Regular expressions of XML Schema and XPath: what matches, and what is none."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corollary import KnowledgeBase, ProgramError
from corollary.language import parse_program
from corollary.program import EvaluationError
from corollary.program.builtins import regex as regex_module
from corollary.program.builtins.regex import CompiledRegex, compiled, replacement
from corollary.program.builtins.regex_syntax import python_text, read_regex
from tests.oracle import evaluate


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


# -- engines agree -----------------------------------------------------------------------------------------------------

LETTERS = "abcA1_ é\n-B"
SETS = [
    *(
        ".",
        r"\d",
        r"\w",
        r"\s",
        r"\S",
        r"\W",
        r"\i",
        r"\c",
        r"\p{L}",
        r"\P{Lu}",
        r"\D",
        r"\p{IsBasicLatin}",
        r"\.",
        r"\n",
    ),
    *("[ab]", "[^a]", "[a-c]", "[a-c-[b]]", r"[\s\d]", r"[^\w]", r"[a\-]", "[^a-c-[b]]", "[A-Z]", "[a-[a]]"),
]


class Patterns:
    """Patterns of everything that the language has, at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def alternatives(self, depth: int) -> str:
        count = self.random.choice([1, 1, 1, 2, 3])
        return "|".join("".join(self.piece(depth) for _ in range(self.random.randrange(0, 4))) for _ in range(count))

    def piece(self, depth: int) -> str:
        often = self.random.choice(["*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}"]) + "?" * (
            self.random.random() < 0.25
        )
        return self.atom(depth) + (often if self.random.random() < 0.35 else "")

    def atom(self, depth: int) -> str:
        dice = self.random.random()
        if dice < 0.45 or depth == 0:
            return self.random.choice(LETTERS)
        if dice < 0.68:
            return self.random.choice(SETS)
        if dice < 0.73:
            return self.random.choice("^$")
        if dice < 0.96:
            return f"({self.random.choice(['', '?:'])}{self.alternatives(depth - 1)})"
        return "\\" + self.random.choice("12")

    def text(self) -> str:
        return "".join(self.random.choice(LETTERS) for _ in range(self.random.randrange(0, 9)))

    def flags(self) -> str:
        return "".join(self.random.sample("smi", self.random.choice([0, 0, 0, 1, 1, 2])))


@pytest.mark.parametrize("seed", range(4))
def test_every_engine_finds_what_backtracking_finds(seed: int) -> None:
    """RE2, Arrow's RE2 and matching with a limit, beside Python's `re` on the same tree."""
    made = Patterns(seed)
    linear = checked = 0
    for _ in range(400):
        pattern, flags = made.alternatives(3), made.flags()
        try:
            found = compiled(pattern, flags)
        except EvaluationError:
            continue
        expected = re.compile(python_text(read_regex(pattern, flags)))
        texts = [made.text() for _ in range(8)]
        checked += 1
        assert [found.search(text) for text in texts] == [expected.search(text) is not None for text in texts], pattern
        assert [found.fullmatch(text) for text in texts] == [expected.fullmatch(text) is not None for text in texts]
        if found.linear is not None:
            linear += 1
            assert pc.match_substring_regex(pa.array(texts), found.linear).to_pylist() == [
                expected.search(text) is not None for text in texts
            ]
        if found.search(""):
            continue
        by = replacement(
            "<$0" + "".join(f"|${group}" for group in range(1, min(found.groups, 9) + 1)) + ">", found.groups
        )
        written = "<\\g<0>" + "".join(f"|\\g<{group}>" for group in range(1, min(found.groups, 9) + 1)) + ">"
        replaced = [expected.sub(written, text) for text in texts]
        assert [found.sub(by, text) for text in texts] == replaced, pattern
        if found.linear_groups:
            assert pc.replace_substring_regex(pa.array(texts), found.linear, by.for_arrow).to_pylist() == replaced
    assert checked > 200
    assert linear > checked / 2


def test_case_is_that_of_letters_and_not_of_categories() -> None:
    for pattern, text in (
        ("É", "é"),
        ("[a-z]", "K"),
        ("ſ", "S"),
        ("k", "\u212a"),
        ("σ", "ς"),
        ("[^a]", "b"),
        ("ß", "ẞ"),
    ):
        assert compiled(pattern, "i").fullmatch(text), (pattern, text)
        assert compiled(pattern).fullmatch(text) is (pattern == "[^a]")
    assert not compiled("[^a]", "i").fullmatch("A")
    assert not compiled(r"\p{Lu}", "i").fullmatch("a")
    assert compiled(r"(a)\1", "i").fullmatch("aA")


# -- time --------------------------------------------------------------------------------------------------------------

EVIL = [
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "(a*)*b",
    "(.*)*x",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "a*a*a*a*a*a*a*a*a*a*a*c",
    "(?:a?){40}a{40}b",
    "^(?:.*a){12}$",
    r"\s+$",
    "(x+x+)+y",
]
LONG = "a" * 3000 + "!"
NOT_LINEAR = [r"^(a|a)*\1c$", r"^(a+)+\1\1b$", r"^(?:a|b|ab)*?(.)\1c$", "^(?:(?:a?){1500}){2}$", r"(a*)*\1\1\1b"]


@pytest.mark.parametrize("pattern", EVIL)
def test_patterns_that_backtracking_never_ends_with_take_no_time(pattern: str) -> None:
    started = time.process_time()
    found = compiled(pattern)
    assert found.linear is not None
    for text in (LONG, "x" * 3000, " " * 30_000 + "x"):
        found.search(text)
        found.fullmatch(text)
    kb = KnowledgeBase(f't("{LONG}"). m(X) :- t(X), pred:matches(X, "{pattern.replace(chr(92), chr(92) * 2)}").')
    kb.count("m")
    assert time.process_time() - started < 30


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|aa)+$", "(x+x+)+y", "(a*)*b", "a+a+a+a+b"])
def test_replacing_takes_no_time_or_is_stopped(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_module, "LONGEST_MATCH", 0.3)
    started = time.process_time()
    found = CompiledRegex(pattern, read_regex(pattern, ""))
    if found.linear_groups:
        found.sub(replacement("-", 0), "a" * 500 + "!")
    else:
        assert _code(lambda: found.sub(replacement("-", 0), "a" * 500 + "!")) in (None, "E302")
    assert time.process_time() - started < 20


def evaluated(mode: str, program: str, text: str, body: str) -> None:
    whole = program.replace("t(1) :- never.", "t(X) :- bad(X).")
    match mode:
        case "query":
            list(KnowledgeBase(program).query(f"bad(X), {body}"))
        case "reference":
            evaluate(parse_program(whole))
        case "insert":
            kb = KnowledgeBase(program + " t(X) :- some(X).")
            kb.materialise()
            kb.insert("some", [(text,)])
        case "stop":
            KnowledgeBase(whole, on_error="stop").count("m")
        case _:
            list(KnowledgeBase(whole, mode=mode).query("m(X)"))


def _code(act: Callable[[], object]) -> str | None:
    try:
        act()
    except ProgramError as error:
        return error.diagnostics[0].code
    return None


@pytest.mark.parametrize("use", ['pred:matches(X, "{}")', 'REGEX(X, "{}")', 'Y = func:replace(X, "{}", "-"), Y != X'])
@pytest.mark.parametrize("mode", ["materialise", "demand", "query", "reference", "insert", "stop"])
def test_what_needs_backtracking_is_a_limit_when_it_takes_too_long(
    use: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By every way in which an expression is evaluated."""
    monkeypatch.setattr(regex_module, "LONGEST_MATCH", 0.2)
    compiled.cache_clear()
    body = use.format(r"^(a|a)*\\1c$")
    text = "a" * 60 + "c!"
    program = f'bad("{text}"). t(1) :- never. m(X) :- t(X), {body}.'
    started = time.process_time()
    with pytest.raises(ProgramError, match=r"E302.*takes too long"):
        evaluated(mode, program, text, body)
    assert time.process_time() - started < 60


@pytest.mark.parametrize("pattern", NOT_LINEAR)
def test_matching_with_a_limit_ends(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_module, "LONGEST_MATCH", 0.2)
    found = CompiledRegex(pattern, read_regex(pattern, ""))
    assert found.linear is None
    started = time.process_time()
    for text in ("a" * 60 + "c!", "ab" * 40 + "b!", "a" * 20_000):
        assert _code(lambda text=text: found.search(text)) in (None, "E302")
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "pattern", [r"\w{1000}x", "((a{0,100}){0,100}){0,100}", "(" * 90 + "a" + ")*" * 90, "a{150000}"]
)
def test_large_patterns_are_read_in_no_time(pattern: str) -> None:
    started = time.thread_time()
    if "{0,100}" in pattern:
        with pytest.raises(EvaluationError, match="repeats too much"):
            compiled(pattern)
    else:
        assert compiled(pattern).search("b") is (")*" in pattern)
    assert time.thread_time() - started < 5


def test_a_pattern_that_is_nested_too_deeply_is_none() -> None:
    with pytest.raises(EvaluationError, match="nested too deeply"):
        compiled("(" * 5000 + "a" + ")" * 5000)
    with pytest.raises(EvaluationError, match="repeats too much"):
        compiled("a{4000000000}")


def test_many_texts_that_each_take_a_little_too_long_are_stopped_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_module, "_SECONDS_AT_FIRST", 0.2)
    found = CompiledRegex("p", read_regex(r"^(a|a)*\1c$", ""))
    length = next(n for n in range(8, 60) if _seconds(lambda n=n: found.search("a" * n + "c!")) > 0.02)
    assert any(_code(lambda: found.search("a" * length + "c!")) == "E302" for _ in range(1000))


def _seconds(act: Callable[[], object]) -> float:
    started = time.thread_time()
    return 1.0 if _code(act) else time.thread_time() - started


def test_back_references_are_quick_where_they_can_be() -> None:
    kb = KnowledgeBase('m(X) :- t(X), pred:matches(X, "^(.)(.*)\\\\1$").')
    kb.insert("t", [(f"{first}{number}{last}",) for number, first, last in product(range(2000), "ab", "ab")])
    assert kb.count("m") == 4000
