"""Rows that follow one another by key: which of them take back a row of an earlier step.

A row that is not known to end crosses into later steps; so does a negative one, from earlier steps.
"""

from __future__ import annotations

__all__ = ["coming_and_crossing", "follow"]

import numpy as np

from sash.engine.kernels.compiler import int64, kernel, reads_i64, writes_i64


@kernel((reads_i64, reads_i64, reads_i64, int64, writes_i64, writes_i64, writes_i64))
def coming_and_crossing(
    rows: np.ndarray, weight: np.ndarray, until: np.ndarray, forever: int,
    come: np.ndarray, cross: np.ndarray, counts: np.ndarray,
) -> None:  # fmt: skip
    """Those of `rows` that come (are positive), and those that cross; `counts` [2] says how many."""
    a, b = 0, 0
    for i in range(len(rows)):
        come[a], cross[b] = rows[i], rows[i]
        a += weight[rows[i]] > 0
        b += until[rows[i]] == forever
    counts[0], counts[1] = a, b


@kernel((reads_i64, reads_i64, reads_i64, int64, reads_i64, reads_i64, writes_i64, writes_i64))
def follow(
    rows: np.ndarray, weight: np.ndarray, until: np.ndarray, forever: int,
    fresh: np.ndarray, keys: np.ndarray, latest: np.ndarray, numbers: np.ndarray,
) -> None:  # fmt: skip
    """Give those that come the numbers `fresh`, negative ones the `latest` of their key.

    `keys` has the keys of the rows that cross. All that is taken back is of earlier steps.
    """
    crossed = 0
    for i in range(len(rows)):
        if until[rows[i]] == forever:
            if weight[rows[i]] < 0:
                numbers[i] = latest[keys[crossed]]
                latest[keys[crossed]] = -1
            crossed += 1
    crossed, came = 0, 0
    for i in range(len(rows)):
        lasts = until[rows[i]] == forever
        if weight[rows[i]] > 0:
            numbers[i] = fresh[came]
            came += 1
            if lasts:
                latest[keys[crossed]] = numbers[i]
        crossed += lasts
