"""Chains: the heart of the join. Rows whose hashes begin alike hang behind each other, the latest first.

`heads` [2^bits] has the number of the latest row of each chain, or a number below every row's; `before`
has for each row the one that it hangs behind. Rows lie in arrays used round (state/round_array.py): row r
at r - `base`, counted round once. Numbers fall along a chain, so it ends where rows are forgotten.
"""

from __future__ import annotations

__all__ = ["first_alive", "link", "probe"]

import numpy as np

from sash.engine.kernels.compiler import (
    int64,
    kernel,
    reads_i32,
    reads_i64,
    reads_u64,
    reads_words,
    writes_i32,
    writes_i64,
)


@kernel((reads_u64, int64, int64, int64, writes_i32, writes_i32))
def link(hashes: np.ndarray, first: int, base: int, bits: int, heads: np.ndarray, before: np.ndarray) -> None:
    """Hang rows `first`, `first` + 1, ... with these hashes into their chains."""
    shift, size = np.uint64(64 - bits), len(before)
    place = first - base
    if place >= size:
        place -= size
    for i in range(len(hashes)):
        chain = hashes[i] >> shift
        before[np.uint64(place)] = heads[chain]
        heads[chain] = first + i
        place += 1
        if place == size:
            place = 0


@kernel(
    int64(
        reads_u64, reads_words, reads_i64, reads_i64, int64, int64, writes_i64,
        int64, reads_i32, reads_i32, reads_words, reads_i64, reads_i64, int64, int64,
        writes_i32, writes_i32, writes_i64,
    )
)  # fmt: skip
def probe(
    hashes: np.ndarray,
    words: np.ndarray,
    instants: np.ndarray,
    untils: np.ndarray,
    begun: int,
    ended: int,
    cursor: np.ndarray,
    bits: int,
    heads: np.ndarray,
    before: np.ndarray,
    kept_words: np.ndarray,
    kept_begins: np.ndarray,
    kept_spans: np.ndarray,
    base: int,
    origin: int,
    out_probes: np.ndarray,
    out_rows: np.ndarray,
    out_untils: np.ndarray,
) -> int:
    """All pairs of an asking row and a kept row with equal words that lives at the asking one's instant.

    It must have begun `begun` ticks after that at the latest, and end more than `ended` ticks after it. Goes
    on with asking row cursor[0] at kept row cursor[1] (-1: from the head of its chain) and leaves there where
    to go on; gives the number of pairs written. One span stands for all kept rows.
    """
    w, size, room = words.shape[1], len(before), len(out_probes)
    shift = np.uint64(64 - bits)
    alike = len(kept_spans) == 1
    span = kept_spans[0]
    count = 0
    row = cursor[1]
    for i in range(cursor[0], len(hashes)):
        if row < 0:
            row = np.int64(heads[hashes[i] >> shift])
        word, latest, least, until = words[i, 0], instants[i] + begun, instants[i] + ended, untils[i]
        while row >= origin:
            place = row - base
            if place >= size:
                place -= size
            p = np.uint64(place)
            if kept_words[p, 0] == word:
                kept_begin = kept_begins[p]
                if not alike:
                    span = kept_spans[p]
                end = kept_begin + span
                if end > least and kept_begin <= latest:
                    same = True
                    for j in range(1, w):
                        if kept_words[p, j] != words[i, j]:
                            same = False
                            break
                    if same:
                        if count == room:
                            cursor[0], cursor[1] = i, row
                            return count
                        out_probes[count] = i
                        out_rows[count] = row
                        out_untils[count] = min(until, end)
                        count += 1
            row = np.int64(before[p])
        row = -1
    cursor[0], cursor[1] = len(hashes), -1
    return count


@kernel(int64(reads_i64, reads_i64, int64, int64, int64, int64))
def first_alive(
    begins: np.ndarray, spans: np.ndarray, base: int, origin: int, end: int, frontier: int
) -> int:
    """The first of the rows from `origin` up to `end` that ends after the frontier; `end` if none does."""
    size, alike = len(begins), len(spans) == 1
    span = spans[0]
    for row in range(origin, end):
        place = row - base
        if place >= size:
            place -= size
        if not alike:
            span = spans[place]
        if begins[place] + span > frontier:
            return row
    return end
