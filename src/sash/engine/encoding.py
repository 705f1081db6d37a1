"""Values as kernels see them: words for equality, words and bytes for order.

Equality is that of GROUP BY: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0. Order is Spark's:
NaN above everything, strings by their bytes.
"""

from __future__ import annotations

__all__ = [
    "any_null",
    "hashes_of",
    "key_words",
    "order_words",
    "value_words",
    "word_count",
]

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.kernels.hashing import hash_words, pack_strings

_SIGN = np.uint64(1 << 63)
_FLAGS = 62  # NULL marks per word


def word_count(type_: pa.DataType) -> int:
    """How many words a value of this type takes."""
    return 1 if _is_one_word(type_) else 2


def _is_one_word(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_boolean(type_)
        or pa.types.is_temporal(type_)
        or pa.types.is_null(type_)
    )


def _one_word(column: pa.Array) -> np.ndarray:
    """A fixed-width column as int64; NULLs hold anything."""
    type_ = column.type
    if pa.types.is_null(type_):
        return np.zeros(len(column), np.int64)
    if pa.types.is_boolean(type_):
        column = column.cast(pa.int8())
    elif pa.types.is_date32(type_) or pa.types.is_time32(type_):
        column = column.view(pa.int32())
    elif pa.types.is_temporal(type_):
        column = column.view(pa.int64())
    if column.null_count:
        values_alone = [None, column.buffers()[1]]
        column = pa.Array.from_buffers(column.type, len(column), values_alone, offset=column.offset)
    values: np.ndarray = column.to_numpy(zero_copy_only=True)
    if values.dtype.kind == "f":
        wide = values.astype(np.float64) + 0.0
        wide[np.isnan(wide)] = np.nan
        words: np.ndarray = wide.view(np.int64)
        return words
    return values.astype(np.int64, copy=False)


def _write_words(column: pa.Array, out: np.ndarray, at: int) -> None:
    type_ = column.type
    if _is_one_word(type_):
        out[:, at] = _one_word(column)
    elif pa.types.is_decimal128(type_):
        raw = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)
        out[:, at : at + 2] = raw[column.offset : column.offset + len(column)]
    else:
        if pa.types.is_nested(type_) or pa.types.is_large_string(type_) or pa.types.is_large_binary(type_):
            column = _as_text(column)
        offsets = np.frombuffer(column.buffers()[1], np.int32)
        data = column.buffers()[2]
        text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
        pack_strings(offsets, text, column.offset, out, at)


def _as_text(column: pa.Array) -> pa.Array:
    """Nested values have no words of their own: their printed form stands for them."""
    if pa.types.is_nested(column.type):
        return pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.string())
    return column.cast(pa.string() if pa.types.is_large_string(column.type) else pa.binary())


def any_null(columns: Sequence[pa.Array]) -> np.ndarray | None:
    """Where any of the columns is NULL; None if nowhere."""
    mask: np.ndarray | None = None
    for column in columns:
        if column.null_count:
            here = pc.is_null(column).to_numpy(zero_copy_only=False)
            mask = here if mask is None else mask | here
    return mask


def value_words(columns: Sequence[pa.Array], length: int) -> np.ndarray:
    """Words [length, w] of rows without NULLs; no columns give one zero word.

    >>> value_words([pa.array([7, 8])], 2).tolist()
    [[7], [8]]
    """
    if not columns:
        return np.zeros((length, 1), np.int64)
    if len(columns) == 1 and _is_one_word(columns[0].type):
        return np.ascontiguousarray(_one_word(columns[0]).reshape(-1, 1))
    widths = [word_count(column.type) for column in columns]
    words = np.empty((length, sum(widths)), np.int64)
    at = 0
    for column, width in zip(columns, widths, strict=True):
        _write_words(column, words, at)
        at += width
    return words


def key_words(columns: Sequence[pa.Array], length: int) -> np.ndarray:
    """Words [length, w + f] of rows that may hold NULLs; the last f words have a bit per NULL column.

    >>> key_words([pa.array([7, None])], 2).tolist()
    [[7, 0], [0, 1]]
    """
    widths = [word_count(column.type) for column in columns]
    flags = sum(widths)
    out = np.empty((length, flags + len(columns) // _FLAGS + 1), np.int64)
    out[:, flags:] = 0
    at = 0
    for i, (column, width) in enumerate(zip(columns, widths, strict=True)):
        _write_words(column, out, at)
        if column.null_count:
            nulls = pc.is_null(column).to_numpy(zero_copy_only=False)
            out[nulls, at : at + width] = 0
            out[nulls, flags + i // _FLAGS] |= np.int64(1 << i % _FLAGS)
        at += width
    return out


def hashes_of(words: np.ndarray) -> np.ndarray:
    """One 64-bit hash per row of words."""
    out = np.empty(len(words), np.uint64)
    hash_words(words, out)
    return out


def order_words(column: pa.Array) -> np.ndarray:
    """A fixed-width column as uint64 in the order of its values; NULLs hold anything.

    >>> words = order_words(pa.array([-1.5, 0.0, float("nan"), float("inf")]))
    >>> np.argsort(words).tolist()
    [0, 1, 3, 2]
    """
    words = _one_word(column).view(np.uint64)
    if pa.types.is_floating(column.type):
        return np.where(words & _SIGN, ~words, words | _SIGN)
    return words ^ _SIGN
