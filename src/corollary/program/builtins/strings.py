"""Strings: parts, search, case, regular expressions and URIs. Characters are those of Unicode, counted from 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

from corollary.program.builtins.regex import RegexReplacement, compiled, replacement
from corollary.program.builtins.registry import declare
from corollary.program.values import Iri, Value

_STRINGS = partial(declare, chapter="Strings")


@_STRINGS(
    "func:compare", "STRING_COMPARE", of="string, string", gives="integer",
    summary="-1, 0 or 1: whether the first string comes before the second, by code points, is the same, or comes after",
    examples=[("func:compare(abc, abd)", "-1"), ('func:compare("a", "a")', "0"), ("func:compare(a, 1)", None)],
)  # fmt: skip
def _compare(left: str, right: str) -> int:
    return (left > right) - (left < right)


@_STRINGS(
    "concat", "func:concat", "STRING_CONCAT", of="string, string…", gives="string",
    summary="the strings one after the other",
    examples=[("concat(data, log)", "datalog"), ('func:concat("a", "b", "c")', "abc"), ("concat(a, 1)", None)],
)  # fmt: skip
def _concat(*parts: str) -> str:
    return "".join(parts)


@_STRINGS(
    "func:string-join", "STRING_JOIN", of="string, string…", gives="string",
    summary="the strings with the last argument between them",
    examples=[('func:string-join("a", "b", "c", ", ")', '"a, b, c"'), ('func:string-join("a", ",")', "a")],
)  # fmt: skip
def _string_join(*parts: str) -> str:
    return parts[-1].join(parts[:-1])


@_STRINGS(
    "func:substring", "substring", "STRING_SUBSTRING", "STRING_SUBSTRING2", "STRING_SUBSTRING3",
    of="string, number, number?", gives="string",
    summary="the characters from a position on, at most as many as the third argument says",
    examples=[
        ('substring("metadata", 4, 3)', "ada"), ('func:substring("motor car", 6)', '" car"'),
        ('substring("12345", 1.5, 2.6)', '"234"'), ('substring("12345", 0, 3)', '"12"'),
        ('substring("a😀c", 2, 1)', '"😀"'), ("substring(abc, x)", None),
    ],
)  # fmt: skip
def _substring(text: str, start: Any, length: Any = None) -> str:
    first = _rounded(start)
    last = math.inf if length is None else first + _rounded(length)
    if math.isnan(first) or math.isnan(last):
        return ""
    low = 1 if first < 1 else first
    return "" if low > len(text) or last <= low else text[int(low) - 1 : None if math.isinf(last) else int(last) - 1]


def _rounded(number: Any) -> float | int:
    """Return the nearest integer, rounding half up; infinities and NaN stay."""
    if isinstance(number, float) and not math.isfinite(number):
        return number
    whole: int = math.floor(number + type(number)(1) / 2)
    return whole


@_STRINGS(
    "length", "func:string-length", "STRING_LENGTH", of="string", gives="integer", summary="the number of characters",
    examples=[("length(abc)", "3"), ('length("Grüße 😀")', "7"), ("length(5)", None)],
)  # fmt: skip
def _length(text: str) -> int:
    return len(text)


@_STRINGS(
    "upper", "func:upper-case", "STRING_TO_UPPER", of="string", gives="string", summary="the string in capital letters",
    examples=[("upper(abc)", '"ABC"'), ('upper("straße")', '"STRASSE"')],
)  # fmt: skip
def _upper(text: str) -> str:
    return text.upper()


@_STRINGS(
    "lower", "func:lower-case", "STRING_TO_LOWER", of="string", gives="string", summary="the string in small letters",
    examples=[('lower("ÄBC")', '"äbc"')],
)  # fmt: skip
def _lower(text: str) -> str:
    return text.lower()


@_STRINGS(
    "func:encode-for-uri", "STRING_URI_ENCODE", "ENCODE_FOR_URI", of="string", gives="string",
    summary="the string as a part of a URI: everything but letters, digits and `-_.~` is escaped",
    examples=[('func:encode-for-uri("a/b ü")', '"a%2Fb%20%C3%BC"')],
)  # fmt: skip
def _encode_for_uri(text: str) -> str:
    return quote(text, safe="-_.~")


@_STRINGS(
    "func:iri-to-uri", "STRING_IRI_TO_URI", of="string", gives="string",
    summary="an IRI as a URI: what URIs cannot contain is escaped",
    examples=[('func:iri-to-uri("http://e.org/ü x#y")', '"http://e.org/%C3%BC%20x#y"')],
)  # fmt: skip
def _iri_to_uri(text: str) -> str:
    return quote(text, safe="!#$%&'()*+,/:;=?@[]~-_.")


@_STRINGS(
    "func:escape-html-uri", "STRING_ESCAPE_HTML_URI", of="string", gives="string",
    summary="the string with everything escaped that is not printable ASCII",
    examples=[('func:escape-html-uri("javascript:f(\'ü é\')")', '"javascript:f(\'%C3%BC %C3%A9\')"')],
)  # fmt: skip
def _escape_html_uri(text: str) -> str:
    return quote(text, safe="".join(map(chr, range(32, 127))))


@_STRINGS(
    "func:substring-before", "STRING_SUBSTRING_BEFORE", "STRING_SUBSTRING_BEFORE2", of="string, string", gives="string",
    summary="the text before the first occurrence of the second string; nothing where there is none",
    examples=[('func:substring-before("a-b-c", "-")', "a"), ("func:substring-before(abc, x)", '""')],
)  # fmt: skip
def _substring_before(text: str, pattern: str) -> str:
    return text.partition(pattern)[0] if pattern and pattern in text else ""


@_STRINGS(
    "func:substring-after", "STRING_SUBSTRING_AFTER", "STRING_SUBSTRING_AFTER2", of="string, string", gives="string",
    summary="the text after the first occurrence of the second string; nothing where there is none",
    examples=[('func:substring-after("a-b-c", "-")', '"b-c"'), ('func:substring-after(abc, "")', "abc")],
)  # fmt: skip
def _substring_after(text: str, pattern: str) -> str:
    return text.partition(pattern)[2] if pattern else text


@_STRINGS(
    "func:replace", "STRING_REPLACE", "STRING_REPLACE3", "STRING_REPLACE4", of="string, string, string, string?",
    gives="string",
    summary="the string with each match of a regular expression replaced; `$1` is what its first group matched",
    examples=[
        ('func:replace("abracadabra", "bra", "*")', '"a*cada*"'), ('func:replace("abc", "(b)", "<$1>")', '"a<b>c"'),
        ('func:replace("aBc", "b", "x", "i")', "axc"), ('func:replace("abc", "x*", "-")', None),
    ],
)  # fmt: skip
def _replace(text: str, pattern: str, by: str, flags: str = "") -> str | None:
    found = compiled(pattern, flags)
    if found.search(""):
        return None  # a pattern that matches the empty text would match everywhere
    if "q" in flags:
        return text.replace(pattern, by) if "i" not in flags else found.sub(RegexReplacement([by]), text)
    return found.sub(replacement(by, found.groups), text)


@_STRINGS(
    "pred:contains", "STRING_CONTAINS", "STRING_CONTAINS2", of="string, string", gives="boolean",
    summary="the second string occurs in the first", examples=[("pred:contains(datalog, talo)", "true")],
)  # fmt: skip
def _contains(text: str, part: str) -> bool:
    return part in text


@_STRINGS(
    "pred:starts-with", "STRING_STARTS_WITH", "STRING_STARTS_WITH2", of="string, string", gives="boolean",
    summary="the first string starts with the second",
    examples=[("pred:starts-with(datalog, data)", "true"), ("pred:starts-with(datalog, log)", "false")],
)  # fmt: skip
def _starts_with(text: str, part: str) -> bool:
    return text.startswith(part)


@_STRINGS(
    "pred:ends-with", "STRING_ENDS_WITH", "STRING_ENDS_WITH2", of="string, string", gives="boolean",
    summary="the first string ends with the second", examples=[("pred:ends-with(datalog, log)", "true")],
)  # fmt: skip
def _ends_with(text: str, part: str) -> bool:
    return text.endswith(part)


@_STRINGS(
    "pred:matches", "STRING_MATCHES", "STRING_MATCHES2", "STRING_MATCHES3", of="string, string, string?",
    gives="boolean", summary="a part of the string matches a regular expression of XPath; flags are `s m i x q`",
    examples=[
        ('pred:matches("abracadabra", "^a.*a$")', "true"), ('pred:matches("ABC", "b", "i")', "true"),
        (r'pred:matches("a1", "\\p{Lu}")', "false"), ('pred:matches("b", "[a-z-[aeiou]]")', "true"),
        ('pred:matches("a", "(")', None),
    ],
)  # fmt: skip
def _matches(text: str, pattern: str, flags: str = "") -> bool:
    return compiled(pattern, flags).search(text)


@_STRINGS(
    "REGEX", of="string, string", gives="boolean", is_predicate=True,
    summary="the whole string matches a regular expression",
    examples=[('REGEX("abc", "a.c")', "true"), ('REGEX("abcd", "a.c")', "false")],
)  # fmt: skip
def _regex(text: str, pattern: str) -> bool:
    return compiled(pattern).fullmatch(text)


# -- with a collation as the last argument -----------------------------------------------------------------------------

CODE_POINTS = "http://www.w3.org/2005/xpath-functions/collation/codepoint"
"""The only supported collation."""
_SEARCHES: list[tuple[str, str, Callable[[str, str], Any], str, str]] = [
    ("STRING_CONTAINS3", "the second string occurs in the first", _contains, "boolean", "true"),
    ("STRING_STARTS_WITH3", "the first string starts with the second", _starts_with, "boolean", "false"),
    ("STRING_ENDS_WITH3", "the first string ends with the second", _ends_with, "boolean", "false"),
    ("STRING_SUBSTRING_BEFORE3", "the text before the first occurrence of the second string", _substring_before,
     "string", '"da"'),
    ("STRING_SUBSTRING_AFTER3", "the text after the first occurrence of the second string", _substring_after,
     "string", '"log"'),
]  # fmt: skip


def _by_code_points(search: Callable[[str, str], Any], text: str, part: str, collation: Value) -> Any:
    wanted = collation.value if isinstance(collation, Iri) else collation
    return search(text, part) if wanted == CODE_POINTS else None


for _name, _summary, _search, _gives, _found in _SEARCHES:
    _STRINGS(
        _name, of="string, string, any", gives=_gives, raw=True, is_predicate=_gives == "boolean",
        summary=f"{_summary}; the third argument is a collation, and only that of code points has a value",
        examples=[(f'{_name}(datalog, ta, "{CODE_POINTS}")', _found), (f'{_name}(datalog, ta, "http://e.org/")', None)],
    )(partial(_by_code_points, _search))  # fmt: skip
