"""Values as the oracle sees them: one NaN, one zero, hashable, ordered as Spark orders them.

NULL is None. NaN equals itself and is greater than every number; -0.0 equals 0.0.
"""

from __future__ import annotations

__all__ = ["NAN", "Bag", "Row", "arrow_value", "instant_of", "order_key", "plain", "plain_row", "row_key"]

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

NAN = float("nan")
"""The only NaN the oracle keeps: Python's tuples and dictionaries compare by identity first."""

Row = tuple[object, ...]
Bag = Counter[Row]

_EPOCH = datetime(1970, 1, 1)


def plain(value: object) -> object:
    """The value in the one form in which equal values are equal to Python, too."""
    if isinstance(value, float):
        if value != value:
            return NAN
        return value + 0.0 if value else 0.0
    if isinstance(value, (list, tuple)):
        return tuple(plain(item) for item in value)
    if isinstance(value, dict):
        return tuple((key, plain(item)) for key, item in value.items())
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def arrow_value(value: Any, type_: pa.DataType) -> object:
    """A plain value as Arrow shows it: structs as dicts, maps too."""
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return {name: arrow_value(item, type_.field(name).type) for name, item in value}
    if pa.types.is_map(type_):
        return {key: arrow_value(item, type_.item_type) for key, item in value}
    if pa.types.is_list(type_):
        return [arrow_value(item, type_.value_type) for item in value]
    return value  # type: ignore[no-any-return]


def plain_row(values: Iterable[object]) -> Row:
    """A row of plain values."""
    return tuple(plain(value) for value in values)


def order_key(value: object) -> tuple[object, ...]:
    """A key that sorts NULLs first, then values ascending with NaN last."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (1, 1, 0.0) if value != value else (1, 0, value)
    if isinstance(value, tuple):
        return (1, tuple(order_key(item) for item in value))
    return (1, 0, value)


def row_key(row: Row) -> tuple[object, ...]:
    """A key that sorts rows by their values, column by column, NULLs first."""
    return tuple(order_key(value) for value in row)


def instant_of(value: object) -> int | None:
    """The instant that a value of a time column names: its own number, or microseconds since 1970."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day) - _EPOCH) // timedelta(microseconds=1)
    assert isinstance(value, int)
    return value
