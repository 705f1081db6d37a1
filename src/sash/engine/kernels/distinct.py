"""Distinct values whose rows do not end early: a value is there until the last of its rows ends.

Between operators each output row has a known end ([G06] §3.5.2, `extend_distinct`); below the answer
it is enough to say when a value comes and when it goes (`come_and_go`).
"""

from __future__ import annotations

__all__ = ["come_and_go", "extend_distinct"]

import numpy as np

from sash.engine.kernels.compiler import (
    int64,
    kernel,
    reads_i64,
    writes_i8,
    writes_i32,
    writes_i64,
    writes_table_i64,
)


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


@kernel(
    (
        reads_i64, reads_i64, reads_i64, reads_i64, int64, int64, writes_table_i64,
        writes_i32, writes_i64, writes_i8, writes_i64, writes_i64,
    )
)  # fmt: skip
def come_and_go(
    slots: np.ndarray,
    begins: np.ndarray,
    untils: np.ndarray,
    due_slots: np.ndarray,
    frontier: int,
    gone: int,
    values: np.ndarray,
    out_slots: np.ndarray,
    out_instants: np.ndarray,
    out_changes: np.ndarray,
    out_due: np.ndarray,
    counts: np.ndarray,
) -> None:
    """When values appear (+1) and vanish (-1), in no order; an end that meets a beginning is neither.

    `values` [slots] has lines [end of the longest row, `gone` if there is none; when to look whether
    that has passed]. `due_slots` are those to look at in this step. Those to be looked at later are
    written to `out_due`. `counts` gets how many changes and how many of these there are: at most two
    changes per row and one per slot due.
    """
    written = 0
    for i in range(len(slots)):
        slot, end = slots[i], values[slots[i], 0]
        if begins[i] > end:
            if end != gone:
                out_slots[written] = slot
                out_instants[written] = end
                out_changes[written] = -1
                written += 1
            out_slots[written] = slot
            out_instants[written] = begins[i]
            out_changes[written] = 1
            written += 1
            values[slot, 0] = untils[i]
        elif untils[i] > end:
            values[slot, 0] = untils[i]
    appeared, due = written, 0
    for i in range(len(due_slots) + appeared):
        slot = due_slots[i] if i < len(due_slots) else np.int64(out_slots[i - len(due_slots)])
        end = values[slot, 0]
        if end == gone or values[slot, 1] > frontier:
            continue
        if end > frontier:
            values[slot, 1] = end
            out_due[due] = slot
            due += 1
        else:
            out_slots[written] = slot
            out_instants[written] = end
            out_changes[written] = -1
            written += 1
            values[slot, 0] = gone
    counts[0] = written
    counts[1] = due
