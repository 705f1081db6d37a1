"""Presence: how often each key lives on each side, and what follows from it.

EXCEPT, INTERSECT, semi- and anti-joins are sweeps over the instants of a step at which a key's counts
change; what they give is a function of the two counts.
"""

from __future__ import annotations

__all__ = [
    "EXCEPT",
    "EXCEPT_ALL",
    "INTERSECT",
    "INTERSECT_ALL",
    "SOME",
    "hang",
    "sweep_counts",
    "sweep_shown",
]

import numpy as np

from sash.engine.kernels.compiler import (
    boolean,
    inlined,
    int64,
    kernel,
    reads_i32,
    reads_i64,
    writes_i32,
    writes_i64,
    writes_table_i32,
    writes_table_i64,
)

_LAST = 2**63 - 1
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


@inlined
def _write(out: np.ndarray, place: int, row: int, begin: int, until: int, weight: int) -> None:
    """Write one line."""
    out[place, 0] = row
    out[place, 1] = begin
    out[place, 2] = until
    out[place, 3] = weight


@kernel(writes_table_i64(writes_table_i64))
def _larger(out: np.ndarray) -> np.ndarray:
    """The same lines and room for as many more."""
    larger = np.empty((2 * len(out), 4), np.int64)
    larger[: len(out)] = out
    return larger


@kernel((reads_i32, writes_table_i32, writes_i32))
def hang(row_slots: np.ndarray, keys: np.ndarray, back: np.ndarray) -> None:
    """Hang rows 0, 1, ... on their keys, newest first, as `sweep_shown` has them; `keys` has no rows yet."""
    for row in range(len(row_slots)):
        newest = keys[row_slots[row], 2]
        back[row] = row - newest if newest >= 0 else 0
        keys[row_slots[row], 2] = row


@kernel(
    writes_table_i64(
        boolean, int64, reads_i64, reads_i64, reads_i64, reads_i64, reads_i64, reads_i64, reads_i64,
        reads_i64, reads_i32, reads_i64, int64, int64, writes_table_i32, writes_i32, reads_i32, reads_i64,
        reads_i64, writes_i32,
    )
)  # fmt: skip
def sweep_shown(
    anti: bool,
    forever: int,
    left_begins: np.ndarray,
    left_slots: np.ndarray,
    left_ends: np.ndarray,
    ending_rows: np.ndarray,
    right_begins: np.ndarray,
    right_slots: np.ndarray,
    right_weights: np.ndarray,
    right_ends: np.ndarray,
    ending_slots: np.ndarray,
    ending_weights: np.ndarray,
    first_row: int,
    origin: int,
    keys: np.ndarray,
    back: np.ndarray,
    row_slots: np.ndarray,
    untils: np.ndarray,
    weights: np.ndarray,
    lines: np.ndarray,
) -> np.ndarray:
    """Left rows shown while a right row of their key lives (`anti`: while none does).

    Beginnings and ends of both sides come in time order. `keys` [slots] has lines [live right rows,
    whether there was one when last looked at, newest left row]. Per left row (index: number - origin)
    there are how far `back` the next older row of the slot is (0: none), the slot, the end, the weight
    (none at all: 1 each), and its line in the output of this step (-1: none, as between calls). Gives
    one line [row, begin, until, weight] per output row.

    With `forever` > 0 that is the `until` of every line, and rows shown go by a negative line, at
    their ends too; else the ends of left rows are not looked at, `until` is foreseen, and `lines` used.
    """
    closes, plain = forever > 0, len(weights) == 0
    sign = 0 if anti else 1
    n_begin, n_end, m_begin, m_end = len(left_begins), len(left_ends), len(right_begins), len(right_ends)
    out = np.empty((1024 + (n_begin + n_end) // 4, 4), np.int64)
    written = 0
    i, j, k, m = 0, 0, 0, 0
    # The next instant of each of the four, so that each is read once.
    left_begin = left_begins[0] if n_begin else _LAST
    left_end = left_ends[0] if n_end else _LAST
    right_begin = right_begins[0] if m_begin else _LAST
    right_end = right_ends[0] if m_end else _LAST
    while True:
        at = min(min(left_begin, left_end), min(right_begin, right_end))
        if at == _LAST:
            break
        while left_end == at:
            row = ending_rows[j]
            place = row - origin
            if keys[row_slots[place], 1] == sign:
                if written == len(out):
                    out = _larger(out)
                _write(out, written, row, at, forever, -1 if plain else -weights[place])
                written += 1
            j += 1
            left_end = left_ends[j] if j < n_end else _LAST
        first_begin, first_end = k, m
        while right_begin == at:
            keys[right_slots[k], 0] += right_weights[k]
            k += 1
            right_begin = right_begins[k] if k < m_begin else _LAST
        while right_end == at:
            keys[ending_slots[m], 0] -= ending_weights[m]
            m += 1
            right_end = right_ends[m] if m < m_end else _LAST
        for e in range(first_begin + first_end, k + m):
            slot = right_slots[e - first_end] if e < k + first_end else np.int64(ending_slots[e - k])
            now = 1 if keys[slot, 0] > 0 else 0
            if now == keys[slot, 1]:
                continue
            keys[slot, 1] = now
            row, newer = np.int64(keys[slot, 2]), np.int64(-1)
            while row >= origin:
                place = row - origin
                older = row - back[place] if back[place] > 0 else np.int64(-1)
                if untils[place] > at:
                    newer = row
                    if now != sign and not closes and lines[place] >= 0:
                        out[lines[place], 2] = at
                        lines[place] = -1
                    else:
                        if written == len(out):
                            out = _larger(out)
                        weight = 1 if plain else weights[place]
                        ends = forever if closes else untils[place]
                        _write(out, written, row, at, ends, weight if now == sign else -weight)
                        if now == sign and not closes:
                            lines[place] = written
                        written += 1
                elif newer < 0:  # what has ended is not to be met again
                    keys[slot, 2] = older
                else:
                    back[newer - origin] = newer - older if older >= origin else 0
                row = older
        while left_begin == at:
            slot, row = left_slots[i], first_row + i
            place = row - origin
            older = np.int64(keys[slot, 2])
            back[place] = row - older if older >= origin else 0
            keys[slot, 2] = row
            if keys[slot, 1] == sign:
                if written == len(out):
                    out = _larger(out)
                ends = forever if closes else untils[place]
                _write(out, written, row, at, ends, 1 if plain else weights[place])
                if not closes:
                    lines[place] = written
                written += 1
            i += 1
            left_begin = left_begins[i] if i < n_begin else _LAST
    if not closes:
        for line in range(written):
            lines[out[line, 0] - origin] = -1
    return out[:written]
