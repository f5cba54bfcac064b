"""Tables for stores that know fewer types than Arrow: decimals of 38 digits at most, and no time of day.

Delta and Spark are such stores. What they cannot hold becomes text as programs write it, and says so, as mixed columns do.
"""

from __future__ import annotations

import pyarrow as pa

from corollary.language import print_value
from corollary.language.cells import MEANING, TERMS
from corollary.program.python_values import from_python

WIDEST_DECIMAL = 38


def narrowed(table: pa.Table) -> pa.Table:
    """Return a table with the same constants in columns of types that such a store has."""
    for place, field in enumerate(table.schema):
        if pa.types.is_time(field.type) or pa.types.is_decimal256(field.type):
            column = table.column(place)
            distinct = column.combine_chunks().dictionary_encode()
            texts = pa.array(
                [print_value(from_python(value)) for value in distinct.dictionary.to_pylist()], pa.string()
            )
            meaning = pa.field(field.name, pa.string(), metadata={MEANING: TERMS})
            table = table.set_column(place, meaning, texts.take(distinct.indices))
    return table
