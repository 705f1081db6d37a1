"""Gathering: values of fixed width from an array or a ring, by row number.

The value of row number r lies at r - `base`, counted round a ring once. Places are unsigned, so that no
time goes into looking whether they count from the end.
"""

from __future__ import annotations

__all__ = ["gather", "gather_beside", "gather_round"]

import numpy as np

from sash.engine.kernels.compiler import (
    fixed_widths,
    int64,
    kernel,
    reads,
    reads_i32,
    reads_i64,
    writes,
)

_KINDS = [(reads(width), writes(width)) for width in fixed_widths]
_BY_ROW = [(values, int64, rows, out) for values, out in _KINDS for rows in (reads_i32, reads_i64)]


@kernel(_BY_ROW)
def gather(values: np.ndarray, base: int, rows: np.ndarray, out: np.ndarray) -> None:
    """The values of the given rows."""
    for i in range(len(rows)):
        out[i] = values[np.uint64(rows[i] - base)]


@kernel(_BY_ROW)
def gather_round(ring: np.ndarray, base: int, rows: np.ndarray, out: np.ndarray) -> None:
    """The values of the given rows, some of which lie at the beginning of the ring again."""
    size = len(ring)
    for i in range(len(rows)):
        place = rows[i] - base
        if place >= size:
            place -= size
        out[i] = ring[np.uint64(place)]


@kernel([(values, values, int64, reads_i64, reads_i64, out) for values, out in _KINDS])
def gather_beside(
    fresh: np.ndarray, ring: np.ndarray, base: int, rows: np.ndarray, places: np.ndarray, out: np.ndarray
) -> None:
    """The values at places in `fresh` and, counted on after those, of the given rows of a ring."""
    n, size = len(fresh), len(ring)
    for i in range(len(places)):
        k = places[i]
        if k < n:
            out[i] = fresh[np.uint64(k)]
        else:
            place = rows[np.uint64(k - n)] - base
            if place >= size:
                place -= size
            out[i] = ring[np.uint64(place)]
