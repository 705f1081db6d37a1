"""Lanes: what the sweep of GROUP BY adds up per group, and how results are made of it.

A column that is aggregated feeds one or more features (how many, their sum, their squares), each of
which is a few lanes that take any order of coming and going and end exactly where they began.
Aggregates of one argument share its features. Lanes are narrow as long as that will do: until a NULL
comes, or a number whose sums need more than 64 bits.
"""

from __future__ import annotations

__all__ = [
    "MOST_ROWS", "Counted", "CountedRows", "DecimalSum", "Feature", "IntegerSum", "RealSum", "Spread",
    "feature_for",
]  # fmt: skip

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.encoding import any_null
from sash.engine.expansions import Terms, product, whole_numbers
from sash.engine.kernels.triples import TERMS

_LOW = np.int64(0xFFFFFFFF)
_LARGE, _DOWN = 2.0**960, 2.0**-64
_SQUARED = 2.0**480
_SMALL = 1 << 31

MOST_ROWS = 1 << 30
"""Up to this many rows narrow lanes hold sums of small numbers without overflow."""


@dataclass(eq=False)
class Feature:
    """So many lanes of plain integers, and triples of doubles in three lanes each, fed by a column."""

    ints: int = 0
    triples: int = 0
    scale: float = 1.0
    """What doubles are multiplied by before they are added."""

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        """What each row adds, into `ints` [n, i] and `floats` [n, f], all zero so far; NULLs add nothing."""
        raise NotImplementedError  # every feature answers

    def shrink(self, values: pa.Array) -> float:
        """What float lanes must be multiplied by before these values are written; rarely not 1."""
        return 1.0

    def carries(self, values: pa.Array) -> bool:
        """Whether the lanes are wide enough for these values."""
        return True

    def widened(self, ints: np.ndarray, wide: np.ndarray) -> None:
        """The lanes [n, i] of this feature as those of its wide form, all zero so far."""
        wide[:] = ints


@dataclass(eq=False)
class Counted(Feature):
    """How many values are not NULL."""

    ints: int = 1

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        missing = any_null([values])
        ints[:, 0] = weight if missing is None else np.where(missing, 0, weight)


@dataclass(eq=False)
class CountedRows(Feature):
    """The narrow form of `Counted`: where no value is NULL, the lane that counts rows tells."""

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        pass

    def carries(self, values: pa.Array) -> bool:
        return not values.null_count


@dataclass(eq=False)
class IntegerSum(Feature):
    """Integers in one lane; in the wide form those of 64 bits in two, the high and the low half, so that
    no sum overflows."""

    ints: int = 2

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        numbers = _plain(values).astype(np.int64, copy=False)
        if self.ints == 1:
            np.multiply(numbers, weight, out=ints[:, 0])
            return
        np.multiply(numbers >> 32, weight, out=ints[:, 0])
        np.multiply(numbers & _LOW, weight, out=ints[:, 1])

    def carries(self, values: pa.Array) -> bool:
        if self.ints == 2 or values.type.bit_width < 64 or not len(values):
            return True
        numbers = _plain(values)
        return bool(numbers.min() >= -_SMALL and numbers.max() < _SMALL)

    def widened(self, ints: np.ndarray, wide: np.ndarray) -> None:
        wide[:, -1] = ints[:, -1]  # a low half may be of any size: the high one is added to it


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
    """Doubles in a triple; NaN and infinities are counted apart, so that they leave with their rows.

    The integer lane counts +inf and NaN in its low half, -inf and NaN in its high half. From the first
    number on whose sums could overflow, all are scaled down, so that a sum comes back into range when
    its large numbers leave.
    """

    ints: int = 1
    triples: int = 1

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        numbers = _finite(_doubles(values), weight, ints[:, 0])
        _write_terms([numbers * self.scale], weight, floats)

    def shrink(self, values: pa.Array) -> float:
        if self.scale == 1.0:
            numbers = np.abs(_doubles(values))
            if np.max(numbers, where=np.isfinite(numbers), initial=0.0) >= _LARGE:
                self.scale = _DOWN
                return self.scale
        return 1.0


@dataclass(eq=False)
class Spread(Feature):
    """Sum and sum of squares, each in a triple: exact for integers, 48 digits for all else.

    What cancels when variance is computed from them is far less than that. Decimals count as whole
    numbers here. The integer lane counts NaN and infinities in its high half, and in its low half
    numbers whose squares might overflow.
    """

    ints: int = 1
    triples: int = 2

    def write(self, values: pa.Array, weight: np.ndarray, ints: np.ndarray, floats: np.ndarray) -> None:
        terms = _as_terms(values)
        usual = np.abs(terms[0]) < _SQUARED  # false for NaN
        if not usual.all():
            strange = np.isfinite(terms[0])
            ints[:, 0] = np.where(usual, 0, np.where(strange, 1, 1 << 32)) * weight
            terms = [np.where(usual, term, 0.0) for term in terms]
        _write_terms(terms, weight, floats[:, :TERMS])
        _write_terms(product(terms, terms), weight, floats[:, TERMS:])


def feature_for(kind: str, type_: pa.DataType, wide: bool) -> Feature:
    """The feature that carries a `count`, a `sum` or a `spread` of values of a type."""
    if kind == "count":
        return Counted() if wide else CountedRows()
    if kind == "spread":
        return Spread()
    if pa.types.is_decimal(type_):
        return DecimalSum()
    if pa.types.is_integer(type_):
        return IntegerSum(ints=2 if wide and type_.bit_width == 64 else 1)
    return RealSum()


def _doubles(values: pa.Array) -> np.ndarray:
    """Floats of any width as doubles, 0 where NULL."""
    return _plain(values).astype(np.float64, copy=False)


def _plain(values: pa.Array) -> np.ndarray:
    """Numbers as NumPy has them, 0 where NULL."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values))
    if values.null_count:
        values = pc.fill_null(values, 0)
    return np.asarray(values.to_numpy(zero_copy_only=True))


def _decimal_halves(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The high and the low 64 bits of unscaled decimals, 0 where NULL."""
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    raw = np.frombuffer(values.buffers()[1], np.int64, 2 * len(values), 16 * values.offset).reshape(-1, 2)
    missing = any_null([values])
    if missing is None:
        return raw[:, 1], raw[:, 0]
    return np.where(missing, 0, raw[:, 1]), np.where(missing, 0, raw[:, 0])


def _as_terms(values: pa.Array) -> list[np.ndarray]:
    """Numbers of any type as exact sums of doubles, decimals unscaled, 0 where NULL."""
    if pa.types.is_decimal(values.type):
        return whole_numbers(*_decimal_halves(values))
    numbers = _plain(values)
    if numbers.dtype.kind == "i":
        return whole_numbers(numbers.astype(np.int64, copy=False))
    return [_doubles(values)]


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


def _write_terms(terms: Terms, weight: np.ndarray, floats: np.ndarray) -> None:
    """Numbers times whole weights into `floats` [n, terms]; the rest of it must be zero."""
    factor = weight.astype(np.float64)
    if len(weight) and np.abs(weight).max() > 1:
        terms = product(terms, [factor])
    else:
        terms = [term * factor for term in terms]
    for lane, term in enumerate(terms):
        floats[:, lane] = term
