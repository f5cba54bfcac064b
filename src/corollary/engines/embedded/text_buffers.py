"""The bytes of Arrow's texts, as kernels read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def text_buffers(array: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, np.dtype[np.int64]]]:
    """Bytes and offsets of a string array; the bytes are not copied where it is possible."""
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string())
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(1, np.uint8), np.zeros(1, np.int64)
    numbers = np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    return np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8), numbers
