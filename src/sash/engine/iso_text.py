"""Dates and timestamps from ISO text, and days from years, months and days.

Read as Spark reads them: from a bare year to microseconds with a zone; a `T` or a space between day
and time; one or two digits for all but the year. The text is taken apart by one regular expression,
the rest is arithmetic on columns.
"""

from __future__ import annotations

__all__ = ["days_from_civil", "read_date", "read_timestamp"]

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.values import Mask, Numbers, from_numbers, numbers

_DAY = r"^(?P<year>[+-]?[0-9]{4,6})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2})"
_CLOCK = (
    r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})(?:\.(?P<part>[0-9]{0,9}))?)?)?"
)
_ZONE = r" ?(?:Z|UTC|GMT|(?:UTC|GMT)?(?P<zone>[+-])(?P<ahead>[0-9]{1,2})(?::?(?P<minutes>[0-9]{2}))?)?"

DATE = _DAY + r"(?:[ T].*)?)?)?$"
TIMESTAMP = _DAY + r"(?:[ T]" + _CLOCK + _ZONE + r")?)?)?$"

_MINUTE = 60_000_000
_LONGEST = 106_751_991
"""Days on either side of 1970 that microseconds in 64 bits can hold."""


def days_from_civil(year: Numbers, month: Numbers, day: Numbers) -> tuple[Numbers, Mask]:
    """Days since 1970 in the proleptic Gregorian calendar, and whether there is such a day.

    >>> days, real = days_from_civil(np.array([1970, 2023]), np.array([1, 2]), np.array([2, 29]))
    >>> days[0].item(), real.tolist()
    (1, [True, False])
    """
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    lengths = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    inside = (month >= 1) & (month <= 12)
    last = lengths[np.where(inside, month, 1) - 1] + (leap & (month == 2))
    real = inside & (day >= 1) & (day <= last)
    # The year is taken to begin in March, so that the leap day comes last.
    shifted = np.where(month <= 2, year - 1, year)
    era, of_era = np.divmod(shifted, 400)
    of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    days = era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
    return days, np.asarray(real)


def _part(parts: pa.Array, name: str, default: int) -> Numbers:
    """A named group as numbers; the default where it is missing."""
    text = pc.struct_field(parts, name)
    text = pc.if_else(pc.equal(text, ""), pa.scalar(str(default)), text).fill_null(str(default))
    return numbers(pc.utf8_ltrim(text, "+").cast(pa.int64()))


def _day(parts: pa.Array) -> tuple[Numbers, Mask]:
    return days_from_civil(_part(parts, "year", 1970), _part(parts, "month", 1), _part(parts, "day", 1))


def _matched(parts: pa.Array) -> Mask:
    return np.asarray(parts.is_valid().to_numpy(zero_copy_only=False))


def read_date(text: pa.Array) -> pa.Array:
    """ISO dates; what follows the day is ignored.

    >>> read_date(pa.array(["2024-2-29", "2023-02-29"])).to_pylist()
    [datetime.date(2024, 2, 29), None]
    """
    parts = pc.extract_regex(text, DATE)
    days, real = _day(parts)
    return from_numbers(days, real & _matched(parts), pa.date32())


def read_timestamp(text: pa.Array) -> pa.Array:
    """ISO timestamps, in UTC unless they name an offset.

    >>> read_timestamp(pa.array(["1970-01-01T01:00:00.5+01:00"])).cast(pa.int64()).to_pylist()
    [500000]
    """
    parts = pc.extract_regex(text, TIMESTAMP)
    days, real = _day(parts)
    hour, minute, second = (_part(parts, name, 0) for name in ("hour", "minute", "second"))
    real = real & (hour < 24) & (minute < 60) & (second < 60) & (np.abs(days) < _LONGEST)
    micros = pc.utf8_slice_codeunits(pc.utf8_rpad(pc.struct_field(parts, "part"), 6, "0"), 0, 6)
    fraction = numbers(micros.fill_null("0").cast(pa.int64()))
    ahead, minutes = _part(parts, "ahead", 0), _part(parts, "minutes", 0)
    real = real & (ahead <= 18) & (minutes < 60)
    east = pc.equal(pc.struct_field(parts, "zone"), "-").fill_null(False)
    offset = np.where(numbers(east), -1, 1) * (ahead * 60 + minutes)
    clock = (hour * 60 + minute - offset) * _MINUTE + second * 1_000_000 + fraction
    instants = np.where(real, days, 0) * (1440 * _MINUTE) + clock
    return from_numbers(instants, real & _matched(parts), pa.timestamp("us"))
