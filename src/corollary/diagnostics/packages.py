"""Optional packages: the error for a missing one says how to install it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from corollary.diagnostics import catalogue
from corollary.diagnostics.diagnostic import Diagnostic, ProgramError, Span

EXTRAS = {
    "deltalake": ("deltalake", "delta"),
    "duckdb": ("duckdb", "duckdb"),
    "paho": ("paho-mqtt", "mqtt"),
    "fastavro": ("fastavro", "avro"),
    "pandas": ("pandas", "pandas"),
    "psycopg": ("psycopg", "postgres"),
    "pyoxigraph": ("pyoxigraph", "rdf"),
    "pyspark": ("pyspark", "spark"),
}
"""By module: the name of its package, and the extra of ours that brings it."""


_NOT_AFTER_FORK = frozenset({"deltalake"})  # its threads are not there in the child, which would panic
_FORK_HINT = 'start processes with multiprocessing.get_context("spawn"), or fork before the first use'
_first_used_by: dict[str, int] = {}  # the process that first used a module, which forked children inherit


@contextmanager
def optional_package(module: str, purpose: str, span: Span | None = None) -> Iterator[None]:
    """Run imports of an optional package; raise `ProgramError` (E409) that says how to install it if one of them fails.

    A package that does not survive a fork raises `ProgramError` (E414) in a child of the process that used it.

    >>> with optional_package("duckdb", "this example"):
    ...     raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")
    Traceback (most recent call last):
    corollary.diagnostics.diagnostic.ProgramError: error[E409]: this example needs the package duckdb, which is not installed
    """
    package, extra = EXTRAS[module]
    if module in _NOT_AFTER_FORK and _first_used_by.setdefault(module, os.getpid()) != os.getpid():
        message = f"{purpose} needs the package {package}, which does not work in a process that was forked after its first use"
        raise ProgramError([Diagnostic(catalogue.FORKED_PROCESS, message, span, _FORK_HINT)])
    try:
        yield
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError) and (error.name or module).partition(".")[0] == module
        why = "which is not installed" if is_missing else f"which cannot be imported: {error}"
        message, hint = f"{purpose} needs the package {package}, {why}", f"pip install 'corollary[{extra}]'"
        raise ProgramError([Diagnostic(catalogue.MISSING_PACKAGE, message, span, hint)]) from None
