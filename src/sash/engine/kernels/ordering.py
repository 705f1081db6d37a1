"""Putting rows in time order: a radix sort of instants that gives positions.

Steps hold instants close together, so two passes usually suffice.
"""

from __future__ import annotations

__all__ = ["argsort_instants", "is_sorted", "merge_ends", "merge_order"]

import numpy as np

from sash.engine.kernels.compiler import boolean, int64, kernel, reads_i64, writes_i64

_BITS = 13
"""A pass's counts should fit the first cache."""


@kernel(boolean(reads_i64))
def is_sorted(values: np.ndarray) -> bool:
    """Whether the values never fall."""
    for i in range(1, len(values)):  # noqa: SIM110 (a generator is slow to compile)
        if values[i] < values[i - 1]:
            return False
    return True


@kernel((reads_i64, int64, int64, int64, writes_i64, writes_i64))
def _radix_passes(
    values: np.ndarray, low: int, bits: int, passes: int, order: np.ndarray, spare: np.ndarray
) -> None:
    """Stable positions of `values` in rising order.

    Passes go to and fro: the result is in `order` after an odd number of them, else in `spare`.
    """
    n = len(values)
    mask = (1 << bits) - 1
    counts = np.zeros((1 << bits) + 1, np.int32)
    for turn in range(passes):
        shift = turn * bits
        counts[:] = 0
        for i in range(n):
            counts[(((values[i] - low) >> shift) & mask) + 1] += 1
        for b in range(mask + 1):
            counts[b + 1] += counts[b]
        source, target = (spare, order) if turn % 2 == 0 else (order, spare)
        for i in range(n):
            row = i if turn == 0 else source[i]
            digit = ((values[row] - low) >> shift) & mask
            target[counts[digit]] = row
            counts[digit] += 1


@kernel((*(reads_i64,) * 6, *(writes_i64,) * 3))
def merge_ends(
    begins: np.ndarray, weights: np.ndarray, ends: np.ndarray, order: np.ndarray, rows: np.ndarray,
    changes: np.ndarray, out_rows: np.ndarray, out_at: np.ndarray, out_changes: np.ndarray,
) -> None:  # fmt: skip
    """Rows 0, 1 ... at their beginnings and other `rows` at their ends, all in time order.

    `order` puts the ends in order, or is empty where they are. At one instant, beginnings come first.
    """
    i, j, n, m, sorted_ = 0, 0, len(begins), len(ends), len(order) == 0
    end = 0 if sorted_ or m == 0 else order[0]
    for k in range(n + m):
        if j >= m or (i < n and begins[i] <= ends[end]):
            out_rows[k], out_at[k], out_changes[k] = i, begins[i], weights[i]
            i += 1
        else:
            out_rows[k], out_at[k], out_changes[k] = rows[end], ends[end], changes[end]
            j += 1
            if j < m:
                end = j if sorted_ else order[j]


@kernel((reads_i64, reads_i64, writes_i64, writes_i64))
def _merge(first: np.ndarray, second: np.ndarray, order: np.ndarray, merged: np.ndarray) -> None:
    """Positions (those of `second` counted on after `first`) and values of both in rising order."""
    i, j, n, m = 0, 0, len(first), len(second)
    for k in range(n + m):
        if j >= m or (i < n and first[i] <= second[j]):
            order[k] = i
            merged[k] = first[i]
            i += 1
        else:
            order[k] = n + j
            merged[k] = second[j]
            j += 1


def merge_order(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How two rising sequences go together: positions in one after the other, and the values.

    >>> order, merged = merge_order(np.array([1, 5]), np.array([2, 5]))
    >>> order.tolist(), merged.tolist()
    ([0, 2, 1, 3], [1, 2, 5, 5])
    """
    order, merged = (np.empty(len(first) + len(second), np.int64) for _ in range(2))
    _merge(first, second, order, merged)
    return order, merged


def argsort_instants(values: np.ndarray) -> np.ndarray | None:
    """Stable positions that put `values` in rising order, or None if they are already.

    >>> argsort_instants(np.array([5, 1, 5, 2])).tolist()
    [1, 3, 0, 2]
    >>> argsort_instants(np.array([1, 2, 2])) is None
    True
    """
    if is_sorted(values):
        return None
    low, high = int(values.min()), int(values.max())
    if high - low >= 2**62 or len(values) < 256:
        return np.argsort(values, kind="stable")
    order, spare = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    bits = (high - low).bit_length()
    passes = -(-bits // _BITS)
    _radix_passes(values, low, -(-bits // passes), passes, order, spare)
    return order if passes % 2 else spare
