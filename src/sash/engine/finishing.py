"""Results of aggregates from lanes: exact sums put together, rounded once, NULL where there is nothing.

`ints` [i, n] and `floats` [f, n] are the lanes of one feature in n states of groups, `count` [n] how
many values are in them.
"""

from __future__ import annotations

__all__ = ["finish"]

from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa

from sash.engine.expansions import quotient
from sash.engine.kernels.triples import spreads
from sash.engine.values import Faults

_EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
_HALF = 1 << 31
_LOW = np.int64(0xFFFFFFFF)


def finish(
    function: str, argument: pa.DataType, type_: pa.DataType,
    count: np.ndarray, ints: np.ndarray, floats: np.ndarray, scale: float, fresh: np.ndarray, faults: Faults,
) -> pa.Array:  # fmt: skip
    """The column of an aggregate over an argument of a type; faults are counted where `fresh`."""
    if function == "count":
        return pa.array(count)
    if function not in ("sum", "avg"):
        return _spread(function, argument, count, ints, floats)
    if pa.types.is_decimal(argument):
        if function == "sum":
            return _decimal_sum(type_, count, ints, fresh, faults)
        return _decimal_mean(argument, type_, count, ints, fresh, faults)
    if pa.types.is_integer(argument):
        if function == "sum" and len(ints) == 1:
            return _column(ints[0], count == 0)
        high, low = _halves(ints)
        if function == "sum":
            return _integer_sum(count, high, low, fresh, faults)
        return _integer_mean(count, high, low)
    return _reals(function, count, ints, floats, scale)


def _column(values: np.ndarray, missing: np.ndarray) -> pa.Array:
    return pa.array(values, mask=missing) if missing.any() else pa.array(values)


def _halves(ints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of integers as a high part and a low one of 32 bits."""
    if len(ints) == 1:
        return ints[0] >> 32, ints[0] & _LOW
    return ints[0] + (ints[1] >> 32), ints[1] & _LOW


def _integer_sum(
    count: np.ndarray, high: np.ndarray, low: np.ndarray, fresh: np.ndarray, faults: Faults
) -> pa.Array:
    missing = count == 0
    if len(high) and (high.min() < -_HALF or high.max() >= _HALF):
        too_large = (high < -_HALF) | (high >= _HALF)
        faults.add("overflow", int(np.count_nonzero(too_large & fresh)))
        missing = missing | too_large
    return _column((high << 32) | low, missing)


def _integer_mean(count: np.ndarray, high: np.ndarray, low: np.ndarray) -> pa.Array:
    """Exact sums below 2**53 divide with one rounding; Python's integers do the rare others."""
    small = (high >= -(1 << 20)) & (high < (1 << 20))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (high * float(2**32) + low) / count
    for row in np.flatnonzero(~small & (count != 0)):
        mean[row] = ((int(high[row]) << 32) + int(low[row])) / int(count[row])
    return _column(mean, count == 0)


def _with_strange(result: np.ndarray, ints: np.ndarray) -> np.ndarray:
    if not ints[0].any():
        return result
    upward, downward = (ints[0] & _LOW) != 0, (ints[0] >> 32) != 0
    result = np.where(upward, np.inf, np.where(downward, -np.inf, result))
    return np.where(upward & downward, np.nan, result)


def _reals(function: str, count: np.ndarray, ints: np.ndarray, floats: np.ndarray, scale: float) -> pa.Array:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = function == "avg"
        result = quotient(list(floats), count.astype(np.float64)) if mean else floats[0]
        result = result / scale
    return _column(_with_strange(result, ints) + 0.0, count == 0)


def _spread(
    function: str, argument: pa.DataType, count: np.ndarray, ints: np.ndarray, floats: np.ndarray
) -> pa.Array:
    """The spread that is free of cancellation (kernels/triples.py), divided last."""
    size = count.astype(np.float64)
    freedom = size - 1 if function.endswith("_samp") else size
    apart = np.empty(len(count))
    spreads(np.ascontiguousarray(count), np.ascontiguousarray(floats), apart)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.maximum(apart, 0.0) / size / freedom
        if pa.types.is_decimal(argument):
            variance = variance / float(10 ** (2 * argument.scale))
        result = np.sqrt(variance) if function.startswith("stddev") else variance
    if ints[0].any():
        large, strange = (ints[0] & _LOW) != 0, (ints[0] >> 32) != 0
        result = np.where(strange, np.nan, np.where(large, np.inf, result))
    return _column(result, freedom <= 0)


def _decimal_sum(
    type_: pa.DataType, count: np.ndarray, limbs: np.ndarray, fresh: np.ndarray, faults: Faults
) -> pa.Array:
    """Carries handed up from limb to limb, then two words of 64 bits."""
    second = limbs[1] + (limbs[0] >> 32)
    third = limbs[2] + (second >> 32)
    fourth = limbs[3] + (third >> 32)
    low = ((limbs[0] & _LOW) | (second << 32)).view(np.uint64)
    high = (third & _LOW) | (fourth << 32)
    most = 10**type_.precision - 1
    fits = (fourth >= -_HALF) & (fourth < _HALF) & ~_below(high, low, -most) & ~_below(~high, ~low, ~most)
    known = (count != 0) & fits
    faults.add("overflow", int(np.count_nonzero(~fits & (count != 0) & fresh)))
    bits = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    raw = np.ascontiguousarray(np.stack([low, high.view(np.uint64)], axis=1))
    return pa.Array.from_buffers(type_, len(count), [bits, pa.py_buffer(raw)])


def _below(high: np.ndarray, low: np.ndarray, bound: int) -> np.ndarray:
    """Where 128-bit integers are less than a bound; turned round bit by bit, where they are greater."""
    top, rest = bound >> 64, np.uint64(bound & (2**64 - 1))
    less: np.ndarray = (high < top) | ((high == top) & (low < rest))
    return less


def _decimal_mean(
    argument: pa.DataType, type_: pa.DataType,
    count: np.ndarray, limbs: np.ndarray, fresh: np.ndarray, faults: Faults,
) -> pa.Array:  # fmt: skip
    """Quotients of Python's integers, rounded half up."""
    limit = 10**type_.precision
    out: list[Decimal | None] = []
    for size, new, *parts in zip(count.tolist(), fresh.tolist(), *limbs.tolist(), strict=True):
        if not size:
            out.append(None)
            continue
        whole = sum(part << (32 * k) for k, part in enumerate(parts))
        scaled = abs(whole) * 10 ** (type_.scale - argument.scale)
        rounded = (2 * scaled + size) // (2 * size)
        fits = rounded < limit
        faults.add("overflow", int(new and not fits))
        signed = Decimal(rounded if whole >= 0 else -rounded)
        out.append(_EXACT.scaleb(signed, -type_.scale) if fits else None)
    return pa.array(out, type_)
