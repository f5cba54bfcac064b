"""Places where facts are published: a table for each predicate, which follows a knowledge base."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from corollary.diagnostics import Diagnostic, ProgramError, catalogue

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Origin:
    """The record that a publication keeps of where it comes from: the identity of a store and its version, which is None for a
    knowledge base that is in no directory."""

    store: str
    version: int | None
    predicates: tuple[str, ...]


class Publication(Protocol):
    """A place with a table for each predicate."""

    def changing(self) -> AbstractContextManager[None]:
        """Make everything that is written inside the block visible at once, as far as the place can do that."""
        ...

    def origin(self) -> Origin | None: ...

    def set_origin(self, origin: Origin) -> None: ...

    def replace(self, predicate: str, table: pa.Table) -> None: ...

    def change(self, predicate: str, gone: pa.Table, new: pa.Table, *, again: bool = False) -> bool:
        """Change a table; return False where the columns do not fit, and then nothing was done.

        `again`: somebody may have done some of it, and died before the origin was set.
        """
        ...


def publication_at(target: str, options: Mapping[str, Any]) -> Publication:
    """Return the place to which a target leads: a database, or a directory."""
    from corollary.io.databases import POSTGRES

    if target.startswith(POSTGRES):
        from corollary.io.databases.postgres import PostgresTables

        return PostgresTables(target, **options)
    from corollary.io.delta import DeltaTables

    return DeltaTables(Path(target), **options)


def not_published(message: str) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.NOT_PUBLISHED, message)])
