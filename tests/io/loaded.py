"""Loads a file as users do, and shows constants so that 1, 1.0e0, true and "1" are told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corollary import KnowledgeBase
from corollary.language import print_value


def load(path: Path, *, predicate: str = "p", program: str = "", **options: Any) -> KnowledgeBase:
    kb = KnowledgeBase(program)
    kb.load(predicate, path, **options)
    return kb


def rows(kb: KnowledgeBase, predicate: str = "p") -> list[tuple[str, ...]]:
    """The facts in the order in which they were loaded, each constant as programs write it."""
    return [tuple(map(print_value, row)) for row in kb.facts(predicate).constants()]


def rejected(kb: KnowledgeBase) -> list[tuple[int, str]]:
    return [(reject.line, reject.reason) for reject in kb.rejects]


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
