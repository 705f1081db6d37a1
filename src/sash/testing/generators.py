"""Input on demand: a clock moved by hand, and random streams with ties, gaps and NULLs."""

from __future__ import annotations

__all__ = ["Clock", "random_stream"]

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

import pyarrow as pa

from sash.language.expressions import Field

Row = dict[str, object]


class Clock:
    """Time that stands still until it is told to move.

    >>> clock = Clock(10)
    >>> clock.move(5), clock.now
    (15, 15)
    """

    def __init__(self, now: int = 0) -> None:
        self.now = now

    def move(self, ticks: int) -> int:
        """Let so many ticks pass and tell the time."""
        if ticks < 0:
            raise ValueError("time does not move backwards")
        self.now += ticks
        return self.now

    def __call__(self) -> int:
        return self.now


def random_stream(
    random: Random,
    fields: Sequence[Field],
    time: int = 0,
    count: int = 10,
    *,
    start: int = 0,
    spread: int = 2,
    nulls: float = 0.15,
    values: int = 4,
) -> list[Row]:
    """Rows in order of time: steps of 0 to `spread` ticks, few distinct values, some NULLs.

    >>> fields = (Field("ts", pa.int64()), Field("k", pa.string()))
    >>> random_stream(Random(1), fields, count=2)
    [{'ts': 0, 'k': 'd'}, {'ts': 1, 'k': 'a'}]
    """
    rows: list[Row] = []
    clock = Clock(start)
    for _ in range(count):
        clock.move(random.randint(0, spread))
        row = {field.name: _value(random, field.type, nulls, values) for field in fields}
        row[fields[time].name] = _time(clock.now, fields[time].type)
        rows.append(row)
    return rows


def _time(now: int, type_: pa.DataType) -> object:
    return datetime(2024, 1, 1) + timedelta(seconds=now) if pa.types.is_timestamp(type_) else now


def _value(random: Random, type_: pa.DataType, nulls: float, values: int) -> object:
    if random.random() < nulls:
        return None
    number = random.randrange(values)
    if pa.types.is_boolean(type_):
        return number % 2 == 0
    if pa.types.is_integer(type_):
        return number
    if pa.types.is_floating(type_):
        return float(number)
    if pa.types.is_decimal(type_):
        return Decimal(number).scaleb(-type_.scale)
    if pa.types.is_string(type_):
        return "abcdefghijklmnop"[number % 16]
    if pa.types.is_date(type_):
        return date(2024, 1, 1) + timedelta(days=number)
    if pa.types.is_timestamp(type_):
        return datetime(2024, 1, 1) + timedelta(seconds=number)
    if pa.types.is_binary(type_):
        return bytes([number])
    return None
