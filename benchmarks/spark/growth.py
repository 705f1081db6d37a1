"""What a trigger costs as windows grow: 100,000-row triggers, windows of 1, 5, 20 and 100 triggers' rows.

Keys and limits grow with the windows, so that there are as many results per row. Time per trigger is
the median behind the filling of the window; bytes written are the mean over the whole run, merges
included; bytes named by the manifests are put beside the raw bytes of the rows in the window.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.engine.traffic import keyed
from benchmarks.spark.harness import Bench, Figure, sash_side
from benchmarks.spark.progress import Summary
from benchmarks.targets import Record, Target

WINDOWS = (1, 5, 20, 100)
TRIGGER_ROWS = 100_000
TRIGGER_SECONDS = 10
_LEAST_TRIGGERS = 20
_LEAST_ROWS = 1_000
"""Of a trigger, however few rows were asked for."""

Streams = dict[str, pa.Table]
Asked = tuple[str, Streams]
"""A query and the rows for it."""


def _join(window: int, trigger_rows: int, triggers: int) -> Asked:
    """A row meets two others."""
    own, keys = trigger_rows // 2, max(1, trigger_rows // 4 * window)
    seconds = TRIGGER_SECONDS * triggers
    length = f"[RANGE {TRIGGER_SECONDS * window} SECONDS]"
    query = f"SELECT a.k, a.ts AS a_ts, b.ts AS b_ts, a.p AS a_p, b.p AS b_p FROM a {length}, b {length} "
    return f"ISTREAM({query} WHERE a.k = b.k)", {
        "a": keyed(own * triggers, seconds, keys, 11, "p"),
        "b": keyed(own * triggers, seconds, keys, 23, "p"),
    }


def _min(window: int, trigger_rows: int, triggers: int) -> Asked:
    """Twenty rows in a group."""
    groups = max(1, trigger_rows // 20 * window)
    rows = keyed(trigger_rows * triggers, TRIGGER_SECONDS * triggers, groups, 31, "v")
    length = f"[RANGE {TRIGGER_SECONDS * window} SECONDS]"
    return f"SELECT k, MIN(v) AS least FROM s {length} GROUP BY k", {"s": rows}


def _topk(window: int, trigger_rows: int, triggers: int) -> Asked:
    """One row in a thousand is among the best."""
    total = trigger_rows * triggers
    rows = keyed(total, TRIGGER_SECONDS * triggers, 10_000, 41)
    rows = rows.append_column("v", pa.array(np.random.default_rng(43).integers(0, 2**40, total)))
    limit = max(1, trigger_rows // 1_000 * window)
    length = f"[RANGE {TRIGGER_SECONDS * window} SECONDS]"
    return f"SELECT ts, k, v FROM s {length} ORDER BY v DESC LIMIT {limit}", {"s": rows}


def _rows(window: int, trigger_rows: int, triggers: int) -> Asked:
    """The last ten rows of each key; keys come by turns, so that the windows fill in time."""
    total, keys = trigger_rows * triggers, max(1, trigger_rows // 10 * window)
    turns = np.random.default_rng(61).permutation(keys)
    rows = keyed(total, TRIGGER_SECONDS * triggers, 1, 59, "v")
    rows = rows.set_column(1, "k", pa.array(turns[np.arange(total) % keys]))
    return "SELECT ts, k, v FROM s [PARTITION BY k ROWS 10]", {"s": rows}


def triggers_of(window: int) -> int:
    """One window to fill, and at least as much again to measure, so that merges are met."""
    return window + max(window, _LEAST_TRIGGERS)


def measure(build: Callable[[int, int, int], Asked], bench: Bench) -> Record:
    """All windows by turns."""
    trigger_rows = min(TRIGGER_ROWS, max(_LEAST_ROWS, bench.rows // triggers_of(WINDOWS[-1])))
    fitting = [w for w in WINDOWS if triggers_of(w) * trigger_rows <= bench.rows]
    windows = fitting if len(fitting) > 1 else WINDOWS[:2]
    sides = []
    for window in windows:
        triggers = triggers_of(window)
        query, streams = build(window, trigger_rows, triggers)
        files = bench.files(streams, trigger_rows)
        side = sash_side(f"window_{window}", query, window, triggers - window)
        sides.append(replace(side, files=files))
    found = bench.by_turns(None, sides)
    first, last = found[sides[0].name], found[sides[-1].name]
    raw = 8 * 3  # ts and two columns
    for window, each in zip(windows, found.values(), strict=True):
        each["live_rows"] = trigger_rows * window
        each["durable_bytes_per_live_row"] = round(each["most_durable_bytes"] / each["live_rows"], 1)
        each["of_raw_bytes"] = round(each["durable_bytes_per_live_row"] / raw, 3)
    return {
        "rows_per_s": last["rows_per_s"],
        "ms_per_trigger": last["ms_per_trigger"],
        "ratios": {},
        "windows": list(windows),
        "rows_per_trigger": trigger_rows,
        "raw_bytes_per_row": raw,
        "ms_growth": _times(last, first, "ms_per_trigger"),
        "mean_ms_growth": _times(last, first, "mean_ms_per_trigger"),
        "bytes_growth": _times(last, first, "bytes_written_per_trigger"),
        "of_raw_bytes": max(each["of_raw_bytes"] for each in found.values()),
        "by_window": found,
    }


def _times(last: Summary, first: Summary, measure: str) -> float:
    return round(float(last[measure]) / max(float(first[measure]), 0.1), 3)


_TARGETS = (
    Target("ms_growth", 1.5, at_most=True),
    Target("bytes_growth", 3, at_most=True),
    Target("of_raw_bytes", 2, at_most=True),
)

FIGURES = (
    Figure("growth_join", partial(measure, _join), _TARGETS),
    Figure("growth_min", partial(measure, _min), _TARGETS),
    Figure("growth_topk", partial(measure, _topk), _TARGETS),
    Figure("growth_rows", partial(measure, _rows), _TARGETS),
)
