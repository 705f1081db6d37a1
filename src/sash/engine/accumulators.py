"""Lanes: what the sweep of GROUP BY adds up per group, and how results are made of it.

A column that is aggregated feeds one or more features (how many, their sum, their squares), each of
which is a few lanes that take any order of coming and going and end exactly where they began.
Aggregates of one argument share its features.
"""

from __future__ import annotations

__all__ = ["Counted", "DecimalSum", "Feature", "IntegerSum", "RealSum", "Spread", "feature_for"]

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.double_double import Pair, minus, times, two_product, two_sum, wide_integers
from sash.engine.encoding import any_null

_LOW = np.int64(0xFFFFFFFF)


@dataclass(eq=False)
class Feature:
    """So many lanes of plain integers and of pairs of doubles, fed by a column."""

    ints: int = 0
    pairs: int = 0

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        """What each row adds, into `ints` [n, ints] and `floats` [n, 2 * pairs]; NULLs add nothing."""
        raise NotImplementedError  # every feature answers

    def state(self) -> list[float]:
        """What must be saved beside the lanes."""
        return []

    def restore(self, state: list[float]) -> None:
        """Take over a saved state."""


@dataclass(eq=False)
class Counted(Feature):
    """How many values are not NULL."""

    ints: int = 1

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        missing = any_null([values])
        ints[:, 0] = weight if missing is None else np.where(missing, 0, weight)


@dataclass(eq=False)
class IntegerSum(Feature):
    """Integers in one lane, those of 64 bits in two: the high and the low half, so that no sum overflows."""

    ints: int = 2

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        numbers = _plain(values).astype(np.int64, copy=False)
        if self.ints == 1:
            np.multiply(numbers, weight, out=ints[:, 0])
            return
        np.multiply(numbers >> 32, weight, out=ints[:, 0])
        np.multiply(numbers & _LOW, weight, out=ints[:, 1])


@dataclass(eq=False)
class DecimalSum(Feature):
    """128-bit whole numbers in four lanes of 32 bits, the highest with the sign."""

    ints: int = 4

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        high, low = _decimal_halves(values)
        for lane, limb in enumerate((low & _LOW, (low >> 32) & _LOW, high & _LOW, high >> 32)):
            np.multiply(limb, weight, out=ints[:, lane])


@dataclass(eq=False)
class RealSum(Feature):
    """Doubles in a pair; NaN and infinities are counted apart, so that they leave with their rows.

    The integer lane counts +inf and NaN in its low half, -inf and NaN in its high half.
    """

    ints: int = 1
    pairs: int = 1

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        numbers = _finite(_plain(values).astype(np.float64, copy=False), weight, ints[:, 0])
        floats[:, 0], floats[:, 1] = _weighted((numbers, np.zeros(0)), weight)


@dataclass(eq=False)
class Spread(Feature):
    """Sum and sum of squares of the values less a shift (the first value seen), each in a pair.

    The spread of values does not depend on the shift; without it the squares of large, close values
    would drown their differences. Decimals count as whole numbers here.
    """

    ints: int = 1
    pairs: int = 2
    shift: tuple[float, float] | None = None

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        missing = any_null([values])
        exact = _as_pair(values)
        high = _finite(exact[0], weight, ints[:, 0])
        known = np.isfinite(exact[0]) if missing is None else np.isfinite(exact[0]) & ~missing
        if self.shift is None and known.any():
            first = int(np.argmax(known))
            self.shift = float(exact[0][first]), float(exact[1][first])
        shift = self.shift or (0.0, 0.0)
        away = minus((high, exact[1]), (np.full(len(high), shift[0]), np.full(len(high), shift[1])))
        away = np.where(known, away[0], 0.0), np.where(known, away[1], 0.0)
        floats[:, 0], floats[:, 1] = _weighted(away, weight)
        floats[:, 2], floats[:, 3] = _weighted(times(away, away), weight)

    def state(self) -> list[float]:
        return list(self.shift or ())

    def restore(self, state: list[float]) -> None:
        self.shift = (state[0], state[1]) if state else None


def feature_for(kind: str, type_: pa.DataType) -> Feature:
    """The feature that carries a `count`, a `sum` or a `spread` of values of a type."""
    if kind == "count":
        return Counted()
    if kind == "spread":
        return Spread()
    if pa.types.is_decimal(type_):
        return DecimalSum()
    if pa.types.is_integer(type_):
        return IntegerSum(ints=2 if type_.bit_width == 64 else 1)
    return RealSum()


def _plain(values: pa.Array) -> np.ndarray:
    """Numbers as NumPy has them, 0 where NULL."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values))
    if values.null_count:
        values = pc.fill_null(values, 0)
    return np.asarray(values.to_numpy(zero_copy_only=True))


def _decimal_halves(values: pa.Array) -> Pair:
    """The high and the low 64 bits of unscaled decimals, 0 where NULL."""
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    raw = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)[values.offset : values.offset + len(values)]
    missing = any_null([values])
    if missing is None:
        return raw[:, 1], raw[:, 0]
    return np.where(missing, 0, raw[:, 1]), np.where(missing, 0, raw[:, 0])


def _as_pair(values: pa.Array) -> Pair:
    """Numbers of any type as pairs of doubles, decimals unscaled."""
    if pa.types.is_decimal(values.type):
        high, low = _decimal_halves(values)
        top, rest = wide_integers(high)
        upper = two_sum(top * float(2**64), rest * float(2**64))
        lower = two_sum(((low >> 32) & _LOW).astype(np.float64) * float(2**32), (low & _LOW).astype(np.float64))
        return minus(upper, (-lower[0], -lower[1]))
    numbers = _plain(values)
    if numbers.dtype.kind == "i":
        return wide_integers(numbers.astype(np.int64, copy=False))
    return numbers.astype(np.float64, copy=False), np.zeros(len(numbers))


def _finite(numbers: np.ndarray, weight: np.ndarray, strange: np.ndarray) -> np.ndarray:
    """The numbers with 0 for what is not finite; that is counted in `strange`."""
    finite = np.isfinite(numbers)
    if finite.all():
        strange[:] = 0
        return numbers
    upward = (~finite & (numbers != -np.inf)).astype(np.int64)
    downward = (~finite & (numbers != np.inf)).astype(np.int64)
    strange[:] = (upward + (downward << 32)) * weight
    return np.where(finite, numbers, 0.0)


def _weighted(numbers: Pair, weight: np.ndarray) -> Pair:
    """Pairs (or doubles, with an empty low part) times whole weights."""
    high, low = numbers
    times_ = weight.astype(np.float64)
    if not len(weight) or np.abs(weight).max() <= 1:
        return high * times_, (low * times_ if len(low) else np.zeros(len(high)))
    p, e = two_product(high, times_)
    return two_sum(p, e + low * times_) if len(low) else (p, e)
