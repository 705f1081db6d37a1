"""Arrow columns whose values have a fixed width, as arrays that only move them."""

from __future__ import annotations

__all__ = ["as_column", "moving_dtype", "valid_marks", "values_of"]

import numpy as np
import pyarrow as pa

_BY_WIDTH = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64, 128: np.complex128}


def moving_dtype(type_: pa.DataType) -> np.dtype | None:
    """What values of this type are moved as; None if they have no fixed width in whole bytes.

    >>> moving_dtype(pa.timestamp("us")), moving_dtype(pa.string()), moving_dtype(pa.bool_())
    (dtype('uint64'), None, None)
    """
    if not (pa.types.is_primitive(type_) or pa.types.is_decimal128(type_)):
        return None
    width = _BY_WIDTH.get(type_.bit_width)
    return None if width is None else np.dtype(width)


def values_of(column: pa.Array, dtype: np.dtype) -> np.ndarray:
    """The values of a column, without copying; NULLs hold anything.

    >>> values_of(pa.array([1, None, 3]).slice(2), np.dtype("uint64")).tolist()
    [3]
    """
    data = column.buffers()[1]
    if not len(column) or data is None:
        return np.zeros(len(column), dtype)
    values = np.frombuffer(data, dtype, len(column), column.offset * dtype.itemsize)
    return values if values.flags.aligned else values.copy()


def valid_marks(column: pa.Array) -> np.ndarray:
    """1 where there is a value, 0 where it is NULL.

    >>> valid_marks(pa.array([1, None])).tolist()
    [1, 0]
    """
    marks: np.ndarray = column.is_valid().cast(pa.uint8()).to_numpy()
    return marks


def as_column(type_: pa.DataType, values: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """A column of the values, without copying them.

    >>> as_column(pa.int64(), np.array([1, 2], np.uint64), np.array([1, 0], np.uint8)).to_pylist()
    [1, None]
    """
    if valid is None or valid.all():
        return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(values)], null_count=0)
    marks = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(type_, len(values), [marks, pa.py_buffer(values)])
