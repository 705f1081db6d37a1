"""Aggregates over the values of one group, exact where Python can be: fractions, then one rounding.

NULLs are left out; an aggregate of nothing is NULL, a COUNT of nothing 0.
"""

from __future__ import annotations

__all__ = ["aggregate"]

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pyarrow as pa

from sash.language.expressions import AggregateCall

from .casts import fit
from .scalars import evaluate
from .values import NAN, Row, order_key


def aggregate(call: AggregateCall, rows: Sequence[Row]) -> object:
    """The aggregate of the rows; a row stands in `rows` as often as it is in the group."""
    if call.argument is None:
        return len(rows)
    values: list[Any] = [evaluate(call.argument, row) for row in rows]
    values = [value for value in values if value is not None]
    if call.distinct:
        values = list({order_key(value): value for value in values}.values())
    if call.function == "count":
        return len(values)
    if not values:
        return None
    if call.function in ("min", "max"):
        return (min if call.function == "min" else max)(values, key=order_key)
    if call.function.endswith("_samp") and len(values) == 1:
        return None  # also of a NaN: one row says nothing of how far rows lie apart
    if isinstance(values[0], float) and not all(map(math.isfinite, values)):
        return _of_the_infinite(call.function, values)
    total = sum(map(Fraction, values), Fraction(0))
    if call.function == "sum":
        return _rounded(total, call.type)
    if call.function == "avg":
        return _rounded(total / len(values), call.type)
    return _spread(call.function, values, total)


def _of_the_infinite(function: str, values: Sequence[float]) -> float:
    """SUM and AVG with NaN or infinities among the values; every measure of spread is then NaN."""
    signs = {value for value in values if math.isinf(value)}
    if function not in ("sum", "avg") or any(value != value for value in values) or len(signs) > 1:
        return NAN
    return signs.pop()


def _spread(function: str, values: Sequence[Any], total: Fraction) -> float:
    count = len(values)
    freedom = count - 1 if function.endswith("_samp") else count
    mean = total / count
    variance = sum(((Fraction(value) - mean) ** 2 for value in values), Fraction(0)) / freedom
    return math.sqrt(variance) if function.startswith("stddev") else float(variance)


def _rounded(exact: Fraction, type_: pa.DataType) -> object:
    if pa.types.is_decimal(type_):
        with localcontext() as context:
            context.prec = 100
            return fit(Decimal(exact.numerator) / Decimal(exact.denominator), type_)
    if pa.types.is_integer(type_):
        return fit(int(exact), type_)
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
