"""Columns of typed files made to fit a stream: only by casts that cannot fail.

Whether a column fits is decided by its type alone, so that one file is not refused for a value that
another lacks: wider numbers, other layouts of text, timestamps of other units and zones (to UTC
microseconds).
"""

from __future__ import annotations

__all__ = ["widened", "widens"]

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types


def widens(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether every value of `source` is one of `target`.

    >>> widens(pa.int32(), pa.int64()), widens(pa.int64(), pa.int32())
    (True, False)
    >>> widens(pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("us"))
    True
    """
    return source == target or bool(_widens(source, target))


def _widens(source: pa.DataType, target: pa.DataType) -> Any:
    if types.is_null(source):
        return True
    if types.is_dictionary(source) or types.is_run_end_encoded(source):
        return widens(source.value_type, target)
    if types.is_integer(target):
        return types.is_integer(source) and _bits(source) <= target.bit_width
    if types.is_floating(target):
        exact = {16: 8, 32: 16, 64: 32}[target.bit_width]
        if types.is_integer(source):
            return source.bit_width <= exact
        return types.is_floating(source) and source.bit_width <= target.bit_width
    if types.is_decimal(target):
        return _fits_decimal(source, target)
    if types.is_timestamp(target):
        return types.is_timestamp(source) or types.is_date32(source)
    if types.is_string(target):
        return types.is_large_string(source) or types.is_string_view(source)
    if types.is_binary(target):
        return (
            types.is_large_binary(source)
            or types.is_binary_view(source)
            or types.is_fixed_size_binary(source)
        )
    if types.is_date32(target):
        return types.is_date64(source)
    return types.is_nested(target) and _same_shape(source, target)


def widened(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    """The column as `target`, which its type widens to. Nanoseconds are cut to microseconds.

    >>> widened(pa.chunked_array([pa.array([1], pa.int16())]), pa.int64()).type
    DataType(int64)
    """
    if column.type == target:
        return column
    if types.is_timestamp(column.type) and column.type.unit == "ns":
        column = pc.floor_temporal(column.cast(pa.timestamp("ns")), unit="microsecond")
    if types.is_integer(column.type) and types.is_decimal(target):
        column = column.cast(pa.decimal128(38, target.scale))
    return column.cast(target)


def _bits(source: pa.DataType) -> int:
    """The bits a signed integer needs for every value of an integer type."""
    return int(source.bit_width) + (1 if types.is_unsigned_integer(source) else 0)


def _fits_decimal(source: pa.DataType, target: pa.DataType) -> Any:
    whole = target.precision - target.scale
    if types.is_integer(source):
        return whole >= len(str(2 ** (_bits(source) - 1)))
    return types.is_decimal(source) and (
        source.scale <= target.scale and source.precision - source.scale <= whole
    )


def _same_shape(source: pa.DataType, target: pa.DataType) -> Any:
    if types.is_struct(target):
        return (
            types.is_struct(source)
            and [f.name for f in source] == [f.name for f in target]
            and all(widens(one.type, other.type) for one, other in zip(source, target, strict=True))
        )
    if types.is_map(target):
        return types.is_map(source) and (
            widens(source.key_type, target.key_type) and widens(source.item_type, target.item_type)
        )
    lists = types.is_list(source) or types.is_large_list(source) or types.is_fixed_size_list(source)
    return types.is_list(target) and lists and widens(source.value_type, target.value_type)
