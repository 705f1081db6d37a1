"""Rows and values as kernels order them: a word that decides most comparisons, bytes for the rest.

The word may tie where values differ, never the other way round; the bytes decide ties exactly.
"""

from __future__ import annotations

__all__ = [
    "first_words", "prefixes", "row_keys", "value_bytes", "values_from_bytes", "values_from_words",
    "with_nulls",
]  # fmt: skip

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.encoding import any_null, order_words
from sash.engine.kernels.order_bytes import (
    string_key_sizes,
    string_prefixes,
    write_fixed_keys,
    write_string_keys,
)  # fmt: skip
from sash.plan.nodes import SortKey

_SIGN = np.uint64(1 << 63)
_MOST = np.uint64(2**64 - 1)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_binary(type_))


def _text_parts(column: pa.Array) -> tuple[np.ndarray, np.ndarray, int]:
    """Offsets, bytes and first position of a string column."""
    if not len(column):
        return np.zeros(1, np.int32), np.empty(0, np.uint8), 0
    data = column.buffers()[2]
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return np.frombuffer(column.buffers()[1], np.int32), text, column.offset


def _decimal_words(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The high word of unscaled decimals with its sign turned, and the low word: in order together."""
    if not len(column):
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    raw = np.frombuffer(column.buffers()[1], np.uint64, 2 * len(column), 16 * column.offset).reshape(-1, 2)
    return raw[:, 1] ^ _SIGN, np.ascontiguousarray(raw[:, 0])


def prefixes(column: pa.Array) -> np.ndarray:
    """A word per value in the order of the values; NULLs hold anything.

    >>> words = prefixes(pa.array(["b", "ab", "a"]))
    >>> np.argsort(words).tolist()
    [2, 1, 0]
    """
    type_ = column.type
    if _is_text(type_):
        out = np.empty(len(column), np.uint64)
        string_prefixes(*_text_parts(column), out)
        return out
    if pa.types.is_decimal(type_):
        high, low = _decimal_words(column)
        # What fits in 64 bits is itself, the rest ties at either end.
        above = (high > _SIGN) | ((high == _SIGN) & (low >= _SIGN))
        below = (high < _SIGN - np.uint64(1)) | ((high == _SIGN - np.uint64(1)) & (low < _SIGN))
        return np.where(above, _MOST, np.where(below, np.uint64(0), low ^ _SIGN))
    if pa.types.is_nested(type_):
        return np.zeros(len(column), np.uint64)
    return order_words(column)


def value_bytes(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Offsets [n + 1] and bytes that order equal prefixes; values that are their prefix have none."""
    if _is_text(column.type):
        offsets, data, start = _text_parts(column)
        cut = offsets[start : start + len(column) + 1].astype(np.int64)
        return cut - cut[0], data[cut[0] : cut[-1]]
    if pa.types.is_decimal(column.type):
        both = np.stack(_decimal_words(column), axis=1).astype(">u8")
        return np.arange(len(column) + 1) * 16, np.frombuffer(both.tobytes(), np.uint8)
    return np.zeros(len(column) + 1, np.int64), np.empty(0, np.uint8)


def values_from_bytes(offsets: np.ndarray, data: np.ndarray, type_: pa.DataType) -> pa.Array:
    """The values that `value_bytes` wrote (strings, binary, decimals)."""
    size = len(offsets) - 1
    if pa.types.is_decimal(type_):
        both = np.frombuffer(data.tobytes(), ">u8").astype(np.uint64).reshape(-1, 2)
        raw = np.ascontiguousarray(np.stack([both[:, 1], both[:, 0] ^ _SIGN], axis=1))
        return pa.Array.from_buffers(type_, size, [None, pa.py_buffer(raw)])
    ends = pa.py_buffer(offsets.astype(np.int32))
    return pa.Array.from_buffers(type_, size, [None, ends, pa.py_buffer(np.ascontiguousarray(data))])


def values_from_words(words: np.ndarray, type_: pa.DataType) -> pa.Array:
    """The fixed-width values whose `prefixes` these are.

    >>> values_from_words(prefixes(pa.array([-1.5, 2.0])), pa.float64()).to_pylist()
    [-1.5, 2.0]
    """
    if pa.types.is_floating(type_):
        bits = np.where(words & _SIGN, words ^ _SIGN, ~words)
        return pa.array(bits.view(np.float64)).cast(type_)
    numbers = pa.array((words ^ _SIGN).view(np.int64))
    if pa.types.is_boolean(type_):
        return numbers.cast(pa.bool_())
    if pa.types.is_temporal(type_):
        return numbers.cast(pa.int32()).view(type_) if type_.bit_width == 32 else numbers.view(type_)
    return numbers.cast(type_)


def with_nulls(found: pa.Array, there: np.ndarray) -> pa.Array:
    """Values one after another where they are there, NULL elsewhere.

    >>> with_nulls(pa.array([7, 8]), np.array([True, False, True])).to_pylist()
    [7, None, 8]
    """
    return found if there.all() else found.take(pa.array(np.cumsum(there) - 1, mask=~there))


def row_keys(
    columns: Sequence[pa.Array], order: Sequence[SortKey], length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words, offsets and bytes that put whole rows in order: the sort keys, then all other columns."""
    named = {key.index for key in order}
    rest = [SortKey(i, False, True) for i in range(len(columns)) if i not in named]
    keys = [*order, *rest]
    missing = [_missing(columns[key.index]) for key in keys]
    texts = [_comparable(columns[key.index]) for key in keys]
    sizes = np.zeros(length, np.int64)
    for column, nulls in zip(texts, missing, strict=True):
        if _is_text(column.type):
            string_key_sizes(*_text_parts(column), nulls, sizes)
        else:
            sizes += 18 if pa.types.is_decimal(column.type) else 9
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    cursor, out = offsets[:-1].copy(), np.empty(int(offsets[-1]), np.uint8)
    for key, column, nulls in zip(keys, texts, missing, strict=True):
        mark, turn = (0 if key.nulls_first else 2), (255 if key.descending else 0)
        if _is_text(column.type):
            write_string_keys(*_text_parts(column), nulls, mark, turn, cursor, out)
            continue
        words = _decimal_words(column) if pa.types.is_decimal(column.type) else (order_words(column),)
        for word in words:
            write_fixed_keys(word, nulls, mark, turn, cursor, out)
    return first_words(columns, order, length), offsets, out


def first_words(columns: Sequence[pa.Array], order: Sequence[SortKey], length: int) -> np.ndarray:
    """The prefix of each row's first sort key, with its direction and its NULLs in their place."""
    if not order:
        return np.zeros(length, np.uint64)
    key = order[0]
    column = columns[key.index]
    words = ~prefixes(column) if key.descending else prefixes(column)
    nulls = any_null([column])
    if nulls is not None:
        words = np.where(nulls, np.uint64(0) if key.nulls_first else _MOST, words)
    return words


def _missing(column: pa.Array) -> np.ndarray:
    mask = any_null([column])
    return np.zeros(len(column), np.uint8) if mask is None else mask.view(np.uint8)


def _comparable(column: pa.Array) -> pa.Array:
    """Nested values are ordered by their printed form, which is at least the same every time."""
    if pa.types.is_nested(column.type):
        return pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.string())
    return column
