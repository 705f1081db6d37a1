"""Index and probe: the heart of the join, a merge of two sides in order of their hashes.

An index has its rows in order of the top bits of their hash: `marks` (what a key is told by), `offsets`
(beginnings, as distances from `base`), `spans` and `order` (the row's place in its segment) side by side,
and `starts` [2^bits + 1] saying where each bit pattern begins. Probing rows come in hash order too, so
that both sides are read from front to back and the caches are not missed.
"""

from __future__ import annotations

__all__ = ["build_index", "probe"]

import numpy as np

from sash.engine.kernels.compiler import (
    int64,
    kernel,
    reads_i32,
    reads_i64,
    reads_u32,
    reads_u64,
    reads_words,
    writes_i32,
    writes_i64,
    writes_u32,
)


@kernel(
    [
        (reads_u64, reads_i64, reads_i64, int64, int64, writes_i32, writes_i32, writes_i64, offsets)
        for offsets in (writes_u32, writes_i64)
    ]
)
def build_index(
    hashes: np.ndarray,
    told_by: np.ndarray,
    begins: np.ndarray,
    base: int,
    bits: int,
    starts: np.ndarray,
    order: np.ndarray,
    marks: np.ndarray,
    offsets: np.ndarray,
) -> None:
    """A counting sort by the top `bits` of each hash; `starts` must come in as zeros."""
    shift = np.uint64(64 - bits)
    for i in range(len(hashes)):
        starts[np.int64(hashes[i] >> shift) + 1] += 1
    for b in range(1, len(starts)):
        starts[b] += starts[b - 1]
    for i in range(len(hashes)):
        bucket = np.int64(hashes[i] >> shift)
        place = starts[bucket]
        order[place] = i
        marks[place] = told_by[i]
        offsets[place] = begins[i] - base
        starts[bucket] = place + 1
    for b in range(len(starts) - 1, 0, -1):
        starts[b] = starts[b - 1]
    starts[0] = 0


@kernel(
    [
        int64(
            reads_i32, reads_u64, reads_i64, reads_i64, reads_i64, reads_words, writes_i64,
            int64, reads_i32, reads_i32, reads_i64, int64, offsets, reads_i64, reads_words, int64,
            writes_i32, writes_i32, writes_i64, writes_i64,
        )
        for offsets in (reads_u32, reads_i64)
    ]
)  # fmt: skip
def probe(
    probe_order: np.ndarray,
    probe_hashes: np.ndarray,
    probe_marks: np.ndarray,
    probe_begins: np.ndarray,
    probe_untils: np.ndarray,
    words: np.ndarray,
    cursor: np.ndarray,
    bits: int,
    starts: np.ndarray,
    order: np.ndarray,
    marks: np.ndarray,
    base: int,
    offsets: np.ndarray,
    spans: np.ndarray,
    kept_words: np.ndarray,
    first_row: int,
    out_probes: np.ndarray,
    out_rows: np.ndarray,
    out_begins: np.ndarray,
    out_untils: np.ndarray,
) -> int:
    """All pairs of probing row and kept row with equal words and overlapping lifetimes.

    The probing side is an index as well. Begins at its place cursor[0] and leaves there where to go
    on; gives the number of pairs written. Keys of one word have no words here: their marks say it all.
    A row's pairs are written whole or not at all.
    """
    w = words.shape[1] if len(words) else 0
    shift = np.uint64(64 - bits)
    room = len(out_probes)
    alike = len(spans) == 1
    span = spans[0]
    count = 0
    for i in range(cursor[0], len(probe_order)):
        bucket = np.int64(probe_hashes[i] >> shift)
        mark = probe_marks[i]
        begin, until = probe_begins[i], probe_untils[i]
        before = count
        for place in range(starts[bucket], starts[bucket + 1]):
            if marks[place] != mark:
                continue
            kept_begin = base + np.int64(offsets[place])
            if not alike:
                span = spans[place]
            later = max(begin, kept_begin)
            sooner = min(until, kept_begin + span)
            if later >= sooner:
                continue
            same = True
            for j in range(w):
                if kept_words[order[place], j] != words[probe_order[i], j]:
                    same = False
                    break
            if not same:
                continue
            if count >= room:
                cursor[0] = i
                return before
            out_probes[count] = probe_order[i]
            out_rows[count] = first_row + order[place]
            out_begins[count] = later
            out_untils[count] = sooner
            count += 1
    cursor[0] = len(probe_order)
    return count
