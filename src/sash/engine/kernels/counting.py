"""Count windows: which rows enter and leave as rows arrive, per partition.

Small windows without SLIDE keep the numbers of their rows in a ring per partition (`push_out`). In
the general form the rows of a partition form a list from old to new (`count_windows`): per slot,
`counts` has the rows so far, `held` the length of the list, `heads` its oldest row, `tails` its
newest, `waits` the first row that has not entered yet (-1: none).
"""

from __future__ import annotations

__all__ = ["count_windows", "find_in_rings", "push_out"]

import numpy as np

from sash.engine.kernels.compiler import int64, kernel, reads_i64, writes_i32, writes_i64, writes_table_i32


@kernel(
    int64(
        reads_i64, reads_i64, int64, int64, reads_i64, writes_table_i32,
        writes_i64, writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def push_out(
    slots: np.ndarray,
    instants: np.ndarray,
    first_row: int,
    origin: int,
    ends: np.ndarray,
    rings: np.ndarray,
    held: np.ndarray,
    untils: np.ndarray,
    out_rows: np.ndarray,
    out_begins: np.ndarray,
) -> int:
    """Each row pushes out the one that came a ring's length before it in its partition.

    `rings` [slots, 1 + size] has lines [place of the next row (none fits: 1), row numbers (-1: none)],
    `held[0]` counts the latter. `untils` [rows of the step] comes in as the ends that the rows have
    anyway; rows of earlier steps that leave early are written to `out_*`, and how many is given. `ends`
    [index: row - origin] has the ends of all rows kept, and is empty if none is known.
    """
    size = rings.shape[1] - 1
    written = 0
    for i in range(len(slots)):
        slot, at = slots[i], instants[i]
        place = np.int64(rings[slot, 0])
        if place < 1 or place > size:
            place = np.int64(1)
        old = np.int64(rings[slot, place])
        if old < 0:
            held[0] += 1
        elif old >= first_row:
            untils[old - first_row] = min(untils[old - first_row], at)
        elif len(ends) == 0 or ends[old - origin] > at:
            out_rows[written] = old
            out_begins[written] = at
            written += 1
        rings[slot, place] = first_row + i
        rings[slot, 0] = place + 1
    return written


@kernel((writes_table_i32, int64, writes_i32))
def find_in_rings(rings: np.ndarray, first_row: int, places: np.ndarray) -> None:
    """Write where in `rings`, line after line, the rows first_row, first_row + 1, ... are."""
    size = rings.shape[1]
    for slot in range(len(rings)):
        for place in range(1, size):
            row = np.int64(rings[slot, place]) - first_row
            if row >= 0 and row < len(places):
                places[row] = slot * size + place


@kernel(
    int64(
        reads_i64, reads_i64, int64, int64, int64, int64,
        writes_i64, writes_i64, writes_i64,
        writes_i64, writes_i64, writes_i64, writes_i64, writes_i64,
        writes_i64, writes_i64, writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def count_windows(
    slots: np.ndarray,
    instants: np.ndarray,
    first_row: int,
    origin: int,
    size: int,
    slide: int,
    following: np.ndarray,
    ends: np.ndarray,
    shown: np.ndarray,
    counts: np.ndarray,
    held: np.ndarray,
    heads: np.ndarray,
    waits: np.ndarray,
    tails: np.ndarray,
    out_rows: np.ndarray,
    out_begins: np.ndarray,
    out_untils: np.ndarray,
    out_weights: np.ndarray,
    left: np.ndarray,
) -> int:
    """Take the rows first_row, first_row + 1, ... in turn; gives the number of changes written.

    `following`, `ends`, `shown` are per row (index: row - origin): the next row of its partition,
    when the row ends at the latest, and where in the output it was shown in this step (-1: not).
    `left[0]` counts the rows that left. There is room for two changes per row that can enter or leave.
    """
    written = 0
    for i in range(len(slots)):
        slot, at, row = slots[i], instants[i], first_row + i
        following[row - origin] = -1
        shown[row - origin] = -1
        if tails[slot] >= 0:
            following[tails[slot] - origin] = row
        else:
            heads[slot] = row
        tails[slot] = row
        if waits[slot] < 0:
            waits[slot] = row
        counts[slot] += 1
        held[slot] += 1
        if counts[slot] % slide != 0:
            continue
        entering = waits[slot]
        while entering >= 0:
            shown[entering - origin] = written
            out_rows[written] = entering
            out_begins[written] = at
            out_untils[written] = ends[entering - origin]
            out_weights[written] = 1
            written += 1
            entering = following[entering - origin]
        waits[slot] = -1
        leaving = heads[slot]
        while held[slot] > size:
            if ends[leaving - origin] > at:
                if shown[leaving - origin] >= 0:
                    out_untils[shown[leaving - origin]] = at
                else:
                    out_rows[written] = leaving
                    out_begins[written] = at
                    out_untils[written] = ends[leaving - origin]
                    out_weights[written] = -1
                    written += 1
            ends[leaving - origin] = at
            left[0] += 1
            held[slot] -= 1
            leaving = following[leaving - origin]
        heads[slot] = leaving
    return written
