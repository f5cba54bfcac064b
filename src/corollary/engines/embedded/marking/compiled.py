"""How the loops over single facts are compiled.

They allocate nothing, so nobody has to count the users of an array, which would take most of their time. And what they call for
each rule instance becomes part of them: handing forty arrays on takes longer than what is done with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}


def loop(function: _Function) -> _Function:
    return cast(_Function, njit(**_OPTIONS)(function))


def part_of_loop(function: _Function) -> _Function:
    return cast(_Function, njit(forceinline=True, **_OPTIONS)(function))
