"""Functions of the host program: Python functions that rules may use by name, on single values or on whole columns.

They belong to the process, like imported modules: every knowledge base in it sees them. Program text can name such a
function, but never bring one with it. Rules that are sent to other processes, such as Spark tasks, take their functions
with them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, overload

from corollary.diagnostics import Diagnostic, ProgramError, catalogue
from corollary.program.aggregates import AGGREGATES, find_aggregate
from corollary.program.arithmetic import EvaluationError
from corollary.program.builtins.declaration import Builtin, Parameters
from corollary.program.builtins.registry import add_host_function, find_builtin, remove_host_function
from corollary.program.python_values import NoConstant, from_python, to_python
from corollary.program.values import Value

VECTORISED = ("numpy", "arrow")
_NAME = re.compile(r"[^\W\d_]\w*")
_CHAPTER = "Functions of the host program"


@dataclass(frozen=True, eq=False)
class HostFunction:
    """A Python function under a name. If `vectorised`, it takes and returns whole numpy or Arrow arrays."""

    name: str
    function: Callable[..., Any]
    parameters: Parameters
    vectorised: str | None = None
    aggregate: bool = False

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def apply(self, *arguments: Value) -> Value | None:
        """Return the value for one row; None if the function raises."""
        given = [to_python(argument) for argument in arguments]
        return self._result(lambda: self._single(given))

    @property
    def key(self) -> str:
        """The key of the name; names of aggregates are case-insensitive."""
        return self.name.lower() if self.aggregate else self.name

    def apply_to_group(self, values: Sequence[Value]) -> Value:
        """Return the value of an aggregate for the values of one group."""
        given = [to_python(value) for value in values]
        return self.result_of_group(_array(given, self.vectorised) if self.vectorised else given)

    def result_of_group(self, given: Any) -> Value:
        found = self._result(lambda: self.function(given))
        if found is None:
            raise EvaluationError(f"{self.name} has no value here")
        return found

    def _single(self, given: list[Any]) -> Any:
        if self.vectorised is None:
            return self.function(*given)
        found = self.function(*(_array([value], self.vectorised) for value in given))
        return found[0]

    def _result(self, compute: Callable[[], Any]) -> Value | None:
        try:
            found = compute()
            found = found.as_py() if hasattr(found, "as_py") else found
            return None if found is None else from_python(found)
        except NoConstant as error:
            raise EvaluationError(f"{self.name} gives no constant: {error}") from error
        except Exception as error:
            raise EvaluationError(f"{self.name} failed: {type(error).__name__}: {error}") from error


HOST_FUNCTIONS: dict[str, HostFunction] = {}


def register(
    name: str,
    function: Callable[..., Any],
    *,
    arity: int | None = None,
    vectorised: str | None = None,
    aggregate: bool = False,
    replace: bool = False,
) -> HostFunction:
    """Make a Python function known under a name; raise `ProgramError` if that is not possible."""
    _check(name, function, vectorised, aggregate, replace)
    parameters = Parameters(("any",), 1) if aggregate else _parameters(name, function, arity)
    found = HostFunction(name, function, parameters, vectorised, aggregate)
    install(found)
    return found


def install(host: HostFunction) -> None:
    """Make a function known as it is, as a task does with those that were sent with its rules."""
    for known in _in_the_way(host.name, host.aggregate):
        _remove(known)
    HOST_FUNCTIONS[host.key] = host
    if host.aggregate:
        AGGREGATES[host.key] = host.apply_to_group
    else:
        summary = (inspect.getdoc(host.function) or "a function of the host program").partition("\n")[0]
        add_host_function(Builtin(host.name, (), _CHAPTER, host.parameters, "any", summary, host.apply, raw=True))


def unregister(name: str) -> None:
    """Forget a function; rules that use it then have no value there."""
    for host in _in_the_way(name, is_aggregate=False):
        _remove(host)


def _remove(host: HostFunction) -> None:
    del HOST_FUNCTIONS[host.key]
    if host.aggregate:
        del AGGREGATES[host.key]
    else:
        remove_host_function(host.name)


def _in_the_way(name: str, is_aggregate: bool) -> list[HostFunction]:
    """Return the functions with this name: functions differ by case, but an aggregate conflicts with any case."""
    lowered = name.lower()
    return [
        host
        for host in HOST_FUNCTIONS.values()
        if host.name == name or ((is_aggregate or host.aggregate) and host.name.lower() == lowered)
    ]


def carried(name: str) -> HostFunction | None:
    """Return the function that a rule takes along to other processes, by its name."""
    return HOST_FUNCTIONS.get(name)


def _check(name: str, function: object, vectorised: str | None, aggregate: bool, replace: bool) -> None:
    if not _NAME.fullmatch(name):
        raise _bad(f"'{name}' is not the name of a function", "a name is a letter, followed by letters, digits and _")
    if not callable(function):
        raise _bad(f"'{name}' cannot be registered: the object is not callable", None)
    if vectorised not in (None, *VECTORISED):
        raise _bad(f"functions cannot be vectorised over '{vectorised}'", "over 'numpy' or 'arrow'")
    if _in_the_way(name, aggregate):
        if not replace:
            raise _bad(f"a function '{name}' exists already", "replace=True replaces it")
    elif find_builtin(name) is not None:
        raise _bad(f"'{name}' is a built-in function", "take another name")
    elif find_aggregate(name) is not None:
        raise _bad(f"'{name}' is an aggregate", "take another name")


def _bad(message: str, hint: str | None) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.BAD_FUNCTION, message, None, hint)])


def _parameters(name: str, function: Callable[..., Any], arity: int | None) -> Parameters:
    if arity is not None:
        return Parameters(("any",) * arity, arity)
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise _bad(f"cannot tell how many arguments '{name}' takes", "say how many, such as arity=2") from None
    positional = [one for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    repeats = any(one.kind is one.VAR_POSITIONAL for one in found)
    required = sum(one.default is one.empty for one in positional)
    return Parameters(("any",) * (len(positional) + repeats), required, repeats)


def _array(values: list[Any], vectorised: str) -> Any:
    """Return values as an array; decimals, and numbers of mixed types, become doubles."""
    kinds = set(map(type, values))
    if kinds <= {int, float, Decimal} and kinds != {int}:
        values = [float(value) for value in values]
    if vectorised == "numpy":
        import numpy as np

        return np.array(values) if kinds <= {int, float, Decimal} or kinds == {bool} else np.array(values, object)
    import pyarrow as pa

    return pa.array(values)


@overload
def function(first: Callable[..., Any], /) -> HostFunction: ...


@overload
def function(
    first: str | None = None, /, *, arity: int | None = None, vectorised: str | None = None, aggregate: bool = False,
    replace: bool = False,
) -> Callable[[Callable[..., Any]], HostFunction]: ...  # fmt: skip


def function(
    first: Callable[..., Any] | str | None = None, /, *, arity: int | None = None, vectorised: str | None = None,
    aggregate: bool = False, replace: bool = False,
) -> Any:  # fmt: skip
    """Registers the function under it, by its own name or by the one that is given.

    >>> from corollary import KnowledgeBase, function
    >>> @function(replace=True)
    ... def fahrenheit(celsius):
    ...     return celsius * 9 / 5 + 32
    >>> list(KnowledgeBase("t(20). f(fahrenheit(T)) :- t(T).").facts("f"))
    [(68.0,)]
    """

    def decorate(decorated: Callable[..., Any]) -> HostFunction:
        name = first if isinstance(first, str) else decorated.__name__
        return register(name, decorated, arity=arity, vectorised=vectorised, aggregate=aggregate, replace=replace)

    return decorate(first) if callable(first) and not isinstance(first, str) else decorate
