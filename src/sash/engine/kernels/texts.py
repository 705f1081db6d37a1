"""Gathering texts by row number from where they lie end to end, in an array of bytes used round.

`stops` (an array used round as well, state/round_array.py) has for each row the number of the byte after its
text; the text begins where that of the row before stops, and that of row `origin` at byte `first`.
"""

from __future__ import annotations

__all__ = ["copy_texts", "measure_texts"]

import numpy as np

from sash.engine.kernels.compiler import (
    inlined,
    int64,
    kernel,
    reads_i32,
    reads_i64,
    reads_u8,
    writes_i32,
    writes_u8,
)

_BY_ROW = (reads_i32, reads_i64)
_SHORT = 16


@inlined
def _stop(stops: np.ndarray, base: int, row: int) -> np.int64:
    place = row - base
    if place >= len(stops):
        place -= len(stops)
    return np.int64(stops[np.uint64(place)])


@kernel([int64(reads_i64, int64, int64, int64, rows, writes_i32) for rows in _BY_ROW])
def measure_texts(
    stops: np.ndarray, base: int, origin: int, first: int, rows: np.ndarray, offsets: np.ndarray
) -> int:
    """Where each row's text begins if they lie end to end: `offsets` [rows + 1]; gives the bytes of all.

    Offsets mean nothing where that is more than 32 bits can say.
    """
    total = 0
    offsets[0] = 0
    for i in range(len(rows)):
        row = np.int64(rows[i])
        start = first if row == origin else _stop(stops, base, row - 1)
        total += _stop(stops, base, row) - start
        offsets[i + 1] = np.int32(total & 0x7FFFFFFF)
    return total


@kernel(
    [
        (reads_i64, int64, int64, int64, rows, reads_i32, reads_u8, int64, writes_u8)
        for rows in _BY_ROW
    ]
)  # fmt: skip
def copy_texts(
    stops: np.ndarray,
    base: int,
    origin: int,
    first: int,
    rows: np.ndarray,
    offsets: np.ndarray,
    ring: np.ndarray,
    byte_base: int,
    out: np.ndarray,
) -> None:
    """The texts of the given rows, end to end; byte b lies at b - `byte_base`, counted round once."""
    size = len(ring)
    for i in range(len(rows)):
        row = np.int64(rows[i])
        place = (first if row == origin else _stop(stops, base, row - 1)) - byte_base
        if place >= size:
            place -= size
        start, stop = np.int64(offsets[i]), np.int64(offsets[i + 1])
        if stop - start <= _SHORT and place + _SHORT <= size and start + _SHORT <= len(out):
            # A number of bytes known beforehand is one move; what is too much the next text writes over.
            for k in range(_SHORT):
                out[start + k] = ring[place + k]
            continue
        before_the_turn = min(stop, start + size - place)
        for k in range(start, before_the_turn):
            out[k] = ring[place + k - start]
        for k in range(before_the_turn, stop):
            out[k] = ring[k - before_the_turn]
