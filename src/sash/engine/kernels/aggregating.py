"""The sweep of GROUP BY: events in time order added to accumulators, groups looked at once per instant.

A group's accumulators are lanes: `ints` [groups, i] of plain sums, lane 0 the number of rows, and
`floats` [groups, f] of triples (triples.py). An event is a row of lanes with its sign, so that what
comes and what goes are one.
"""

from __future__ import annotations

__all__ = [
    "EARLIER", "NONE", "count_runs", "lanes_of", "link_states", "merge_partials", "sweep_groups",
    "sweep_groups_with_triples", "sweep_values",
]  # fmt: skip

from typing import Any

import numpy as np

from sash.engine.kernels.compiler import (
    int64,
    kernel,
    reads_i64,
    reads_words,
    writes_i64,
    writes_table_f64,
    writes_table_i64,
)
from sash.engine.kernels.triples import TERMS, add_triples

_NEVER = 2**63 - 1
_TRIAL = 4096

NONE, EARLIER = -1, -2
"""A group's state before: there was none; the state is itself what was before the step."""


@kernel(int64(reads_i64))
def count_runs(values: np.ndarray) -> int:
    """How many stretches of equal neighbours there are."""
    runs = min(1, len(values))
    for i in range(1, len(values)):
        if values[i] != values[i - 1]:
            runs += 1
    return runs


@kernel(
    int64(
        reads_i64, reads_i64, reads_i64, reads_words, writes_table_f64, writes_i64,
        writes_i64, writes_i64, writes_i64, writes_table_i64, writes_table_f64,
    )
)  # fmt: skip
def merge_partials(
    groups: np.ndarray,
    begin: np.ndarray,
    until: np.ndarray,
    ints: np.ndarray,
    floats: np.ndarray,
    last: np.ndarray,
    out_groups: np.ndarray,
    out_begin: np.ndarray,
    out_until: np.ndarray,
    out_ints: np.ndarray,
    out_floats: np.ndarray,
) -> int:
    """Add up rows of one group and lifetime; gives how many partials were written, in order of begin.

    Gives up, with -1, when the first thousands of rows hardly ever meet.

    `last` [groups] remembers each group's latest partial from this call or an earlier one: it is
    believed only if that partial is the group's own. Rows of a group whose ends alternate are
    merged less, never wrongly.
    """
    used = 0
    lanes = ints.shape[1]
    real = floats.shape[1] > 0
    for i in range(len(groups)):
        if i == _TRIAL and 4 * used > 3 * i:
            return -1
        group = groups[i]
        at = last[group]
        if at < used and out_groups[at] == group and out_begin[at] == begin[i] and out_until[at] == until[i]:
            for k in range(lanes):
                out_ints[at, k] += ints[i, k]
            if real:
                add_triples(out_floats, at, floats, i, 1.0)
            continue
        last[group] = used
        out_groups[used], out_begin[used], out_until[used] = group, begin[i], until[i]
        for k in range(lanes):
            out_ints[used, k] = ints[i, k]
        for k in range(floats.shape[1]):
            out_floats[used, k] = floats[i, k]
        used += 1
    return used


_EVENTS = (reads_i64, reads_i64, reads_words, writes_table_f64)


def _sweep(real: bool) -> Any:
    """The sweep of groups with or without triples: a kernel without them is a quarter faster."""

    @kernel(
        int64(
            *_EVENTS, *_EVENTS, writes_table_i64, writes_table_f64, reads_i64, int64, int64, writes_i64,
            writes_i64, writes_i64, writes_i64, writes_table_i64, writes_table_f64,
        )
    )  # fmt: skip
    def sweep(
        come: np.ndarray, come_groups: np.ndarray, come_ints: np.ndarray, come_floats: np.ndarray,
        go: np.ndarray, go_groups: np.ndarray, go_ints: np.ndarray, go_floats: np.ndarray,
        ints: np.ndarray, floats: np.ndarray, counts: np.ndarray, born: int, base: int, latest: np.ndarray,
        out_groups: np.ndarray, out_at: np.ndarray, out_before: np.ndarray,
        out_ints: np.ndarray, out_floats: np.ndarray,
    ) -> int:  # fmt: skip
        """Apply what comes and what goes, both in time order; write a state per group and instant.

        A state is its group, its instant, the group's state before it in this step (NONE: there is none;
        EARLIER: this state itself is what the group had before the step, if it was there) and its lanes.
        There must be room for one per event and one per group.

        `counts[t]` is the lane that counts the values in triple t: at zero the triple is exactly zero.
        `latest` [groups] holds each group's latest state, counted from `base`; what earlier steps left
        there is below `base`. `born`: a group without rows was there, too.
        """
        # Written out rather than called: passing a dozen arrays would cost more than the work. Choosing
        # between two values is cheaper than a branch, as what comes next is rarely foreseeable.
        n, m, lanes = len(come), len(go), ints.shape[1]
        if n == 0:
            come, come_groups, come_ints = go, go_groups, go_ints
        if m == 0:
            go, go_groups, go_ints = come, come_groups, come_ints
        i, j, written, first, instant = 0, 0, 0, 0, _NEVER
        for _ in range(n + m):
            a, b = min(i, n - 1), min(j, m - 1)
            coming = i < n and (j >= m or come[a] <= go[b])
            now = come[a] if coming else go[b]
            group = come_groups[a] if coming else go_groups[b]
            if now != instant:
                instant, first = now, written
            at = latest[group] - base
            if at < first:
                if real:
                    for k in range(floats.shape[1]):
                        if ints[group, counts[k // TERMS]] == 0:
                            floats[group, k] = 0.0
                if at < 0:
                    at = NONE
                    if ints[group, 0] > 0 or born:
                        out_groups[written], out_at[written], out_before[written] = group, now, EARLIER
                        for k in range(lanes):
                            out_ints[written, k] = ints[group, k]
                        if real:
                            out_floats[written] = floats[group]
                        at = written
                        written += 1
                out_groups[written], out_at[written], out_before[written] = group, now, at
                at = written
                latest[group] = at + base
                written += 1
            for k in range(lanes):
                plus, minus = come_ints[a, k], -go_ints[b, k]
                ints[group, k] += plus if coming else minus
                out_ints[at, k] = ints[group, k]
            if real:
                if coming:
                    add_triples(floats, group, come_floats, a, 1.0)
                else:
                    add_triples(floats, group, go_floats, b, -1.0)
                out_floats[at] = floats[group]
            i += coming
            j += not coming
        return written

    return sweep


sweep_groups, sweep_groups_with_triples = _sweep(False), _sweep(True)


@kernel((reads_words, reads_i64, writes_table_i64))
def lanes_of(lines: np.ndarray, rows: np.ndarray, lanes: np.ndarray) -> None:
    """The given rows of lines, lane by lane."""
    for i in range(len(rows)):
        line = lines[rows[i]]
        for lane in range(len(line)):
            lanes[lane, i] = line[lane]


@kernel(
    int64(
        reads_i64, reads_i64, writes_i64, reads_words, int64, reads_words, reads_i64, int64, int64,
        writes_i64, writes_i64, writes_i64, writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def link_states(
    groups: np.ndarray,
    instants: np.ndarray,
    before: np.ndarray,
    ints: np.ndarray,
    lasting: int,
    words: np.ndarray,
    telling: np.ndarray,
    closes: int,
    forever: int,
    out_states: np.ndarray,
    out_groups: np.ndarray,
    out_begin: np.ndarray,
    out_until: np.ndarray,
    out_weight: np.ndarray,
    living: np.ndarray,
) -> int:
    """From states as a sweep wrote them to signed lifetimes, leaving out those equal to the one before.

    Two states of a group have equal rows where the columns `telling` of `words` [n, w] are equal.
    `lasting`: the row stays without rows below it (a global aggregate). `before` is used up. The number
    of groups that have a row is kept in `living[0]`. There must be room for as many lifetimes as states.

    `closes`: every end is written as a negative row, and no `until`; there must be room for two per state.
    """
    written, more = 0, 0
    for i in range(len(groups)):
        earlier, now = before[i], instants[i]
        if earlier == EARLIER:
            continue
        # From here on, before[i] is where the row that state i shows was written: NONE if it shows none,
        # EARLIER if the row is from before the step and must be taken back when it changes.
        is_there = 1 if ints[i, 0] > 0 or lasting else 0
        shown = before[earlier] if earlier >= 0 else NONE
        if shown != NONE:
            same = is_there == 1
            for t in range(len(telling)):
                if words[i, telling[t]] != words[earlier, telling[t]]:
                    same = False
                    break
            if same:
                before[i] = shown
                continue
            if shown >= 0 and not closes:
                out_until[shown] = now
            else:
                out_states[written], out_groups[written], out_begin[written] = earlier, groups[i], now
                out_weight[written] = -1
                if not closes:
                    out_until[written] = forever
                written += 1
            more -= 1
        before[i] = NONE
        if is_there:
            before[i] = written
            out_states[written], out_groups[written], out_begin[written] = i, groups[i], now
            out_weight[written] = 1
            if not closes:
                out_until[written] = forever
            written += 1
            more += 1
    living[0] += more
    return written


@kernel(
    int64(
        reads_i64, reads_i64, reads_i64, writes_i64, int64, writes_i64, writes_i64, writes_i64,
        writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def sweep_values(
    instants: np.ndarray,
    values: np.ndarray,
    deltas: np.ndarray,
    copies: np.ndarray,
    stamp: int,
    mark: np.ndarray,
    touched: np.ndarray,
    before: np.ndarray,
    out_at: np.ndarray,
    out_values: np.ndarray,
    out_signs: np.ndarray,
) -> int:
    """Which values come into being (+1) and cease (-1) at which instants, as copies come and go.

    `copies` and `mark` are per value, `touched` and `before` scratch for as many as there are events;
    `mark` holds stamps up to `stamp` of earlier steps; this one uses as many after it as there are events.
    """
    i, written = 0, 0
    while i < len(instants):
        now = instants[i]
        stamp += 1
        used = 0
        while i < len(instants) and instants[i] == now:
            value = values[i]
            if mark[value] != stamp:
                mark[value] = stamp
                touched[used], before[used] = value, copies[value]
                used += 1
            copies[value] += deltas[i]
            i += 1
        for u in range(used):
            value = touched[u]
            is_there, was_there = copies[value] > 0, before[u] > 0
            if is_there != was_there:
                out_at[written], out_values[written] = now, value
                out_signs[written] = 1 if is_there else -1
                written += 1
    return written
