"""Rows of one stream without a partner on the other, within 60 seconds, 50,000 keys.

The peer finds, for each key, the stretches in which the second stream has no row, and cuts each
row's lifetime to them.
"""

from __future__ import annotations

__all__ = ["FIGURES"]

from benchmarks.engine.harness import Target, Workload, streamed
from benchmarks.engine.traffic import MINUTE, keyed, row_bytes, until_end

SECONDS = 600
KEYS = 50_000

PEER = """
WITH b_starts AS (
  SELECT k, ts, lag(ts) OVER (PARTITION BY k ORDER BY ts) AS before FROM b),
b_ends AS (
  SELECT k, ts, lead(ts) OVER (PARTITION BY k ORDER BY ts) AS after FROM b),
gaps AS (
  SELECT k, ts + INTERVAL 60 SECONDS AS opens, coalesce(after, TIMESTAMP '9999-01-01') AS closes
  FROM b_ends WHERE after IS NULL OR after > ts + INTERVAL 60 SECONDS
  UNION ALL
  SELECT k, TIMESTAMP '0001-01-01', ts FROM b_starts WHERE before IS NULL
  UNION ALL
  SELECT DISTINCT k, TIMESTAMP '0001-01-01', TIMESTAMP '9999-01-01' FROM a
  WHERE k NOT IN (SELECT k FROM b)),
pieces AS (
  SELECT a.ts, a.k, greatest(a.ts, opens) AS begins,
         least(a.ts + INTERVAL 60 SECONDS, closes) AS ends
  FROM a JOIN gaps ON gaps.k = a.k AND opens < a.ts + INTERVAL 60 SECONDS AND closes > a.ts)
SELECT ts, k, begins AS at, 1::BIGINT AS change FROM pieces
UNION ALL
SELECT ts, k, ends AS at, -1::BIGINT AS change FROM pieces
"""


def workload(rows: int) -> Workload:
    """Half of the rows on each stream."""
    a = keyed(rows // 2, SECONDS, KEYS, 47)
    b = keyed(rows // 2, SECONDS, KEYS, 53)
    return Workload(
        "CREATE STREAM a (ts TIMESTAMP, k BIGINT) TIME ts; CREATE STREAM b (ts TIMESTAMP, k BIGINT) TIME ts",
        "SELECT a.ts, a.k FROM a [RANGE 60 SECONDS] "
        "WHERE NOT EXISTS (SELECT * FROM b [RANGE 60 SECONDS] WHERE b.k = a.k)",
        {"a": a, "b": b},
        end=until_end(SECONDS, MINUTE),
        window_bytes=round(rows * 60 / SECONDS * row_bytes(a)),
        peer=PEER,
    )


FIGURES = (streamed("not_exists", workload, Target("rows_per_s", 4_000_000)),)
