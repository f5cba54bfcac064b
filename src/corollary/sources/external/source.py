"""What a source is: columns, and rows for the values that are known of some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corollary.diagnostics import Diagnostic, ProgramError, catalogue

Rows = Callable[[pa.Table | None], Any]
"""Given a table of distinct known values, with the names of their columns: all rows that have them, as `insert` takes facts.
Without a table: all rows."""


class SourceFailed(Exception):
    """A source gave no answer; the text is for people."""


@dataclass(frozen=True)
class ExternalSource:
    """`columns` are the arguments of the predicate, `needs` those that have to be known before the source can be asked."""

    predicate: str
    columns: tuple[str, ...]
    needs: frozenset[str]
    rows: Rows

    def ask(self, known: Sequence[int], values: pa.Table) -> Any:
        """The rows for these values of the arguments at these places."""
        names = [self.columns[place] for place in known]
        if missing := sorted(self.needs - set(names)):
            raise unaskable(self.predicate, missing)
        return self._asked(values.rename_columns(names))

    def everything(self) -> Any:
        if self.needs:
            raise unaskable(self.predicate, sorted(self.needs))
        return self._asked(None)

    def _asked(self, values: pa.Table | None) -> Any:
        try:
            return self.rows(values)
        except SourceFailed as error:
            raise failed(self.predicate, error) from error


def failed(predicate: str, error: SourceFailed) -> ProgramError:
    return ProgramError([Diagnostic(catalogue.FAILED_SOURCE, f"the source of '{predicate}': {error}")])


def unaskable(predicate: str, missing: Sequence[str]) -> ProgramError:
    names = ", ".join(f"'{name}'" for name in missing)
    message = f"the source of '{predicate}' has to be asked with a value of {names}"
    hint = "bind it by a constant or by another atom, and answer on demand: mode='demand'"
    return ProgramError([Diagnostic(catalogue.UNASKABLE_SOURCE, message, None, hint)])
