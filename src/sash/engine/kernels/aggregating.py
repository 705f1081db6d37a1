"""The sweep of GROUP BY: events in time order added to accumulators, groups looked at once per instant.

A group's accumulators are lanes: `ints` [groups, i] of plain sums, lane 0 the number of rows, and
`floats` [groups, f] of triples (triples.py). An event is a row of lanes with its sign, so that what
comes and what goes are one.
"""

from __future__ import annotations

__all__ = ["count_runs", "link_lifetimes", "merge_partials", "sweep_groups", "sweep_values"]

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


@kernel(
    int64(
        reads_i64, reads_i64, reads_words, writes_table_f64,
        reads_i64, reads_i64, reads_words, writes_table_f64,
        writes_table_i64, writes_table_f64, reads_i64, int64, int64,
        int64, writes_i64, writes_i64, writes_table_i64, writes_table_i64, writes_table_f64,
    )
)  # fmt: skip
def sweep_groups(
    come: np.ndarray,
    come_groups: np.ndarray,
    come_ints: np.ndarray,
    come_floats: np.ndarray,
    go: np.ndarray,
    go_groups: np.ndarray,
    go_ints: np.ndarray,
    go_floats: np.ndarray,
    ints: np.ndarray,
    floats: np.ndarray,
    counts: np.ndarray,
    lasting: int,
    born: int,
    stamp: int,
    mark: np.ndarray,
    touched: np.ndarray,
    out: np.ndarray,
    out_ints: np.ndarray,
    out_floats: np.ndarray,
) -> int:
    """Apply what comes and what goes, both in time order; write a state per group and instant it is touched.

    A state is its group, its instant and its kind in `out` [room, 3], and its lanes in `out_ints`
    [room, i] and `out_floats` [room, f]. Kinds: 0 what the group was before the step (only if it was
    there), 1 a row, 2 no row. There must be room for one per event and one per group.

    `counts[t]` is the lane that counts the values in triple t: at zero the triple is exactly zero.
    `mark` [groups] holds stamps up to `stamp` of earlier steps; this one uses as many after it as there
    are events. `lasting`: the row stays without rows below it (a global aggregate); `born`: it was
    there before.
    """
    # Written out rather than called: passing a dozen arrays would cost more than the work.
    lanes, real = ints.shape[1], floats.shape[1]
    i, j, written, first = 0, 0, 0, stamp
    next_come = come[0] if len(come) else _NEVER
    next_go = go[0] if len(go) else _NEVER
    while True:
        now = min(next_come, next_go)
        if now == _NEVER:
            break
        stamp += 1
        used = 0
        while True:
            if next_come == now:
                group = come_groups[i]
            elif next_go == now:
                group = go_groups[j]
            else:
                break
            if mark[group] != stamp:
                if mark[group] <= first and (ints[group, 0] > 0 or born):
                    out[written, 0], out[written, 1], out[written, 2] = group, now, 0
                    for k in range(lanes):
                        out_ints[written, k] = ints[group, k]
                    for k in range(real):
                        out_floats[written, k] = floats[group, k]
                    written += 1
                mark[group] = stamp
                touched[used] = group
                used += 1
            if next_come == now:
                for k in range(lanes):
                    ints[group, k] += come_ints[i, k]
                if real:
                    add_triples(floats, group, come_floats, i, 1.0)
                i += 1
                next_come = come[i] if i < len(come) else _NEVER
            else:
                for k in range(lanes):
                    ints[group, k] -= go_ints[j, k]
                if real:
                    add_triples(floats, group, go_floats, j, -1.0)
                j += 1
                next_go = go[j] if j < len(go) else _NEVER
        for u in range(used):
            group = touched[u]
            for k in range(real):
                if ints[group, counts[k // TERMS]] == 0:
                    floats[group, k] = 0.0
            out[written, 0], out[written, 1] = group, now
            out[written, 2] = 1 if ints[group, 0] > 0 or lasting else 2
            for k in range(lanes):
                out_ints[written, k] = ints[group, k]
            for k in range(real):
                out_floats[written, k] = floats[group, k]
            written += 1
    return written


@kernel(
    int64(
        writes_table_i64, reads_words, int64, writes_i64, writes_i64, writes_i64,
        writes_i64, writes_i64, writes_i64, writes_i64, writes_i64,
    )
)  # fmt: skip
def link_lifetimes(
    states: np.ndarray,
    words: np.ndarray,
    forever: int,
    current: np.ndarray,
    opened: np.ndarray,
    out_states: np.ndarray,
    out_groups: np.ndarray,
    out_begin: np.ndarray,
    out_until: np.ndarray,
    out_weight: np.ndarray,
    living: np.ndarray,
) -> int:
    """From states [n, 3] in time order to signed lifetimes, leaving out states equal to the one before.

    `words` [n, w] say when two states have equal rows. `current` [groups] must hold -1 and does
    so again at the end; `opened` [groups] is scratch. The number of groups that have a row is kept
    in `living[0]`. There must be room for as many lifetimes as states.
    """
    written = 0
    width = words.shape[1]
    for i in range(len(states)):
        group, now, kind = states[i, 0], states[i, 1], states[i, 2]
        if kind == 0:
            current[group], opened[group] = i, -1
            continue
        before = current[group]
        if before >= 0:
            if kind == 1:
                same = True
                for k in range(width):
                    if words[i, k] != words[before, k]:
                        same = False
                        break
                if same:
                    continue
            if opened[group] >= 0:
                out_until[opened[group]] = now
            else:
                out_states[written], out_groups[written], out_begin[written] = before, group, now
                out_until[written], out_weight[written] = forever, -1
                written += 1
        if kind == 1:
            if before < 0:
                living[0] += 1
            current[group], opened[group] = i, written
            out_states[written], out_groups[written], out_begin[written] = i, group, now
            out_until[written], out_weight[written] = forever, 1
            written += 1
        else:
            if before >= 0:
                living[0] -= 1
            current[group] = -1
    for i in range(len(states)):
        current[states[i, 0]] = -1
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
    `mark` is used as in `sweep_groups`.
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
