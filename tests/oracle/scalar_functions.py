"""The ordinary functions of a row: every one is NULL if any argument is, so none sees a NULL here."""

from __future__ import annotations

__all__ = ["FUNCTIONS"]

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

_EPOCH = datetime(1970, 1, 1)


def like(value: str, pattern: str, escape: str = "\\", flags: int = 0) -> bool:
    """SQL's LIKE: % is any text, _ any one character."""
    parts, i = [], 0
    while i < len(pattern):
        letter = pattern[i]
        if letter == escape and i + 1 < len(pattern):
            i += 1
            parts.append(re.escape(pattern[i]))
        else:
            parts.append(".*" if letter == "%" else "." if letter == "_" else re.escape(letter))
        i += 1
    return re.fullmatch("".join(parts), value, re.DOTALL | flags) is not None


def substring(value: Any, start: int, length: int | None = None) -> Any:
    """From position `start`, counted from 1, or from the end if negative."""
    first = start - 1 if start > 0 else 0 if start == 0 else len(value) + start
    last = len(value) if length is None else first + max(0, length)
    return value[max(0, first) : max(0, last)]


def rounded(value: Any, digits: int = 0) -> Any:
    """Half away from zero, as Spark's ROUND does."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    exact = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    result = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return type(value)(result)


def _floor(value: Any) -> Any:
    return value if isinstance(value, float) and not math.isfinite(value) else math.floor(value)


def _ceil(value: Any) -> Any:
    return value if isinstance(value, float) and not math.isfinite(value) else math.ceil(value)


def _sign(value: Any) -> float:
    return float((value > 0) - (value < 0))


def _positive_log(log: Callable[[float], float]) -> Callable[[Any], float | None]:
    return lambda value: None if value <= 0 else log(value)


def _as_java(function: Callable[..., float]) -> Callable[..., float]:
    """NaN outside a function's range, an infinity where the result is too large."""

    def computed(*values: float) -> float:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return -math.inf if function is math.sinh and values[0] < 0 else math.inf

    return computed


def _power(value: float, power: float) -> float:
    if math.isnan(power) or (abs(value) == 1 and math.isinf(power)):
        return math.nan
    if value == 0 and power < 0:
        odd = power == int(power) and int(power) % 2 == 1
        return math.copysign(math.inf, value) if odd else math.inf
    try:
        return math.pow(value, power)
    except OverflowError:
        return -math.inf if value < 0 and int(power) % 2 == 1 else math.inf
    except ValueError:
        return math.nan


def _padded(left: bool) -> Callable[..., str]:
    def pad(value: str, length: int, fill: str = " ") -> str:
        if len(value) >= length or not fill:
            return value[: max(0, length)]
        missing = length - len(value)
        filler = (fill * missing)[:missing]
        return filler + value if left else value + filler

    return pad


def _add_days(value: date, days: int) -> date:
    return value + timedelta(days=days)


def _last_day(value: date) -> date:
    following = date(value.year + value.month // 12, value.month % 12 + 1, 1)
    return following - timedelta(days=1)


def _truncated(unit: str, value: datetime) -> datetime:
    unit = unit.lower()
    if unit in ("week",):
        day = value.date() - timedelta(days=value.weekday())
        return datetime(day.year, day.month, day.day)
    if unit == "quarter":
        return datetime(value.year, (value.month - 1) // 3 * 3 + 1, 1)
    order = ["year", "month", "day", "hour", "minute", "second"]
    aliases = {"yyyy": "year", "yy": "year", "mon": "month", "mm": "month", "dd": "day"}
    kept = order.index(aliases.get(unit, unit)) + 1
    parts = [value.year, value.month, value.day, value.hour, value.minute, value.second]
    return datetime(*(parts[:kept] + [1, 1, 1, 0, 0, 0][kept:]))  # type: ignore[arg-type]


def _log(base: float, value: float | None) -> float | None:
    if value is None:
        return None if base <= 0 else math.log(base)
    return None if value <= 0 or base <= 0 else math.log(value) / math.log(base)


def _locate(part: str, value: str, start: int) -> int:
    if start <= 0:
        return 0
    return value.find(part, start - 1) + 1 if part else 1


def _split_part(value: str, separator: str, place: int) -> str | None:
    if place == 0:
        return None
    parts = value.split(separator) if separator else [value]
    where = place - 1 if place > 0 else len(parts) + place
    return parts[where] if 0 <= where < len(parts) else ""


def _extract(value: str, pattern: str, group: int) -> str:
    match = re.search(pattern, value)
    return (match[group] or "") if match else ""


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "like": like,
    "ilike": lambda value, pattern, escape="\\": like(value, pattern, escape, re.IGNORECASE),
    "rlike": lambda value, pattern: re.search(pattern, value) is not None,
    "concat": lambda *values: "".join(values),
    "upper": str.upper,
    "lower": str.lower,
    "initcap": lambda value: " ".join(word[:1].upper() + word[1:].lower() for word in value.split(" ")),
    "length": len,
    "bit_length": lambda value: 8 * len(value.encode() if isinstance(value, str) else value),
    "octet_length": lambda value: len(value.encode() if isinstance(value, str) else value),
    "substring": substring,
    "left": lambda value, count: value[: max(0, count)],
    "right": lambda value, count: value[-count:] if count > 0 else "",
    "trim": lambda value, letters=" ": value.strip(letters),
    "ltrim": lambda value, letters=" ": value.lstrip(letters),
    "rtrim": lambda value, letters=" ": value.rstrip(letters),
    "replace": lambda value, old, new="": value.replace(old, new) if old else value,
    "reverse": lambda value: value[::-1],
    "repeat": lambda value, count: value * max(0, count),
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": lambda value, part: part in value,
    "instr": lambda value, part: value.find(part) + 1,
    "locate": lambda part, value, start=1: _locate(part, value, start),
    "lpad": _padded(left=True),
    "rpad": _padded(left=False),
    "ascii": lambda value: ord(value[0]) if value else 0,
    "floor": _floor,
    "ceil": _ceil,
    "round": rounded,
    "sign": _sign,
    "sqrt": lambda value: math.sqrt(value) if value >= 0 else math.nan,
    "cbrt": lambda value: math.copysign(abs(value) ** (1 / 3), value),
    "exp": _as_java(math.exp),
    "ln": _positive_log(math.log),
    "log10": _positive_log(math.log10),
    "log2": _positive_log(math.log2),
    "power": _power,
    "sin": _as_java(math.sin),
    "cos": _as_java(math.cos),
    "tan": _as_java(math.tan),
    "asin": _as_java(math.asin),
    "acos": _as_java(math.acos),
    "atan": _as_java(math.atan),
    "atan2": lambda y, x: math.atan2(y + 0.0, x + 0.0),
    "degrees": _as_java(math.degrees),
    "radians": _as_java(math.radians),
    "isnan": lambda value: value != value,
    "nanvl": lambda value, other: other if value != value else value,
    "log": lambda base, value=None: _log(base, value),
    "sinh": _as_java(math.sinh),
    "cosh": _as_java(math.cosh),
    "tanh": _as_java(math.tanh),
    "pi": lambda: math.pi,
    "e": lambda: math.e,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_not": lambda a: ~a,
    "year": lambda value: value.year,
    "month": lambda value: value.month,
    "day": lambda value: value.day,
    "quarter": lambda value: (value.month + 2) // 3,
    "hour": lambda value: value.hour,
    "minute": lambda value: value.minute,
    "second": lambda value: value.second,
    "dayofweek": lambda value: value.isoweekday() % 7 + 1,
    "dayofyear": lambda value: value.timetuple().tm_yday,
    "weekofyear": lambda value: value.isocalendar()[1],
    "timestamp_add": lambda a, b: a + b,
    "timestamp_subtract": lambda a, b: a - b,
    "timestamp_difference": lambda a, b: a - b,
    "date_add": _add_days,
    "date_sub": lambda value, days: _add_days(value, -days),
    "datediff": lambda end, start: (end - start).days,
    "last_day": _last_day,
    "date_trunc": _truncated,
    "weekday": lambda value: value.weekday(),
    "trunc": lambda value, unit: _truncated(unit, datetime(value.year, value.month, value.day)).date(),
    "make_date": date,
    "unix_seconds": lambda value: (value - _EPOCH) // timedelta(seconds=1),
    "unix_millis": lambda value: (value - _EPOCH) // timedelta(milliseconds=1),
    "unix_micros": lambda value: (value - _EPOCH) // timedelta(microseconds=1),
    "unix_date": lambda value: (value - _EPOCH.date()).days,
    "timestamp_seconds": lambda number: _EPOCH + timedelta(microseconds=int(Decimal(number) * 1_000_000)),
    "timestamp_millis": lambda number: _EPOCH + timedelta(milliseconds=number),
    "timestamp_micros": lambda number: _EPOCH + timedelta(microseconds=number),
    "split_part": lambda value, separator, place: _split_part(value, separator, place),
    "regexp_replace": lambda value, pattern, new: re.sub(pattern, re.sub(r"\$(\d)", r"\\\1", new), value),
    "regexp_extract": lambda value, pattern, group=1: _extract(value, pattern, group),
}
