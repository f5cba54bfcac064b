"""Relations of few rows: the driver writes them as the embedded engine would, which takes one short job instead of several.

What the driver has learnt of the universe it keeps for the next relation: they have most of their constants in common.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from corollary.engines.spark.context import Context
from corollary.engines.spark.publish.chunks import terms_of
from corollary.engines.spark.publish.decoded import Decoded
from corollary.engines.spark.terms.ids import is_hashed
from corollary.engines.spark.terms.task_universe import TaskUniverse
from corollary.io.atomic import replacing
from corollary.io.formats import Format
from corollary.results import Result

DRIVER_ROWS = 300_000
"""Rows of a relation that the driver writes itself."""
_MOST_TERMS = 2_000_000  # constants that the driver keeps


def is_small(rows: Decoded) -> bool:
    return rows.frame.rows is not None and rows.frame.rows <= DRIVER_ROWS


def write_small(rows: Decoded, path: Path, form: Format, *, header: bool, predicate: str | None) -> int:
    result = _result(rows)
    with replacing(path, also_parts=True) as aside:
        form.write(result, aside, target=path, header=header, predicate=predicate)
    return len(result)


def _result(rows: Decoded) -> Result:
    table = rows.frame.df.select(*rows.frame.columns).toArrow()
    ids = np.empty((table.num_rows, rows.frame.arity), np.int64)
    for place in range(rows.frame.arity):
        ids[:, place] = table.column(place).to_numpy()
    known = _known_terms(rows.context)
    wanted = np.unique(ids[is_hashed(ids)])
    terms = terms_of(rows.context, wanted[~known.explains(wanted)])
    if terms.num_rows:
        known.learn(terms)
    return Result(known.universe, known.codes(ids), rows.names)


def _known_terms(context: Context) -> TaskUniverse:
    """The terms that the driver knows; they are dropped after a collision, because ids mean something else then."""
    known = context.known_terms
    if known is None or known.collisions is not context.universe.collisions or known.universe.size > _MOST_TERMS:
        known = context.known_terms = TaskUniverse(context.universe.collisions)
    return known
