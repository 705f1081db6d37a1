"""The sweep of MIN over rows that end in the order in which they come: a deque per group.

A row that is not below a later one of its group will never be the least again, as the later one lives
at least as long: it is out at once. What is left of a group rises from its first row to its last.

Rows lie in an array used round (state/round_array.py), in the order in which they come and end: row r at
r - `base`, counted round once. All that a step wants to know of a row or a group is one line of 32 bytes:
most are looked at once and not soon again.
"""

from __future__ import annotations

__all__ = [
    "GROUP",
    "LANE",
    "OUT",
    "OWNER",
    "ROW",
    "UNTIL",
    "VALUE",
    "WORD",
    "first_lasting",
    "hang_deques",
    "settle_deques",
    "sweep_deques",
    "write_moves",
]

import numpy as np

from sash.engine.kernels.compiler import (
    inlined,
    int64,
    kernel,
    reads_i64,
    reads_words,
    writes_i64,
    writes_table_i64,
    writes_u8,
)

UNTIL, WORD, OWNER, _LINKS, ROW = range(5)
"""A row's line: its end, what orders it, whose it is, and how far away the rows before it and after it in
its deque are (32 bits each, 0: none); how many that is. The owner of a row that is out is OUT; that of a
row whose value is NULL has a bit above those of the group, and its word is the greatest there is."""

_FIRST, _LAST, VALUE, LANE, GROUP = range(5)
"""A group's line: its first row and its last (-1: none), the word that it shows and the number that stands
for that (0: it shows nothing); how many that is."""

OUT = -1
_LOW = (1 << 32) - 1
_TOP = _NEVER = 2**63 - 1


@inlined
def _placed(row: int, base: int, size: int) -> np.uint64:
    """Where a row lies: unsigned, so that no time goes into looking whether it counts from the end."""
    place = row - base
    return np.uint64(place - size if place >= size else place)


@kernel(int64(reads_words, int64, int64, int64, int64))
def first_lasting(rows: np.ndarray, base: int, origin: int, end: int, frontier: int) -> int:
    """The first of the rows from `origin` up to `end` that ends after the frontier; `end` if none does."""
    low, high = origin, end
    while low < high:
        middle = (low + high) // 2
        if rows[_placed(middle, base, len(rows)), UNTIL] > frontier:
            high = middle
        else:
            low = middle + 1
    return low


@kernel(
    int64(
        reads_i64, reads_i64, reads_i64, reads_i64, int64, int64, int64, writes_i64, writes_table_i64,
        writes_table_i64, int64, writes_i64, writes_i64, writes_i64, writes_table_i64,
    )
)  # fmt: skip
def sweep_deques(
    begins: np.ndarray, untils: np.ndarray, owners: np.ndarray, words: np.ndarray,
    come: int, base: int, frontier: int, cursor: np.ndarray, rows: np.ndarray, groups: np.ndarray,
    numbered: int, touched: np.ndarray, out_at: np.ndarray, out_groups: np.ndarray, out_moves: np.ndarray,
) -> int:  # fmt: skip
    """Rows `come`, `come` + 1, ... come, and rows from cursor[0] on end up to the frontier: how groups move.

    A move has its instant, its group, and a line of what the group showed and shows: the two numbers, the
    two words. Gives how many were written, at most one per row that comes or ends; there must be room for
    as many. Leaves in cursor[0] the first row that has not ended; cursor[1] counts the rows that are not
    out. A new value has a number beyond `numbered`, one for each; if that is negative, the number is 1, or 2
    where the value is NULL.
    """
    n, size = len(begins), len(rows)
    i, gone, written, held = 0, cursor[0], 0, cursor[1] + n
    while True:
        now = begins[i] if i < n else _NEVER
        if gone < come + i:
            ending = rows[_placed(gone, base, size), UNTIL]
            if ending <= frontier and ending < now:
                now = ending
        if now == _NEVER:
            break
        used = 0
        while i < n and begins[i] == now:
            owner, word, row = owners[i], words[i], come + i
            group = np.uint64(owner & _LOW)
            last, line = groups[group, _LAST], np.uint64(0)
            while last >= 0:
                line = _placed(last, base, size)
                if rows[line, WORD] < word:
                    break
                if word == _TOP and rows[line, WORD] == word and rows[line, OWNER] < owner:
                    break  # the greatest value, and NULL comes
                rows[line, OWNER] = OUT
                held -= 1
                back = rows[line, _LINKS] >> 32
                last = last - back if back > 0 else np.int64(-1)
            place = _placed(row, base, size)
            rows[place, UNTIL], rows[place, WORD], rows[place, OWNER] = untils[i], word, owner
            if last >= 0:
                rows[line, _LINKS] = (rows[line, _LINKS] & ~_LOW) | (row - last)
                rows[place, _LINKS] = (row - last) << 32
            else:
                rows[place, _LINKS] = 0
                groups[group, _FIRST] = row
                touched[used] = group
                used += 1
            groups[group, _LAST] = row
            i += 1
        while gone < come + i:
            line = _placed(gone, base, size)
            if rows[line, UNTIL] > now:
                break
            if rows[line, OWNER] != OUT:  # then it is the first of its group
                held -= 1
                group, ahead = np.uint64(rows[line, OWNER] & _LOW), rows[line, _LINKS] & _LOW
                if ahead > 0:
                    rows[_placed(gone + ahead, base, size), _LINKS] &= _LOW
                    groups[group, _FIRST] = gone + ahead
                else:
                    groups[group, _FIRST] = groups[group, _LAST] = -1
                touched[used] = group
                used += 1
            gone += 1
        for u in range(used):
            group = np.uint64(touched[u])
            first, shown = groups[group, _FIRST], groups[group, LANE]
            number, word = 0, 0
            if first >= 0:
                line = _placed(first, base, size)
                word = rows[line, WORD]
                number = numbered + written + 1 if numbered >= 0 else 1 + (rows[line, OWNER] >> 32)
                if shown > 0 and groups[group, VALUE] == word and (numbered >= 0 or number == shown):
                    continue
            elif shown == 0:
                continue
            out_at[written], out_groups[written] = now, group
            out_moves[written, 0], out_moves[written, 1] = shown, number
            out_moves[written, 2], out_moves[written, 3] = groups[group, VALUE], word
            groups[group, VALUE], groups[group, LANE] = word, number
            written += 1
    cursor[0], cursor[1] = gone, held
    return written


@kernel(int64(reads_i64, reads_i64, reads_words, writes_i64, writes_i64, writes_i64, writes_i64, writes_u8))
def write_moves(
    at: np.ndarray, groups: np.ndarray, moves: np.ndarray,
    out_at: np.ndarray, out_groups: np.ndarray, out_weights: np.ndarray, out_words: np.ndarray,
    out_nulls: np.ndarray,
) -> int:  # fmt: skip
    """What moves take back and what they show, each a row: gives how many, at most two per move."""
    written = 0
    for i in range(len(at)):
        for side in range(2):
            if moves[i, side] > 0:
                out_at[written], out_groups[written] = at[i], groups[i]
                out_weights[written] = 2 * side - 1
                out_words[written], out_nulls[written] = moves[i, 2 + side], moves[i, side] == 2
                written += 1
    return written


@kernel((reads_i64, writes_table_i64, writes_table_i64, int64, writes_i64))
def settle_deques(
    changed: np.ndarray, groups: np.ndarray, lanes: np.ndarray, lane: int, settled: np.ndarray
) -> None:
    """Let the number of a group's value be that of the group + 1, and keep the value by group."""
    for i in range(len(changed)):
        group = changed[i]
        groups[group, LANE] = group + 1 if groups[group, LANE] > 0 else 0
        lanes[group, lane] = groups[group, LANE]
        settled[group] = groups[group, VALUE]


@kernel((writes_table_i64, writes_table_i64, int64))
def hang_deques(rows: np.ndarray, groups: np.ndarray, numbered: int) -> None:
    """Hang rows 0, 1, ... on groups, each group's in order: their links are written.

    The groups have no other rows. They show their first ones, by their own number + 1 if `numbered` is not
    negative.
    """
    groups[:, _FIRST] = -1
    groups[:, _LAST] = -1
    for row in range(len(rows)):
        owner = rows[row, OWNER]
        group = owner & _LOW
        last = groups[group, _LAST]
        rows[row, _LINKS] = 0
        if last >= 0:
            rows[last, _LINKS] |= row - last
            rows[row, _LINKS] = (row - last) << 32
        else:
            groups[group, _FIRST], groups[group, VALUE] = row, rows[row, WORD]
            groups[group, LANE] = group + 1 if numbered >= 0 else 1 + (owner >> 32)
        groups[group, _LAST] = row
