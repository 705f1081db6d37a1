"""Pairing heaps in arrays, one per group, and the sweep that keeps each group's least value.

A node is a distinct value of a group with its number of copies. `child` and `sibling` [nodes] link
them, `root` [groups] holds the least (-1: none). A node without copies stays where it is until it
comes to the top or the heaps are built anew, so that cost is spread over the values that came.
Order: `words` first, then the nodes' bytes in an arena, `starts` to `ends`; `flip` turns bytes round.
"""

from __future__ import annotations

__all__ = ["build_heaps", "improving", "insert", "less", "meld", "pop_least", "position", "sweep_extremes"]

import numpy as np

from sash.engine.kernels.compiler import (
    boolean,
    inlined,
    int64,
    kernel,
    reads_i64,
    reads_u8,
    reads_u64,
    writes_i64,
    writes_u8,
    writes_u64,
)  # fmt: skip

_ORDER = (reads_u64, reads_i64, reads_i64, reads_u8, int64)


@inlined
def less(
    a: int, b: int, words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray, flip: int
) -> bool:
    """Whether node a comes before node b."""
    if words[a] != words[b]:
        return bool(words[a] < words[b])
    x, y = starts[a], starts[b]
    while x < ends[a] and y < ends[b]:
        if data[x] != data[y]:
            return bool((data[x] < data[y]) != (flip != 0))
        x += 1
        y += 1
    return bool(ends[b] - y > ends[a] - x) if flip == 0 else bool(ends[a] - x > ends[b] - y)


@inlined
def position(
    node: int, ordered: np.ndarray, size: int,
    words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray,
) -> int:  # fmt: skip
    """How many of the first `size` nodes of an array in order come before a node."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if less(ordered[middle], node, words, starts, ends, data, 0):
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def meld(
    a: int, b: int, child: np.ndarray, sibling: np.ndarray,
    words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray, flip: int,
) -> int:  # fmt: skip
    """One heap of two, by their roots; either may be -1."""
    if a < 0:
        return b
    if b < 0:
        return a
    if less(b, a, words, starts, ends, data, flip):
        a, b = b, a
    sibling[b] = child[a]
    child[a] = b
    return a


@inlined
def insert(
    node: int, group: int, root: np.ndarray, child: np.ndarray, sibling: np.ndarray,
    words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray, flip: int,
) -> None:  # fmt: skip
    """Put a node that is in no heap into its group's."""
    child[node], sibling[node] = -1, -1
    root[group] = meld(root[group], node, child, sibling, words, starts, ends, data, flip)


@kernel((int64, writes_i64, writes_i64, writes_i64, *_ORDER))
def pop_least(
    group: int, root: np.ndarray, child: np.ndarray, sibling: np.ndarray,
    words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray, flip: int,
) -> None:  # fmt: skip
    """Take the root out of a group's heap: melt its children in pairs, then the pairs from the last on."""
    rest = child[root[group]]
    pairs = np.int64(-1)
    while rest >= 0:
        first = rest
        second = sibling[first]
        rest = sibling[second] if second >= 0 else np.int64(-1)
        sibling[first] = -1
        if second >= 0:
            sibling[second] = -1
            first = meld(first, second, child, sibling, words, starts, ends, data, flip)
        sibling[first] = pairs
        pairs = first
    whole = np.int64(-1)
    while pairs >= 0:
        following = sibling[pairs]
        sibling[pairs] = -1
        whole = meld(whole, pairs, child, sibling, words, starts, ends, data, flip)
        pairs = following
    root[group] = whole


@kernel((reads_i64, reads_i64, writes_u8, writes_i64, writes_i64, writes_i64, *_ORDER))
def build_heaps(
    copies: np.ndarray, groups: np.ndarray, inside: np.ndarray, root: np.ndarray, child: np.ndarray,
    sibling: np.ndarray, words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray, flip: int,
) -> None:  # fmt: skip
    """All heaps anew, from the nodes that have copies."""
    root[:] = -1
    for node in range(len(copies)):
        inside[node] = copies[node] > 0
        if copies[node] > 0:
            insert(node, groups[node], root, child, sibling, words, starts, ends, data, flip)


@kernel(
    int64(
        reads_i64, reads_i64, reads_i64, writes_i64, reads_i64, writes_u8, writes_i64, writes_i64, writes_i64,
        *_ORDER, int64, writes_i64, writes_i64, writes_i64, writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def sweep_extremes(
    instants: np.ndarray, nodes: np.ndarray, deltas: np.ndarray,
    copies: np.ndarray, groups: np.ndarray, inside: np.ndarray,
    root: np.ndarray, child: np.ndarray, sibling: np.ndarray,
    words: np.ndarray, starts: np.ndarray, ends: np.ndarray, data: np.ndarray, flip: int,
    stamp: int, mark: np.ndarray, touched: np.ndarray, shown: np.ndarray,
    out_at: np.ndarray, out_groups: np.ndarray, out_deltas: np.ndarray,
) -> int:  # fmt: skip
    """Events in time order; writes how `shown` [groups], the least node + 1 or 0, moves at which instant."""
    i, written = 0, 0
    while i < len(instants):
        now = instants[i]
        stamp += 1
        used = 0
        while i < len(instants) and instants[i] == now:
            node = nodes[i]
            copies[node] += deltas[i]
            if copies[node] > 0 and inside[node] == 0:
                inside[node] = 1
                insert(node, groups[node], root, child, sibling, words, starts, ends, data, flip)
            if mark[groups[node]] != stamp:
                mark[groups[node]] = stamp
                touched[used] = groups[node]
                used += 1
            i += 1
        for u in range(used):
            group = touched[u]
            while root[group] >= 0 and copies[root[group]] <= 0:
                inside[root[group]] = 0
                pop_least(group, root, child, sibling, words, starts, ends, data, flip)
            if root[group] + 1 != shown[group]:
                out_at[written], out_groups[written] = now, group
                out_deltas[written] = root[group] + 1 - shown[group]
                shown[group] = root[group] + 1
                written += 1
    return written


@kernel((reads_i64, reads_u64, boolean, writes_u64, writes_u8, writes_u8))
def improving(
    groups: np.ndarray, words: np.ndarray, ties: bool, least: np.ndarray, known: np.ndarray, out: np.ndarray
) -> None:
    """Mark the rows below all rows of their group before them (`ties`: or level with the least)."""
    for i in range(len(groups)):
        group = groups[i]
        better = known[group] == 0 or words[i] < least[group] or (ties and words[i] == least[group])
        out[i] = better
        if better:
            known[group] = 1
            least[group] = words[i]
