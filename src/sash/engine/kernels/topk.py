"""The sweep of top-k: which rows are among the first as rows come and go.

`best` holds the first rows in order, some more than are shown; all other rows lie in one pairing heap
(heaps.py), or wait to be put there, and come after the last of `best`. A row moves between the two only
after about as many changes as there are rows to spare, so that a change costs a search in `best` or a
step in the heap.

The numbers that go on from call to call are in `memo` [8], by the names below.
"""

from __future__ import annotations

__all__ = [
    "DIRTY", "HEAP", "HELD", "MORE_ROOM", "REACH", "SHOWN", "SIZE", "SKIPPED", "UNSKIP", "WAITING",
    "add_copies", "begin_to_wait", "file_rows", "refill", "sort_out", "sweep_top",
]  # fmt: skip

import numpy as np

from sash.engine.kernels.compiler import (
    inlined,
    int64,
    kernel,
    reads_i64,
    reads_u8,
    reads_u64,
    uint64,
    writes_i64,
    writes_u8,
)
from sash.engine.kernels.heaps import insert, less, pop_least, position

SIZE, HELD, REACH, SHOWN, DIRTY, PENDING, SKIPPED = 0, 1, 2, 3, 4, 5, 6
"""Rows in `best`; nodes in the heap, dead ones too; how many of `best` the last look went through;
how many are shown; whether to look again; whether an instant is half done; rows left out so far."""

UNSKIP, MORE_ROOM = -1, -2
"""Why a sweep stopped: the rows left out matter after all; the output is full."""

_BEST, HEAP, WAITING = 1, 2, 3
"""Places of rows; 0 is nowhere."""
_ORDER = (reads_u64, reads_i64, reads_i64, reads_u8)
_HEAPS = (writes_i64, writes_i64, writes_i64)


@inlined
def _enter(
    row: int, spare: int, best: np.ndarray, memo: np.ndarray, place: np.ndarray,
    words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray,
    root: np.ndarray, child: np.ndarray, sibling: np.ndarray,
) -> None:  # fmt: skip
    """A row that was not there: into `best` if it comes before its last, else into the heap."""
    size = memo[SIZE]
    alone = root[0] < 0 and memo[SKIPPED] == 0
    if alone or (size > 0 and less(row, best[size - 1], words, starts, ends, data, 0)):
        at = position(row, best, size, words, starts, ends, data)
        for k in range(size, at, -1):
            best[k] = best[k - 1]
        best[at] = row
        memo[SIZE] = size + 1
        place[row] = _BEST
        if at < memo[REACH]:
            memo[DIRTY] = 1
        if memo[SIZE] == len(best):
            while memo[SIZE] > len(best) - spare:
                memo[SIZE] -= 1
                last = best[memo[SIZE]]
                place[last] = HEAP
                memo[HELD] += 1
                insert(last, 0, root, child, sibling, words, starts, ends, data, 0)
    else:
        place[row] = HEAP
        memo[HELD] += 1
        insert(row, 0, root, child, sibling, words, starts, ends, data, 0)


@kernel((int64, writes_i64, writes_i64, reads_i64, writes_u8, *_ORDER, *_HEAPS))
def refill(
    goal: int, best: np.ndarray, memo: np.ndarray, copies: np.ndarray, place: np.ndarray,
    words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray,
    root: np.ndarray, child: np.ndarray, sibling: np.ndarray,
) -> None:  # fmt: skip
    """Move the first rows of the heap to the end of `best`, and drop dead ones on the way."""
    while root[0] >= 0 and memo[SIZE] < goal:
        row = root[0]
        pop_least(0, root, child, sibling, words, starts, ends, data, 0)
        memo[HELD] -= 1
        place[row] = 0
        if copies[row] > 0:
            place[row] = _BEST
            if memo[SIZE] < memo[REACH]:
                memo[DIRTY] = 1
            best[memo[SIZE]] = row
            memo[SIZE] += 1


@kernel((reads_u64, reads_i64, uint64, int64, writes_i64, writes_i64, writes_i64, writes_i64))
def sort_out(
    words: np.ndarray, until: np.ndarray, last: int, ends_before: int,
    near: np.ndarray, far: np.ndarray, left_out: np.ndarray, counts: np.ndarray,
) -> None:  # fmt: skip
    """Positions of changes by their words: `near` if not after the word `last`; the others are `far`, or
    `left_out` if they end by `ends_before`. `counts` [3] says how many there are of each."""
    a, b, c = 0, 0, 0
    for i in range(len(words)):
        is_near, stays = words[i] <= last, until[i] > ends_before
        near[a], far[b], left_out[c] = i, i, i
        a += is_near
        b += not is_near and stays
        c += not is_near and not stays
    counts[0], counts[1], counts[2] = a, b, c


@kernel(int64(reads_i64, int64, writes_u8, writes_i64))
def begin_to_wait(rows: np.ndarray, first: int, place: np.ndarray, out: np.ndarray) -> int:
    """Let the rows from `first` on wait if they are nowhere; gives how many of them were written."""
    count = 0
    for i in range(first, len(rows)):
        out[count] = rows[i]
        if place[rows[i]] == 0:
            place[rows[i]] = WAITING
            count += 1
    return count


@kernel((reads_i64, reads_i64, reads_i64, writes_i64))
def add_copies(rows: np.ndarray, positions: np.ndarray, weight: np.ndarray, copies: np.ndarray) -> None:
    """Add the weights at the given positions to the rows' copies."""
    for i in range(len(rows)):
        copies[rows[i]] += weight[positions[i]]


@kernel((reads_i64, writes_i64, reads_i64, writes_u8, *_ORDER, *_HEAPS))
def file_rows(
    rows: np.ndarray, memo: np.ndarray, copies: np.ndarray, place: np.ndarray,
    words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray,
    root: np.ndarray, child: np.ndarray, sibling: np.ndarray,
) -> None:  # fmt: skip
    """Put rows that wait into the heap if they have copies; the others are nowhere."""
    for i in range(len(rows)):
        row = rows[i]
        if place[row] != WAITING:
            continue
        place[row] = 0
        if copies[row] > 0:
            place[row] = HEAP
            memo[HELD] += 1
            insert(row, 0, root, child, sibling, words, starts, ends, data, 0)


@kernel(
    int64(
        int64, int64, int64, int64, reads_i64, writes_i64, reads_i64, writes_i64, writes_i64, writes_i64,
        writes_i64, writes_i64, writes_i64, writes_i64, writes_i64, writes_i64, int64,
    )
)  # fmt: skip
def _show(
    now: int, offset: int, limit: int, forever: int, best: np.ndarray, memo: np.ndarray, copies: np.ndarray,
    tops: np.ndarray, shown: np.ndarray, wanted: np.ndarray, opened: np.ndarray,
    out_rows: np.ndarray, out_begin: np.ndarray, out_until: np.ndarray, out_weight: np.ndarray,
    fresh: np.ndarray, written: int,
) -> int:  # fmt: skip
    """Look through `best` and write what differs from what is shown; gives how many are written now."""
    passed, k, count = 0, 0, 0
    while k < memo[SIZE] and passed < offset + limit:
        row = best[k]
        first = max(passed, offset)
        passed += copies[row]
        last = min(passed, offset + limit)
        if last > first:
            wanted[row] = last - first
            fresh[count] = row
            count += 1
        k += 1
    memo[REACH] = k if passed >= offset + limit else forever
    for t in range(memo[SHOWN]):
        row = tops[t]
        fewer = shown[row] - wanted[row]
        if fewer <= 0:
            continue
        if wanted[row] == 0 and opened[row] >= 0:
            out_until[opened[row]] = now
        else:
            out_rows[written], out_begin[written] = row, now
            out_until[written], out_weight[written] = forever, -fewer
            written += 1
        opened[row] = -1
        shown[row] = wanted[row]
    for t in range(count):
        row = fresh[t]
        more = wanted[row] - shown[row]
        if more > 0:
            # A row that is shown in part is closed as a whole by a negative row.
            opened[row] = written if shown[row] == 0 else -1
            out_rows[written], out_begin[written] = row, now
            out_until[written], out_weight[written] = forever, more
            written += 1
            shown[row] = wanted[row]
        wanted[row] = 0
        tops[t] = row
    memo[SHOWN] = count
    memo[DIRTY] = 0
    return written


@kernel(
    int64(
        reads_i64, reads_i64, reads_i64, int64, int64, int64, int64, int64,
        writes_i64, writes_i64, writes_i64, writes_u8, *_ORDER, *_HEAPS,
        writes_i64, writes_i64, writes_i64, writes_i64, writes_i64, int64, writes_i64, writes_i64, writes_i64,
        writes_i64, writes_i64, writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def sweep_top(
    instants: np.ndarray, rows: np.ndarray, deltas: np.ndarray, offset: int, limit: int, spare: int,
    forever: int, monotonic: int,
    best: np.ndarray, memo: np.ndarray, copies: np.ndarray, place: np.ndarray,
    words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray,
    root: np.ndarray, child: np.ndarray, sibling: np.ndarray,
    tops: np.ndarray, shown: np.ndarray, wanted: np.ndarray, opened: np.ndarray,
    mark: np.ndarray, stamp: int, touched: np.ndarray, before: np.ndarray, fresh: np.ndarray,
    out_rows: np.ndarray, out_begin: np.ndarray, out_until: np.ndarray, out_weight: np.ndarray,
    progress: np.ndarray,
) -> int:  # fmt: skip
    """Apply events in time order from `progress[0]` on; `progress[1]` counts what is written.

    Gives 0 when all is done; else why it stopped (UNSKIP, MORE_ROOM). It then stops within an
    instant, `progress[2]`: events of that instant may still follow, and PENDING says that it must be
    looked at. `monotonic`: rows never go, so that what is not in `best` is dropped.
    """
    need = offset + limit
    i = progress[0]
    while i < len(instants) or memo[PENDING]:
        if not memo[PENDING]:
            progress[2] = instants[i]
        now = progress[2]
        stamp += 1
        used = 0
        while i < len(instants) and instants[i] == now:
            row = rows[i]
            if place[row] < HEAP and mark[row] != stamp:
                mark[row] = stamp
                touched[used], before[used] = row, copies[row]
                used += 1
            copies[row] += deltas[i]
            i += 1
        for u in range(used):
            row = touched[u]
            if copies[row] == before[u]:
                continue
            if place[row] == 0:
                if copies[row] > 0:
                    _enter(row, spare, best, memo, place, words, starts, ends, data, root, child, sibling)
            elif place[row] == _BEST:
                at = position(row, best, memo[SIZE], words, starts, ends, data)
                while best[at] != row:
                    at += 1  # rows that follow one another by key may be equal, and meet at one instant
                if at < memo[REACH]:
                    memo[DIRTY] = 1
                if copies[row] <= 0:
                    for k in range(at, memo[SIZE] - 1):
                        best[k] = best[k + 1]
                    memo[SIZE] -= 1
                    place[row] = 0
        memo[PENDING] = 1
        progress[0] = i
        if monotonic:
            # Nothing ever comes back: what fell out of `best` is gone.
            while root[0] >= 0:
                place[root[0]], copies[root[0]] = 0, 0
                memo[HELD] -= 1
                pop_least(0, root, child, sibling, words, starts, ends, data, 0)
        elif memo[SIZE] < need and (root[0] >= 0 or memo[SKIPPED]):
            if memo[SKIPPED]:
                return UNSKIP
            refill(
                len(best) - spare, best, memo, copies, place,
                words, starts, ends, data, root, child, sibling,
            )  # fmt: skip
        if memo[DIRTY]:
            if progress[1] + memo[SHOWN] + min(limit, memo[SIZE]) > len(out_rows):
                return MORE_ROOM
            progress[1] = _show(
                now, offset, limit, forever, best, memo, copies, tops, shown, wanted, opened,
                out_rows, out_begin, out_until, out_weight, fresh, progress[1],
            )  # fmt: skip
        memo[PENDING] = 0
    return 0
