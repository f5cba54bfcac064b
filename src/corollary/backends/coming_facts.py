"""What facts bring that are about to be inserted: predicates that had none, and terms of forms that none had."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from corollary.backends.backend import Backend
from corollary.program.arities import name_with_arity
from corollary.program.forms import Form, forms_of_rows

Inserts = Sequence[tuple[str, Any]]


def arities_with(inserts: Inserts, backend: Backend, *, mixed: bool) -> dict[str, int]:
    """The numbers of arguments of the predicates that there will be."""
    new = [(name, facts) for name, facts in inserts if name not in backend.arities]
    widths = [(name, width) for name, facts in new if (width := _width(facts)) is not None]
    return {**backend.arities, **{name_with_arity(name, width) if mixed else name: width for name, width in widths}}


def forms_with(inserts: Inserts, backend: Backend) -> Set[Form]:
    """The forms of the terms that there will be; tables of other libraries have none."""
    coming = (forms_of_rows(facts) for _, facts in inserts if isinstance(facts, (list, tuple)))
    return frozenset(backend.forms()).union(*coming)


def _width(facts: Any) -> int | None:
    """How many columns facts have that are still to be read; None where they do not say."""
    if hasattr(facts, "num_columns"):
        return int(facts.num_columns)
    if hasattr(facts, "shape"):
        return int(facts.shape[1])
    first = facts[0] if isinstance(facts, (list, tuple)) and facts else None
    return len(first) if isinstance(first, (list, tuple)) else None
