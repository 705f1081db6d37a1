"""Rounding, roots, logarithms, angles: functions of numbers.

Rounding decides ties on the decimal that a double prints as, not on its binary digits, as Spark
does: round(1.005, 2) is 1.01.
"""

from __future__ import annotations

__all__ = ["KERNELS"]

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine import decimals
from sash.engine.values import (
    Faults,
    Kernel,
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


def _arrow(
    kernel: Callable[..., Value], arguments: Sequence[Value], type_: pa.DataType, faults: Faults
) -> Value:
    return kernel(*arguments)


def _numpy(
    kernel: Callable[..., Any], arguments: Sequence[Value], type_: pa.DataType, faults: Faults
) -> Value:
    columns = columns_of_length(arguments)
    known = np.logical_and.reduce([valid(column) for column in columns])
    with np.errstate(all="ignore"):
        return from_numbers(kernel(*(numbers(column) for column in columns)), known, type_)


def _sign(values: Numbers) -> Numbers:
    return np.sign(values)


def _logarithm(
    kernel: Callable[..., Any], arguments: Sequence[Value], type_: pa.DataType, faults: Faults
) -> Value:
    """NULL, and no fault, where there is no logarithm: so it is in Spark under every setting."""
    columns = columns_of_length(arguments)
    known = np.logical_and.reduce([valid(column) & ~(numbers(column) <= 0) for column in columns])
    with np.errstate(all="ignore"):
        return from_numbers(kernel(*(numbers(column) for column in columns)), known, type_)


def _log(*values: Numbers) -> Numbers:
    return np.log(values[0]) if len(values) == 1 else np.log(values[1]) / np.log(values[0])


def _whole(name: str, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """CEIL and FLOOR; a double too large for BIGINT gives the largest there is, NaN gives 0, as in Java."""
    (value,) = arguments
    if pa.types.is_integer(value.type):
        return value
    array = as_array(value, length_of(arguments))
    kernel = {"ceil": pc.ceil, "floor": pc.floor}[name]
    if pa.types.is_decimal(value.type):
        return _whole_decimal(name, array, type_, faults)
    rounded = numbers(kernel(array))
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    inside = (rounded >= -(2.0**63)) & (rounded < 2.0**63)
    whole = np.where(inside, rounded, 0).astype(np.int64)
    whole = np.where(rounded >= 2.0**63, high, np.where(rounded < -(2.0**63), low, whole))
    return from_numbers(whole, valid(array), type_)


def _whole_decimal(name: str, array: pa.Array, type_: pa.DataType, faults: Faults) -> pa.Array:
    wide = decimals.widen(array, decimals.WIDEST)
    if not array.type.scale:
        return decimals.fit(wide, type_, faults)
    whole = decimals.cut(wide, 0)
    back = whole.cast(wide.type)
    missed = pc.greater(wide, back) if name == "ceil" else pc.less(wide, back)
    one, none = (pa.scalar(Decimal(n), pa.decimal256(decimals.WIDEST - 1, 0)) for n in (1, 0))
    kernel = pc.add if name == "ceil" else pc.subtract
    moved = kernel(decimals.relabel(whole, decimals.WIDEST - 1, 0), pc.if_else(missed, one, none))
    return decimals.fit(moved, type_, faults)


def _round(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    values = [*arguments, pa.scalar(0, pa.int64())] if len(arguments) == 1 else arguments
    return per_constant(values, (1,), type_, lambda given: _rounded(given[0], given[1], type_, faults))


def _rounded(array: pa.Array, places: int, type_: pa.DataType, faults: Faults) -> pa.Array:
    if pa.types.is_decimal(type_):
        return _rounded_decimal(array, places, type_, faults)
    if pa.types.is_floating(type_):
        return from_numbers(_rounded_floats(numbers(array), places), valid(array), type_)
    return array if places >= 0 else _rounded_integers(array, -places, type_, faults)


def _rounded_floats(values: Numbers, places: int) -> Numbers:
    if places > 308 or places < -309:
        return values if places > 0 else np.where(np.isfinite(values), np.copysign(0.0, values), values)
    size = np.abs(values.astype(np.float64))
    with np.errstate(all="ignore"):
        if places >= 0:
            power = float(10**places) if places <= 308 else math.inf
            below = np.floor(size * power)
            # Half-way is computed as the double nearest to that decimal: what prints as a tie is one.
            middle = (2 * below + 1) / (2 * power)
            rounded = (below + (values.dtype.type(1) * size >= middle.astype(values.dtype))) / power
            exact = size * power >= 2.0**52
        else:
            power = float(10**-places)
            below = np.floor(size / power)
            rounded = (below + (size - below * power >= power / 2)) * power
            exact = ~np.isfinite(size)
    result = np.where(exact | ~np.isfinite(size), values, np.copysign(rounded, values))
    return np.asarray(result.astype(values.dtype))


def _rounded_integers(array: pa.Array, places: int, type_: pa.DataType, faults: Faults) -> pa.Array:
    """To tens, hundreds and so on; through decimals, which do not overflow on the way."""
    if places > 19:
        return from_numbers(np.zeros(len(array), np.int64), valid(array), type_)
    wide = decimals.relabel(decimals.widen(array), decimals.WIDEST, places)
    whole = decimals.fit(wide, pa.decimal128(38, 0), faults)
    result = decimals.combine("multiply", [whole, pa.scalar(Decimal(10**places), pa.decimal128(20, 0))],
                              pa.decimal128(38, 0), faults)  # fmt: skip
    bound = 2 ** (type_.bit_width - 1)
    highest, lowest = (pa.scalar(Decimal(n), result.type) for n in (bound - 1, -bound))
    outside = pc.or_(pc.greater(result, highest), pc.less(result, lowest)).fill_null(False)
    return null_where(result, numbers(outside), faults, "overflow").cast(type_)


def _rounded_decimal(array: pa.Array, places: int, type_: pa.DataType, faults: Faults) -> pa.Array:
    wide = decimals.widen(array, decimals.WIDEST)
    scale = array.type.scale
    if places >= scale:
        return decimals.fit(wide, type_, faults)
    if scale - places > 38:
        nothing = pa.array(np.zeros(len(array), np.int64), mask=~valid(array))
        return decimals.fit(decimals.widen(nothing), type_, faults)
    # Seen with `scale - places` decimals, rounding at the point is rounding at that place.
    steps = decimals.fit(
        decimals.relabel(wide, decimals.WIDEST, scale - places), pa.decimal128(38, 0), faults
    )
    if places >= 0:
        exact = decimals.relabel(decimals.widen(steps), decimals.WIDEST, places)
        return decimals.fit(exact, type_, faults)
    if places < -37:  # to nothing, or to a number of 39 digits
        steps = null_where(
            steps, numbers(pc.not_equal(steps, pa.scalar(Decimal(0), steps.type))), faults, "overflow"
        )
        return decimals.fit(decimals.widen(steps), type_, faults)
    power = pa.scalar(Decimal(10) ** -places, pa.decimal128(38, 0))
    return decimals.combine("multiply", [steps, power], type_, faults)


def _power(base: Value, exponent: Value) -> Value:
    """As Java has it: 1 to a power that is NaN or infinite is NaN, where C says 1."""
    ones = pc.and_(pc.equal(pc.abs(base), 1.0), pc.is_inf(exponent))
    return pc.if_else(pc.or_(pc.is_nan(exponent), ones), math.nan, pc.power(base, exponent))


def _angle(y: Value, x: Value) -> Value:
    """ATAN2 of numbers without a -0.0, as in Spark."""
    return pc.atan2(pc.add(y, 0.0), pc.add(x, 0.0))


def _constant(number: float, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    return pa.scalar(number, type_)


KERNELS: dict[str, Kernel] = {
    "ceil": partial(_whole, "ceil"),
    "floor": partial(_whole, "floor"),
    "round": _round,
    "sign": partial(_numpy, _sign),
    "cbrt": partial(_numpy, np.cbrt),
    "degrees": partial(_numpy, np.degrees),
    "radians": partial(_numpy, np.radians),
    "sqrt": partial(_arrow, pc.sqrt),
    "exp": partial(_arrow, pc.exp),
    "power": partial(_arrow, _power),
    "sin": partial(_arrow, pc.sin),
    "cos": partial(_arrow, pc.cos),
    "tan": partial(_arrow, pc.tan),
    "asin": partial(_arrow, pc.asin),
    "acos": partial(_arrow, pc.acos),
    "atan": partial(_arrow, pc.atan),
    "atan2": partial(_arrow, _angle),
    "sinh": partial(_arrow, pc.sinh),
    "cosh": partial(_arrow, pc.cosh),
    "tanh": partial(_arrow, pc.tanh),
    "ln": partial(_logarithm, _log),
    "log": partial(_logarithm, _log),
    "log10": partial(_logarithm, np.log10),
    "log2": partial(_logarithm, np.log2),
    "pi": partial(_constant, math.pi),
    "e": partial(_constant, math.e),
}
