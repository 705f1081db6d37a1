"""Which texts are values: what a cast of text to a type takes, for texts that stand in a query.

A bad text in a row gives NULL and is counted; one that is written in the query would do so for every
row, and is a mistake of the writer. The engine casts columns of text by the same expressions.
"""

from __future__ import annotations

__all__ = ["BLANKS", "FALSE", "FLOATING", "INTEGER", "SPECIAL", "TRUE", "is_readable"]

import calendar
import re

import pyarrow as pa
from pyarrow import types as kinds

INTEGER = r"^[+-]?[0-9]+$"
FLOATING = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$"
SPECIAL = r"(?i)^([+-]?inf(inity)?|nan)$"
TRUE, FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")

_DAY = r"[+-]?(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})"
_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d{0,9})?)?)?"
_ZONE = r" ?(?:Z|UTC|GMT|(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?)?"
_DATE = re.compile(_DAY + r"(?:[ T].*)?)?)?", re.ASCII)
_TIMESTAMP = re.compile(_DAY + r"(?:[ T](?:" + _CLOCK + _ZONE + r")?)?)?)?", re.ASCII)
BLANKS = "".join(map(chr, range(33))) + "\x7f"
"""What a text may have at its ends, as in Spark: the space, and what ASCII has of control characters."""


def is_readable(text: str, target: pa.DataType) -> bool:
    """Whether a text is a value of a type; of types that are not judged here, any is.

    >>> is_readable(" 12 ", pa.int64()), is_readable("12x", pa.int64())
    (True, False)
    """
    text = text.strip(BLANKS)
    if kinds.is_boolean(target):
        return text.lower() in (*TRUE, *FALSE)
    if kinds.is_integer(target):
        bound = 2 ** (target.bit_width - 1)
        return re.fullmatch(INTEGER, text) is not None and -bound <= int(text) < bound
    if kinds.is_floating(target):
        return re.fullmatch(FLOATING, text) is not None or re.fullmatch(SPECIAL, text) is not None
    if kinds.is_date32(target) or kinds.is_timestamp(target):
        found = (_DATE if kinds.is_date32(target) else _TIMESTAMP).fullmatch(text)
        return found is not None and _is_real(
            *(None if part is None else int(part) for part in found.groups())
        )
    return True


def _is_real(year: int | None, month: int | None, day: int | None, *clock: int | None) -> bool:
    """Whether the calendar has the day and the clock the time; what is left out is."""
    if not 1 <= (month or 1) <= 12 or month == 0 or day == 0:
        return False
    last = calendar.monthrange(2000 + (year or 0) % 400, month or 1)[1]  # the calendar repeats itself
    return (day or 1) <= last and all(
        (part or 0) < end for part, end in zip(clock, (24, 60, 60), strict=False)
    )
