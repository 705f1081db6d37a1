"""The sweep of MIN over rows that end in the order in which they come: a deque per group.

A row that is not below a later one of its group will never be the least again, as the later one lives
at least as long: it goes at once. What is left of a group rises from its first row to its last.
"""

from __future__ import annotations

__all__ = [
    "AFTER",
    "ENTRY",
    "FIRST",
    "GROUP",
    "UNTIL",
    "WORD",
    "hang_deques",
    "settle_deques",
    "sweep_deques",
]

import numpy as np

from sash.engine.kernels.compiler import int64, kernel, reads_i64, writes_i64, writes_table_i64

FIRST, _LAST, _LEAST, _END, _HIGHEST, _LANE, _VALUE, _MARK, GROUP = range(9)
"""A group's line: its first entry and its last, the first one's word and end, the last one's word, what
its lane is and the value for that, the stamp that touched it last; how many that is. All in one line:
a group is looked at once and not soon again, and mostly its entries need not be."""

WORD, UNTIL, _BEFORE, AFTER, ENTRY = range(5)
"""An entry's line: what orders it, its end, the entries around it (-1: none); how many that is."""


@kernel(
    int64(
        reads_i64, reads_i64, reads_i64, reads_i64, reads_i64, reads_i64, writes_table_i64, writes_table_i64,
        writes_i64, int64, int64, writes_i64, writes_i64, writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def sweep_deques(
    come: np.ndarray, come_groups: np.ndarray, come_words: np.ndarray, come_untils: np.ndarray,
    go: np.ndarray, go_groups: np.ndarray, groups: np.ndarray, entries: np.ndarray, free: np.ndarray,
    stamp: int, base: int, touched: np.ndarray,
    out_at: np.ndarray, out_groups: np.ndarray, out_moves: np.ndarray, out_words: np.ndarray,
) -> int:  # fmt: skip
    """Rows that come, and instants at which rows of groups end; writes how the groups' lanes move when.

    `groups` and `entries` have lines as above; a group without entries has -1 as its first and last.
    `free` is a stack of the entries that are not used, the number of them in its last place. A lane is 0
    where a group has no value, else a number that stands for it; new ones count from `base` + 1 on.
    Gives how many moves were written, at most one per event. One instant takes one stamp.
    """
    n, m = len(come), len(go)
    i, j, written = 0, 0, 0
    spare = free[len(free) - 1]
    while i < n or j < m:
        now = come[i] if i < n else go[j]
        if j < m and go[j] < now:
            now = go[j]
        stamp += 1
        used = 0
        while i < n and come[i] == now:
            group, word = come_groups[i], come_words[i]
            entry = groups[group, _LAST]
            if entry >= 0 and groups[group, _HIGHEST] >= word:
                while entry >= 0 and entries[entry, WORD] >= word:
                    free[spare] = entry
                    spare += 1
                    entry = entries[entry, _BEFORE]
            spare -= 1
            new = free[spare]
            entries[new, WORD], entries[new, UNTIL] = word, come_untils[i]
            entries[new, _BEFORE], entries[new, AFTER] = entry, -1
            groups[group, _LAST], groups[group, _HIGHEST] = new, word
            if entry >= 0:
                entries[entry, AFTER] = new
            else:
                groups[group, FIRST], groups[group, _LEAST] = new, word
                groups[group, _END] = come_untils[i]
                if groups[group, _MARK] != stamp:
                    groups[group, _MARK] = stamp
                    touched[used] = group
                    used += 1
            i += 1
        while j < m and go[j] == now:
            group = go_groups[j]
            entry = groups[group, FIRST]
            if entry >= 0 and groups[group, _END] <= now:
                while entry >= 0 and entries[entry, UNTIL] <= now:
                    free[spare] = entry
                    spare += 1
                    entry = entries[entry, AFTER]
                groups[group, FIRST] = entry
                if entry >= 0:
                    entries[entry, _BEFORE] = -1
                    groups[group, _LEAST], groups[group, _END] = entries[entry, WORD], entries[entry, UNTIL]
                else:
                    groups[group, _LAST] = -1
                if groups[group, _MARK] != stamp:
                    groups[group, _MARK] = stamp
                    touched[used] = group
                    used += 1
            j += 1
        for u in range(used):
            group = touched[u]
            shown, word, number = groups[group, _LANE], groups[group, _LEAST], 0
            if groups[group, FIRST] >= 0:
                if shown > 0 and groups[group, _VALUE] == word:
                    continue
                number = base + written + 1
                groups[group, _VALUE], out_words[written] = word, word
            elif shown == 0:
                continue
            out_at[written], out_groups[written], out_moves[written] = now, group, number - shown
            groups[group, _LANE] = number
            written += 1
    free[len(free) - 1] = spare
    return written


@kernel((reads_i64, writes_table_i64, writes_table_i64, int64, writes_i64))
def settle_deques(
    changed: np.ndarray, groups: np.ndarray, lanes: np.ndarray, lane: int, settled: np.ndarray
) -> None:
    """Let the number of a group's value be that of the group + 1, and keep the value by group."""
    for i in range(len(changed)):
        group = changed[i]
        groups[group, _LANE] = group + 1 if groups[group, _LANE] > 0 else 0
        lanes[group, lane] = groups[group, _LANE]
        settled[group] = groups[group, _VALUE]


@kernel((reads_i64, reads_i64, reads_i64, writes_table_i64, writes_table_i64, writes_i64, writes_i64))
def hang_deques(
    owners: np.ndarray, untils: np.ndarray, words: np.ndarray, groups: np.ndarray, entries: np.ndarray,
    free: np.ndarray, settled: np.ndarray,
) -> None:  # fmt: skip
    """Hang rows that are all to be held on their groups, each group's in order; their lanes are settled."""
    spare = free[len(free) - 1]
    for i in range(len(owners)):
        group = owners[i]
        spare -= 1
        new, last = free[spare], groups[group, _LAST]
        entries[new, WORD], entries[new, UNTIL] = words[i], untils[i]
        entries[new, _BEFORE], entries[new, AFTER] = last, -1
        groups[group, _LAST], groups[group, _HIGHEST] = new, words[i]
        if last >= 0:
            entries[last, AFTER] = new
        else:
            groups[group, FIRST], groups[group, _LEAST], groups[group, _END] = new, words[i], untils[i]
            groups[group, _LANE], groups[group, _VALUE], settled[group] = group + 1, words[i], words[i]
    free[len(free) - 1] = spare
