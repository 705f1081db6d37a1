"""Conversions between types as Spark's try_cast makes them; None where there is no such value."""

from __future__ import annotations

__all__ = ["cast", "fit"]

import math
import re
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from typing import Any

import pyarrow as pa

_EPOCH = datetime(1970, 1, 1)
_WIDE = Context(prec=100)


def fit(value: Any, type_: pa.DataType) -> object:
    """The value as one of `type_` if it has room for it, else None."""
    if value is None:
        return None
    if pa.types.is_integer(type_):
        number = int(value)
        limit = 1 << (type_.bit_width - 1)
        return number if -limit <= number < limit else None
    if pa.types.is_float32(type_):
        try:
            return float(struct.unpack("f", struct.pack("f", float(value)))[0])
        except OverflowError:
            return math.copysign(math.inf, value)
    if pa.types.is_floating(type_):
        return float(value)
    if pa.types.is_decimal(type_):
        with localcontext(_WIDE):
            number = Decimal(value).quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP)
            return number if abs(number) < Decimal(10) ** (type_.precision - type_.scale) else None
    if pa.types.is_date(type_) and isinstance(value, datetime):
        return value.date()
    return value  # type: ignore[no-any-return]


def cast(value: Any, source: pa.DataType, target: pa.DataType) -> object:
    """The value in another type, or None where it has none there."""
    if source == target:
        return value  # type: ignore[no-any-return]
    if pa.types.is_string(target) or pa.types.is_large_string(target):
        return text(value, source)
    if isinstance(value, str):
        try:
            return _from_text(value.strip("\x7f" + bytes(range(33)).decode()), target)
        except (ValueError, ArithmeticError):
            return None
    if pa.types.is_boolean(target):
        return bool(value) if isinstance(value, (bool, int, float, Decimal)) else None
    if pa.types.is_date(target):
        return value.date() if isinstance(value, datetime) else value if isinstance(value, date) else None
    if pa.types.is_timestamp(target):
        return _to_timestamp(value)
    if pa.types.is_binary(target):
        return value if isinstance(value, bytes) else None
    if isinstance(value, datetime):
        micros = (value - _EPOCH) // timedelta(microseconds=1)
        value = micros // 1_000_000 if pa.types.is_integer(target) else micros / 1_000_000
    if isinstance(value, date):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return value if pa.types.is_floating(target) else None
    return fit(
        Decimal(str(value)) if isinstance(value, float) and pa.types.is_decimal(target) else value, target
    )


def _to_timestamp(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    try:
        return _EPOCH + timedelta(microseconds=int(Decimal(value) * 1_000_000))
    except (OverflowError, ValueError, ArithmeticError):
        return None


def text(value: Any, source: pa.DataType) -> str | None:
    """The value as Spark prints it in a cast to STRING."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value, pa.types.is_float32(source))
    if isinstance(value, datetime):
        whole = value.strftime("%Y-%m-%d %H:%M:%S")
        return whole + (f".{value.microsecond:06d}".rstrip("0") if value.microsecond else "")
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


def _float_text(value: float, single: bool) -> str:
    """Java's Double.toString: plain between 0.001 and 10,000,000, else with an exponent."""
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        plain = format(Decimal(_digits(value, single)), "f")
        return plain if "." in plain else plain + ".0"
    mantissa, exponent = f"{Decimal(_digits(value, single)):e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def _digits(value: float, single: bool) -> str:
    if not single:
        return repr(value)
    for digits in range(1, 10):
        shown = f"{value:.{digits}g}"
        if struct.pack("f", float(shown)) == struct.pack("f", value):
            return shown
    return repr(value)


_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MOMENT = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T]"
    r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)?)?)?)?"
)
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?")


def _from_text(value: str, target: pa.DataType) -> object:
    if pa.types.is_boolean(target):
        lowered = value.lower()
        return True if lowered in _TRUE else False if lowered in _FALSE else None
    if pa.types.is_integer(target):
        return fit(int(value), target) if _INTEGER.fullmatch(value) else None
    if pa.types.is_floating(target):
        lowered = value.lower().lstrip("+")
        if lowered in ("nan", "inf", "infinity", "-inf", "-infinity"):
            return float(lowered)
        body = value[:-1] if value[-1:] in ("f", "F", "d", "D") else value
        return fit(float(body), target) if _NUMBER.fullmatch(body) else None
    if pa.types.is_decimal(target):
        return fit(Decimal(value), target) if _NUMBER.fullmatch(value) else None
    if pa.types.is_binary(target):
        return value.encode()
    if pa.types.is_date(target):
        day = _DAY.fullmatch(value)
        return None if day is None else date(*(int(part or 1) for part in day.groups()))
    return _moment(value)


def _moment(value: str) -> datetime | None:
    match = _MOMENT.fullmatch(value)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    micros = int((fraction or "").ljust(6, "0")[:6])
    moment = datetime(
        int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), micros
    )
    if zone in (None, "Z"):
        return moment
    sign = 1 if zone[0] == "+" else -1
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6])) * sign
    return moment.replace(tzinfo=timezone(offset)).astimezone(UTC).replace(tzinfo=None)
