r"""Regular expressions of XPath and XML Schema: their text as a tree, and the tree as text for the engines that run it.

Every set of characters (`\i`, `\p{…}`, `.`, `[a-z-[aeiou]]`, letters without regard to case) becomes plain ranges, so what
is left means the same in every engine: ranges, sequences, alternatives, groups, repetitions, both ends, back-references.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from corollary.program.arithmetic import EvaluationError

# -- characters --------------------------------------------------------------------------------------------------------

# Sets of characters as ranges of code points: the meaning of escapes such as `\w` and `\p{Lu}`, and operations on sets.

# The blocks of Unicode 14 as regular expressions of XML Schema name them: `IsLatinExtended-A` without the `Is`.
# The names that blocks had in older versions of Unicode stay valid.
_BLOCKS = """
BasicLatin=0000-007F Latin-1Supplement=0080-00FF LatinExtended-A=0100-017F LatinExtended-B=0180-024F
IPAExtensions=0250-02AF SpacingModifierLetters=02B0-02FF CombiningDiacriticalMarks=0300-036F
GreekandCoptic=0370-03FF Cyrillic=0400-04FF CyrillicSupplement=0500-052F Armenian=0530-058F Hebrew=0590-05FF
Arabic=0600-06FF Syriac=0700-074F ArabicSupplement=0750-077F Thaana=0780-07BF NKo=07C0-07FF Samaritan=0800-083F
Mandaic=0840-085F SyriacSupplement=0860-086F ArabicExtended-B=0870-089F ArabicExtended-A=08A0-08FF
Devanagari=0900-097F Bengali=0980-09FF Gurmukhi=0A00-0A7F Gujarati=0A80-0AFF Oriya=0B00-0B7F Tamil=0B80-0BFF
Telugu=0C00-0C7F Kannada=0C80-0CFF Malayalam=0D00-0D7F Sinhala=0D80-0DFF Thai=0E00-0E7F Lao=0E80-0EFF
Tibetan=0F00-0FFF Myanmar=1000-109F Georgian=10A0-10FF HangulJamo=1100-11FF Ethiopic=1200-137F
EthiopicSupplement=1380-139F Cherokee=13A0-13FF UnifiedCanadianAboriginalSyllabics=1400-167F Ogham=1680-169F
Runic=16A0-16FF Tagalog=1700-171F Hanunoo=1720-173F Buhid=1740-175F Tagbanwa=1760-177F Khmer=1780-17FF
Mongolian=1800-18AF UnifiedCanadianAboriginalSyllabicsExtended=18B0-18FF Limbu=1900-194F TaiLe=1950-197F
NewTaiLue=1980-19DF KhmerSymbols=19E0-19FF Buginese=1A00-1A1F TaiTham=1A20-1AAF
CombiningDiacriticalMarksExtended=1AB0-1AFF Balinese=1B00-1B7F Sundanese=1B80-1BBF Batak=1BC0-1BFF Lepcha=1C00-1C4F
OlChiki=1C50-1C7F CyrillicExtended-C=1C80-1C8F GeorgianExtended=1C90-1CBF SundaneseSupplement=1CC0-1CCF
VedicExtensions=1CD0-1CFF PhoneticExtensions=1D00-1D7F PhoneticExtensionsSupplement=1D80-1DBF
CombiningDiacriticalMarksSupplement=1DC0-1DFF LatinExtendedAdditional=1E00-1EFF GreekExtended=1F00-1FFF
GeneralPunctuation=2000-206F SuperscriptsandSubscripts=2070-209F CurrencySymbols=20A0-20CF
CombiningDiacriticalMarksforSymbols=20D0-20FF LetterlikeSymbols=2100-214F NumberForms=2150-218F Arrows=2190-21FF
MathematicalOperators=2200-22FF MiscellaneousTechnical=2300-23FF ControlPictures=2400-243F
OpticalCharacterRecognition=2440-245F EnclosedAlphanumerics=2460-24FF BoxDrawing=2500-257F BlockElements=2580-259F
GeometricShapes=25A0-25FF MiscellaneousSymbols=2600-26FF Dingbats=2700-27BF
MiscellaneousMathematicalSymbols-A=27C0-27EF SupplementalArrows-A=27F0-27FF BraillePatterns=2800-28FF
SupplementalArrows-B=2900-297F MiscellaneousMathematicalSymbols-B=2980-29FF
SupplementalMathematicalOperators=2A00-2AFF MiscellaneousSymbolsandArrows=2B00-2BFF Glagolitic=2C00-2C5F
LatinExtended-C=2C60-2C7F Coptic=2C80-2CFF GeorgianSupplement=2D00-2D2F Tifinagh=2D30-2D7F
EthiopicExtended=2D80-2DDF CyrillicExtended-A=2DE0-2DFF SupplementalPunctuation=2E00-2E7F
CJKRadicalsSupplement=2E80-2EFF KangxiRadicals=2F00-2FDF IdeographicDescriptionCharacters=2FF0-2FFF
CJKSymbolsandPunctuation=3000-303F Hiragana=3040-309F Katakana=30A0-30FF Bopomofo=3100-312F
HangulCompatibilityJamo=3130-318F Kanbun=3190-319F BopomofoExtended=31A0-31BF CJKStrokes=31C0-31EF
KatakanaPhoneticExtensions=31F0-31FF EnclosedCJKLettersandMonths=3200-32FF CJKCompatibility=3300-33FF
CJKUnifiedIdeographsExtensionA=3400-4DBF YijingHexagramSymbols=4DC0-4DFF CJKUnifiedIdeographs=4E00-9FFF
YiSyllables=A000-A48F YiRadicals=A490-A4CF Lisu=A4D0-A4FF Vai=A500-A63F CyrillicExtended-B=A640-A69F Bamum=A6A0-A6FF
ModifierToneLetters=A700-A71F LatinExtended-D=A720-A7FF SylotiNagri=A800-A82F CommonIndicNumberForms=A830-A83F
Phags-pa=A840-A87F Saurashtra=A880-A8DF DevanagariExtended=A8E0-A8FF KayahLi=A900-A92F Rejang=A930-A95F
HangulJamoExtended-A=A960-A97F Javanese=A980-A9DF MyanmarExtended-B=A9E0-A9FF Cham=AA00-AA5F
MyanmarExtended-A=AA60-AA7F TaiViet=AA80-AADF MeeteiMayekExtensions=AAE0-AAFF EthiopicExtended-A=AB00-AB2F
LatinExtended-E=AB30-AB6F CherokeeSupplement=AB70-ABBF MeeteiMayek=ABC0-ABFF HangulSyllables=AC00-D7AF
HangulJamoExtended-B=D7B0-D7FF HighSurrogates=D800-DB7F HighPrivateUseSurrogates=DB80-DBFF LowSurrogates=DC00-DFFF
PrivateUseArea=E000-F8FF CJKCompatibilityIdeographs=F900-FAFF AlphabeticPresentationForms=FB00-FB4F
ArabicPresentationForms-A=FB50-FDFF VariationSelectors=FE00-FE0F VerticalForms=FE10-FE1F
CombiningHalfMarks=FE20-FE2F CJKCompatibilityForms=FE30-FE4F SmallFormVariants=FE50-FE6F
ArabicPresentationForms-B=FE70-FEFF HalfwidthandFullwidthForms=FF00-FFEF Specials=FFF0-FFFF
LinearBSyllabary=10000-1007F LinearBIdeograms=10080-100FF AegeanNumbers=10100-1013F AncientGreekNumbers=10140-1018F
AncientSymbols=10190-101CF PhaistosDisc=101D0-101FF Lycian=10280-1029F Carian=102A0-102DF
CopticEpactNumbers=102E0-102FF OldItalic=10300-1032F Gothic=10330-1034F OldPermic=10350-1037F Ugaritic=10380-1039F
OldPersian=103A0-103DF Deseret=10400-1044F Shavian=10450-1047F Osmanya=10480-104AF Osage=104B0-104FF
Elbasan=10500-1052F CaucasianAlbanian=10530-1056F Vithkuqi=10570-105BF LinearA=10600-1077F
LatinExtended-F=10780-107BF CypriotSyllabary=10800-1083F ImperialAramaic=10840-1085F Palmyrene=10860-1087F
Nabataean=10880-108AF Hatran=108E0-108FF Phoenician=10900-1091F Lydian=10920-1093F MeroiticHieroglyphs=10980-1099F
MeroiticCursive=109A0-109FF Kharoshthi=10A00-10A5F OldSouthArabian=10A60-10A7F OldNorthArabian=10A80-10A9F
Manichaean=10AC0-10AFF Avestan=10B00-10B3F InscriptionalParthian=10B40-10B5F InscriptionalPahlavi=10B60-10B7F
PsalterPahlavi=10B80-10BAF OldTurkic=10C00-10C4F OldHungarian=10C80-10CFF HanifiRohingya=10D00-10D3F
RumiNumeralSymbols=10E60-10E7F Yezidi=10E80-10EBF OldSogdian=10F00-10F2F Sogdian=10F30-10F6F OldUyghur=10F70-10FAF
Chorasmian=10FB0-10FDF Elymaic=10FE0-10FFF Brahmi=11000-1107F Kaithi=11080-110CF SoraSompeng=110D0-110FF
Chakma=11100-1114F Mahajani=11150-1117F Sharada=11180-111DF SinhalaArchaicNumbers=111E0-111FF Khojki=11200-1124F
Multani=11280-112AF Khudawadi=112B0-112FF Grantha=11300-1137F Newa=11400-1147F Tirhuta=11480-114DF
Siddham=11580-115FF Modi=11600-1165F MongolianSupplement=11660-1167F Takri=11680-116CF Ahom=11700-1174F
Dogra=11800-1184F WarangCiti=118A0-118FF DivesAkuru=11900-1195F Nandinagari=119A0-119FF ZanabazarSquare=11A00-11A4F
Soyombo=11A50-11AAF UnifiedCanadianAboriginalSyllabicsExtended-A=11AB0-11ABF PauCinHau=11AC0-11AFF
Bhaiksuki=11C00-11C6F Marchen=11C70-11CBF MasaramGondi=11D00-11D5F GunjalaGondi=11D60-11DAF Makasar=11EE0-11EFF
LisuSupplement=11FB0-11FBF TamilSupplement=11FC0-11FFF Cuneiform=12000-123FF
CuneiformNumbersandPunctuation=12400-1247F EarlyDynasticCuneiform=12480-1254F Cypro-Minoan=12F90-12FFF
EgyptianHieroglyphs=13000-1342F EgyptianHieroglyphFormatControls=13430-1343F AnatolianHieroglyphs=14400-1467F
BamumSupplement=16800-16A3F Mro=16A40-16A6F Tangsa=16A70-16ACF BassaVah=16AD0-16AFF PahawhHmong=16B00-16B8F
Medefaidrin=16E40-16E9F Miao=16F00-16F9F IdeographicSymbolsandPunctuation=16FE0-16FFF Tangut=17000-187FF
TangutComponents=18800-18AFF KhitanSmallScript=18B00-18CFF TangutSupplement=18D00-18D7F KanaExtended-B=1AFF0-1AFFF
KanaSupplement=1B000-1B0FF KanaExtended-A=1B100-1B12F SmallKanaExtension=1B130-1B16F Nushu=1B170-1B2FF
Duployan=1BC00-1BC9F ShorthandFormatControls=1BCA0-1BCAF ZnamennyMusicalNotation=1CF00-1CFCF
ByzantineMusicalSymbols=1D000-1D0FF MusicalSymbols=1D100-1D1FF AncientGreekMusicalNotation=1D200-1D24F
MayanNumerals=1D2E0-1D2FF TaiXuanJingSymbols=1D300-1D35F CountingRodNumerals=1D360-1D37F
MathematicalAlphanumericSymbols=1D400-1D7FF SuttonSignWriting=1D800-1DAAF LatinExtended-G=1DF00-1DFFF
GlagoliticSupplement=1E000-1E02F NyiakengPuachueHmong=1E100-1E14F Toto=1E290-1E2BF Wancho=1E2C0-1E2FF
EthiopicExtended-B=1E7E0-1E7FF MendeKikakui=1E800-1E8DF Adlam=1E900-1E95F IndicSiyaqNumbers=1EC70-1ECBF
OttomanSiyaqNumbers=1ED00-1ED4F ArabicMathematicalAlphabeticSymbols=1EE00-1EEFF MahjongTiles=1F000-1F02F
DominoTiles=1F030-1F09F PlayingCards=1F0A0-1F0FF EnclosedAlphanumericSupplement=1F100-1F1FF
EnclosedIdeographicSupplement=1F200-1F2FF MiscellaneousSymbolsandPictographs=1F300-1F5FF Emoticons=1F600-1F64F
OrnamentalDingbats=1F650-1F67F TransportandMapSymbols=1F680-1F6FF AlchemicalSymbols=1F700-1F77F
GeometricShapesExtended=1F780-1F7FF SupplementalArrows-C=1F800-1F8FF SupplementalSymbolsandPictographs=1F900-1F9FF
ChessSymbols=1FA00-1FA6F SymbolsandPictographsExtended-A=1FA70-1FAFF SymbolsforLegacyComputing=1FB00-1FBFF
CJKUnifiedIdeographsExtensionB=20000-2A6DF CJKUnifiedIdeographsExtensionC=2A700-2B73F
CJKUnifiedIdeographsExtensionD=2B740-2B81F CJKUnifiedIdeographsExtensionE=2B820-2CEAF
CJKUnifiedIdeographsExtensionF=2CEB0-2EBEF CJKCompatibilityIdeographsSupplement=2F800-2FA1F
CJKUnifiedIdeographsExtensionG=30000-3134F Tags=E0000-E007F VariationSelectorsSupplement=E0100-E01EF
SupplementaryPrivateUseArea-A=F0000-FFFFF SupplementaryPrivateUseArea-B=100000-10FFFF
Greek=0370-03FF CombiningMarksforSymbols=20D0-20FF PrivateUse=E000-F8FF
"""


@cache
def block_ranges() -> dict[str, tuple[int, int]]:
    """Return the first and the last code of each block."""
    found = {}
    for word in _BLOCKS.split():
        name, _, codes = word.partition("=")
        first, _, last = codes.partition("-")
        found[name] = int(first, 16), int(last, 16)
    return found


Ranges = tuple[tuple[int, int], ...]
"""First and last code points of ranges, in order, neither overlapping nor adjacent."""

_LAST = sys.maxunicode
ALL: Ranges = ((0, _LAST),)
_LAST_CASED = 0x20000  # letters with case are in the first two planes
_START = ":A-Z_a-zÀ-ÖØ-öø-˿Ͱ-ͽͿ-\u1fff\u200c\u200d⁰-\u218fⰀ-\u2fef、-\ud7ff豈-\ufdcfﷰ-\ufffd\U00010000-\U000effff"
_MORE_IN_NAMES = "-.0-9·\u0300-\u036f\u203f\u2040"


def union(*sets: Iterable[tuple[int, int]]) -> Ranges:
    """Return the characters of all sets.

    >>> union([(97, 99)], [(100, 105), (1, 2)])
    ((1, 2), (97, 105))
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted(one for some in sets for one in some):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    """Return all other characters."""
    starts = [0, *(last + 1 for _, last in ranges)]
    ends = [*(first - 1 for first, _ in ranges), _LAST]
    return tuple((first, last) for first, last in zip(starts, ends, strict=True) if first <= last)


def without(ranges: Ranges, others: Ranges) -> Ranges:
    """Return the characters of the first set that are not in the second."""
    return complement(union(complement(ranges), others))


def of_text(characters: str) -> Ranges:
    """Return the characters of a text in which `a-z` is a range, and a leading hyphen is itself."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(characters):
        is_range = characters[at + 1 : at + 2] == "-" and at + 2 < len(characters)
        last = characters[at + 2] if is_range else characters[at]
        found.append((ord(characters[at]), ord(last)))
        at += 3 if is_range else 1
    return union(found)


@cache
def category(name: str) -> Ranges:
    """Return the characters of a general category of Unicode, `L` or `Lu`; raise KeyError if there is none of that name."""
    known = _categories()
    if name in known:
        return known[name]
    found = [ranges for one, ranges in known.items() if one[0] == name]
    if not found:
        raise KeyError(name)
    return union(*found)


@cache
def _categories() -> dict[str, Ranges]:
    """Return the characters of every category, found in one pass."""
    found: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category(chr(0))
    for code in range(1, _LAST + 2):
        here = unicodedata.category(chr(code)) if code <= _LAST else ""
        if here != current:
            found.setdefault(current, []).append((start, code - 1))
            start, current = code, here
    return {name: tuple(ranges) for name, ranges in found.items()}


def block(name: str) -> Ranges:
    """Return the characters of a block of Unicode; raise KeyError if there is none of that name."""
    first, last = block_ranges()[name]
    return ((first, last),)


@cache
def escaped(letter: str) -> Ranges:
    r"""Return the characters of `\s`, `\d`, `\w`, `\i` and `\c`, or for capitals all others; raise KeyError for another
    letter."""
    if letter.isupper():
        return complement(escaped(letter.lower()))
    match letter:
        case "s":
            return of_text(" \t\n\r")
        case "d":
            return category("Nd")
        case "w":
            return complement(union(category("P"), category("Z"), category("C")))
        case "i":
            return of_text(_START)
        case "c":
            return union(of_text(_START), of_text(_MORE_IN_NAMES))
    raise KeyError(letter)


def with_case_variants(ranges: Ranges) -> Ranges:
    """Return the set with the upper and lower case variants of its characters."""
    more = [(code, code) for found in _case_variants() if any(_has(ranges, code) for code in found) for code in found]
    return union(ranges, more)


def _has(ranges: Ranges, code: int) -> bool:
    return any(first <= code <= last for first, last in ranges)


@cache
def _case_variants() -> list[frozenset[int]]:
    """Return groups of characters that differ only in case."""
    groups: dict[str, set[int]] = {}
    for code in range(_LAST_CASED):
        character = chr(code)
        for other in {character.lower(), character.upper()} - {character}:
            groups.setdefault(other, set()).add(code)
    for other in groups:
        if len(other) == 1:
            groups[other].add(ord(other))
    return [frozenset(found) for found in groups.values() if len(found) > 1]


# -- regex syntax ------------------------------------------------------------------------------------------------------

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
    """A back-reference: matches the text that a group has matched."""

    group: int
    ignores_case: bool


@dataclass(frozen=True, slots=True)
class Repetition:
    """A repeated piece; `most` is None without an upper limit. `lazy` prefers few repetitions."""

    piece: Piece
    least: int
    most: int | None
    lazy: bool


@dataclass(slots=True)
class RegexGroup:
    """Alternatives in parentheses, each a sequence of pieces. `number` is that of a capturing group."""

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
        """Whether an unlimited repetition may match nothing, in which case engines behave differently."""
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
    """Return whether a piece can match nothing at all."""
    match piece:
        case CharacterSet():
            return False
        case Anchor() | BackReference():
            return True
        case Repetition():
            return piece.least == 0 or may_be_empty(piece.piece)
    return any(all(may_be_empty(inner) for inner in branch) for branch in piece.branches)


def size_of(piece: Piece, *, by_ranges: bool) -> int:
    """Return the number of characters of a piece with its repetitions expanded, or the number of their ranges."""
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
    """Return the tree of a pattern with its flags `s m i x`; raise `EvaluationError` if it is invalid."""
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
        """Return one of some literal characters, with case variants under the flag `i`, which class escapes ignore."""
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
        r"""Return the characters of a class escape such as `\d` or `\P{L}`."""
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
        """Return a class in brackets, without a subtracted class."""
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
                raise self._wrong()  # after a range or a class escape
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
        """Return the characters of a range, or a single one."""
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
