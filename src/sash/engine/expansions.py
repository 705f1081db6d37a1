"""Numbers as unevaluated sums of doubles, column-wise: exact sums and products, then a few terms kept.

The kernels of kernels/triples.py add them up; here is how columns become such numbers.
"""

from __future__ import annotations

__all__ = ["Terms", "product", "quotient", "triple", "two_product", "two_sum", "whole_numbers"]

from collections.abc import Sequence

import numpy as np

from sash.engine.kernels.triples import TERMS

Terms = Sequence[np.ndarray]
"""Columns whose sum is meant."""

_SPLITTER = float(2**27 + 1)
_LOW = np.int64(0xFFFFFFFF)


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The exact sum of doubles, as the rounded one and what rounding dropped."""
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


def two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The exact product of doubles; only the rounded one where halves of the factors would overflow.

    >>> high, low = two_product(np.array([1e16 + 2]), np.array([3.0]))
    >>> int(high[0]) + int(low[0])
    30000000000000006
    """
    with np.errstate(over="ignore", invalid="ignore"):
        p = a * b
        a_high, a_low = _halves(a)
        b_high, b_low = _halves(b)
        error = a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return p, np.where(np.isfinite(error), error, 0.0)


def _halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    c = _SPLITTER * a
    high = c - (c - a)
    return high, a - high


def triple(terms: Terms) -> list[np.ndarray]:
    """The sum of any number of terms in three; the larger terms should come first.

    >>> [float(term[0]) for term in triple([np.array([1.0]), np.array([1e100]), np.array([-1e100])])]
    [1.0, 0.0, 0.0]
    """
    kept = [np.zeros(len(terms[0])) for _ in range(TERMS)]
    for x in terms:
        for k in range(TERMS):
            kept[k], x = two_sum(kept[k], x)
        for k in range(TERMS - 2, -1, -1):
            kept[k], kept[k + 1] = two_sum(kept[k], kept[k + 1])
    return kept


def product(a: Terms, b: Terms) -> list[np.ndarray]:
    """The product of two numbers, in three terms."""
    return triple([part for x in a for y in b for part in two_product(x, y)])


def quotient(a: Terms, count: np.ndarray) -> np.ndarray:
    """A number divided by whole numbers (as doubles), rounded once more than not at all.

    >>> float(quotient([np.array([1.0]), np.array([0.0])], np.array([3.0]))[0])
    0.3333333333333333
    """
    first = a[0] / count
    p, e = two_product(first, count)
    rest = (a[0] - p) - e + a[1]
    better: np.ndarray = first + np.where(np.isfinite(rest), rest, 0.0) / count
    return better


def whole_numbers(high: np.ndarray, low: np.ndarray | None = None) -> list[np.ndarray]:
    """64-bit integers (or 128-bit ones with their low half) as terms, exactly.

    >>> sum(int(term[0]) for term in whole_numbers(np.array([2**63 - 1])))
    9223372036854775807
    """
    if low is None:
        return list(two_sum((high >> 32) * float(2**32), (high & _LOW) * 1.0))
    upper = [term * float(2**64) for term in whole_numbers(high)]
    return triple([*upper, ((low >> 32) & _LOW) * float(2**32), (low & _LOW) * 1.0])
