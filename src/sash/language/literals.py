"""Constants as they are written: numbers, texts, booleans, NULL, dates, intervals, with Spark's types.

A whole number is INT, or BIGINT, or DECIMAL if it is too long; one with a point is DECIMAL with just
the digits it has; one with an exponent is DOUBLE.
"""

from __future__ import annotations

__all__ = ["check_text", "check_unit", "check_typed_constant", "literal_of", "number_of"]

import datetime
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import pyarrow as pa
from sqlglot import exp

from sash.errors import SashError
from sash.language.durations import CALENDAR_UNITS, UNITS, UNITS_OF_DATES, unit_named
from sash.language.expressions import Expression, Literal
from sash.language.readable import is_readable
from sash.language.syntax import place_of
from sash.language.types import sql_name

_DIGITS = 38


def literal_of(node: exp.Expr, text: str) -> Literal:
    """The constant that a literal (or a negated number) is.

    >>> literal_of(exp.Literal.number("1.50"), "")
    Literal(value=Decimal('1.50'), type=Decimal128Type(decimal128(3, 2)))
    """
    if isinstance(node, exp.Null):
        return Literal(None, pa.null())
    if isinstance(node, exp.Boolean):
        return Literal(bool(node.this), pa.bool_())
    if isinstance(node, exp.HexString):
        digits = str(node.this)
        return Literal(bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2)), pa.binary())
    if isinstance(node, exp.Interval):
        return _interval(node, text)
    if isinstance(node, exp.Neg):
        return _number(f"-{node.this.name}", node, text)
    if isinstance(node, exp.RawString) or (isinstance(node, exp.Literal) and node.is_string):
        return Literal(str(node.this), pa.string())
    return _number(node.name, node, text)


def number_of(literal: Literal, target: pa.DataType) -> Literal | None:
    """A whole number as another type of number, if it is exactly one; None if it must be cast.

    >>> number_of(Literal(3, pa.int32()), pa.float64())
    Literal(value=3.0, type=DataType(double))
    """
    value = literal.value
    if not isinstance(value, int) or isinstance(value, bool) or not pa.types.is_integer(literal.type):
        return None
    if pa.types.is_integer(target) and -(2 ** (target.bit_width - 1)) <= value < 2 ** (target.bit_width - 1):
        return Literal(value, target)
    if pa.types.is_float64(target) and abs(value) <= 2**53:
        return Literal(float(value), target)
    return None


def check_typed_constant(node: exp.Cast, target: pa.DataType, text: str) -> None:
    """Refuse DATE 'x' and TIMESTAMP 'x' if x is none; a CAST of the same would be NULL."""
    written = node.this
    typed = type(node) is exp.Cast and "start" not in node.meta  # not CAST(...), not DATE(...)
    is_date = pa.types.is_date32(target)
    if not typed or not (is_date or pa.types.is_timestamp(target)) or not written.is_string:
        return
    if not is_readable(str(written.this), target):
        raise _unreadable(
            node,
            text,
            f"'{written.this}' is not a {'date' if is_date else 'timestamp'}.",
            f"Write for example {'DATE' if is_date else 'TIMESTAMP'} "
            f"'2024-01-31{'' if is_date else ' 12:00:00'}'.",
        )


def check_text(
    literal: Literal, target: pa.DataType, node: exp.Expr, text: str, *, beside: bool = False
) -> None:
    """Refuse a text within `node` that must become another type there and never can.

    `beside`: because of what it is compared with, or stands in one column with.
    """
    value = literal.value
    if not isinstance(value, str) or is_readable(value, target):
        return
    name = sql_name(target)
    written = (each for each in node.find_all(exp.Literal) if each.is_string and each.this == value)
    raise _unreadable(
        next(written, node),
        text,
        f"'{value}' is not {'an' if name == 'INT' else 'a'} {name}, which it must be here.",
        f"Write one, such as {_EXAMPLES.get(name, '12')}"
        f"{'; to have texts, CAST what stands beside it to STRING' if beside else ''}.",
    )


_UNITS = {"date_trunc": (0, tuple(dict.fromkeys(CALENDAR_UNITS.values()))), "trunc": (1, UNITS_OF_DATES)}


def check_unit(function: str, arguments: Sequence[Expression], node: exp.Expr, text: str) -> None:
    """Refuse a unit that the function does not know; in a column, it would be NULL for that row."""
    position, units = _UNITS.get(function, (0, ()))
    unit = arguments[position] if units else None
    if isinstance(unit, Literal) and CALENDAR_UNITS.get(str(unit.value).lower()) not in units:
        raise _unreadable(
            node,
            text,
            f"'{unit.value}' is not a unit that '{function}' knows.",
            f"Write one of these in quotes: {', '.join(units)}.",
        )


_EXAMPLES = {
    "FLOAT": "1.5", "DOUBLE": "1.5", "BOOLEAN": "true", "DATE": "DATE '2024-01-31'",
    "TIMESTAMP": "TIMESTAMP '2024-01-31 12:00:00'",
}  # fmt: skip


def _number(written: str, node: exp.Expr, text: str) -> Literal:
    if "e" in written.lower():
        try:
            return Literal(float(written), pa.float64())
        except ValueError:
            remedy = "Write digits after the e, such as 1e9."
            raise _unreadable(node, text, f"'{written}' is not a number.", remedy) from None
    if "." not in written:
        value = int(written)
        for type_ in (pa.int32(), pa.int64()):
            if -(2 ** (type_.bit_width - 1)) <= value < 2 ** (type_.bit_width - 1):
                return Literal(value, type_)
    try:
        number = Decimal(written)
    except InvalidOperation:  # pragma: no cover - the parser gives numbers only
        raise _unreadable(node, text, f"'{written}' is not a number.", "Write digits.") from None
    _, digits, exponent = number.as_tuple()
    scale = -int(exponent) if int(exponent) < 0 else 0
    precision = max(len(digits), scale)
    if precision > _DIGITS:
        raise _unreadable(
            node,
            text,
            f"The number has more than {_DIGITS} digits.",
            "Write it as a DOUBLE, with an exponent.",
        )
    return Literal(number, pa.decimal128(precision, scale))


def _interval(node: exp.Interval, text: str) -> Literal:
    unit = node.args.get("unit")
    name = unit_named(unit.name) if isinstance(unit, exp.Var) else None
    if isinstance(unit, exp.Var) and unit.name.lower() in ("week", "weeks"):
        name, factor = "day", 7
    else:
        factor = 1
    amount = node.this.name if isinstance(node.this, exp.Literal) else ""
    if isinstance(node.this, exp.Neg):
        amount = f"-{node.this.this.name}"
    try:
        count = Decimal(amount)
    except InvalidOperation:
        count = None
    if name is None or count is None:
        raise _unreadable(
            node,
            text,
            "This interval cannot be read: it needs one number and one unit of fixed length.",
            "Write for example INTERVAL 10 MINUTES, with microseconds to weeks as units.",
        )
    microseconds = int(count * UNITS[name] * factor)
    return Literal(datetime.timedelta(microseconds=microseconds), pa.duration("us"))


def _unreadable(node: exp.Expr, text: str, message: str, remedy: str) -> SashError:
    return SashError("SASH-BIND-018", message, remedy=remedy, place=place_of(node, text))
