"""Distinct values over 60 seconds: 50,000 of them, each there for as long as any row with it lives.

The peer looks at the row before and after each row with the same value.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

from benchmarks.engine.harness import Target, Workload, streamed
from benchmarks.engine.traffic import MINUTE, keyed, row_bytes, until_end

SECONDS = 600
VALUES = 50_000

PEER = """
WITH beside AS (
  SELECT k, ts, lag(ts) OVER w AS before, lead(ts) OVER w AS after
  FROM s WINDOW w AS (PARTITION BY k ORDER BY ts))
SELECT k, ts AS at, 1::BIGINT AS change FROM beside
WHERE before IS NULL OR before + INTERVAL 60 SECONDS < ts
UNION ALL
SELECT k, ts + INTERVAL 60 SECONDS AS at, -1::BIGINT AS change FROM beside
WHERE after IS NULL OR after > ts + INTERVAL 60 SECONDS
"""


def workload(rows: int) -> Workload:
    """Each value about four times within the window, so that most rows change nothing."""
    s = keyed(rows, SECONDS, VALUES, 43)
    return Workload(
        "CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIME ts",
        "SELECT DISTINCT k FROM s [RANGE 60 SECONDS]",
        {"s": s},
        end=until_end(SECONDS, MINUTE),
        window_bytes=round(rows * 60 / SECONDS * row_bytes(s)),
        peer=PEER,
    )


FIGURES = (streamed("distinct", workload, Target("rows_per_s", 8_000_000)),)
