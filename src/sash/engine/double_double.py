"""Numbers as unevaluated sums of two doubles: about 32 digits, column-wise (Dekker, Knuth).

A pair (high, low) has |low| at most half a unit in the last place of high. Sums and products of
doubles are exact as pairs, so that what rounding drops is kept.
"""

from __future__ import annotations

__all__ = ["Pair", "divide_by", "minus", "times", "two_product", "two_sum", "wide_integers"]

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]

_SPLITTER = float(2**27 + 1)


def two_sum(a: np.ndarray, b: np.ndarray) -> Pair:
    """The exact sum of doubles."""
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


def two_product(a: np.ndarray, b: np.ndarray) -> Pair:
    """The exact product of doubles; plain where halves of the factors would overflow.

    >>> high, low = two_product(np.array([1e16 + 2]), np.array([3.0]))
    >>> int(high[0]) + int(low[0])
    30000000000000006
    """
    p = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return p, np.where(np.isfinite(error), error, 0.0)


def _halves(a: np.ndarray) -> Pair:
    c = _SPLITTER * a
    high = c - (c - a)
    return high, a - high


def _normal(high: np.ndarray, low: np.ndarray) -> Pair:
    s = high + low
    return s, low - (s - high)


def minus(a: Pair, b: Pair) -> Pair:
    """The difference of pairs."""
    s, e = two_sum(a[0], -b[0])
    t, f = two_sum(a[1], -b[1])
    s, e = _normal(s, e + t)
    return _normal(s, e + f)


def times(a: Pair, b: Pair) -> Pair:
    """The product of pairs."""
    p, e = two_product(a[0], b[0])
    return _normal(p, e + (a[0] * b[1] + a[1] * b[0]))


def divide_by(a: Pair, count: np.ndarray) -> Pair:
    """A pair divided by whole numbers (as doubles, not zero).

    >>> high, low = divide_by((np.array([1.0]), np.array([0.0])), np.array([3.0]))
    >>> float(high[0]), float(low[0]) != 0.0
    (0.3333333333333333, True)
    """
    first = a[0] / count
    rest = minus(a, two_product(first, count))
    return _normal(first, np.where(np.isfinite(rest[0]), rest[0], 0.0) / count)


def wide_integers(values: np.ndarray) -> Pair:
    """64-bit integers as pairs, exactly."""
    high = (values >> 32).astype(np.float64) * float(2**32)
    return two_sum(high, (values & 0xFFFFFFFF).astype(np.float64))
