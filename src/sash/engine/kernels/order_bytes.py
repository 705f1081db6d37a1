"""Values as bytes whose order is the values' order: how rows are compared in kernels.

Fixed-width values become eight bytes, the highest first. In keys of several columns a string's zero
bytes are escaped and its end is marked, so that no key is the beginning of another; DESC turns every
byte of a column round. A marker before each value puts NULLs first or last.
"""

from __future__ import annotations

__all__ = ["string_key_sizes", "string_prefixes", "write_fixed_keys", "write_string_keys"]

import numpy as np

from sash.engine.kernels.compiler import (
    int64,
    kernel,
    reads_i32,
    reads_u8,
    reads_u64,
    writes_i64,
    writes_u8,
    writes_u64,
)  # fmt: skip

_S8 = np.uint64(8)
_BYTE = np.uint64(255)


@kernel((reads_i32, reads_u8, int64, writes_u64))
def string_prefixes(offsets: np.ndarray, data: np.ndarray, start: int, out: np.ndarray) -> None:
    """The first eight bytes of each string as a word, the first byte highest, zeros after the end."""
    for i in range(len(out)):
        first, last = offsets[start + i], offsets[start + i + 1]
        word = np.uint64(0)
        for j in range(8):
            word = word << _S8
            if first + j < last:
                word |= np.uint64(data[first + j])
        out[i] = word


@kernel((reads_i32, reads_u8, int64, reads_u8, writes_i64))
def string_key_sizes(
    offsets: np.ndarray, data: np.ndarray, start: int, missing: np.ndarray, sizes: np.ndarray
) -> None:
    """Add the bytes that each string will take in a key to `sizes`."""
    for i in range(len(sizes)):
        sizes[i] += 1
        if missing[i]:
            continue
        sizes[i] += 2
        for j in range(offsets[start + i], offsets[start + i + 1]):
            sizes[i] += 2 if data[j] == 0 else 1


@kernel((reads_i32, reads_u8, int64, reads_u8, int64, int64, writes_i64, writes_u8))
def write_string_keys(
    offsets: np.ndarray, data: np.ndarray, start: int, missing: np.ndarray,
    null_mark: int, turn: int, cursor: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """Write each string at its cursor and move the cursor on; `turn` is 255 to turn bytes round, else 0."""
    for i in range(len(cursor)):
        at = cursor[i]
        out[at] = null_mark if missing[i] else 1
        at += 1
        if not missing[i]:
            for j in range(offsets[start + i], offsets[start + i + 1]):
                out[at] = data[j] ^ turn
                at += 1
                if data[j] == 0:
                    out[at] = 255 ^ turn
                    at += 1
            out[at] = turn
            out[at + 1] = turn
            at += 2
        cursor[i] = at


@kernel((reads_u64, reads_u8, int64, int64, writes_i64, writes_u8))
def write_fixed_keys(
    words: np.ndarray, missing: np.ndarray, null_mark: int, turn: int, cursor: np.ndarray, out: np.ndarray
) -> None:
    """Write each word, highest byte first, at its cursor and move the cursor on by nine bytes."""
    for i in range(len(cursor)):
        at = cursor[i]
        out[at] = null_mark if missing[i] else 1
        for j in range(8):
            byte = np.int64((words[i] >> np.uint64(56 - 8 * j)) & _BYTE) ^ turn
            out[at + 1 + j] = np.int64(0) if missing[i] else byte
        cursor[i] = at + 9
