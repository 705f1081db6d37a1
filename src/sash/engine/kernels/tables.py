"""The key table: an open-addressing hash table from words to dense slot numbers.

`table` [capacity, a power of two] holds slot + 1, or 0 where free; `keys` [slots, w] holds each
slot's words; the hash is that of `hash_words`. Nothing is removed one by one: dead slots are purged
together (state/key_table.py).
"""

from __future__ import annotations

__all__ = ["add_up", "find_or_add", "rehash"]

import numpy as np

from sash.engine.kernels.compiler import (
    int64,
    kernel,
    reads_i64,
    reads_u64,
    reads_words,
    writes_i32,
    writes_i64,
    writes_words,
)
from sash.engine.kernels.hashing import GOLDEN, mix


@kernel(int64(reads_words, int64, writes_i32, writes_words, int64, writes_i64, writes_i64))
def find_or_add(
    words: np.ndarray,
    start: int,
    table: np.ndarray,
    keys: np.ndarray,
    used: int,
    slots: np.ndarray,
    first_rows: np.ndarray,
) -> int:
    """Fill `slots` from row `start` on; new keys get slots from `used` on, their rows in `first_rows`.

    Gives the number of slots used. It stops early, with slots[row] = -1 at the first row not done,
    when the table is half full or `keys` is; the caller grows both and calls again.
    """
    n, w = words.shape
    mask = len(table) - 1
    room = min(len(keys), len(table) // 2)
    for i in range(start, n):
        first = words[i, 0]
        hashed = mix(np.uint64(first))
        for j in range(1, w):
            hashed = mix((hashed + GOLDEN) ^ np.uint64(words[i, j]))
        position = np.int64(hashed) & mask
        found = np.int64(-1)
        while True:
            entry = table[position]
            if entry == 0:
                break
            if keys[entry - 1, 0] == first:
                same = True
                for j in range(1, w):
                    if keys[entry - 1, j] != words[i, j]:
                        same = False
                        break
                if same:
                    found = np.int64(entry - 1)
                    break
            position = (position + 1) & mask
        if found < 0:
            if used >= room:
                slots[i] = -1
                return used
            table[position] = used + 1
            for j in range(w):
                keys[used, j] = words[i, j]
            first_rows[used] = i
            found = np.int64(used)
            used += 1
        slots[i] = found
    return used


@kernel((reads_u64, writes_i32))
def rehash(hashes: np.ndarray, table: np.ndarray) -> None:
    """Enter slots 0 .. n - 1 with the given hashes into an empty table."""
    mask = len(table) - 1
    for slot in range(len(hashes)):
        position = np.int64(hashes[slot]) & mask
        while table[position] != 0:
            position = (position + 1) & mask
        table[position] = slot + 1


@kernel((reads_i64, reads_i64, writes_i64))
def add_up(slots: np.ndarray, values: np.ndarray, sums: np.ndarray) -> None:
    """Add values to the sums of their slots."""
    for i in range(len(slots)):
        sums[slots[i]] += values[i]
