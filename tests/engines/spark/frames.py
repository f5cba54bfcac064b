"""Frames of ids that a test writes down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from corollary.engines.spark.relations import Frame, column_names, empty_frame
from corollary.engines.spark_session.arrow_frames import rows_of_table


def frame_of_ids(spark: SparkSession, ids: np.ndarray[Any, np.dtype[np.int64]]) -> Frame:
    """A frame of rows that the driver has, an array of n rows and `arity` columns; they are distinct."""
    count, arity = ids.shape
    if not count:
        return empty_frame(spark, arity)
    if not arity:
        ids, count = np.zeros((1, 1), np.int64), 1
    columns = [pa.array(np.ascontiguousarray(ids[:, place], np.int64)) for place in range(ids.shape[1])]
    return Frame(rows_of_table(spark, pa.table(columns, names=column_names(arity))), arity, count)
