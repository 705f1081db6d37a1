"""Arithmetic that never stops a stream: what overflows, or is divided by zero, is NULL and counted.

Integers go through Arrow's checked kernels; only when one of those raises, NumPy finds the rows that
overflowed. Decimals are computed with 256 bits and rounded half up to the type that Spark gives.
"""

from __future__ import annotations

__all__ = ["KERNELS"]

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine import decimals
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
    valid,
)

CHECKED: dict[str, tuple[Callable[..., Value], Callable[..., Numbers]]] = {
    "add": (pc.add_checked, np.add),
    "subtract": (pc.subtract_checked, np.subtract),
    "multiply": (pc.multiply_checked, np.multiply),
}


def _combine(name: str, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """+, - and * of two values of one type (decimals may differ)."""
    if pa.types.is_decimal(type_):
        return decimals.combine(name, arguments, type_, faults)
    checked, wrapping = CHECKED[name]
    if pa.types.is_floating(type_):
        return checked(*arguments)
    try:
        return checked(*arguments)
    except pa.ArrowInvalid:
        left, right = columns_of_length(arguments)
        return _overflowing(name, wrapping, left, right, type_, faults)


def _overflowing(
    name: str,
    wrapping: Callable[..., Numbers],
    left: pa.Array,
    right: pa.Array,
    type_: pa.DataType,
    faults: Faults,
) -> pa.Array:
    a, b = numbers(left), numbers(right)
    with np.errstate(all="ignore"):
        if type_.bit_width < 64:
            wide = wrapping(a.astype(np.int64), b.astype(np.int64))
            result = wide.astype(a.dtype)
            bad = wide != result
        else:
            result = wrapping(a, b)
            bad = _overflowed(name, a, b, result)
    whole = from_numbers(result, valid(left) & valid(right), type_)
    return null_where(whole, bad, faults, "overflow")


def _overflowed(name: str, a: Numbers, b: Numbers, result: Numbers) -> Mask:
    """Where a 64-bit result wrapped around (Hacker's Delight, 2-13)."""
    if name == "add":
        return np.asarray(((a ^ result) & (b ^ result)) < 0)
    if name == "subtract":
        return np.asarray(((a ^ b) & (a ^ result)) < 0)
    divisor = np.where(a == 0, 1, a)
    quotient, rest = np.divmod(result, divisor)
    lost = (quotient != b) | (rest != 0)
    # The least number has no opposite, and dividing it by -1 wraps around as well.
    turned = (a == -1) & (b == np.iinfo(np.int64).min)
    return np.asarray((a != 0) & (lost | turned))


def _signed(name: str, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """The opposite or absolute value: only the least integer has none."""
    if pa.types.is_duration(type_):
        whole = arguments[0].cast(pa.int64())
        return _signed(name, [whole], pa.int64(), faults).cast(type_)
    kernel = {"negate": pc.negate_checked, "abs": pc.abs_checked}[name]
    try:
        return kernel(arguments[0])
    except pa.ArrowInvalid:
        array = as_array(arguments[0], length_of(arguments))
        bad = numbers(array) == np.iinfo(numbers(array).dtype).min
        return kernel(null_where(array, bad & valid(array), faults, "overflow"))


def zero_of(type_: pa.DataType) -> pa.Scalar:
    """Nothing, as a number of the type."""
    return pa.scalar(Decimal(0) if pa.types.is_decimal(type_) else 0, type_)


def nonzero(divisor: Value, dividend: Value, faults: Faults) -> Value:
    """The divisor with NULL for zero; rows whose dividend is not NULL are counted."""
    zero = pc.equal(divisor, zero_of(divisor.type))
    if isinstance(zero, pa.Scalar):
        if not zero.as_py():
            return divisor
        length = length_of([dividend])
        faults.add("division", length - dividend.null_count)
        return pa.scalar(None, divisor.type)
    if not pc.any(zero).as_py():
        return divisor
    counted = pc.and_(zero, pc.is_valid(dividend)) if not isinstance(dividend, pa.Scalar) else zero
    if not isinstance(dividend, pa.Scalar) or dividend.is_valid:
        faults.add("division", pc.sum(counted).as_py() or 0)
    return pc.if_else(zero, pa.scalar(None, divisor.type), divisor)


def _divide(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    left, right = arguments
    right = nonzero(right, left, faults)
    if pa.types.is_decimal(type_):
        return decimals.divide([left, right], type_, faults)
    return pc.divide(left, right)


def _int_divide(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    left, right = arguments
    right = nonzero(right, left, faults)
    if pa.types.is_decimal(left.type):
        return decimals.int_divide([left, right], faults)
    a, b = columns_of_length([left, right])
    known = valid(a) & valid(b)
    top, bottom = numbers(a), np.where(known, numbers(b), 1)
    bad = known & (bottom == -1) & (top == np.iinfo(np.int64).min)
    faults.add("overflow", int(np.count_nonzero(bad)))
    known &= ~bad
    return pc.divide(a, from_numbers(np.where(known, bottom, 1), known, type_))


def _modulo(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    left, right = arguments
    right = nonzero(right, left, faults)
    if pa.types.is_decimal(type_):
        return decimals.modulo([left, right], type_, faults)
    a, b = columns_of_length([left, right])
    return _remainder(a, b, type_)


def _remainder(a: pa.Array, b: pa.Array, type_: pa.DataType) -> pa.Array:
    known = valid(a) & valid(b)
    bottom = np.where(known, numbers(b), 1).astype(numbers(b).dtype)
    if not pa.types.is_floating(type_):
        bottom = np.where(bottom == -1, 1, bottom).astype(bottom.dtype)  # the least number % -1 would trap
    with np.errstate(all="ignore"):
        return from_numbers(np.fmod(numbers(a), bottom), known, type_)


def _pmod(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """The remainder, plus the divisor where the one is negative and the other is not."""
    left, right = columns_of_length(arguments)
    rest = as_array(_modulo([left, right], type_, faults), len(left))
    low = pc.and_(pc.less(rest, zero_of(type_)), pc.greater(right, zero_of(right.type)))
    if not pc.any(low).as_py():
        return rest
    lift = pc.if_else(low, right, zero_of(right.type))
    if pa.types.is_decimal(type_):
        return decimals.combine("add", [rest, lift], type_, faults)
    raised = pc.add(rest, lift)
    # Rounding may have lifted a tiny negative rest to the divisor itself.
    return _remainder(raised, right, type_) if pa.types.is_floating(type_) else raised


def _bitwise(
    kernel: Callable[..., Value], arguments: Sequence[Value], type_: pa.DataType, faults: Faults
) -> Value:
    return kernel(*arguments)


def _shift(name: str, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> Value:
    """Only the last five (or six) bits of the distance count, as in Java."""
    array, distance = columns_of_length(arguments)
    places = numbers(distance) & (type_.bit_width - 1)
    shift = {"shiftleft": np.left_shift, "shiftright": np.right_shift}[name]
    moved = shift(numbers(array), places.astype(numbers(array).dtype))
    return from_numbers(moved, valid(array) & valid(distance), type_)


KERNELS: dict[str, Kernel] = {
    "add": partial(_combine, "add"),
    "subtract": partial(_combine, "subtract"),
    "multiply": partial(_combine, "multiply"),
    "negate": partial(_signed, "negate"),
    "abs": partial(_signed, "abs"),
    "divide": _divide,
    "int_divide": _int_divide,
    "modulo": _modulo,
    "pmod": _pmod,
    "bitwise_and": partial(_bitwise, pc.bit_wise_and),
    "bitwise_or": partial(_bitwise, pc.bit_wise_or),
    "bitwise_xor": partial(_bitwise, pc.bit_wise_xor),
    "bitwise_not": partial(_bitwise, pc.bit_wise_not),
    "shiftleft": partial(_shift, "shiftleft"),
    "shiftright": partial(_shift, "shiftright"),
}
