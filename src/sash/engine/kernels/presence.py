"""Presence: how often each key lives on each side, and what follows from it.

DISTINCT, EXCEPT, INTERSECT, semi- and anti-joins are sweeps over the instants of a step at which a
key's counts change; what they give is a function of the two counts.
"""

from __future__ import annotations

__all__ = [
    "EXCEPT",
    "EXCEPT_ALL",
    "INTERSECT",
    "INTERSECT_ALL",
    "SOME",
    "extend_distinct",
    "sweep_counts",
    "sweep_shown",
]

import numpy as np

from sash.engine.kernels.compiler import (
    boolean,
    inlined,
    int64,
    kernel,
    reads_i64,
    writes_i64,
    writes_table_i64,
)

SOME, EXCEPT, EXCEPT_ALL, INTERSECT, INTERSECT_ALL = 0, 1, 2, 3, 4


@kernel(int64(int64, int64, int64))
def _copies(mode: int, left: int, right: int) -> int:
    """How many copies of a row the operation gives for its counts on either side."""
    if mode == 0:
        return 1 if left > 0 else 0
    if mode == 1:
        return 1 if left > 0 and right <= 0 else 0
    if mode == 2:
        return max(left - max(right, 0), 0)
    if mode == 3:
        return 1 if left > 0 and right > 0 else 0
    return max(min(left, right), 0)


@kernel(
    int64(
        int64, reads_i64, reads_i64, reads_i64, reads_i64, int64, writes_i64, writes_i64, writes_i64,
        writes_i64, writes_i64, writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def sweep_counts(
    mode: int,
    instants: np.ndarray,
    slots: np.ndarray,
    sides: np.ndarray,
    deltas: np.ndarray,
    forever: int,
    left: np.ndarray,
    right: np.ndarray,
    current: np.ndarray,
    opened: np.ndarray,
    out_slots: np.ndarray,
    out_begins: np.ndarray,
    out_untils: np.ndarray,
    out_weights: np.ndarray,
) -> int:
    """Events in time order to lifetimes of keys; gives how many were written, at most two per event.

    Counts per side and `current` [slots] (copies shown now) are state; `opened` [slots] is -1
    everywhere between calls: the output row of this step whose end may still be set.
    """
    written = 0
    n = len(instants)
    start = 0
    while start < n:
        at = instants[start]
        stop = start
        while stop < n and instants[stop] == at:
            if sides[stop] == 0:
                left[slots[stop]] += deltas[stop]
            else:
                right[slots[stop]] += deltas[stop]
            stop += 1
        for e in range(start, stop):
            slot = slots[e]
            copies = _copies(mode, left[slot], right[slot])
            before = current[slot]
            if copies == before:
                continue
            if before > 0 and opened[slot] >= 0:
                out_untils[opened[slot]] = at
                opened[slot] = -1
            elif before > 0:
                out_slots[written] = slot
                out_begins[written] = at
                out_untils[written] = forever
                out_weights[written] = -before
                written += 1
            if copies > 0:
                opened[slot] = written
                out_slots[written] = slot
                out_begins[written] = at
                out_untils[written] = forever
                out_weights[written] = copies
                written += 1
            current[slot] = copies
        start = stop
    for k in range(written):
        opened[out_slots[k]] = -1
    return written


@kernel(
    int64(
        reads_i64, reads_i64, reads_i64, reads_i64, reads_i64, writes_i64, writes_i64, writes_i64,
        writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def extend_distinct(
    slots: np.ndarray,
    begins: np.ndarray,
    untils: np.ndarray,
    due_ends: np.ndarray,
    due_slots: np.ndarray,
    ends: np.ndarray,
    longest: np.ndarray,
    shown: np.ndarray,
    out_slots: np.ndarray,
    out_begins: np.ndarray,
    out_untils: np.ndarray,
) -> int:
    """The delta-star operator ([G06] §3.5.2): each value keeps the row in the answer and its longest.

    `ends` and `longest` [slots] are state: when the value's row in the answer ends, and when its
    longest-lived row does. `shown` [slots] is -1 everywhere between calls: the output row of this
    step, whose end may still be moved. `due_*` are the rows in the answer that end in this step.
    There is room for two rows per row that came and one per row that is due.
    """
    written = 0
    for i in range(len(slots)):
        slot, begin, until = slots[i], begins[i], untils[i]
        if ends[slot] <= begin and longest[slot] > ends[slot]:
            out_slots[written] = slot
            out_begins[written] = ends[slot]
            out_untils[written] = longest[slot]
            shown[slot] = written
            ends[slot] = longest[slot]
            written += 1
        if ends[slot] <= begin:
            if ends[slot] == begin and shown[slot] >= 0:
                out_untils[shown[slot]] = until
            else:
                out_slots[written] = slot
                out_begins[written] = begin
                out_untils[written] = until
                shown[slot] = written
                written += 1
            ends[slot] = until
            longest[slot] = until
        elif until > longest[slot]:
            longest[slot] = until
            if shown[slot] >= 0:
                out_untils[shown[slot]] = until
                ends[slot] = until
    for i in range(len(due_slots)):
        slot = due_slots[i]
        if ends[slot] == due_ends[i] and longest[slot] > ends[slot]:
            out_slots[written] = slot
            out_begins[written] = ends[slot]
            out_untils[written] = longest[slot]
            ends[slot] = longest[slot]
            written += 1
    for k in range(written):
        shown[out_slots[k]] = -1
    return written


@inlined
def _written(out: np.ndarray, place: int, row: int, begin: int, until: int, weight: int) -> np.ndarray:
    """Write one line, in a larger array where there is no room."""
    if place == len(out):
        larger = np.empty((2 * len(out), 4), np.int64)
        larger[: len(out)] = out
        out = larger
    out[place, 0] = row
    out[place, 1] = begin
    out[place, 2] = until
    out[place, 3] = weight
    return out


@kernel(
    writes_table_i64(
        boolean, reads_i64, reads_i64, reads_i64, reads_i64, reads_i64, int64, int64,
        writes_table_i64, writes_table_i64,
    )
)  # fmt: skip
def sweep_shown(
    anti: bool,
    left_instants: np.ndarray,
    left_slots: np.ndarray,
    right_instants: np.ndarray,
    right_slots: np.ndarray,
    right_deltas: np.ndarray,
    first_row: int,
    origin: int,
    keys: np.ndarray,
    rows: np.ndarray,
) -> np.ndarray:
    """Left rows shown while a right row of their key lives (`anti`: while none does).

    Both inputs in time order. `keys` [slots] has lines [live right rows, whether there was one when
    last looked at, newest left row], `rows` [index: number - origin] lines [next older row of the
    slot, end, weight, its line in the output of this step (-1: none, as between calls)]. Gives one
    line [row, begin, until, weight] per output row.
    """
    out = np.empty((1024 + 2 * len(left_instants), 4), np.int64)
    written = 0
    i, j = 0, 0
    n, m = len(left_instants), len(right_instants)
    while i < n or j < m:
        at = right_instants[j] if j < m else left_instants[i]
        if i < n and left_instants[i] < at:
            at = left_instants[i]
        first = j
        while j < m and right_instants[j] == at:
            keys[right_slots[j], 0] += right_deltas[j]
            j += 1
        for e in range(first, j):
            slot = right_slots[e]
            now = 1 if keys[slot, 0] > 0 else 0
            if now == keys[slot, 1]:
                continue
            keys[slot, 1] = now
            appears = (now == 1) != anti
            row = keys[slot, 2]
            while row >= origin:
                k = row - origin
                if rows[k, 1] > at:
                    if appears:
                        rows[k, 3] = written
                        out = _written(out, written, row, at, rows[k, 1], rows[k, 2])
                        written += 1
                    elif rows[k, 3] >= 0:
                        out[rows[k, 3], 2] = at
                        rows[k, 3] = -1
                    else:
                        out = _written(out, written, row, at, rows[k, 1], -rows[k, 2])
                        written += 1
                row = rows[k, 0]
        while i < n and left_instants[i] == at:
            slot, row = left_slots[i], first_row + i
            k = row - origin
            rows[k, 0] = keys[slot, 2]
            keys[slot, 2] = row
            if (keys[slot, 1] == 1) != anti:
                rows[k, 3] = written
                out = _written(out, written, row, at, rows[k, 1], rows[k, 2])
                written += 1
            i += 1
    for line in range(written):
        rows[out[line, 0] - origin, 3] = -1
    return out[:written]
