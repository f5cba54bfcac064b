r"""Regular expressions of XPath and XML Schema: their text as a tree, and the tree as text for the engines that run it.

Every set of characters (`\i`, `\p{…}`, `.`, `[a-z-[aeiou]]`, letters without regard to case) becomes plain ranges, so what
is left means the same in every engine: ranges, sequences, alternatives, groups, repetitions, both ends, back-references.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from corollary.program.arithmetic import EvaluationError
from corollary.program.builtins.characters import (
    ALL,
    Ranges,
    block,
    category,
    complement,
    escaped,
    of_text,
    union,
    with_case_variants,
    without,
)

_SINGLE = {"n": "\n", "r": "\r", "t": "\t", **{letter: letter for letter in "\\|.?*+(){}-[]^$"}}
_QUANTIFIER = re.compile(r"([?*+])|\{([0-9]+)(,?)([0-9]*)\}")
_MOST = 4_294_967_294
"""The largest number of repetitions that a pattern may ask for."""


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Anchor:
    """The start (`^`) or the end (`$`) of the text, or of a line."""

    is_end: bool
    of_lines: bool


@dataclass(frozen=True, slots=True)
class BackReference:
    """Matches again the text that a group has matched."""

    group: int
    ignores_case: bool


@dataclass(frozen=True, slots=True)
class Repetition:
    """A piece several times; `most` is None where there is no limit. `lazy` means as few times as possible."""

    piece: Piece
    least: int
    most: int | None
    lazy: bool


@dataclass(slots=True)
class RegexGroup:
    """Alternatives, each a sequence of pieces, in brackets. `number` is that of a group that can be referred to."""

    number: int | None = None
    branches: list[list[Piece]] = field(default_factory=lambda: [[]])


Piece: TypeAlias = CharacterSet | Anchor | BackReference | Repetition | RegexGroup


@dataclass(frozen=True)
class RegexTree:
    """A whole pattern. `groups` is the number of its groups, `depth` how deep they are nested."""

    root: RegexGroup
    groups: int
    depth: int

    @property
    def has_back_references(self) -> bool:
        return any(isinstance(piece, BackReference) for piece in pieces_of(self.root))

    @property
    def repeats_nothing(self) -> bool:
        """Whether a repetition without an end may match nothing: engines go different ways there, to the same matches or not."""
        return any(
            isinstance(piece, Repetition) and (piece.most is None or piece.most > 1) and may_be_empty(piece.piece)
            for piece in pieces_of(self.root)
        )


def pieces_of(piece: Piece) -> Iterator[Piece]:
    """Yield a piece and all pieces in it."""
    waiting = [piece]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, Repetition):
            waiting.append(one.piece)
        elif isinstance(one, RegexGroup):
            waiting += [inner for branch in one.branches for inner in branch]


def may_be_empty(piece: Piece) -> bool:
    """Whether a piece can match nothing at all."""
    match piece:
        case CharacterSet():
            return False
        case Anchor() | BackReference():
            return True
        case Repetition():
            return piece.least == 0 or may_be_empty(piece.piece)
    return any(all(may_be_empty(inner) for inner in branch) for branch in piece.branches)


def size_of(piece: Piece, *, by_ranges: bool) -> int:
    """Return how many characters a piece has when its repetitions are written out, or how many ranges of them."""
    match piece:
        case CharacterSet():
            return max(1, len(piece.ranges)) if by_ranges else 1
        case Anchor() | BackReference():
            return 1
        case Repetition():
            return size_of(piece.piece, by_ranges=by_ranges) * max(
                1, piece.most if piece.most is not None else piece.least + 1
            )
    return 1 + sum(size_of(inner, by_ranges=by_ranges) for branch in piece.branches for inner in branch)


# -- reading -----------------------------------------------------------------------------------------------------------


def read_regex(pattern: str, flags: str) -> RegexTree:
    """Return the tree of a pattern with its flags `s m i x`; raise `EvaluationError` where it is not one."""
    return _PatternReader(_without_space(pattern) if "x" in flags else pattern, flags).read()


def literal_regex(text: str, flags: str) -> RegexTree:
    """Return the tree of a text that stands for itself."""
    reader = _PatternReader("", flags)
    return RegexTree(RegexGroup(None, [[reader.one_of(of_text(character)) for character in text]]), 0, 1)


def _without_space(pattern: str) -> str:
    depth, kept = 0, []
    for at, character in enumerate(pattern):
        is_escaped = at > 0 and pattern[at - 1] == "\\"
        depth += (character == "[" and not is_escaped) - (character == "]" and not is_escaped)
        if depth or character not in " \t\n\r":
            kept.append(character)
    return "".join(kept)


class _PatternReader:
    def __init__(self, pattern: str, flags: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._of_lines = "m" in flags
        self._ignores_case = "i" in flags
        self._dot = CharacterSet(ALL if "s" in flags else complement(of_text("\n")))
        self._groups = 0
        self._depth = 0
        self._open: list[RegexGroup] = [RegexGroup()]

    def read(self) -> RegexTree:
        while self._at < len(self._pattern):
            self._piece(self._next())
        if len(self._open) > 1:
            raise self._wrong()
        return RegexTree(self._open[0], self._groups, self._depth + 1)

    def one_of(self, ranges: Ranges) -> CharacterSet:
        """One of some characters that are written as such: escapes of several ones take no notice of the flag `i`."""
        return CharacterSet(with_case_variants(ranges) if self._ignores_case else ranges)

    @property
    def _branch(self) -> list[Piece]:
        return self._open[-1].branches[-1]

    def _piece(self, character: str) -> None:
        match character:
            case "\\":
                self._branch.append(self._escape())
            case "[":
                self._branch.append(CharacterSet(self._class()))
            case "?" | "*" | "+" | "{":
                self._repeat()
            case "]" | "}":
                raise self._wrong()
            case "^" | "$":
                self._branch.append(Anchor(character == "$", self._of_lines))
            case ".":
                self._branch.append(self._dot)
            case "|":
                self._open[-1].branches.append([])
            case "(":
                self._open_group()
            case ")":
                if len(self._open) == 1:
                    raise self._wrong()
                group = self._open.pop()
                self._branch.append(group)
            case _:
                self._branch.append(self.one_of(of_text(character)))

    def _open_group(self) -> None:
        number: int | None = None
        if self._pattern[self._at : self._at + 1] == "?":
            if self._pattern[self._at : self._at + 2] != "?:":
                raise self._wrong()
            self._at += 2
        else:
            self._groups += 1
            number = self._groups
        self._open.append(RegexGroup(number))
        self._depth = max(self._depth, len(self._open) - 1)

    def _repeat(self) -> None:
        found = _QUANTIFIER.match(self._pattern, self._at - 1)
        if found is None or not self._branch or isinstance(self._branch[-1], (Anchor, Repetition)):
            raise self._wrong()
        self._at = found.end()
        lazy = self._pattern[self._at : self._at + 1] == "?"
        self._at += lazy
        sign, least, comma, most = found.groups()
        if sign:
            low, high = (1 if sign == "+" else 0), (1 if sign == "?" else None)
        else:
            low = int(least)
            high = int(most) if most else None if comma else low
        if low > _MOST or (high is not None and (high < low or high > _MOST)):
            raise self._wrong()
        self._branch.append(Repetition(self._branch.pop(), low, high, lazy))

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise self._wrong()
        self._at += 1
        return self._pattern[self._at - 1]

    def _wrong(self) -> EvaluationError:
        return EvaluationError(f"'{self._pattern[:40]}' is not a regular expression")

    def _escape(self) -> Piece:
        letter = self._next()
        if letter in "123456789":
            if int(letter) > self._groups or int(letter) in {group.number for group in self._open}:
                raise self._wrong()
            return BackReference(int(letter), self._ignores_case)
        if letter in _SINGLE:
            return self.one_of(of_text(_SINGLE[letter]))
        return CharacterSet(self._several(letter))

    def _several(self, letter: str) -> Ranges:
        r"""The characters of an escape of several ones, such as `\d` or `\P{L}`."""
        try:
            return self._category(letter == "P") if letter in "pP" else escaped(letter)
        except KeyError:
            raise self._wrong() from None

    def _category(self, is_negated: bool) -> Ranges:
        end = self._pattern.find("}", self._at)
        if self._next() != "{" or end < 0:
            raise self._wrong()
        name, self._at = self._pattern[self._at : end], end + 1
        found = block(name.removeprefix("Is")) if name.startswith("Is") else category(name)
        return complement(found) if is_negated else found

    def _class(self) -> Ranges:
        """A class in brackets, without the class that may be taken away from it."""
        is_negated = self._pattern[self._at : self._at + 1] == "^"
        self._at += is_negated
        inside: list[Ranges] = []
        while True:
            character, following = self._next(), self._pattern[self._at : self._at + 1]
            found = complement(union(*inside)) if is_negated else union(*inside)
            if character == "]" and inside:
                return found
            if character in "[]":
                raise self._wrong()
            if character == "-" and inside and following == "[":
                self._at += 1
                taken = self._class()
                if self._next() != "]":
                    raise self._wrong()
                return without(found, taken)
            if character == "-" and inside and following != "]":
                raise self._wrong()  # after a range or an escape of several characters
            if character == "\\" and following not in _SINGLE:
                inside.append(self._several(self._next()))
            else:
                inside.append(self.one_of(self._range(self._single(character))).ranges)

    def _single(self, character: str) -> str:
        if character != "\\":
            return character
        escaped_one = self._next()
        if escaped_one not in _SINGLE:
            raise self._wrong()
        return _SINGLE[escaped_one]

    def _range(self, first: str) -> Ranges:
        """The characters from one to another, or the one alone."""
        following = self._pattern[self._at : self._at + 2]
        if following[:1] != "-" or following[1:] in ("", "[", "]"):
            return ((ord(first), ord(first)),)
        self._at += 1
        last = self._single(self._next())
        if last < first:
            raise self._wrong()
        return ((ord(first), ord(last)),)


# -- writing -----------------------------------------------------------------------------------------------------------


def python_text(tree: RegexTree) -> str:
    """Return the pattern for Python's `re`, and for the package `regex`."""
    return _text(tree.root, lambda code: f"\\U{code:08x}", r"\Z")


def re2_text(tree: RegexTree) -> str:
    """Return the pattern for RE2, which knows no back-references."""
    return _text(tree.root, lambda code: f"\\x{{{code:x}}}", r"\z")


def _text(piece: Piece, character: Callable[[int], str], end: str) -> str:
    match piece:
        case CharacterSet(ranges):
            return _set_text(ranges, character)
        case Anchor():
            if piece.of_lines:
                return "(?m:$)" if piece.is_end else "(?m:^)"
            return end if piece.is_end else r"\A"
        case BackReference():
            return f"(?i:\\{piece.group})" if piece.ignores_case else f"(?:\\{piece.group})"
        case Repetition():
            most = "" if piece.most is None else str(piece.most)
            often = {(0, ""): "*", (1, ""): "+", (0, "1"): "?"}.get((piece.least, most), f"{{{piece.least},{most}}}")
            return f"(?:{_text(piece.piece, character, end)}){often}{'?' * piece.lazy}"
    branches = ("".join(_text(inner, character, end) for inner in branch) for branch in piece.branches)
    return f"({'?:' if piece.number is None else ''}{'|'.join(branches)})"


def _set_text(ranges: Ranges, character: Callable[[int], str]) -> str:
    if not ranges:
        return f"[^{character(ALL[0][0])}-{character(ALL[0][1])}]"
    parts = [character(first) + (f"-{character(last)}" if last > first else "") for first, last in ranges]
    return f"[{''.join(parts)}]"
