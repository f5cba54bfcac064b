r"""Regular expressions of XPath and XML Schema, as Python's.

They differ in `\i`, `\c` and `\p{…}`, in what `\d`, `\w`, `\s` and `.` stand for, in the subtraction of classes `[a-z-[aeiou]]`,
and in that Python's own escapes mean nothing here.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from corollary.program.arithmetic import EvaluationError
from corollary.program.builtins.unicode_blocks import block_ranges

_START = ":A-Z_a-zÀ-ÖØ-öø-˿Ͱ-ͽͿ-\u1fff\u200c\u200d⁰-\u218fⰀ-\u2fef、-\ud7ff豈-\ufdcfﷰ-\ufffd\U00010000-\U000effff"
_NAME = _START + r"\-.0-9·\u0300-\u036f\u203f\u2040"
_SINGLE = {"n": "\n", "r": "\r", "t": "\t", **{letter: letter for letter in "\\|.?*+(){}-[]^$"}}
_SEVERAL = {"s": r" \t\n\r", "d": r"\d", "i": _START, "c": _NAME}
"""The insides of classes; in capitals they stand for all other characters."""
_QUANTIFIER = re.compile(r"[?*+]|\{[0-9]+(?:,[0-9]*)?\}")


@lru_cache(maxsize=512)
def compiled(pattern: str, flags: str = "") -> re.Pattern[str]:
    """A pattern of XPath with its flags `s m i x q`; raises `EvaluationError` where it is not one."""
    if not set(flags) <= set("smixq"):
        raise EvaluationError(f"'{flags}' has an unknown flag of regular expressions")
    python = 0
    for flag, meaning in (("s", re.DOTALL), ("m", re.MULTILINE), ("i", re.IGNORECASE)):
        python |= meaning if flag in flags else 0
    if "x" in flags and "q" not in flags:
        pattern = _without_space(pattern)
    translated = re.escape(pattern) if "q" in flags else _Translator(pattern, multiline="m" in flags).text()
    try:
        return re.compile(translated, python)
    except (re.error, OverflowError, RecursionError) as error:
        raise EvaluationError(f"'{pattern[:40]}' is not a regular expression") from error


def _without_space(pattern: str) -> str:
    depth, kept = 0, []
    for at, character in enumerate(pattern):
        is_escaped = at > 0 and pattern[at - 1] == "\\"
        depth += (character == "[" and not is_escaped) - (character == "]" and not is_escaped)
        if depth or character not in " \t\n\r":
            kept.append(character)
    return "".join(kept)


class _Translator:
    def __init__(self, pattern: str, *, multiline: bool) -> None:
        self._pattern = pattern
        self._at = 0
        self._end = "$" if multiline else r"\Z"  # Python's own $ also stands before a last line break

    def text(self) -> str:
        found = []
        while self._at < len(self._pattern):
            character = self._next()
            if character == "\\":
                found.append(self._escape())
            elif character == "[":
                found.append(self._class())
            elif character in "?*+{":
                found.append(self._quantifier())
            elif character in "]}":
                raise self._wrong()
            elif character == "$":
                found.append(self._end)
            elif character == "(" and self._pattern[self._at : self._at + 1] == "?":
                if self._pattern[self._at : self._at + 2] != "?:":
                    raise self._wrong()
                self._at += 2
                found.append("(?:")
            else:
                found.append(character)
        return "".join(found)

    def _quantifier(self) -> str:
        """How often, and `?` for as few as possible; Python would take a `+` behind it, too."""
        found = _QUANTIFIER.match(self._pattern, self._at - 1)
        if found is None:
            raise self._wrong()
        self._at = found.end()
        lazy = self._pattern[self._at : self._at + 1] == "?"
        self._at += lazy
        if self._pattern[self._at : self._at + 1] in ("?", "*", "+", "{"):
            raise self._wrong()
        return found[0] + "?" * lazy

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise self._wrong()
        self._at += 1
        return self._pattern[self._at - 1]

    def _wrong(self) -> EvaluationError:
        return EvaluationError(f"'{self._pattern[:40]}' is not a regular expression")

    def _escape(self) -> str:
        letter = self._next()
        if letter in "123456789":
            return f"(?:\\{letter})"
        if letter in _SINGLE:
            return re.escape(_SINGLE[letter])
        return f"[{self._several(letter)}]"

    def _several(self, letter: str) -> str:
        r"""The inside of a class for an escape of several characters, such as `\d` or `\P{L}`."""
        if letter in "pP":
            return self._category(letter == "P")
        if letter in "wW":
            return _words(letter == "W")
        if letter in "dD":
            return "\\" + letter
        found = _SEVERAL.get(letter.lower())
        if found is None:
            raise self._wrong()
        return found if letter.islower() else _others(found)

    def _category(self, negated: bool) -> str:
        if self._next() != "{":
            raise self._wrong()
        end = self._pattern.find("}", self._at)
        if end < 0:
            raise self._wrong()
        name, self._at = self._pattern[self._at : end], end + 1
        try:
            return _block(name.removeprefix("Is"), negated) if name.startswith("Is") else _category(name, negated)
        except (ValueError, KeyError):
            raise self._wrong() from None

    def _class(self) -> str:
        """A class in brackets, as a test before any character where another class is taken away from it."""
        negated = self._pattern[self._at : self._at + 1] == "^"
        self._at += negated
        inside: list[str] = []
        while True:
            character, following = self._next(), self._pattern[self._at : self._at + 1]
            if character == "]" and inside:
                return f"[{'^' if negated else ''}{''.join(inside)}]"
            if character in "[]":
                raise self._wrong()
            if character == "-" and inside and following == "[":
                self._at += 1
                without = self._class()
                if self._next() != "]":
                    raise self._wrong()
                return f"(?:(?!{without})[{'^' if negated else ''}{''.join(inside)}])"
            if character == "-" and inside and following != "]":
                raise self._wrong()  # behind a range or an escape of several characters
            if character == "\\" and following not in _SINGLE:
                inside.append(self._several(self._next()))
            else:
                inside.append(self._range(self._single(character)))

    def _single(self, character: str) -> str:
        if character != "\\":
            return character
        escaped = self._next()
        if escaped not in _SINGLE:
            raise self._wrong()
        return _SINGLE[escaped]

    def _range(self, first: str) -> str:
        """The characters from one to another, or the one alone."""
        following = self._pattern[self._at : self._at + 2]
        if following[:1] != "-" or following[1:] in ("", "[", "]"):
            return re.escape(first)
        self._at += 1
        last = self._single(self._next())
        if last < first:
            raise self._wrong()
        return f"{re.escape(first)}-{re.escape(last)}"


@lru_cache(maxsize=8)
def _others(inside: str) -> str:
    """The inside of a class for every character that is not in another one."""
    of_class = re.compile(f"[{inside}]")
    return _ranges(lambda character: of_class.match(character) is None)


@lru_cache(maxsize=2)
def _words(negated: bool) -> str:
    r"""The inside of a class for `\w`: everything but punctuation, separators and others."""
    return _ranges(lambda character: (unicodedata.category(character)[0] not in "PZC") is not negated)


@lru_cache(maxsize=64)
def _category(name: str, negated: bool) -> str:
    known = {unicodedata.category(chr(code)) for code in range(0x3000)} | {"Cs", "Co", "Lm", "Cn"}
    if name not in known and name not in {category[0] for category in known}:
        raise ValueError(name)
    return _ranges(lambda character: unicodedata.category(character).startswith(name) is not negated)


def _block(name: str, negated: bool) -> str:
    first, last = block_ranges()[name]
    if not negated:
        return f"\\U{first:08x}-\\U{last:08x}"
    below = f"\\U00000000-\\U{first - 1:08x}" if first else ""
    return below + (f"\\U{last + 1:08x}-\\U{sys.maxunicode:08x}" if last < sys.maxunicode else "")


def _ranges(accepts: Callable[[str], bool]) -> str:
    parts: list[str] = []
    start = -1
    for code in range(sys.maxunicode + 2):
        inside = code <= sys.maxunicode and accepts(chr(code))
        if inside and start < 0:
            start = code
        elif not inside and start >= 0:
            parts.append(f"\\U{start:08x}" + (f"-\\U{code - 1:08x}" if code - 1 > start else ""))
            start = -1
    return "".join(parts)


_REFERENCE = re.compile(r"\\([\\$])|\$([0-9]+)|(.)", re.DOTALL)


@lru_cache(maxsize=512)
def replacement(text: str, groups: int) -> str:
    r"""What `$1`, `\$` and `\\` stand for, as Python writes it; raises `EvaluationError` for other signs."""

    def one(match: re.Match[str]) -> str:
        escaped, number, plain = match.groups()
        if escaped:
            return "\\\\" if escaped == "\\" else "$"
        if number is not None:
            return _reference(number, groups)
        if plain in "\\$":
            raise EvaluationError("a '$' or '\\' of a replacement needs a '\\' before it")
        return str(plain)

    return _REFERENCE.sub(one, text)


def _reference(digits: str, groups: int) -> str:
    """The longest number that is a group; what follows it is text."""
    length = len(digits)
    while length > 1 and int(digits[:length]) > groups:
        length -= 1
    number = int(digits[:length])
    return (f"\\g<{number}>" if number <= groups else "") + digits[length:]
