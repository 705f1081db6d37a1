"""Expressions over one row, in plain Python, with the meaning Spark's try_ forms give them.

What cannot be computed (overflow, division by zero, an impossible cast) is NULL. Logic is
three-valued. `scalar_functions` holds the ordinary functions, `casts` the conversions.
"""

from __future__ import annotations

__all__ = ["evaluate", "holds"]

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from re import error as re_error
from typing import Any

import pyarrow as pa

from sash.language.expressions import Call, Column, Expression, Literal

from .casts import cast, fit
from .scalar_functions import FUNCTIONS
from .values import Row, order_key, plain


def evaluate(expression: Expression, row: Row) -> object:
    """The expression's value for the row."""
    if isinstance(expression, Column):
        return row[expression.index]
    if isinstance(expression, Literal):
        return plain(expression.value)
    return plain(_call(expression, row))


def holds(predicate: Expression | None, row: Row) -> bool:
    """True if the predicate is true: not false, not NULL."""
    return predicate is None or evaluate(predicate, row) is True


def _call(call: Call, row: Row) -> object:
    name, arguments = call.function, call.arguments
    if name in _LAZY:
        return _LAZY[name](call, row)
    values = [evaluate(argument, row) for argument in arguments]
    if name == "is_null":
        return values[0] is None
    if name == "is_not_null":
        return values[0] is not None
    if name == "eq_null_safe":
        return order_key(values[0]) == order_key(values[1])
    if name == "in_list":
        return _in_list(values)
    if name in ("greatest", "least"):
        present = [value for value in values if value is not None]
        pick = max if name == "greatest" else min
        return pick(present, key=order_key) if present else None
    if name == "nvl2":
        return values[1] if values[0] is not None else values[2]
    if name == "isnan":
        return values[0] is not None and values[0] != values[0]
    if name == "nullif":
        left = None if values[0] is None else cast(values[0], arguments[0].type, arguments[1].type)
        same = left is not None and values[1] is not None and order_key(left) == order_key(values[1])
        return None if same else values[0]
    if name == "concat_ws":
        return None if values[0] is None else str(values[0]).join(str(v) for v in values[1:] if v is not None)
    if any(value is None for value in values):
        return None
    if name == "cast":
        return cast(values[0], arguments[0].type, call.type)
    if name in _COMPARISONS:
        left, right = order_key(values[0]), order_key(values[1])
        return _COMPARISONS[name](left, right)
    if name in _ARITHMETIC:
        return _arithmetic(name, values, call.type)
    if name in ("shiftleft", "shiftright"):
        return _shifted(name, *values, call.type.bit_width)
    if name in FUNCTIONS:
        try:
            return fit(FUNCTIONS[name](*values), call.type)
        except (ArithmeticError, ValueError, re_error):
            return None
    raise NotImplementedError(f"the oracle does not know the function {name!r}")


def _shifted(name: str, number: Any, places: Any, width: int) -> int:
    """Bits moved by the places modulo the width; what leaves at the top is lost, the sign stays below."""
    if name == "shiftright":
        return int(number >> places % width)
    kept = (number << places % width) & (1 << width) - 1
    return int(kept - (1 << width) if kept >> (width - 1) else kept)


def _and(call: Call, row: Row) -> object:
    values = [evaluate(argument, row) for argument in call.arguments]
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def _or(call: Call, row: Row) -> object:
    values = [evaluate(argument, row) for argument in call.arguments]
    if any(value is True for value in values):
        return True
    return None if any(value is None for value in values) else False


def _not(call: Call, row: Row) -> object:
    value = evaluate(call.arguments[0], row)
    return None if value is None else not value


def _case(call: Call, row: Row) -> object:
    arguments = call.arguments
    for i in range(0, len(arguments) - 1, 2):
        if evaluate(arguments[i], row) is True:
            return evaluate(arguments[i + 1], row)
    return evaluate(arguments[-1], row) if len(arguments) % 2 else None


def _coalesce(call: Call, row: Row) -> object:
    for argument in call.arguments:
        value = evaluate(argument, row)
        if value is not None:
            return value
    return None


def _if(call: Call, row: Row) -> object:
    condition, then, otherwise = call.arguments
    return evaluate(then if evaluate(condition, row) is True else otherwise, row)


_LAZY: dict[str, Any] = {
    "and": _and, "or": _or, "not": _not, "case": _case, "coalesce": _coalesce, "ifnull": _coalesce,
    "nvl": _coalesce, "if": _if,
}  # fmt: skip

_COMPARISONS: dict[str, Any] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def _in_list(values: list[object]) -> object:
    if values[0] is None:
        return None
    if any(v is not None and order_key(v) == order_key(values[0]) for v in values[1:]):
        return True
    return None if any(v is None for v in values[1:]) else False


_ARITHMETIC = {"add", "subtract", "multiply", "divide", "int_divide", "modulo", "negate", "abs", "pmod"}


def _arithmetic(name: str, values: list[Any], type_: pa.DataType) -> object:
    try:
        return fit(_exact(name, values, type_), type_)
    except (ArithmeticError, ValueError):
        return None


def _exact(name: str, values: list[Any], type_: pa.DataType) -> object:
    a = values[0]
    if name == "negate":
        return -a
    if name == "abs":
        return abs(a)
    b = values[1]
    if isinstance(a, (date, datetime, timedelta)) or isinstance(b, (date, datetime, timedelta)):
        if isinstance(b, int) and isinstance(a, date):
            b = timedelta(days=b)
        return a + b if name == "add" else a - b if name == "subtract" else a * b
    if name == "add":
        return a + b
    if name == "subtract":
        return a - b
    if name == "multiply":
        return a * b
    if b == 0:
        return None
    if name == "divide":
        return Decimal(a) / Decimal(b) if pa.types.is_decimal(type_) else float(a) / float(b)
    if name == "int_divide":
        return int(a / b) if isinstance(a, (float, Decimal)) else _truncated(a, b)
    remainder = math.fmod(a, b) if isinstance(a, float) or isinstance(b, float) else a - b * _quotient(a, b)
    return remainder if name == "modulo" or remainder >= 0 else math.fmod(remainder + b, b)


def _quotient(a: Any, b: Any) -> Any:
    return _truncated(a, b) if isinstance(a, int) and isinstance(b, int) else (a / b).__trunc__()


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient
