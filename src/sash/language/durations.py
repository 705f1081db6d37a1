"""Lengths of time: unit words, long and short, and what they are in microseconds.

Instants of TIMESTAMP streams are microseconds, so every length of time is a whole number of them.
"""

from __future__ import annotations

__all__ = ["CALENDAR_UNITS", "UNITS", "UNITS_OF_DATES", "duration", "microseconds", "unit_named"]

import re

UNITS: dict[str, int] = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
"""The canonical unit names, each with its microseconds."""

CALENDAR_UNITS = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month",
    "mm": "month", "week": "week", "day": "day", "dd": "day", "hour": "hour", "minute": "minute",
    "second": "second", "millisecond": "millisecond", "microsecond": "microsecond",
}  # fmt: skip
"""What date_trunc and trunc cut to: every word that Spark knows, with the unit it stands for."""
UNITS_OF_DATES = ("year", "quarter", "month", "week")

_WORDS: dict[str, str] = {
    **{form: name for name in UNITS for form in (name, name + "s")},
    **dict.fromkeys(("us", "µs", "μs", "usec", "usecs"), "microsecond"),
    **dict.fromkeys(("ms", "msec", "msecs"), "millisecond"),
    **dict.fromkeys(("s", "sec", "secs"), "second"),
    **dict.fromkeys(("min", "mins"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs"), "hour"),
    "d": "day",
}

_DURATION = re.compile(r"\s*(\d+)\s*([^\W\d_]+)\s*")


def unit_named(word: str) -> str | None:
    """The canonical name of a unit, or None if the word is no unit.

    >>> unit_named("MINUTES"), unit_named("ms"), unit_named("secs"), unit_named("week")
    ('minute', 'millisecond', 'second', None)
    """
    return _WORDS.get(word.lower())


def microseconds(count: int, unit: str) -> int:
    """So many units (by canonical name) in microseconds.

    >>> microseconds(2, "second")
    2000000
    """
    return count * UNITS[unit]


def duration(text: str) -> int:
    """A length of time written out, in microseconds; ValueError if it cannot be read.

    >>> duration("2 seconds"), duration("10ms")
    (2000000, 10000)
    """
    match = _DURATION.fullmatch(text)
    unit = unit_named(match[2]) if match else None
    if match is None or unit is None:
        raise ValueError(f"{text!r} is not a length of time such as '2 seconds'")
    return microseconds(int(match[1]), unit)
