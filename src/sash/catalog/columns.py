"""Columns made to fit: what comes from outside, turned into the type that a definition asks for.

Only conversions that keep the value are made: integers and numbers of other widths, text in other
layouts, dictionaries, timestamps of other units and zones (to UTC microseconds), ISO text and
microseconds where a TIMESTAMP is asked. The first value that does not fit is named.
"""

from __future__ import annotations

__all__ = ["Misfit", "fit", "from_values", "settle"]

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from sash.catalog.clock import read_instant
from sash.catalog.python_values import mixes_datetimes, unfit_within, unwrapped, without_missing
from sash.errors import SashError

_ARROW_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError)


@dataclass(frozen=True)
class Misfit:
    """The first value of a column that cannot be what is asked; rows count from 1.

    Without a value (it is None) the column has none, and its type alone does not fit.
    """

    row: int
    value: object
    type: pa.DataType


def fit(array: pa.Array, target: pa.DataType) -> pa.Array | Misfit:
    """The column as `target`, or the first value that keeps it from being so.

    >>> fit(pa.array([1, 2], pa.int32()), pa.int64()).type
    DataType(int64)
    >>> fit(pa.array([1.0, 2.5]), pa.int64())
    Misfit(row=2, value=2.5, type=DataType(double))
    """
    if array.type == target:
        return array
    if isinstance(array, pa.ExtensionArray) and types.is_integer(array.type.storage_type):
        # A period of pandas, say, is a count of days or months: neither an instant nor a number.
        return Misfit(0, None, array.type)
    array = _plain(array)
    if array.type == target:
        return array
    if types.is_null(array.type):
        return pa.nulls(len(array), target)
    convert = _conversion(array.type, target)
    if not len(array):
        return Misfit(0, None, array.type) if convert is None else pa.nulls(0, target)
    if convert is None:
        return _first_value(array)
    try:
        return convert(array, target)
    except _ARROW_ERRORS:
        return _first_failure(array, target, convert)


def from_values(values: Sequence[object], target: pa.DataType) -> pa.Array | Misfit:
    """A column of Python values as `target`, or the first value that does not fit.

    >>> from_values([1, None], pa.int64()).to_pylist()
    [1, None]
    >>> from_values([1, "x"], pa.int64())
    Misfit(row=2, value='x', type=DataType(string))
    """
    values = without_missing(values)
    if types.is_timestamp(target):
        for row, value in enumerate(values):
            if getattr(value, "nanosecond", 0):  # of pandas; Arrow would drop it
                return Misfit(row + 1, value, pa.timestamp("ns"))
    whole = _infer(values, target)
    if whole is not None and not isinstance(fitted := fit(whole, target), Misfit):
        return fitted
    parts = []
    for row, value in enumerate(values):  # mixed or bad values: an error is near, speed is not asked
        one = _infer([value], target)
        fitted = Misfit(1, value, pa.null()) if one is None else fit(one, target)
        if isinstance(fitted, Misfit):
            return Misfit(row + 1, value, fitted.type)
        parts.append(fitted)
    return pa.concat_arrays(parts)


def settle(type_: pa.DataType) -> pa.DataType | None:
    """The type in which Sash keeps columns of `type_`; None if it has none for them.

    >>> settle(pa.timestamp("ns", "Europe/Berlin")), settle(pa.uint8()), settle(pa.time32("s"))
    (TimestampType(timestamp[us]), DataType(int16), None)
    """
    if types.is_dictionary(type_):
        return settle(type_.value_type)
    if types.is_timestamp(type_):
        return pa.timestamp("us")
    if types.is_large_string(type_) or types.is_string_view(type_):
        return pa.string()
    if types.is_large_binary(type_) or types.is_binary_view(type_) or types.is_fixed_size_binary(type_):
        return pa.binary()
    if types.is_date(type_):
        return pa.date32()
    if types.is_unsigned_integer(type_):
        return {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}.get(type_.bit_width)
    if types.is_float16(type_):
        return pa.float32()
    kept = (
        types.is_boolean(type_) or types.is_signed_integer(type_) or types.is_floating(type_)
        or types.is_decimal128(type_) or types.is_string(type_) or types.is_binary(type_)
        or types.is_nested(type_)
    )  # fmt: skip
    return type_ if kept else None


def _plain(array: pa.Array) -> pa.Array:
    """Without extension types, dictionaries and run-lengths."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if types.is_dictionary(array.type):
        values = array.dictionary  # Arrow cannot take from views, as polars has them in its categories
        if types.is_string_view(values.type) or types.is_binary_view(values.type):
            values = values.cast(settle(values.type))
        array = values.take(array.indices)
    elif types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    return array


def _is_text(type_: pa.DataType) -> bool:
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_))


def _is_binary(type_: pa.DataType) -> bool:
    return bool(
        types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_)
        or types.is_fixed_size_binary(type_)
    )  # fmt: skip


_Conversion = Callable[[pa.Array, pa.DataType], pa.Array]


def _conversion(source: pa.DataType, target: pa.DataType) -> _Conversion | None:
    """How a column of one type becomes another, or None if it must not."""
    integer, floating, decimal = types.is_integer(source), types.is_floating(source), types.is_decimal(source)
    if types.is_floating(target):
        return _cast_to_floating if integer or floating or decimal else None
    if types.is_integer(target):
        return _cast if integer or floating or decimal else None
    if types.is_decimal(target):
        return _cast_integer_to_decimal if integer else _cast if decimal else None
    if types.is_timestamp(target):
        if _is_text(source):
            return _parse_timestamps
        if integer:
            return _cast_microseconds
        return _cast if types.is_timestamp(source) or types.is_date(source) else None
    if types.is_string(target):
        return _cast if _is_text(source) else None
    if types.is_binary(target):
        return _cast if _is_text(source) or _is_binary(source) else None
    if types.is_date(target):
        return _cast if types.is_date(source) else None
    if types.is_nested(target):
        return _cast if types.is_nested(source) else None
    return None


def _cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    return array.cast(target, safe=True)


def _cast_to_floating(array: pa.Array, target: pa.DataType) -> pa.Array:
    """To the nearest FLOAT, but not from a number to Infinity."""
    cast = array.cast(target, safe=True)
    if types.is_floating(array.type) and pc.any(pc.and_(pc.is_inf(cast), pc.is_finite(array))).as_py():
        raise ValueError(f"a number beyond {target}")
    return cast


def _cast_integer_to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    # Arrow asks for room for every int64 before it looks at the values.
    return array.cast(pa.decimal128(38, target.scale)).cast(target)


def _cast_microseconds(array: pa.Array, target: pa.DataType) -> pa.Array:
    return array.cast(pa.int64()).cast(target)


def _parse_timestamps(array: pa.Array, target: pa.DataType) -> pa.Array:
    for way in (target, pa.timestamp("us", "UTC")):  # without zones, with zones
        try:
            return array.cast(way).cast(target)
        except pa.ArrowException:
            continue
    texts = array.to_pylist()
    try:
        return pa.array([None if t is None else read_instant(t, "timestamp") for t in texts], target)
    except SashError as error:
        raise ValueError(str(error)) from error


def _first_value(array: pa.Array) -> pa.Array | Misfit:
    valid = pc.indices_nonzero(array.is_valid())
    row = valid[0].as_py() if len(valid) else 0
    return Misfit(row + 1, _value(array, row), array.type)


def _first_failure(array: pa.Array, target: pa.DataType, convert: _Conversion) -> Misfit:
    """The first row whose conversion fails, by halving."""
    low, high = 0, len(array)  # the first `low` rows convert, the first `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        try:
            convert(array.slice(low, middle - low), target)
            low = middle
        except _ARROW_ERRORS:
            high = middle
    return Misfit(low + 1, _value(array, low), array.type)


def _value(array: pa.Array, row: int) -> object:
    try:
        return array[row].as_py()
    except _ARROW_ERRORS:  # a timestamp that Python has no date for, nor, of seconds, Arrow a text
        return getattr(array[row], "value", None)


def _infer(values: Sequence[object], target: pa.DataType) -> pa.Array | None:
    if mixes_datetimes(values) or (
        types.is_nested(target) and any(unfit_within(value, target) for value in values)
    ):
        return None
    values = unwrapped(values)
    try:
        if types.is_nested(target):  # Python's dicts and lists do not tell maps from structs
            return pa.array(values, target)
        return pa.array(values)
    except _ARROW_ERRORS:
        pass
    try:  # NumPy datetimes of coarse units, which Arrow does not infer
        if types.is_timestamp(target):
            return pa.array([None if v is None else read_instant(v, "timestamp") for v in values], target)
    except SashError:
        pass
    return None
