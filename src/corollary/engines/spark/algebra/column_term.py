"""The value of an expression as SQL text, with the conditions under which it is right."""

from __future__ import annotations

from dataclasses import dataclass, replace

from corollary.engines.embedded.values.universe import Kind


class NotAColumnError(Exception):
    """Raised for a term that Spark's own expressions cannot compute."""


@dataclass(frozen=True)
class Condition:
    """Where it holds, an expression is right; it has a value in every row. It may depend on texts."""

    sql: str
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ColumnTerm:
    """An expression for the value of a term, NULL where it has none; `always` says that it has one in every row."""

    kind: Kind
    sql: str
    exact: tuple[Condition, ...] = ()
    most: int = 0
    always: bool = True
    texts: frozenset[str] = frozenset()

    def also(self, *others: ColumnTerm) -> ColumnTerm:
        """Return a copy that also depends on everything that its parts depend on."""
        return replace(
            self,
            exact=tuple(dict.fromkeys([*self.exact, *(one for other in others for one in other.exact)])),
            always=self.always and all(other.always for other in others),
            texts=self.texts.union(*(other.texts for other in others)),
        )


def text_column(column: str) -> str:
    """Where the texts of a column's strings stand."""
    return f"{column}_text"
