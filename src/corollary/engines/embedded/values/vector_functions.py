"""Built-ins on whole columns: numpy for numbers, Arrow for strings. Built-ins without a kernel here are computed value
by value.

Outside ASCII, Arrow's case mappings and regular expressions differ from the language, so they are used for ASCII only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corollary.engines.embedded.values.decimals import LARGEST, Units, greatest
from corollary.engines.embedded.values.encoder import text_buffers
from corollary.engines.embedded.values.moments import Moments, NotReadError, Spans
from corollary.engines.embedded.values.universe import Kind
from corollary.engines.embedded.values.vector_arithmetic import as_bools, as_doubles, calculated, compared
from corollary.engines.embedded.values.vectors import NotVectorisedError, Vector, texts_of, units_of
from corollary.program import Literal
from corollary.program.builtins.declaration import FUNC, HAS_VALUE, PRED, ROUND_TO_BITS
from corollary.program.builtins.regex import compiled, replacement
from corollary.program.datatypes import duration_of
from corollary.program.datatypes.numbers import INTEGER_RANGES
from corollary.program.datatypes.typed import NOT_IN_IRIS
from corollary.program.values import EXACT, XSD
from corollary.settings import ALL_BITS

# -- vector calendar ---------------------------------------------------------------------------------------------------

# Dates and times on whole columns: comparison, their parts, differences, and adding a constant duration.

CALENDAR_KERNELS: dict[str, Callable[[Sequence[Vector]], Vector]] = {}
"""By the canonical name of the built-in."""

_LONGEST = 1 << 61  # microseconds
_TYPES = ("dateTime", "date", "time")
_SIGNS = (("equal", "="), ("not-equal", "!="), ("less-than", "<"), ("less-than-or-equal", "<="), ("greater-than", ">"),
          ("greater-than-or-equal", ">="))  # fmt: skip
_PARTS: dict[str, Callable[[Moments], Any]] = {
    "year": lambda moments: moments.years,
    "month": lambda moments: moments.months,
    "day": lambda moments: moments.days,
    "hours": lambda moments: moments.clock // 3_600_000_000,
    "minutes": lambda moments: moments.clock // 60_000_000 % 60,
    "seconds": lambda moments: Units(moments.clock % 60_000_000, 6),
}


def _moments(vector: Vector, name: str) -> Moments:
    if not isinstance(vector.values, Moments) or vector.values.name != name:
        raise NotVectorisedError
    return vector.values


def _comparing(name: str, sign: str) -> Callable[[Sequence[Vector]], Vector]:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        for one in arguments:
            _moments(one, name)
        return compared(sign, *arguments)

    return kernel


def _part(name: str, part: str) -> Callable[[Sequence[Vector]], Vector]:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        (vector,) = arguments
        found = _PARTS[part](_moments(vector, name))
        return Vector(Kind.DECIMAL if part == "seconds" else Kind.INTEGER, found, vector.valid)

    return kernel


def _difference(name: str) -> Callable[[Sequence[Vector]], Vector]:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        left, right = arguments
        spans = Spans(_moments(left, name).places() - _moments(right, name).places())
        return Vector(Kind.LITERAL, spans).only(left, right)

    return kernel


def _moving(name: str, sign: int) -> Callable[[Sequence[Vector]], Vector]:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        vector, by = arguments
        duration = duration_of(by.constant) if isinstance(by.constant, Literal) else None
        if duration is None or duration.months:
            raise NotVectorisedError
        microseconds = EXACT.multiply(duration.seconds, Decimal(1_000_000))
        if microseconds != int(microseconds) or abs(microseconds) > _LONGEST:
            raise NotVectorisedError
        try:
            moved = _moments(vector, name).moved(sign * int(microseconds))
        except NotReadError:
            raise NotVectorisedError from None
        return Vector(Kind.LITERAL, moved, vector.valid)

    return kernel


for _name in _TYPES:
    for _local, _sign in _SIGNS:
        CALENDAR_KERNELS[f"{PRED}{_name}-{_local}"] = _comparing(_name, _sign)
    for _word in _PARTS:
        CALENDAR_KERNELS[f"{FUNC}{_word}-from-{_name}"] = _part(_name, _word)
    CALENDAR_KERNELS[f"{FUNC}subtract-{_name}s"] = _difference(_name)
    CALENDAR_KERNELS[f"{FUNC}add-dayTimeDuration-to-{_name}"] = _moving(_name, 1)
    CALENDAR_KERNELS[f"{FUNC}subtract-dayTimeDuration-from-{_name}"] = _moving(_name, -1)


# -- vector functions --------------------------------------------------------------------------------------------------

Kernel: TypeAlias = Callable[[Sequence[Vector]], Vector]
KERNELS: dict[str, Kernel] = {}
"""By the canonical name of the built-in."""


def _kernel(*names: str) -> Callable[[Kernel], Kernel]:
    def register(kernel: Kernel) -> Kernel:
        KERNELS.update(dict.fromkeys(names, kernel))
        return kernel

    return register


def _strings(arguments: Sequence[Vector]) -> list[pa.Array]:
    if any(one.kind != Kind.STRING for one in arguments):
        raise NotVectorisedError
    return [texts_of(one) for one in arguments]


def _constant_text(vector: Vector) -> str:
    if not isinstance(vector.constant, str):
        raise NotVectorisedError
    return vector.constant


def _of_strings(array: Any, *arguments: Vector) -> Vector:
    return Vector(Kind.STRING, array).only(*arguments)


# -- numbers -----------------------------------------------------------------------------------------------------------

for _name, _sign in (("equal", "="), ("not-equal", "!="), ("less-than", "<"), ("less-than-or-equal", "<="),
                     ("greater-than", ">"), ("greater-than-or-equal", ">=")):  # fmt: skip

    def _compare_numbers(arguments: Sequence[Vector], sign: str = _sign) -> Vector:
        left, right = arguments
        if not (left.is_number and right.is_number):
            raise NotVectorisedError
        return compared(sign, left, right)

    KERNELS[f"{PRED}numeric-{_name}"] = _compare_numbers

for _name, _sign in (("add", "+"), ("subtract", "-"), ("multiply", "*"), ("divide", "/"), ("integer-divide", "div"),
                     ("mod", "%")):  # fmt: skip
    KERNELS[f"{FUNC}numeric-{_name}"] = lambda arguments, sign=_sign: calculated(sign, *arguments)  # type: ignore[misc]


def _rounding(rounded: Callable[[Any], Any], exactly: Callable[[Units], Any]) -> Kernel:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        (number,) = arguments
        if number.kind == Kind.INTEGER:
            return number
        if number.kind == Kind.DECIMAL:
            return Vector(Kind.INTEGER, exactly(units_of(number)), number.valid)
        if number.kind != Kind.DOUBLE:
            raise NotVectorisedError
        with np.errstate(all="ignore"):
            return Vector(Kind.DOUBLE, np.copysign(rounded(number.values), number.values), number.valid)

    return kernel


def _nearest(values: Any) -> Any:
    below = np.floor(values)
    return np.where(values - below < 0.5, below, below + 1.0)


def _rounded(units: Units) -> Any:
    if greatest(units.numbers) >= LARGEST // 2:
        raise NotVectorisedError
    return Units(units.numbers * 2 + 10**units.scale, units.scale).whole_parts() // 2


KERNELS["floor"] = _rounding(np.floor, Units.whole_parts)
KERNELS["ceiling"] = _rounding(np.ceil, lambda units: -Units(-units.numbers, units.scale).whole_parts())
KERNELS["round"] = _rounding(_nearest, _rounded)


@_kernel("abs")
def _abs(arguments: Sequence[Vector]) -> Vector:
    (number,) = arguments
    if number.kind == Kind.DECIMAL:
        units = units_of(number)
        return Vector(number.kind, Units(np.abs(units.numbers), units.scale), number.valid)
    if not number.is_number or (
        number.kind == Kind.INTEGER and len(number.values) and number.values.min() == -(1 << 63)
    ):
        raise NotVectorisedError
    return Vector(number.kind, np.abs(number.values), number.valid)


@_kernel(ROUND_TO_BITS)
def _round_to_bits(arguments: Sequence[Vector]) -> Vector:
    value, bits = arguments[0], arguments[1].constant
    if value.constant is not None or type(bits) is not int or not 1 <= bits <= ALL_BITS:
        raise NotVectorisedError  # one value for all rows is computed once
    if value.kind != Kind.DOUBLE:
        return value  # vectors cannot represent xsd:float
    with np.errstate(all="ignore"):
        parts, exponents = np.frexp(value.values)
        return Vector(Kind.DOUBLE, np.ldexp(np.rint(parts * 2.0**bits), exponents - bits), value.valid)


# -- strings -----------------------------------------------------------------------------------------------------------


def _is_ascii(array: pa.Array) -> bool:
    data, offsets = text_buffers(array)
    return bool((data[offsets[0] : offsets[-1]] < 128).all())


@_kernel("length")
def _length(arguments: Sequence[Vector]) -> Vector:
    (texts,) = _strings(arguments)
    lengths = pc.utf8_length(texts).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return Vector(Kind.INTEGER, lengths).only(*arguments)


def _casing(change: Any) -> Kernel:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        (texts,) = _strings(arguments)
        if not _is_ascii(texts):
            raise NotVectorisedError
        return _of_strings(change(texts), *arguments)

    return kernel


KERNELS["upper"] = _casing(pc.ascii_upper)
KERNELS["lower"] = _casing(pc.ascii_lower)


@_kernel("concat")
def _concat(arguments: Sequence[Vector]) -> Vector:
    if any(one.kind != Kind.STRING for one in arguments):
        raise NotVectorisedError
    return _of_strings(_joined(arguments, ""), *arguments)


@_kernel(FUNC + "string-join")
def _string_join(arguments: Sequence[Vector]) -> Vector:
    if any(one.kind != Kind.STRING for one in arguments):
        raise NotVectorisedError
    return _of_strings(_joined(arguments[:-1], _constant_text(arguments[-1])), *arguments)


def _joined(parts: Sequence[Vector], separator: str) -> pa.Array:
    if all(one.constant is not None for one in parts):
        raise NotVectorisedError  # one value for all rows is computed once
    given = [pa.scalar(one.constant, pa.large_string()) if one.constant is not None else texts_of(one) for one in parts]
    return pc.binary_join_element_wise(*given, pa.scalar(separator, pa.large_string()))


@_kernel(FUNC + "substring")
def _substring(arguments: Sequence[Vector]) -> Vector:
    (texts,) = _strings(arguments[:1])
    numbers = [one.constant for one in arguments[1:]]
    if any(type(number) is not int for number in numbers):
        raise NotVectorisedError
    start: Any = numbers[0]
    stop = None if len(numbers) == 1 else start - 1 + numbers[1]
    first = max(start - 1, 0)
    if stop is not None and stop <= first:
        return _of_strings(pc.utf8_slice_codeunits(texts, 0, 0), *arguments)
    return _of_strings(pc.utf8_slice_codeunits(texts, first, stop), *arguments)


def _searching(search: Any) -> Kernel:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        text, part = arguments
        (texts,) = _strings([text])
        return Vector(Kind.BOOLEAN, as_bools(search(texts, _constant_text(part)))).only(text)

    return kernel


KERNELS[PRED + "contains"] = _searching(pc.match_substring)
KERNELS[PRED + "starts-with"] = _searching(pc.starts_with)
KERNELS[PRED + "ends-with"] = _searching(pc.ends_with)


@_kernel(FUNC + "compare")
def _compare_strings(arguments: Sequence[Vector]) -> Vector:
    if any(one.kind != Kind.STRING for one in arguments):
        raise NotVectorisedError
    less, greater = (compared(sign, *arguments) for sign in "<>")
    return Vector(Kind.INTEGER, greater.values.astype(np.int64) - less.values.astype(np.int64)).only(*arguments)


@_kernel(FUNC + "substring-before")
def _before(arguments: Sequence[Vector]) -> Vector:
    return _parted(arguments, 0)


@_kernel(FUNC + "substring-after")
def _after(arguments: Sequence[Vector]) -> Vector:
    return _parted(arguments, 1)


def _parted(arguments: Sequence[Vector], place: int) -> Vector:
    """Return the texts before (0) or after (1) the first occurrence of a constant text; empty if it does not occur."""
    (texts,) = _strings(arguments[:1])
    pattern = _constant_text(arguments[1])
    if not pattern:
        raise NotVectorisedError
    separator = pa.scalar(pattern, pa.large_string())
    ended = pc.binary_join_element_wise(texts, separator, pa.scalar("", pa.large_string()))
    parts = pc.split_pattern(ended, pattern, max_splits=1)  # always two, because the separator was appended
    occurs = pc.match_substring(texts, pattern)
    found = pc.list_element(parts, place)
    if place:
        found = pc.utf8_slice_codeunits(found, 0, -len(pattern))  # without the appended separator
    return _of_strings(pc.if_else(occurs, found, pa.scalar("", pa.large_string())), *arguments)


# -- regular expressions -----------------------------------------------------------------------------------------------


def _constant_texts(arguments: Sequence[Vector]) -> list[str]:
    return [_constant_text(one) for one in arguments]


def _matching(find: str) -> Kernel:
    """Return a kernel that applies Arrow's RE2 to a column of texts, and matches one by one where RE2 cannot be used."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (texts,) = _strings(arguments[:1])
        pattern = compiled(*_constant_texts(arguments[1:]))
        found = _matched_by_arrow(texts, pattern.linear, whole=find == "fullmatch")
        if found is None:
            search = getattr(pattern, find)
            found = np.fromiter((search(text) for text in texts.to_pylist()), np.bool_, len(texts))
        return Vector(Kind.BOOLEAN, found).only(arguments[0])

    return kernel


def _matched_by_arrow(
    texts: pa.Array, pattern: str | None, *, whole: bool
) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    """Return which texts match; None if Arrow does not accept the pattern."""
    if pattern is None:
        return None
    try:
        found = pc.match_substring_regex(texts, rf"\A(?:{pattern})\z" if whole else pattern)
    except pa.ArrowInvalid:  # it is larger than Arrow allows
        return None
    return np.asarray(found.to_numpy(zero_copy_only=False))


KERNELS[PRED + "matches"] = _matching("search")
KERNELS["REGEX"] = _matching("fullmatch")


@_kernel(FUNC + "replace")
def _replace(arguments: Sequence[Vector]) -> Vector:
    (texts,) = _strings(arguments[:1])
    pattern, by, *flags = _constant_texts(arguments[1:])
    found = compiled(pattern, *flags)
    if found.search("") or "q" in "".join(flags):
        raise NotVectorisedError
    written = replacement(by, found.groups)
    if found.linear_groups and written.for_arrow is not None:
        try:
            return _of_strings(pc.replace_substring_regex(texts, found.linear, written.for_arrow), arguments[0])
        except pa.ArrowInvalid:  # it is larger than Arrow allows
            pass
    return _of_strings(
        pa.array([found.sub(written, text) for text in texts.to_pylist()], pa.large_string()), arguments[0]
    )


# -- types -------------------------------------------------------------------------------------------------------------


def _everywhere(vector: Vector, holds: bool) -> Vector:
    return Vector(Kind.BOOLEAN, np.full(len(vector.values), holds)).only(vector)


def _guard(name: str, *, negated: bool) -> Kernel:
    accepted = {"double": Kind.DOUBLE, "boolean": Kind.BOOLEAN, "string": Kind.STRING, "PlainLiteral": Kind.STRING}

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (vector,) = arguments
        if vector.constant is not None:
            raise NotVectorisedError  # one value for all rows is computed once
        if vector.kind == Kind.IRI:
            return _everywhere(vector, False)
        if vector.kind == Kind.INTEGER and name in INTEGER_RANGES:
            low, high = INTEGER_RANGES[name]
            holds = np.ones(len(vector.values), np.bool_)
            if low is not None:
                holds &= vector.values >= low
            if high is not None and high < 1 << 63:
                holds &= vector.values <= high
            return Vector(Kind.BOOLEAN, ~holds if negated else holds).only(vector)
        if vector.kind == Kind.DECIMAL and not isinstance(vector.values, pa.Array):
            raise NotVectorisedError  # some of the computed ones may be integers
        if vector.kind == Kind.STRING and name not in ("string", "PlainLiteral"):
            raise NotVectorisedError  # whether a text is a token depends on its characters
        is_one = accepted.get(name) == vector.kind or (
            name == "decimal" and vector.kind in (Kind.INTEGER, Kind.DECIMAL)
        )
        return _everywhere(vector, is_one is not negated)

    return kernel


for _name in ("boolean", "decimal", "double", "string", "PlainLiteral", *INTEGER_RANGES):
    KERNELS[f"{PRED}is-literal-{_name}"] = _guard(_name, negated=False)
    KERNELS[f"{PRED}is-literal-not-{_name}"] = _guard(_name, negated=True)


@_kernel(HAS_VALUE)
def _has_value(arguments: Sequence[Vector]) -> Vector:
    (vector,) = arguments
    if vector.constant is not None:
        raise NotVectorisedError  # one value for all rows is computed once
    return _everywhere(vector, True)


@_kernel(XSD + "string")
def _to_string(arguments: Sequence[Vector]) -> Vector:
    (vector,) = arguments
    match vector.kind:
        case Kind.STRING:
            return vector
        case Kind.IRI | Kind.DECIMAL:
            return _of_strings(texts_of(vector), vector)
        case Kind.INTEGER | Kind.BOOLEAN:
            return _of_strings(pc.cast(pa.array(vector.values), pa.large_string()), vector)
        case _:
            raise NotVectorisedError


@_kernel(XSD + "integer")
def _to_integer(arguments: Sequence[Vector]) -> Vector:
    (vector,) = arguments
    match vector.kind:
        case Kind.INTEGER:
            return vector
        case Kind.BOOLEAN:
            return Vector(Kind.INTEGER, vector.values.astype(np.int64), vector.valid)
        case Kind.DECIMAL:
            units = units_of(vector)
            sizes = Units(np.abs(units.numbers), units.scale).whole_parts()
            return Vector(Kind.INTEGER, np.where(units.numbers < 0, -sizes, sizes), vector.valid)
        case Kind.DOUBLE:
            finite = np.isfinite(vector.values)
            whole = np.where(finite, np.trunc(vector.values), 0.0)
            if len(whole) and np.abs(whole).max() >= float(1 << 62):
                raise NotVectorisedError
            return Vector(Kind.INTEGER, whole.astype(np.int64)).only(vector, where=None if finite.all() else finite)
        case Kind.STRING:
            texts = texts_of(vector)
            if not pc.all(pc.match_substring_regex(texts, r"^[+-]?[0-9]{1,18}$")).as_py():
                raise NotVectorisedError
            return Vector(Kind.INTEGER, pc.cast(pc.utf8_ltrim(texts, "+"), pa.int64()).to_numpy(), vector.valid)
        case _:
            raise NotVectorisedError


@_kernel(XSD + "double")
def _to_double(arguments: Sequence[Vector]) -> Vector:
    (vector,) = arguments
    match vector.kind:
        case Kind.DOUBLE:
            return vector
        case Kind.INTEGER | Kind.BOOLEAN:
            return Vector(Kind.DOUBLE, vector.values.astype(np.float64), vector.valid)
        case Kind.DECIMAL:
            return Vector(Kind.DOUBLE, as_doubles(vector), vector.valid)
        case _:
            raise NotVectorisedError


@_kernel(FUNC + "not")
def _not(arguments: Sequence[Vector]) -> Vector:
    (vector,) = arguments
    if vector.kind != Kind.BOOLEAN:
        raise NotVectorisedError
    return Vector(Kind.BOOLEAN, ~vector.values, vector.valid)


@_kernel(PRED + "iri-string")
def _iri_string(arguments: Sequence[Vector]) -> Vector:
    (vector,) = arguments
    if vector.kind != Kind.IRI:
        raise NotVectorisedError
    return _of_strings(texts_of(vector), vector)


@_kernel("TO_IRI")
def _to_iri(arguments: Sequence[Vector]) -> Vector:
    (vector,) = arguments
    if vector.kind not in (Kind.STRING, Kind.IRI):
        raise NotVectorisedError
    texts = texts_of(vector)
    if vector.kind == Kind.IRI:
        return Vector(Kind.IRI, texts).only(vector)
    may_be = pc.invert(pc.match_substring_regex(texts, NOT_IN_IRIS.pattern))
    return Vector(Kind.IRI, texts).only(vector, where=may_be.to_numpy(zero_copy_only=False).astype(np.bool_))
