"""Casts between numbers, booleans, dates and timestamps; those from and to text are in `text_casts`.

A cast never stops a stream: a value that has no place in the target type is NULL and counted.
A timestamp is worth its seconds since 1970 as a number, as in Spark.
"""

from __future__ import annotations

__all__ = ["cast"]

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from sash.engine import decimals, text_casts
from sash.engine.values import Faults, Value, as_array, from_numbers, length_of, null_where, numbers, valid

SECOND = 1_000_000


def cast(arguments: Sequence[Value], target: pa.DataType, faults: Faults) -> Value:
    """The argument in the target type; NULL, and a fault, where it has no value there.

    >>> cast([pa.array(["7", "x"])], pa.int32(), Faults()).to_pylist()
    [7, None]
    """
    (value,) = arguments
    source = value.type
    if source == target:
        return value
    if kinds.is_null(source):
        return pa.scalar(None, target)
    array = as_array(value, length_of(arguments))
    if kinds.is_string(source):
        return text_casts.from_text(array, target, faults)
    if kinds.is_string(target):
        return text_casts.to_text(array, faults)
    if kinds.is_timestamp(source) or kinds.is_date32(source):
        return _from_moment(array, target, faults)
    if kinds.is_timestamp(target):
        return _to_timestamp(array, faults)
    return _number(array, target, faults)


def _number(array: pa.Array, target: pa.DataType, faults: Faults) -> pa.Array:
    source = array.type
    if kinds.is_boolean(target):
        return _truth(array)
    if kinds.is_boolean(source):
        array = array.cast(pa.int8())
        source = array.type
    if kinds.is_decimal(target):
        return _to_decimal(array, target, faults)
    if kinds.is_floating(target):
        return _to_float(array, target)
    return _to_integer(array, target, faults)


def _truth(array: pa.Array) -> pa.Array:
    if kinds.is_decimal(array.type):
        return pc.not_equal(array, pa.scalar(Decimal(0), array.type))
    return from_numbers(numbers(array) != 0, valid(array), pa.bool_())


def _to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    if kinds.is_decimal(array.type):
        return _decimal_to_float(array, target)
    with np.errstate(over="ignore"):
        return from_numbers(numbers(array).astype(f"f{target.bit_width // 8}"), valid(array), target)


def _decimal_to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    """The nearest float: Arrow's own cast may miss it by one in the last place."""
    if array.type.precision > 15 or not kinds.is_float64(target) or len(array) == 0:
        return array.cast(pa.string()).cast(target)
    # The lower half of 128 bits holds 15 digits, and a quotient of two exact doubles is rounded once.
    low = np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), array.offset * 16)[::2]
    return from_numbers(low / 10.0**array.type.scale, valid(array), target)


def _to_integer(array: pa.Array, target: pa.DataType, faults: Faults, cause: str = "cast") -> pa.Array:
    """Towards zero; NULL for NaN and for what is too far out."""
    source = array.type
    if kinds.is_integer(source):
        if source.bit_width <= target.bit_width:
            return array.cast(target)
        wide = numbers(array)
        narrow = wide.astype(f"i{target.bit_width // 8}")
        return null_where(from_numbers(narrow, valid(array), target), narrow != wide, faults, cause)
    if kinds.is_decimal(source):
        whole = decimals.cut(decimals.widen(array, decimals.WIDEST), 0) if source.scale else array
        bound = 2 ** (target.bit_width - 1)
        highest, lowest = (pa.scalar(Decimal(n), pa.decimal256(76, 0)) for n in (bound - 1, -bound))
        whole = decimals.widen(whole, decimals.WIDEST)
        outside = pc.or_(pc.greater(whole, highest), pc.less(whole, lowest))
        bad = np.asarray(outside.fill_null(False).to_numpy(zero_copy_only=False))
        return null_where(whole, bad, faults, cause).cast(pa.decimal128(38, 0)).cast(target)
    return truncated(numbers(array), array, target, faults, cause)


def truncated(
    values: np.ndarray, array: pa.Array, target: pa.DataType, faults: Faults, cause: str
) -> pa.Array:
    """Floating numbers (that stand where `array` is not NULL) cut to integers of the target type."""
    bound = 2.0 ** (target.bit_width - 1)
    cut = np.trunc(values.astype(np.float64, copy=False))
    fits = (cut >= -bound) & (cut < bound)  # false of NaN
    whole = np.where(fits, cut, 0).astype(f"i{target.bit_width // 8}")
    return null_where(from_numbers(whole, valid(array), target), ~fits, faults, cause)


def _to_decimal(array: pa.Array, target: pa.DataType, faults: Faults) -> pa.Array:
    source = array.type
    if kinds.is_floating(source):
        # Through the shortest text of a DOUBLE, as Spark does: 1.005 is then 1.01 at two places, not 1.00
        # (but as a FLOAT it is 1.00, being 1.00499999523162841796875).
        return text_casts.from_text(array.cast(pa.float64()).cast(pa.string()), target, faults)
    if kinds.is_decimal(source):
        whole, wanted = source.precision - source.scale, target.precision - target.scale
        if source.scale <= target.scale and whole <= wanted:
            return array.cast(target)
    return decimals.fit(decimals.widen(array), target, faults, "cast")


def _from_moment(array: pa.Array, target: pa.DataType, faults: Faults) -> pa.Array:
    if kinds.is_date32(array.type):
        days = numbers(array).astype(np.int64)
        most = (2**63 - 1) // (86_400 * SECOND)
        bad = (days > most) | (days < -most)
        instants = np.where(bad, 0, days) * (86_400 * SECOND)
        return null_where(from_numbers(instants, valid(array), target), bad, faults, "cast")
    instants = numbers(array)
    if kinds.is_date32(target):
        days = np.floor_divide(instants, 86_400 * SECOND)
        return from_numbers(days.astype(np.int32), valid(array), target)
    if kinds.is_floating(target):
        return from_numbers(instants / SECOND, valid(array), pa.float64()).cast(target, safe=False)
    if kinds.is_decimal(target):
        exact = decimals.widen(array.view(pa.int64()))
        return decimals.fit(decimals.relabel(exact, decimals.WIDEST, 6), target, faults, "cast")
    seconds = from_numbers(np.floor_divide(instants, SECOND), valid(array), pa.int64())
    return _to_integer(seconds, target, faults)


def _to_timestamp(array: pa.Array, faults: Faults, cause: str = "cast") -> pa.Array:
    """From seconds since 1970, with or without a fraction."""
    target = pa.timestamp("us")
    if kinds.is_integer(array.type):
        seconds = numbers(array).astype(np.int64)
        most = (2**63 - 1) // SECOND
        bad = (seconds > most) | (seconds < -most)
        return null_where(
            from_numbers(np.where(bad, 0, seconds) * SECOND, valid(array), target), bad, faults, cause
        )
    if kinds.is_decimal(array.type):
        exact = decimals.widen(array, decimals.WIDEST)
        exact = decimals.relabel(exact.cast(pa.decimal256(76, array.type.scale + 6)), 76, array.type.scale)
        whole = decimals.cut(exact, 0) if array.type.scale else exact
        return _to_integer(whole, pa.int64(), faults, cause).view(target)
    with np.errstate(all="ignore"):
        instants = numbers(array).astype(np.float64) * SECOND
    return truncated(instants, array, pa.int64(), faults, cause).view(target)


def seconds_to_timestamp(arguments: Sequence[Value], target: pa.DataType, faults: Faults) -> pa.Array:
    """TIMESTAMP_SECONDS: as the cast, but what is too far out is an overflow."""
    return _to_timestamp(as_array(arguments[0], length_of(arguments)), faults, "overflow")
