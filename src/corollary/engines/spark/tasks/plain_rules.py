"""Rules as they travel to tasks: without the places in the text, which would drag the whole text along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from corollary.planning import NormalRule
from corollary.program import Constant

T = TypeVar("T")


def without_spans(part: T) -> T:
    """The same part of a rule, with no span anywhere inside it."""
    plain: Any = _plain(part)
    return plain  # type: ignore[no-any-return]


def _plain(part: Any) -> Any:
    if isinstance(part, Constant):
        return Constant(part.value)
    if isinstance(part, tuple):
        return tuple(_plain(one) for one in part)
    if is_dataclass(part) and not isinstance(part, type):
        changed = {one.name: None if one.name == "span" else _plain(getattr(part, one.name)) for one in fields(part)}
        return replace(part, **changed)
    return part


def constants_of(rule: NormalRule) -> list[Constant]:
    """Every constant that a rule writes, in the order of its parts."""
    return list(dict.fromkeys(_constants(rule)))


def _constants(part: Any) -> Iterator[Constant]:
    if isinstance(part, Constant):
        yield part
    elif isinstance(part, tuple):
        for one in part:
            yield from _constants(one)
    elif is_dataclass(part) and not isinstance(part, type):
        for one in fields(part):
            yield from _constants(getattr(part, one.name))
