"""The sweep of the top groups: which groups are among the first as their lanes change.

Groups lie in the lanes of an aggregate; nothing is held of a group besides but its place in the order.
`best` has the first groups in order, some more than are shown; all other groups that have rows come
after its last. Only when it runs short are they looked through, and the first of them taken out of a
heap (heaps.py): that is seldom, as there are always some to spare.

A group's place is `words` first, made of the lane that ORDER BY names, then its bytes from `starts` to
`ends` in `data`. The numbers that go on from call to call are in `memo` [6], by the names below.
"""

from __future__ import annotations

__all__ = [
    "COME", "GO", "OUTSIDE", "SHOWN", "SIZE", "WRITTEN", "refill_best", "sweep_top_groups", "write_words",
]  # fmt: skip

import numpy as np

from sash.engine.kernels.compiler import (
    inlined,
    int64,
    kernel,
    reads_i64,
    reads_u8,
    reads_words,
    uint64,
    writes_i64,
    writes_table_i64,
    writes_u8,
    writes_u64,
)  # fmt: skip
from sash.engine.kernels.heaps import insert, less, pop_least, position

SIZE, OUTSIDE, SHOWN, WRITTEN, COME, GO = 0, 1, 2, 3, 4, 5
"""Groups in `best`; groups with rows that are not; how many are shown; rows of output; events done."""

_SIGN = np.uint64(1 << 63)
_CLOSED = -2
_ORDER = (reads_i64, reads_i64, reads_u8)
_HEAP = (writes_i64, writes_i64, writes_i64)


@inlined
def _order_word(value: int, turn: np.uint64) -> np.uint64:
    """The word of a lane's value; `turn` is all ones for the opposite order."""
    return (np.uint64(value) ^ _SIGN) ^ turn


@kernel((reads_words, int64, int64, uint64, writes_u64))
def write_words(ints: np.ndarray, groups: int, lane: int, turn: np.uint64, words: np.ndarray) -> None:
    """The words of all groups, from their lanes."""
    for group in range(groups):
        words[group] = _order_word(ints[group, lane], turn)


@kernel((reads_words, int64, int64, writes_i64, writes_u8, writes_u64, *_ORDER, *_HEAP, writes_i64))
def refill_best(
    ints: np.ndarray, groups: int, goal: int, best: np.ndarray, inside: np.ndarray,
    words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray,
    root: np.ndarray, child: np.ndarray, sibling: np.ndarray, memo: np.ndarray,
) -> None:  # fmt: skip
    """Bring the first of the other groups, until `best` has as many as the goal."""
    root[0] = -1
    for group in range(groups):
        if ints[group, 0] > 0 and inside[group] == 0:
            insert(group, 0, root, child, sibling, words, starts, ends, data, 0)
    while root[0] >= 0 and memo[SIZE] < goal:
        group = root[0]
        pop_least(0, root, child, sibling, words, starts, ends, data, 0)
        best[memo[SIZE]], inside[group] = group, 1
        memo[SIZE] += 1
        memo[OUTSIDE] -= 1


@kernel(
    int64(
        reads_i64, reads_i64, reads_words, reads_i64, reads_i64, reads_words,
        writes_table_i64, int64, int64, uint64, reads_i64, int64, int64, int64, int64,
        writes_i64, writes_u8, writes_u64, *_ORDER, *_HEAP, writes_i64, int64, writes_i64, writes_u8,
        writes_i64, writes_table_i64, writes_i64, writes_i64, writes_table_i64, writes_i64, writes_i64,
        writes_i64, writes_table_i64, writes_i64, writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def sweep_top_groups(
    come: np.ndarray, come_groups: np.ndarray, come_ints: np.ndarray,
    go: np.ndarray, go_groups: np.ndarray, go_ints: np.ndarray,
    ints: np.ndarray, groups: int, lane: int, turn: np.uint64, telling: np.ndarray,
    offset: int, limit: int, spare: int, forever: int,
    best: np.ndarray, inside: np.ndarray, words: np.ndarray,
    starts: np.ndarray, ends: np.ndarray, data: np.ndarray,
    root: np.ndarray, child: np.ndarray, sibling: np.ndarray,
    mark: np.ndarray, stamp: int, touched: np.ndarray, lived: np.ndarray,
    shown: np.ndarray, shown_ints: np.ndarray, opened: np.ndarray,
    fresh: np.ndarray, fresh_ints: np.ndarray, fresh_opened: np.ndarray, rank: np.ndarray,
    out_groups: np.ndarray, out_ints: np.ndarray, out_begin: np.ndarray, out_until: np.ndarray,
    out_weight: np.ndarray, memo: np.ndarray,
) -> int:  # fmt: skip
    """Apply what comes and what goes, both in time order, and write what is shown as signed lifetimes.

    Gives 0 when all is done, else the stamp to go on with once there is more room to write. `shown`
    has the groups shown, `shown_ints` the lanes they are shown with, `opened` where in this step's
    output that was written (-1: before it); `rank` [groups] is one more than a group's place in `shown`.
    `mark` [groups] holds stamps up to `stamp`; one instant takes one.
    """
    need, lanes = offset + limit, ints.shape[1]
    n, m = len(come), len(go)
    i, j = memo[COME], memo[GO]
    while i < n or j < m:
        if memo[WRITTEN] + memo[SHOWN] + min(limit, groups) > len(out_groups):
            memo[COME], memo[GO] = i, j
            return stamp + 1
        now = come[i] if i < n else go[j]
        if j < m and go[j] < now:
            now = go[j]
        stamp += 1
        used = 0
        while i < n and come[i] == now:
            group = come_groups[i]
            if mark[group] != stamp:
                mark[group] = stamp
                touched[used], lived[used] = group, ints[group, 0] > 0
                used += 1
            for k in range(lanes):
                ints[group, k] += come_ints[i, k]
            i += 1
        while j < m and go[j] == now:
            group = go_groups[j]
            if mark[group] != stamp:
                mark[group] = stamp
                touched[used], lived[used] = group, ints[group, 0] > 0
                used += 1
            for k in range(lanes):
                ints[group, k] -= go_ints[j, k]
            j += 1
        dirty = False
        for u in range(used):
            group = touched[u]
            lives = ints[group, 0] > 0
            word = _order_word(ints[group, lane], turn)
            if inside[group]:
                dirty = dirty or rank[group] > 0
                if lives and word == words[group]:
                    continue
                at = position(group, best, memo[SIZE], words, starts, ends, data)
                dirty = dirty or at < need
                memo[SIZE] -= 1
                for k in range(at, memo[SIZE]):
                    best[k] = best[k + 1]
                inside[group] = 0
            else:
                memo[OUTSIDE] -= lived[u]
            words[group] = word
            if not lives:
                continue
            size = memo[SIZE]
            if memo[OUTSIDE] > 0 and (
                size == 0 or not less(group, best[size - 1], words, starts, ends, data, 0)
            ):
                memo[OUTSIDE] += 1
                continue
            at = position(group, best, size, words, starts, ends, data)
            for k in range(size, at, -1):
                best[k] = best[k - 1]
            best[at], inside[group] = group, 1
            memo[SIZE] += 1
            dirty = dirty or at < need
            if memo[SIZE] == len(best):
                for _ in range(spare):
                    memo[SIZE] -= 1
                    memo[OUTSIDE] += 1
                    inside[best[memo[SIZE]]] = 0
        if memo[SIZE] < need and memo[OUTSIDE] > 0:
            refill_best(
                ints, groups, len(best) - spare, best, inside, words, starts, ends, data,
                root, child, sibling, memo,
            )  # fmt: skip
            dirty = True
        if not dirty:
            continue
        written, count = memo[WRITTEN], max(0, min(memo[SIZE], need) - offset)
        for t in range(count):
            mark[best[offset + t]] = -stamp
        for t in range(memo[SHOWN]):
            group = shown[t]
            same = mark[group] == -stamp
            for k in range(len(telling)):
                same = same and shown_ints[t, telling[k]] == ints[group, telling[k]]
            if same:
                continue
            if opened[t] >= 0:
                out_until[opened[t]] = now
            else:
                out_groups[written], out_begin[written] = group, now
                out_until[written], out_weight[written] = forever, -1
                for k in range(lanes):
                    out_ints[written, k] = shown_ints[t, k]
                written += 1
            opened[t] = _CLOSED
        for t in range(count):
            group = best[offset + t]
            before = rank[group] - 1
            fresh[t] = group
            if before >= 0 and opened[before] != _CLOSED:
                fresh_opened[t] = opened[before]
            else:
                fresh_opened[t] = written
                out_groups[written], out_begin[written] = group, now
                out_until[written], out_weight[written] = forever, 1
                for k in range(lanes):
                    out_ints[written, k] = ints[group, k]
                written += 1
            for k in range(lanes):
                fresh_ints[t, k] = ints[group, k]
        for t in range(memo[SHOWN]):
            rank[shown[t]] = 0
        for t in range(count):
            shown[t], opened[t] = fresh[t], fresh_opened[t]
            rank[fresh[t]] = t + 1
            for k in range(lanes):
                shown_ints[t, k] = fresh_ints[t, k]
        memo[SHOWN], memo[WRITTEN] = count, written
    memo[COME], memo[GO] = i, j
    return 0
