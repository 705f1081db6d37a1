"""Chains: the heart of the join. Rows whose hashes begin alike hang behind each other, the latest first.

`heads` [2^bits] has the number of the latest row of each chain, or a number below every row's; `before`
has for each row the one that it hangs behind. Rows lie in arrays used round (state/round_array.py): row r
at r - `base`, counted round once. Numbers fall along a chain, so it ends where rows are forgotten.
"""

from __future__ import annotations

__all__ = ["AT_ONCE", "first_alive", "link", "probe"]

import numpy as np

from sash.engine.kernels.compiler import (
    inlined,
    int64,
    kernel,
    reads_i32,
    reads_i64,
    reads_u64,
    reads_words,
    writes_i32,
    writes_i64,
)

BLOCK = 1024
"""How many asking rows go along their chains together."""
AT_ONCE = 16 * BLOCK
"""How many rows they may find; where they find more, fewer go."""


@inlined
def _placed(row: int, base: int, size: int) -> int:
    """Where a row lies."""
    place = row - base
    return place - size if place >= size else place


@kernel((reads_u64, int64, int64, int64, writes_i32, writes_i32))
def link(hashes: np.ndarray, first: int, base: int, bits: int, heads: np.ndarray, before: np.ndarray) -> None:
    """Hang rows `first`, `first` + 1, ... with these hashes into their chains."""
    shift, size = np.uint64(64 - bits), len(before)
    place = _placed(first, base, size)
    for i in range(len(hashes)):
        chain = hashes[i] >> shift
        before[np.uint64(place)] = heads[chain]
        heads[chain] = first + i
        place += 1
        if place == size:
            place = 0


@kernel(int64(reads_i64, int64, int64, int64, int64, int64))
def _first_after(begins: np.ndarray, span: int, base: int, origin: int, end: int, instant: int) -> int:
    """The first row from `origin` up to `end`, in order of beginnings, that begins a span before an instant
    later than the given one. A span may go round 64 bits; an end never does."""
    low, high = origin, end
    while low < high:
        middle = (low + high) // 2
        if begins[_placed(middle, base, len(begins))] + span > instant:
            high = middle
        else:
            low = middle + 1
    return low


@kernel(
    int64(
        reads_u64, reads_words, reads_i64, int64, int64, int64, int64, reads_i64, reads_i64,
        int64, reads_i32, reads_i32, reads_words, reads_i64, reads_i64, int64,
        writes_i32, writes_i32, writes_i32,
    )
)  # fmt: skip
def _found_together(
    hashes: np.ndarray,
    words: np.ndarray,
    instants: np.ndarray,
    begun: int,
    ended: int,
    at: int,
    some: int,
    firsts: np.ndarray,
    stops: np.ndarray,
    bits: int,
    heads: np.ndarray,
    before: np.ndarray,
    kept_words: np.ndarray,
    kept_begins: np.ndarray,
    kept_spans: np.ndarray,
    base: int,
    counts: np.ndarray,
    asks: np.ndarray,
    rows: np.ndarray,
) -> int:
    """What `some` asking rows from `at` on find, all going one row further along their chains at a time.

    Whom each row belongs to is written to `asks`, and how many each found to `counts` [some + 1], from the
    second place on; -1 if that may be more than there is room for. Going together, and deciding without a
    branch, nobody waits for a row to come from memory before asking for the next.
    """
    w, size, alike = words.shape[1], len(before), len(kept_spans) == 1
    shift, room = np.uint64(64 - bits), len(rows)
    going, standing = np.empty(some, np.int32), np.empty(some, np.int32)
    counts[: some + 1] = 0
    active, found = 0, 0
    for k in range(some):
        row = heads[hashes[at + k] >> shift]
        going[active], standing[active] = k, row
        active += row >= firsts[k]
    while active:
        if found + active > room:
            return -1
        left = 0
        for x in range(active):
            ask, row = np.uint64(going[x]), standing[x]
            i, p = np.uint64(at) + ask, np.uint64(_placed(row, base, size))
            fits = (kept_words[p, 0] == words[i, 0]) & (row < stops[ask])
            for j in range(1, w):
                fits &= kept_words[p, j] == words[i, j]
            if not alike:
                fits &= kept_begins[p] <= instants[i] + begun
                fits &= kept_begins[p] + kept_spans[p] > instants[i] + ended
            asks[found], rows[found] = going[x], row
            found += fits
            counts[ask + np.uint64(1)] += fits
            further = before[p]
            going[left], standing[left] = going[x], further
            left += further >= firsts[ask]
        active = left
    return found


@kernel(
    int64(
        reads_u64, reads_words, reads_i64, int64, int64, writes_i64,
        int64, reads_i32, reads_i32, reads_words, reads_i64, reads_i64, int64, int64, int64,
        writes_i32, writes_i32,
    )
)  # fmt: skip
def probe(
    hashes: np.ndarray,
    words: np.ndarray,
    instants: np.ndarray,
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
    end: int,
    out_probes: np.ndarray,
    out_rows: np.ndarray,
) -> int:
    """All pairs of an asking row and a kept row with equal words that lives at the asking one's instant.

    It must have begun `begun` ticks after that at the latest, and end more than `ended` ticks after it. Goes
    on with asking row cursor[0] at kept row cursor[1] (-1: from the head of its chain) and leaves there where
    to go on; gives the number of pairs written, in order of the asking rows. There must be room for AT_ONCE.

    Kept rows are in order of their beginnings. A single span is that of all of them: then those that live
    at an instant are the rows from one number up to another, and nobody looks at the lifetime of each.
    """
    n, w, size, room = len(hashes), words.shape[1], len(before), len(out_probes)
    shift, alike, span = np.uint64(64 - bits), len(kept_spans) == 1, kept_spans[0]
    counts = np.empty(BLOCK + 1, np.int32)
    asks, rows = np.empty(AT_ONCE, np.int32), np.empty(AT_ONCE, np.int32)
    firsts, stops = np.full(BLOCK, origin), np.full(BLOCK, end)
    at, row, count, block = cursor[0], cursor[1], 0, BLOCK
    alone = row >= 0
    while at < n:
        some = 1 if alone else min(block, n - at)
        if alike:
            for k in range(some):
                latest, least = instants[at + k] + begun, instants[at + k] + ended
                if k == 0 or instants[at + k] < instants[at + k - 1]:
                    firsts[k] = _first_after(kept_begins, span, base, origin, end, least)
                    stops[k] = _first_after(kept_begins, 0, base, origin, end, latest)
                    continue
                first, stop = firsts[k - 1], stops[k - 1]
                while first < end and kept_begins[_placed(first, base, size)] + span <= least:
                    first += 1
                while stop < end and kept_begins[_placed(stop, base, size)] <= latest:
                    stop += 1
                firsts[k], stops[k] = first, stop
        if alone:
            if row < 0:
                row = np.int64(heads[hashes[at] >> shift])
            while row >= firsts[0]:
                p = np.uint64(_placed(row, base, size))
                fits = row < stops[0]
                for j in range(w):
                    fits = fits and kept_words[p, j] == words[at, j]
                if fits and not alike:
                    fits = kept_begins[p] <= instants[at] + begun
                    fits = fits and kept_begins[p] + kept_spans[p] > instants[at] + ended
                if fits:
                    if count == room:
                        cursor[0], cursor[1] = at, row
                        return count
                    out_probes[count], out_rows[count] = at, row
                    count += 1
                row = np.int64(before[p])
            at, row, alone = at + 1, -1, False
            continue
        found = _found_together(
            hashes, words, instants, begun, ended, at, some, firsts, stops,
            bits, heads, before, kept_words, kept_begins, kept_spans, base, counts, asks, rows,
        )  # fmt: skip
        if found < 0:
            block, alone = max(1, some // 2), some == 1
            continue
        if count + found > room:
            break
        for k in range(some):
            counts[k + 1] += counts[k]
        for x in range(found):
            ask = np.uint64(asks[x])
            place = count + counts[ask]
            counts[ask] += 1
            out_probes[place], out_rows[place] = at + asks[x], rows[x]
        at, count, block = at + some, count + found, min(BLOCK, 2 * block)
    cursor[0], cursor[1] = at, -1
    return count


@kernel(int64(reads_i64, reads_i64, int64, int64, int64, int64))
def first_alive(
    begins: np.ndarray, spans: np.ndarray, base: int, origin: int, end: int, frontier: int
) -> int:
    """The first of the rows from `origin` up to `end` that ends after the frontier; `end` if none does."""
    size, alike = len(begins), len(spans) == 1
    span = spans[0]
    for row in range(origin, end):
        place = _placed(row, base, size)
        if not alike:
            span = spans[place]
        if begins[place] + span > frontier:
            return row
    return end
