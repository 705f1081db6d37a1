"""Netting: equal rows of equal instants added up, those that come to nothing left out.

ISTREAM, `changes()` and the merging of segments are all this one sum ([G06] §2.1.3).
"""

from __future__ import annotations

__all__ = ["net"]

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.engine.encoding import key_words
from sash.engine.kernels.tables import add_up, find_or_add


def net(
    columns: Sequence[pa.Array], instants: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rising positions of one row for each (values, instant) whose weights do not cancel, and their sums.

    >>> rows, sums = net([pa.array(["a", "b", "a"])], np.array([1, 1, 1]), np.array([1, 1, -1]))
    >>> rows.tolist(), sums.tolist()
    ([1], [1])
    """
    n = len(instants)
    words = np.concatenate([key_words(columns, n), instants.reshape(-1, 1)], axis=1)
    capacity = 1 << max(4, (4 * n - 1).bit_length())
    slots, first_rows = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    keys = np.empty((n + 1, words.shape[1]), np.int64)
    used = find_or_add(words, 0, np.zeros(capacity, np.int32), keys, 0, slots, first_rows)
    sums = np.zeros(used, np.int64)
    add_up(slots, weights, sums)
    left = np.flatnonzero(sums)
    return first_rows[left], sums[left]
