"""IRIS's typed terms: `_date(2026, 1, 1)`, `_string("a")`, `_iri("http://…")` … as constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from corollary.diagnostics import did_you_mean
from corollary.language.literals import LiteralError, typed_value
from corollary.program import Value
from corollary.program.datatypes import DATATYPES, RIF, checked_iri
from corollary.program.values import RDF, XSD


def typed_term(name: str, arguments: Sequence[Value]) -> Value:
    """The constant that `name(arguments)` means; raises `LiteralError` with a text for people."""
    word = name.removeprefix("_").lower()
    if word == "iri":
        return checked_iri(_text(name, arguments))
    if word == "plainliteral" and len(arguments) == 2:
        return _plain_literal(name, *arguments)
    if word in _LEXICAL and (word not in _COMPOSED or (len(arguments) == 1 and isinstance(arguments[0], str))):
        return typed_value(_text(name, arguments), _LEXICAL[word])
    if word not in _COMPOSED:
        hint = did_you_mean(name, [f"_{known}" for known in [*_LEXICAL, *_COMPOSED, "iri"]])
        raise LiteralError(f"there is no typed term '{name}'" + (f"; {hint}" if hint else ""))
    datatype, counts, compose = _COMPOSED[word]
    if len(arguments) not in counts:
        raise LiteralError(f"'{name}' takes {' or '.join(map(str, counts))} arguments, not {len(arguments)}")
    numbers = [_number(name, argument) for argument in arguments]
    return typed_value(compose(*numbers), XSD + datatype)


def _text(name: str, arguments: Sequence[Value]) -> str:
    if len(arguments) != 1:
        raise LiteralError(f"'{name}' takes one argument, not {len(arguments)}")
    value = arguments[0]
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain_literal(name: str, text: Value, language: Value) -> Value:
    if not isinstance(text, str) or not isinstance(language, str):
        raise LiteralError(f"'{name}' takes two strings")
    return typed_value(f"{text}@{language}", RDF + "PlainLiteral")


def _number(name: str, value: Value) -> int | Decimal:
    if type(value) not in (int, Decimal):
        raise LiteralError(f"'{name}' takes numbers")
    return value  # type: ignore[return-value]


def _seconds(second: int | Decimal, millisecond: int | Decimal = 0) -> str:
    if second < 0 or not 0 <= millisecond < 1000:
        raise LiteralError("seconds are not negative, and milliseconds are from 0 to 999")
    total = Decimal(second) + Decimal(millisecond) / 1000
    whole, _, fraction = format(total, "f").partition(".")
    return f"{int(whole):02}" + (f".{fraction.rstrip('0')}" if fraction.strip("0") else "")


def _zone(*offset: int | Decimal) -> str:
    if not offset:
        return ""
    if any(part != int(part) for part in offset):
        raise LiteralError("the hours and the minutes of a time zone are integers")
    hours, minutes = int(offset[0]), int(offset[1])
    if hours and minutes and (hours < 0) is not (minutes < 0):
        raise LiteralError("the hours and the minutes of a time zone have one sign")
    return f"{'-' if hours < 0 or minutes < 0 else '+'}{abs(hours):02}:{abs(minutes):02}"


def _date(year: int, month: int, day: int, *zone: int) -> str:
    return f"{_year(year)}-{month:02}-{day:02}{_zone(*zone)}"


def _year(year: int) -> str:
    return f"{'-' if year < 0 else ''}{abs(year):04}"


def _time(hour: int, minute: int, second: int | Decimal, *rest: int) -> str:
    # Arguments after the seconds: milliseconds, a zone of hours and minutes, or both.
    millisecond, zone = (rest[0], rest[1:]) if len(rest) in (1, 3) else (0, rest)
    return f"{hour:02}:{minute:02}:{_seconds(second, millisecond)}{_zone(*zone)}"


def _datetime(year: int, month: int, day: int, *time: int) -> str:
    return f"{_date(year, month, day)}T{_time(*time)}"


def _duration(*parts: int | Decimal) -> str:
    years, months, days, hours, minutes, seconds, *rest = parts
    return f"P{years}Y{months}M{days}DT{hours}H{minutes}M{_seconds(seconds, *rest)}S"


def _day_time_duration(*parts: int | Decimal) -> str:
    days, hours, minutes, seconds, *rest = parts
    return f"P{days}DT{hours}H{minutes}M{_seconds(seconds, *rest)}S"


# Terms of one argument that is the lexical form: one for each datatype.
_LEXICAL = {datatype.rpartition("#")[2].lower(): datatype for datatype in (*DATATYPES, RIF + "local")}
# Terms composed of numbers: datatype, allowed numbers of arguments, lexical form.
_COMPOSED: dict[str, tuple[str, tuple[int, ...], Callable[..., str]]] = {
    "date": ("date", (3, 5), _date),
    "time": ("time", (3, 4, 5, 6), _time),
    "datetime": ("dateTime", (6, 7, 8, 9), _datetime),
    "duration": ("duration", (6, 7), _duration),
    "daytimeduration": ("dayTimeDuration", (4, 5), _day_time_duration),
    "yearmonthduration": ("yearMonthDuration", (2,), lambda years, months: f"P{years}Y{months}M"),
    "gyear": ("gYear", (1,), _year),
    "gyearmonth": ("gYearMonth", (2,), lambda year, month: f"{_year(year)}-{month:02}"),
    "gmonth": ("gMonth", (1,), lambda month: f"--{month:02}"),
    "gmonthday": ("gMonthDay", (2,), lambda month, day: f"--{month:02}-{day:02}"),
    "gday": ("gDay", (1,), lambda day: f"---{day:02}"),
}
