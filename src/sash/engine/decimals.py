"""Decimals as Spark computes them: exactly, in 256 bits, then rounded half up to the result's type.

Arrow's decimal kernels derive a precision from the types alone and refuse what might not fit. Here
values are known to fit (38 digits each), so arrays are relabelled with a precision that Arrow accepts.
"""

from __future__ import annotations

__all__ = ["combine", "divide", "fit", "int_divide", "modulo", "relabel", "widen"]

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.values import Faults, Value, assemble, columns_of_length, null_where, numbers

WIDEST = 76
DIVIDEND = 72
EXTRA = 4
"""Arrow gives a quotient of two whole numbers at least four places."""

_EXACT = Context(prec=200, rounding=ROUND_HALF_UP)


def relabel(array: pa.Array, precision: int, scale: int) -> pa.Array:
    """The same 256-bit integers under another precision and scale, without a copy.

    >>> relabel(pa.array([Decimal("1.50")], pa.decimal256(3, 2)), 5, 0).to_pylist()
    [Decimal('150')]
    """
    return pa.Array.from_buffers(
        pa.decimal256(precision, scale), len(array), array.buffers(), array.null_count, array.offset
    )


def widen(array: pa.Array, precision: int | None = None) -> pa.Array:
    """A decimal (or integer) in 256 bits; `precision` is what Arrow is told of it."""
    type_ = array.type
    if pa.types.is_integer(type_):
        array = array.cast(pa.decimal256(WIDEST, 0))
    elif not pa.types.is_decimal256(type_):
        array = array.cast(pa.decimal256(type_.precision, type_.scale))
    return array if precision is None else relabel(array, precision, array.type.scale)


def fit(array: pa.Array, type_: pa.DataType, faults: Faults, cause: str = "overflow") -> pa.Array:
    """A 256-bit decimal in a narrower type: rounded half up, NULL where it has too many digits.

    >>> wide = pa.array([Decimal("1.255"), Decimal("99.9")], pa.decimal256(9, 3))
    >>> fit(wide, pa.decimal128(3, 2), Faults()).to_pylist()
    [Decimal('1.26'), None]
    """
    array = relabel(array, WIDEST, array.type.scale)
    if array.type.scale > type_.scale:
        array = _rounded(array, type_.scale)
    limit = pa.scalar(Decimal(10) ** (type_.precision - type_.scale), array.type)
    inside = pc.less(pc.abs(array), limit)
    if pc.all(inside).as_py() is False:
        bad = np.asarray(pc.invert(inside).fill_null(False).to_numpy(zero_copy_only=False))
        array = null_where(array, bad, faults, cause)
    return array.cast(pa.decimal256(WIDEST, type_.scale)).cast(type_)


def _rounded(array: pa.Array, scale: int) -> pa.Array:
    """A 256-bit decimal at a lower scale, halves away from zero (Arrow's rounding errs beyond 38 digits)."""
    half = Decimal(5).scaleb(-scale - 1)
    up, down = (pa.scalar(each, array.type) for each in (half, -half))
    away = pc.if_else(pc.less(array, pa.scalar(Decimal(0), array.type)), down, up)
    moved = pc.add(relabel(array, WIDEST - 1, array.type.scale), relabel(away, WIDEST - 1, array.type.scale))
    return cut(relabel(moved, WIDEST, array.type.scale), scale)


def cut(array: pa.Array, scale: int) -> pa.Array:
    """A 256-bit decimal at a lower scale, the digits beyond it left out.

    >>> cut(pa.array([Decimal("-1.99")], pa.decimal256(76, 2)), 0).to_pylist()
    [Decimal('-1')]
    """
    quotient = array.cast(pa.decimal256(WIDEST, scale), safe=False)
    step = pa.scalar(Decimal(10) ** (array.type.scale - scale), pa.decimal256(WIDEST, 0))
    divisor = pa.repeat(step, len(array))
    return relabel(_settled(quotient, array, divisor), WIDEST, scale)


def _settled(quotient: pa.Array, dividend: pa.Array, divisor: pa.Array) -> pa.Array:
    """A quotient of whole numbers made right: Arrow's 256-bit division comes out too small now and then.

    By how much, nothing says: those few rows are divided by hand.
    """
    bottom = relabel(divisor, WIDEST, 0)
    product = pc.multiply(relabel(quotient, 37, 0), relabel(divisor, 38, 0))
    rest = pc.subtract(relabel(dividend, WIDEST - 1, 0), relabel(product, WIDEST - 1, 0))
    short = pc.greater_equal(pc.abs(rest), pc.abs(bottom)).fill_null(False)
    if not pc.any(short).as_py():
        return quotient
    rows = pc.indices_nonzero(short)
    pairs = (relabel(each, WIDEST, 0).take(rows).to_pylist() for each in (dividend, divisor))
    exact = [_EXACT.divide_int(top, bottom) for top, bottom in zip(*pairs, strict=True)]
    right = relabel(quotient, WIDEST, 0)
    others = np.flatnonzero(~np.asarray(short.to_numpy(zero_copy_only=False)))
    pieces = [
        (numbers(rows.cast(pa.int64())), pa.array(exact, right.type)),
        (others, right.take(pa.array(others))),
    ]
    return assemble(pieces, len(right), right.type)


def combine(name: str, arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> pa.Array:
    """+, - and * of two decimals."""
    kernel = {"add": pc.add, "subtract": pc.subtract, "multiply": pc.multiply}[name]
    left, right = columns_of_length(arguments)
    if _digits(name, left.type, right.type) <= 38:
        exact = kernel(left, right)
        if exact.type == type_:
            return exact
        return fit(widen(exact), type_, faults)
    # 10**38 times 10**38 still fits into 256 bits, though Arrow would count 77 digits.
    if name == "multiply":
        a, b = (widen(each, min(each.type.precision, 37)) for each in (left, right))
    else:
        a, b = (relabel(each, WIDEST - 1, each.type.scale) for each in _aligned(left, right))
    return fit(kernel(a, b), type_, faults)


def _digits(name: str, left: pa.DataType, right: pa.DataType) -> int:
    """How many digits an exact result may have."""
    if name == "multiply":
        return int(left.precision + right.precision + 1)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return int(whole + max(left.scale, right.scale) + 1)


def divide(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> pa.Array:
    """The quotient, rounded half up to the scale of the type; divisors are not zero."""
    left, right = columns_of_length(arguments)
    difference = left.type.scale - right.type.scale
    lift = max(0, type_.scale + 1 - difference - EXTRA)
    if left.type.precision + lift + EXTRA > WIDEST:
        return _by_hand(_EXACT.divide, left, right, type_, faults)
    return fit(_quotient(left, right, lift), type_, faults)


def _quotient(left: pa.Array, right: pa.Array, lift: int) -> pa.Array:
    """left / right, cut off at EXTRA + lift places beyond the difference of their scales."""
    scale = left.type.scale + lift
    raised = widen(left, WIDEST).cast(pa.decimal256(WIDEST, scale), safe=False)
    return relabel(_ratio(raised, widen(right)), WIDEST, EXTRA + scale - right.type.scale)


def _ratio(dividend: pa.Array, divisor: pa.Array) -> pa.Array:
    """10**EXTRA * dividend / divisor, cut off: both seen as whole numbers, whatever their scales."""
    # A divisor said to have one digit makes Arrow raise the dividend by four places and no more.
    quotient = pc.divide(relabel(dividend, DIVIDEND, 0), relabel(divisor, 1, 0))
    raised = relabel(dividend, DIVIDEND, 0).cast(pa.decimal256(WIDEST, EXTRA), safe=False)
    return _settled(quotient, raised, divisor)


def _by_hand(
    operation: Callable[[Decimal, Decimal], Decimal],
    left: pa.Array,
    right: pa.Array,
    type_: pa.DataType,
    faults: Faults,
) -> pa.Array:
    """Row by row, for the few types whose quotient needs more than 256 bits on the way."""
    step = Decimal(1).scaleb(-type_.scale)
    limit = Decimal(10) ** (type_.precision - type_.scale)
    results: list[Decimal | None] = []
    for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True):
        known = a is not None and b is not None
        result = operation(a, b).quantize(step, context=_EXACT) if known else None
        fits = result is not None and abs(result) < limit
        faults.add("overflow", known and not fits)
        results.append(result if fits else None)
    return pa.array(results, type_)


def _aligned(left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Both decimals at one scale, in 256 bits."""
    scale = max(left.type.scale, right.type.scale)
    target = pa.decimal256(WIDEST, scale)
    return widen(left, WIDEST).cast(target), widen(right, WIDEST).cast(target)


def _whole_quotient(left: pa.Array, right: pa.Array) -> pa.Array:
    """left / right cut towards zero, of two decimals at one scale."""
    return cut(relabel(_ratio(left, right), WIDEST, EXTRA), 0)


def _too_long(left: pa.Array, right: pa.Array) -> bool:
    """Whether the first, at the scale of both, leaves no room for a division in 256 bits."""
    scale = max(left.type.scale, right.type.scale)
    return bool(left.type.precision - left.type.scale + scale + EXTRA > WIDEST)


def int_divide(arguments: Sequence[Value], faults: Faults) -> pa.Array:
    """DIV of two decimals, as BIGINT."""
    left, right = columns_of_length(arguments)
    type_ = pa.decimal128(38, 0)
    if _too_long(left, right):
        whole = _by_hand(_EXACT.divide_int, left, right, type_, faults)
    else:
        whole = fit(_whole_quotient(*_aligned(left, right)), type_, faults)
    highest, lowest = (pa.scalar(Decimal(n), type_) for n in (2**63 - 1, -(2**63)))
    outside = pc.or_(pc.greater(whole, highest), pc.less(whole, lowest))
    bad = np.asarray(outside.fill_null(False).to_numpy(zero_copy_only=False))
    return null_where(whole, bad, faults, "overflow").cast(pa.int64())


def modulo(arguments: Sequence[Value], type_: pa.DataType, faults: Faults) -> pa.Array:
    """The remainder of two decimals, with the sign of the first."""
    left, right = columns_of_length(arguments)
    if _too_long(left, right):
        return _by_hand(_EXACT.remainder, left, right, type_, faults)
    left, right = _aligned(left, right)
    scale = left.type.scale
    whole = _whole_quotient(left, right)
    product = pc.multiply(relabel(whole, 37, 0), relabel(right, 38, scale))
    rest = pc.subtract(relabel(left, WIDEST - 1, scale), relabel(product, WIDEST - 1, scale))
    return fit(rest, type_, faults)
