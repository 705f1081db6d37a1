"""Instants and frontiers: how time is written, and how far it has come.

An instant is an int64: microseconds since 1970 in UTC for streams whose TIME column is a TIMESTAMP,
the column's own number otherwise. A stream's frontier is the last instant that is final: the
greatest timestamp seen, less its LATENESS, less one tick, since more rows of that very instant may
still come.
"""

from __future__ import annotations

__all__ = [
    "EARLIEST", "KINDS", "LATEST", "Clock", "Kind", "instant_column", "parse_duration", "read_instant",
    "same_kind", "show_instant",
]  # fmt: skip

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Literal

import numpy as np
import pyarrow as pa

from sash.errors import SashError
from sash.language.durations import duration
from sash.lifetimes import BEGINNING, Instant

Kind = Literal["timestamp", "integer"]
KINDS: tuple[Kind, ...] = ("timestamp", "integer")

LATEST: Instant = 2**62
"""No timestamp may lie after this: a window's length must still fit on top of it."""

EARLIEST: Mapping[Kind, Instant] = {"timestamp": -62_135_596_800_000_000, "integer": BEGINNING + 1}
"""When a table's content began that was there before any row: the year 1, the least number."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """How far one stream has come. An idle stream holds no query back until its next row.

    >>> clock = Clock("integer", lateness=2).seen(10)
    >>> clock.frontier, clock.seen(5).frontier, clock.advanced(9).frontier
    (7, 7, 9)
    """

    kind: Kind
    lateness: int = 0
    frontier: Instant = BEGINNING
    idle: bool = False

    def seen(self, greatest: Instant) -> Clock:
        """After a push whose greatest timestamp was `greatest`."""
        return self.advanced(greatest - self.lateness - 1)

    def advanced(self, frontier: Instant) -> Clock:
        """With the frontier moved to `frontier`, never backwards."""
        return replace(self, frontier=max(self.frontier, frontier))


def read_instant(value: object, kind: Kind, *, what: str = "The instant") -> Instant:
    """The instant that a user wrote: a number, a datetime, a NumPy datetime, ISO text.

    >>> read_instant("1970-01-01T00:00:01Z", "timestamp"), read_instant(7, "integer")
    (1000000, 7)
    """
    instant = _integer(value) if kind == "integer" else _microseconds(value)
    if instant is None:
        asked = "an integer" if kind == "integer" else "a datetime, ISO text or microseconds since 1970"
        raise SashError(
            "SASH-TIME-001",
            f"{what} {value!r} is not an instant of this kind of time.",
            remedy=f"Give {asked}, as the TIME column has it.",
        )
    if not BEGINNING < instant < LATEST:
        raise SashError(
            "SASH-TIME-002",
            f"{what} {value!r} is out of range.",
            remedy="Instants lie between -2^62 and 2^62 ticks.",
        )
    return instant


def _integer(value: object) -> Instant | None:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    return None


def _microseconds(value: object) -> Instant | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else int(value.astype("datetime64[us]").astype(np.int64))
    if isinstance(value, datetime):
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        try:
            return (aware - _EPOCH) // timedelta(microseconds=1)
        except (TypeError, ValueError):  # pandas.NaT is a datetime that is none
            return None
    if isinstance(value, date):
        return (value - _EPOCH.date()) // timedelta(microseconds=1)
    return _integer(value)


def same_kind(value: object, kind: Kind) -> bool:
    """Whether a value is written as instants of this kind are: numbers for integers, else dates.

    >>> same_kind(5, "integer"), same_kind(5, "timestamp"), same_kind("2024-01-01", "timestamp")
    (True, False, True)
    """
    return (_integer(value) is not None) == (kind == "integer")


def show_instant(instant: Instant, kind: Kind) -> str:
    """An instant as people read it; '-' before the first one.

    >>> show_instant(1_000_000, "timestamp"), show_instant(7, "integer"), show_instant(BEGINNING, "integer")
    ('1970-01-01T00:00:01', '7', '-')
    """
    if instant <= BEGINNING:
        return "-"
    if kind == "integer":
        return str(instant)
    try:
        return (_EPOCH + timedelta(microseconds=instant)).replace(tzinfo=None).isoformat()
    except OverflowError:
        return f"{instant} us"


def instant_column(instants: pa.Array | pa.ChunkedArray, kind: Kind) -> pa.Array | pa.ChunkedArray:
    """Instants as a column of the stream's kind of time: TIMESTAMP, or BIGINT as they are.

    >>> instant_column(pa.array([0]), "timestamp").type
    TimestampType(timestamp[us])
    """
    return instants.cast(pa.timestamp("us")) if kind == "timestamp" else instants


def parse_duration(value: object, kind: Kind) -> int:
    """A LATENESS in ticks: a number, a timedelta, or text such as '2 seconds'.

    >>> parse_duration("2 seconds", "timestamp"), parse_duration(3, "integer")
    (2000000, 3)
    """
    ticks = _integer(value)
    if kind == "timestamp" and isinstance(value, timedelta):
        ticks = value // timedelta(microseconds=1)
    elif kind == "timestamp" and isinstance(value, str):
        with suppress(ValueError):
            ticks = duration(value)
    if ticks is None or not 0 <= ticks < LATEST:
        asked = "a whole number" if kind == "integer" else "'2 seconds', a timedelta or microseconds"
        raise SashError(
            "SASH-TIME-003",
            f"The lateness {value!r} is not a length of time of this stream.",
            remedy=f"Give {asked}, not negative.",
        )
    return ticks
