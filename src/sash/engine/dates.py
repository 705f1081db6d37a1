"""Functions of dates and timestamps, in UTC and the proleptic Gregorian calendar."""

from __future__ import annotations

__all__ = ["KERNELS"]

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.arithmetic import KERNELS as ARITHMETIC
from sash.engine.casts import cast, seconds_to_timestamp
from sash.engine.cycles import YEARS, in_reach, moved_back
from sash.engine.iso_text import days_from_civil
from sash.engine.values import (
    Faults,
    Kernel,
    Mask,
    Numbers,
    Value,
    as_array,
    columns_of_length,
    from_numbers,
    length_of,
    null_where,
    numbers,
    per_constant,
    valid,
)
from sash.language.durations import CALENDAR_UNITS, UNITS_OF_DATES


def _part(
    kernel: Callable[[Value], Value], arguments: Sequence[Value], type_: pa.DataType, faults: Faults
) -> Value:
    near, _ = in_reach(as_array(arguments[0], length_of(arguments)))
    return kernel(near).cast(pa.int32())


def _year(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    near, cycles = in_reach(as_array(arguments[0], length_of(arguments)))
    years = pc.year(near).cast(pa.int32())
    return years if cycles is None else from_numbers(numbers(years) + YEARS * cycles, valid(near), type_)


def _start(array: pa.Array, unit: str, faults: Faults) -> pa.Array:
    near, cycles = in_reach(array)
    start = pc.floor_temporal(near, 1, unit)
    return start if cycles is None else moved_back(near, start, cycles, faults)


def _date_trunc(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    def call(given: list[Value]) -> Value:
        unit = CALENDAR_UNITS.get(given[0].lower())
        return pa.nulls(len(given[1]), type_) if unit is None else _start(given[1], unit, faults)

    return per_constant(arguments, (0,), type_, call)


def _trunc(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    def call(given: list[Value]) -> Value:
        unit = CALENDAR_UNITS.get(given[1].lower())
        if unit is None or unit not in UNITS_OF_DATES:
            return pa.nulls(len(given[0]), type_)
        return _start(given[0], unit, faults)

    return per_constant(arguments, (1,), type_, call)


def _days(arguments: Sequence[Value]) -> tuple[Numbers, Numbers, Mask]:
    """A date and a number of days, in either order."""
    first, second = columns_of_length(arguments)
    if not pa.types.is_date32(first.type):
        first, second = second, first
    return numbers(first).astype(np.int64), numbers(second).astype(np.int64), valid(first) & valid(second)


def _date_add(sign: int, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    start, days, known = _days(arguments)
    near = np.abs(days) < 2**33
    moved = start + sign * np.where(near, days, 0)
    bad = ~near | (moved != moved.astype(np.int32))
    return null_where(from_numbers(moved.astype(np.int32), known, type_), bad, faults, "overflow")


def _datediff(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    end, start, known = _days(arguments)
    return from_numbers((end - start).astype(np.int32), known, type_)


def _timestamp_add(name: str, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """A timestamp and an interval, in either order; a DATE if the call's type is one."""
    kernel = pc.add_checked if name == "add" else pc.subtract_checked
    try:
        moved = kernel(*arguments)
    except pa.ArrowInvalid:
        whole = [value.cast(pa.int64()) for value in arguments]
        moved = ARITHMETIC[name](whole, pa.int64(), faults).cast(pa.timestamp("us"))
    return cast([moved], type_, faults)


def _difference(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    whole = [value.cast(pa.int64()) for value in arguments]
    return ARITHMETIC["subtract"](whole, pa.int64(), faults).cast(type_)


def _make_date(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    year, month, day = columns_of_length(arguments)
    known = valid(year) & valid(month) & valid(day)
    inside = np.abs(numbers(year)) <= 5_000_000
    years = np.where(inside & known, numbers(year), 1970)
    months, of_month = (np.where(known, numbers(each).clip(0, 99), 1) for each in (month, day))
    days, real = days_from_civil(years, months, of_month)
    return null_where(from_numbers(days, known, type_), ~(real & inside), faults, "cast")


def _whole(divisor: int, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """Since 1970, in units of so many microseconds, rounded down."""
    array = as_array(arguments[0], length_of(arguments))
    values = numbers(array)
    return from_numbers(values if divisor == 1 else np.floor_divide(values, divisor), valid(array), type_)


def _from_whole(factor: int, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    array = as_array(arguments[0], length_of(arguments))
    values = numbers(array)
    most = (2**63 - 1) // factor
    bad = (values > most) | (values < -most)
    return null_where(
        from_numbers(np.where(bad, 0, values) * factor, valid(array), type_), bad, faults, "overflow"
    )


KERNELS: dict[str, Kernel] = {
    "year": _year,
    "quarter": partial(_part, pc.quarter),
    "month": partial(_part, pc.month),
    "day": partial(_part, pc.day),
    "dayofweek": partial(_part, partial(pc.day_of_week, count_from_zero=False, week_start=7)),
    "weekday": partial(_part, pc.day_of_week),
    "dayofyear": partial(_part, pc.day_of_year),
    "weekofyear": partial(_part, pc.iso_week),
    "hour": partial(_part, pc.hour),
    "minute": partial(_part, pc.minute),
    "second": partial(_part, pc.second),
    "date_trunc": _date_trunc,
    "trunc": _trunc,
    "date_add": partial(_date_add, 1),
    "date_sub": partial(_date_add, -1),
    "datediff": _datediff,
    "timestamp_add": partial(_timestamp_add, "add"),
    "timestamp_subtract": partial(_timestamp_add, "subtract"),
    "timestamp_difference": _difference,
    "make_date": _make_date,
    "unix_seconds": partial(_whole, 1_000_000),
    "unix_millis": partial(_whole, 1_000),
    "unix_micros": partial(_whole, 1),
    "unix_date": partial(_whole, 1),
    "timestamp_seconds": seconds_to_timestamp,
    "timestamp_millis": partial(_from_whole, 1_000),
    "timestamp_micros": partial(_from_whole, 1),
}
