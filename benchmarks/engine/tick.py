"""The clock moves, nothing comes, 1,000 rows end per call: what does a call cost as windows grow?

A step may cost what ends in it, never what the window holds: the time per call with 4,000,000 rows
in the window is put beside that with 100,000.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

import statistics
import time

import numpy as np
import pyarrow as pa

import sash
from benchmarks.engine.harness import PUSH_ROWS, Figure, Record, Target
from benchmarks.engine.memory import Sampler

SIZES = (100_000, 1_000_000, 4_000_000)
PER_TICK = 1_000
GROUPS = 10_000
WARM_CALLS, TIMED_CALLS = 20, 60

QUERIES = {
    "group_by": "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE {length}] GROUP BY k",
    "distinct": "SELECT DISTINCT k FROM s [RANGE {length}]",
}


def rows_of(size: int) -> pa.Table:
    """1,000 rows at each instant from 1."""
    random = np.random.default_rng(61)
    return pa.table(
        {
            "ts": 1 + np.arange(size) // PER_TICK,
            "k": random.integers(0, GROUPS, size),
            "v": random.integers(0, 10_000, size),
        }
    )


def seconds_per_call(query_text: str, rows: pa.Table) -> float:
    """Fill a window with `rows`, then move the clock by one; the median over some calls."""
    length = rows.num_rows // PER_TICK
    db = sash.connect()
    db.execute("CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIME ts")
    query = db.query(query_text.format(length=length), name="measured")
    for start in range(0, rows.num_rows, PUSH_ROWS):
        db.push("s", rows.slice(start, PUSH_ROWS))
        query.changes()
    db.advance(length)
    query.changes()
    calls = []
    for call in range(1, WARM_CALLS + TIMED_CALLS + 1):
        started = time.perf_counter()
        db.advance(length + call)
        query.changes()
        calls.append(time.perf_counter() - started)
    db.close()
    return statistics.median(calls[WARM_CALLS:])


def measure(rows: int, trials: int) -> Record:
    """Per query and size, milliseconds per call; the growth is that of the query which grows most.

    `rows` other than the usual two million scales the sizes down for a quick look.
    """
    scale = min(1.0, rows / 2_000_000)
    sizes = [max(SIZES[0], round(size * scale / PER_TICK) * PER_TICK) for size in SIZES]
    for text in QUERIES.values():
        seconds_per_call(text, rows_of(sizes[0]))
    milliseconds: dict[str, list[float]] = {}
    growth: dict[str, float] = {}
    peak = 0
    tables = [rows_of(size) for size in sizes]
    for name, text in QUERIES.items():
        seconds: list[list[float]] = [[] for _ in sizes]
        for _ in range(trials):
            for of_size, table in zip(seconds, tables, strict=True):
                with Sampler() as sampler:
                    of_size.append(seconds_per_call(text, table))
                peak = max(peak, sampler.peak_bytes)
        medians = [statistics.median(of_size) for of_size in seconds]
        milliseconds[name] = [round(1000 * median, 4) for median in medians]
        growth[name] = round(medians[-1] / medians[0], 3)
    slowest = max(per_size[-1] for per_size in milliseconds.values())
    return {
        "rows_per_s": round(PER_TICK / (slowest / 1000)),
        "window_rows": sizes,
        "milliseconds_per_call": milliseconds,
        "growth_by_query": growth,
        "growth": max(growth.values()),
        "trials": trials,
        "peak_bytes": peak,
        "memory_limit_bytes": 3 * tables[-1].nbytes + 2 * PUSH_ROWS * 5 * 8,
    }


FIGURES = (Figure("tick", measure, (Target("growth", 1.5, at_most=True),)),)
