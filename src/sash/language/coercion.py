"""How types meet: Spark's implicit coercions over Arrow types, and the precision of decimals.

The rules are those of Spark 4 in its ANSI mode: numbers widen, a string meets a number as BIGINT or
DOUBLE, a date or a timestamp as that. Decimals that together would need more than 38 digits give up
digits of their scale: in arithmetic not the last six, where they meet in one column as many as it takes.
"""

from __future__ import annotations

__all__ = [
    "ArgumentMismatch", "FunctionError", "bounded_decimal", "common_type", "decimal_of", "is_decimal",
    "is_floating", "is_integer", "is_nested", "is_numeric", "is_simple", "wider",
]  # fmt: skip

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
from pyarrow import types as kinds

from sash.language.types import sql_name

MAXIMUM_PRECISION = 38
MINIMUM_ADJUSTED_SCALE = 6

INTEGER_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
INTEGERS = tuple(INTEGER_DIGITS)

SIMPLE = frozenset(
    (
        *INTEGERS, pa.bool_(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32(),
        pa.timestamp("us"), pa.duration("us"), pa.null(),
    )
)  # fmt: skip


class FunctionError(LookupError):
    """A call that cannot be typed: one sentence of what is wrong, one of what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(f"{message} {remedy}")


class ArgumentMismatch(FunctionError):
    """The function exists, but not for these arguments."""


def is_integer(type_: pa.DataType) -> bool:
    """TINYINT to BIGINT."""
    return type_ in INTEGER_DIGITS


def is_floating(type_: pa.DataType) -> bool:
    """FLOAT or DOUBLE."""
    return bool(kinds.is_float32(type_) or kinds.is_float64(type_))


def is_decimal(type_: pa.DataType) -> bool:
    """DECIMAL of any precision."""
    return bool(kinds.is_decimal(type_))


def is_numeric(type_: pa.DataType) -> bool:
    """Any number."""
    return is_integer(type_) or is_floating(type_) or is_decimal(type_)


def is_nested(type_: pa.DataType) -> bool:
    """ARRAY, STRUCT or MAP: carried along, never looked into."""
    return bool(kinds.is_nested(type_))


def is_simple(type_: pa.DataType) -> bool:
    """What can be compared and printed."""
    return type_ in SIMPLE or is_decimal(type_)


def decimal_of(type_: pa.DataType, constant: object = None) -> pa.DataType:
    """The decimal that holds every value of an integer type, or just the constant if it is known.

    >>> decimal_of(pa.int32()), decimal_of(pa.int32(), 25)
    (Decimal128Type(decimal128(10, 0)), Decimal128Type(decimal128(2, 0)))
    """
    if is_decimal(type_):
        return type_
    if isinstance(constant, int) and not isinstance(constant, bool):
        return pa.decimal128(len(str(abs(constant))), 0)
    return pa.decimal128(INTEGER_DIGITS[type_], 0)


def bounded_decimal(precision: int, scale: int) -> pa.DataType:
    """The decimal nearest to the wanted one: beyond 38 digits the scale gives way, down to six digits.

    >>> bounded_decimal(41, 10), bounded_decimal(60, 20)
    (Decimal128Type(decimal128(38, 7)), Decimal128Type(decimal128(38, 6)))
    """
    if precision <= MAXIMUM_PRECISION:
        return pa.decimal128(precision, scale)
    whole = precision - scale
    kept = max(MAXIMUM_PRECISION - whole, min(scale, MINIMUM_ADJUSTED_SCALE))
    return pa.decimal128(MAXIMUM_PRECISION, kept)


def _wider_number(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if is_integer(left) and is_integer(right):
        return max(left, right, key=lambda type_: INTEGER_DIGITS[type_])
    if is_floating(left) or is_floating(right):
        # An integer or a decimal would lose digits as a FLOAT, so only two FLOATs stay one.
        return pa.float64()
    one, other = decimal_of(left), decimal_of(right)
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    # A value may lose digits behind the point, but not become NULL for those before it.
    return pa.decimal128(min(whole + scale, MAXIMUM_PRECISION), min(scale, MAXIMUM_PRECISION - whole))


def _with_string(other: pa.DataType) -> pa.DataType | None:
    if is_integer(other):
        return pa.int64()
    if is_floating(other) or is_decimal(other):
        return pa.float64()
    return other if other in SIMPLE and not kinds.is_duration(other) else None


def wider(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type in which values of both can be compared or stand in one column; None if there is none.

    >>> wider(pa.int32(), pa.float32()), wider(pa.string(), pa.int8()), wider(pa.bool_(), pa.int8())
    (DataType(double), DataType(int64), None)
    >>> wider(pa.decimal128(18, 2), pa.decimal128(37, 0))
    Decimal128Type(decimal128(38, 1))
    """
    if left == right or kinds.is_null(right):
        return left
    if kinds.is_null(left):
        return right
    if is_numeric(left) and is_numeric(right):
        return _wider_number(left, right)
    if kinds.is_string(left):
        return _with_string(right)
    if kinds.is_string(right):
        return _with_string(left)
    if {left, right} == {pa.date32(), pa.timestamp("us")}:
        return pa.timestamp("us")
    return None


def common_type(types: Sequence[pa.DataType]) -> pa.DataType:
    """The type of a column that holds values of all the types: CASE, COALESCE, UNION.

    >>> common_type([pa.int32(), pa.null(), pa.decimal128(5, 2)])
    Decimal128Type(decimal128(12, 2))
    """

    def meet(left: pa.DataType, right: pa.DataType) -> pa.DataType:
        both = wider(left, right)
        if both is None:
            raise ArgumentMismatch(
                f"{sql_name(left)} and {sql_name(right)} have no type in common.",
                "Cast one of them to the type of the other.",
            )
        return both

    # Strings last, so that the order of the arguments does not matter: ('1', 1, 1.5) is DOUBLE.
    ordered = sorted(types, key=lambda type_: bool(kinds.is_string(type_)))
    return reduce(meet, ordered)
