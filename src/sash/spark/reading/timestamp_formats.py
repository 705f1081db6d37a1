"""Spark's patterns for dates and timestamps, such as `dd/MM/yyyy HH:mm:ss.SSS`, as a way to write ISO text.

A pattern becomes a regular expression and a template: text that matches is rewritten to ISO form,
column by column, and read like any other. Patterns with names of months or halves of days are left
to Spark.
"""

from __future__ import annotations

__all__ = ["Rewriting", "iso_rewriting", "to_iso"]

import functools
import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = {
    "yyyy": "year", "uuuu": "year", "MM": "month", "M": "month", "dd": "day", "d": "day", "HH": "hour",
    "H": "hour", "mm": "minute", "m": "minute", "ss": "second", "s": "second",
}  # fmt: skip
_ZONES = {"X", "XX", "XXX", "Z", "ZZZZZ", "x", "xx", "xxx", "VV"}
_ZONE = r"Z|UTC|GMT|[+-][0-9]{1,2}:?(?:[0-9]{2})?"
_TOKEN = re.compile(r"'((?:[^']|'')*)'|(\[)|(\])|([A-Za-z])\4*|(.)", re.DOTALL)


@dataclass(frozen=True)
class Rewriting:
    """The expression that a text has to match, and the template that makes ISO text of it."""

    matches: str
    template: str


@functools.lru_cache(maxsize=64)
def iso_rewriting(pattern: str) -> Rewriting | None:
    """How text in a pattern becomes ISO text; None if Sash does not know a part of the pattern.

    >>> iso_rewriting("dd/MM/yyyy").template
    '\\\\3-\\\\2-\\\\1'
    >>> iso_rewriting("dd MMM yyyy") is None
    True
    """
    groups: dict[str, int] = {}
    expression, depth = "", 0
    for token in _TOKEN.finditer(pattern):
        text = token.group()
        if token[1] is not None:
            expression += re.escape(token[1].replace("''", "'") or "'")
        elif token[2] or token[3]:
            expression += "(?:" if token[2] else ")?"
            depth += 1 if token[2] else -1
        elif token[4] is None:
            expression += re.escape(text)
        else:
            part, digits = _part(text)
            if part is None or part in groups or (depth and part not in ("part", "zone")):
                return None
            groups[part] = len(groups) + 1
            expression += f"({digits})"
    if "year" not in groups or depth:
        return None
    return Rewriting(f"^{expression}$", _template(groups))


def to_iso(text: pa.Array, pattern: str) -> pa.Array:
    """The texts that match the pattern in ISO form, NULL for the others.

    >>> to_iso(pa.array(["24/12/2024 18:30", "soon"]), "dd/MM/yyyy HH:mm").to_pylist()
    ['2024-12-24T18:30', None]
    """
    way = iso_rewriting(pattern)
    assert way is not None, pattern
    known = pc.match_substring_regex(text, way.matches)
    good = pc.if_else(known, text, pa.scalar(None, text.type))
    return pc.replace_substring_regex(good, way.matches, way.template)


def _part(letters: str) -> tuple[str | None, str]:
    if letters in _DIGITS:
        many = len(letters)
        return _DIGITS[letters], f"[0-9]{{{many}}}" if many > 1 else "[0-9]{1,2}"
    if set(letters) == {"S"} and len(letters) <= 9:
        return "part", f"[0-9]{{1,{len(letters)}}}"
    return ("zone", _ZONE) if letters in _ZONES else (None, "")


def _template(groups: dict[str, int]) -> str:
    def group(name: str, before: str, default: str) -> str:
        return f"{before}\\{groups[name]}" if name in groups else default

    day = group("year", "", "") + group("month", "-", "-01") + group("day", "-", "-01")
    if not groups.keys() & {"hour", "minute", "second"}:
        return day if "zone" not in groups else f"{day}T00:00" + group("zone", "", "")
    clock = group("hour", "T", "T00") + group("minute", ":", ":00") + group("second", ":", "")
    part = group("part", ".", "") if "second" in groups else ""
    return day + clock + part + group("zone", "", "")
