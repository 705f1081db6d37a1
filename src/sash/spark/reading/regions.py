"""Timestamps that name a region, such as `2024-07-01 12:00:00 Europe/Berlin`, as instants.

The regions are those that Python knows, from the system or the package tzdata.
"""

from __future__ import annotations

__all__ = ["regional_times"]

import functools
import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa

from sash.engine.text_casts import from_text
from sash.engine.values import Faults

_REGIONAL = re.compile(
    r"\s*(\S+[ T][0-9]{1,2}(?::[0-9]{1,2}){2}(?:\.[0-9]*)?) *([A-Z][\w+-]*(?:/[\w+-]+)+)\s*"
)
_EPOCH = datetime(1970, 1, 1)


def regional_times(text: pa.Array) -> pa.Array:
    """The instants of the texts that name a region, NULL for the others.

    >>> regional_times(pa.array(["1970-01-01 01:00:01 Europe/Berlin", "soon"])).cast(pa.int64()).to_pylist()
    [1000000, None]
    """
    found = [None if one is None else _REGIONAL.fullmatch(one) for one in text.to_pylist()]
    clocks = pa.array([None if one is None else one[1] for one in found], pa.string())
    local = from_text(clocks, pa.timestamp("us"), Faults()).cast(pa.int64()).to_pylist()
    instants = [
        None if one is None or micros is None else _instant(micros, one[2])
        for one, micros in zip(found, local, strict=True)
    ]
    return pa.array(instants, pa.int64()).cast(pa.timestamp("us"))


def _instant(local: int, region: str) -> int | None:
    """Of a time that the clock shows twice the first is meant; one that it jumps over has the old offset."""
    zone = _zone(region)
    if zone is None:
        return None
    try:
        offset = zone.utcoffset(_EPOCH + timedelta(microseconds=local))
    except OverflowError:
        return None
    return None if offset is None else local - offset // timedelta(microseconds=1)


@functools.lru_cache(maxsize=64)
def _zone(region: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(region)
    except (KeyError, OSError, ValueError):
        return None
